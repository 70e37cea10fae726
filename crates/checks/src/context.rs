//! A tree of files with what is known about it.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::io;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use crate::facts::{PageFacts, Taken};
use crate::look::Look;
use crate::near::Names;
use crate::site::{Front, Ignored, Site, SiteSettings, Sites, Table, is_aside};
use crate::{Files, page, paths};

/// Larger files are not read as pages or navigation.
pub(crate) const LARGEST: usize = 4 * 1024 * 1024;

pub(crate) struct Context<'a> {
    pub(crate) look: Look<'a>,
    pub(crate) sites: &'a Sites,
    pages: RwLock<HashMap<String, Option<Arc<PageFacts>>>>,
    /// The addresses of each site, once they are asked for; the last is that of what belongs to none.
    tables: Vec<OnceLock<Table>>,
    /// The names of places that hold in each site, once they are asked for.
    labels: Vec<OnceLock<HashSet<String>>>,
    /// The files that take in each part of a page, once they are asked for.
    takers: Vec<OnceLock<HashMap<String, Vec<String>>>>,
    /// One at a time makes a table.
    making: Mutex<()>,
    ignored: OnceLock<Ignored>,
    /// The names of the pages in a folder.
    names: RwLock<HashMap<String, Arc<Names>>>,
    /// What all of it was before a change.
    pub(crate) base: Option<&'a Context<'a>>,
    /// What pages get from their snippets.
    taken: RwLock<HashMap<String, Arc<Taken>>>,
}

impl<'a> Context<'a> {
    pub(crate) fn new(files: &'a dyn Files, sites: &'a Sites) -> Self {
        let tables = (0..=sites.len()).map(|_| OnceLock::new()).collect();
        Self {
            look: Look::new(files),
            sites,
            pages: RwLock::default(),
            tables,
            labels: (0..=sites.len()).map(|_| OnceLock::new()).collect(),
            takers: (0..=sites.len()).map(|_| OnceLock::new()).collect(),
            making: Mutex::default(),
            ignored: OnceLock::new(),
            names: RwLock::default(),
            base: None,
            taken: RwLock::default(),
        }
    }

    /// The same with what was before a change.
    pub(crate) fn since(self, base: &'a Self) -> Self {
        Self { base: Some(base), ..self }
    }

    /// What a page gets from its snippets, gathered once.
    pub(crate) fn taken_in(&self, path: &str, gather: impl FnOnce() -> io::Result<Taken>) -> io::Result<Arc<Taken>> {
        if let Some(known) = self.taken.read().unwrap_or_else(PoisonError::into_inner).get(path) {
            return Ok(Arc::clone(known));
        }
        let taken = Arc::new(gather()?);
        self.taken.write().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned(), Arc::clone(&taken));
        Ok(taken)
    }

    /// The files that take in each part of a page, gathered once for a site.
    pub(crate) fn takers(
        &self,
        site: &Site,
        gather: impl FnOnce() -> io::Result<HashMap<String, Vec<String>>>,
    ) -> io::Result<&HashMap<String, Vec<String>>> {
        let slot = &self.takers[site.number.min(self.takers.len() - 1)];
        match slot.get() {
            Some(takers) => Ok(takers),
            None => {
                let takers = gather()?;
                Ok(slot.get_or_init(|| takers))
            }
        }
    }

    /// The names of the pages in a folder, without their endings.
    pub(crate) fn pages_in(&self, folder: &str) -> io::Result<Arc<Names>> {
        if let Some(known) = self.names.read().unwrap_or_else(PoisonError::into_inner).get(folder) {
            return Ok(Arc::clone(known));
        }
        let all = self.look.list(folder)?;
        let pages = all.iter().filter(|path| page::is_page(path) && paths::folder(path) == folder);
        let names = Arc::new(Names::of(pages.map(|path| paths::stem(path).to_owned())));
        self.names.write().unwrap_or_else(PoisonError::into_inner).insert(folder.to_owned(), Arc::clone(&names));
        Ok(names)
    }

    /// What there is to know about a page; none if it cannot be read as text.
    pub(crate) fn facts(&self, path: &str) -> io::Result<Option<Arc<PageFacts>>> {
        if let Some(known) = self.pages.read().unwrap_or_else(PoisonError::into_inner).get(path) {
            return Ok(known.clone());
        }
        let mut dialect = self.sites.of(path).generator.dialect();
        // Files such as the readme are for code hosts, whatever makes the site.
        dialect.any_ids &= !is_aside(path);
        let facts = self.text(path)?.map(|text| Arc::new(PageFacts::of(path, &text, &dialect)));
        self.pages.write().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned(), facts.clone());
        Ok(facts)
    }

    pub(crate) fn text(&self, path: &str) -> io::Result<Option<String>> {
        let content = self.look.files.read(path)?.filter(|content| content.len() <= LARGEST);
        Ok(content.and_then(|content| String::from_utf8(content).ok()))
    }

    /// The addresses of a site.
    pub(crate) fn table(&self, site: &Site) -> io::Result<&Table> {
        let slot = &self.tables[site.number.min(self.tables.len() - 1)];
        if let Some(table) = slot.get() {
            return Ok(table);
        }
        let _making = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(table) = slot.get() {
            return Ok(table);
        }
        let table = Table::of(&*site.generator, &self.look, &|path| self.front(path))?;
        Ok(slot.get_or_init(|| table))
    }

    fn front(&self, path: &str) -> io::Result<Front> {
        let text = self.text(path)?.unwrap_or_default();
        let mut front = page::front_values(&text).map(|value| Front::of(&value)).unwrap_or_default();
        front.is_there = text.trim_start_matches('\u{feff}').starts_with("---");
        Ok(front)
    }

    /// All addresses at which a page is met, also by fallback and redirect; none if it is no page of a site.
    pub(crate) fn addresses(&self, path: &str) -> io::Result<BTreeSet<String>> {
        let generator = &self.sites.of(path).generator;
        if !generator.is_page(path) || !self.look.exists(path)? {
            return Ok(BTreeSet::new());
        }
        let front = if generator.reads_front_matter() { self.front(path)? } else { Front::default() };
        let own = generator.addresses(path, &front).into_iter();
        Ok(own.chain(generator.fallbacks(path, &front)).chain(generator.aliases(path, &front)).collect())
    }

    /// The address of a page on its site, without slashes around it; none if the repository does not tell. Where no
    /// generator is known, pages are taken to be where they lie below the folder of the documentation.
    pub(crate) fn address(&self, path: &str, settings: &SiteSettings) -> io::Result<Option<String>> {
        let site = self.sites.of(path);
        if self.sites.are_plain() {
            return Ok(settings.below(path).map(|below| paths::join(paths::folder(below), paths::stem(below))));
        }
        let Some(base) = site.generator.base().filter(|_| site.unread.is_none()) else { return Ok(None) };
        let own = self.table(site)?.address_of(path);
        Ok(own.map(|own| paths::join(base, own.trim_matches('/'))))
    }

    /// The names that the pages of a site give to places, in small letters.
    pub(crate) fn labels(&self, site: &Site) -> io::Result<&HashSet<String>> {
        let slot = &self.labels[site.number.min(self.labels.len() - 1)];
        if let Some(labels) = slot.get() {
            return Ok(labels);
        }
        let _making = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(labels) = slot.get() {
            return Ok(labels);
        }
        let mut labels = HashSet::new();
        for folder in site.generator.folders() {
            for path in self.look.list(folder)?.iter().filter(|path| site.generator.is_page(path)) {
                let text = self.text(path)?.unwrap_or_default();
                labels.extend(page::labels(&text));
                if site.generator.shares_headings() {
                    labels.extend(page::heading_labels(&text));
                }
            }
        }
        Ok(slot.get_or_init(|| labels))
    }

    /// What `.gitignore` files leave out.
    pub(crate) fn ignored(&self) -> io::Result<&Ignored> {
        if let Some(ignored) = self.ignored.get() {
            return Ok(ignored);
        }
        let ignored = Ignored::read(self.look.files, &self.look.list("")?)?;
        Ok(self.ignored.get_or_init(|| ignored))
    }
}
