//! MkDocs, also with Material: pages are files below `docs_dir`, links to pages go by file.

mod settings;

use std::collections::BTreeSet;

use copydesk_values::Value;

use super::generator::{Asked, Filled, Front, Generator, Place, Reason, Rule, Way};
use super::glob::Glob;
use super::liquid::{self, Part};
use super::ways::{self, bare};
use crate::page::{Dialect, IdRule, LinkKind, Snippets};
use crate::paths;
use settings::{Posts, base_of, excluded, extension, ids, plugins, posts, tab_ids, texts};

#[derive(Debug)]
pub(crate) struct MkDocs {
    docs: String,
    /// Whether `a.md` is served as `a/`.
    as_folders: bool,
    /// The path of the site's address below its host; none if it is not said.
    base: Option<String>,
    excluded: Vec<Glob>,
    /// Pages that another stands for: `README.md` beside `index.md`.
    hidden: BTreeSet<String>,
    redirects: Vec<Rule>,
    /// Folders of addresses that plugins make.
    made: Vec<MadeFolder>,
    posts: Option<Posts>,
    /// Why any address may be made by a plugin.
    any: Option<Reason>,
    locales: Locales,
    ids: IdRule,
    tabs: Option<(IdRule, bool)>,
    /// The folders that snippets are looked for in; none if the site has no snippets.
    snippets: Option<Vec<String>>,
    /// Why nobody can tell where snippets are.
    untold_snippets: Option<Reason>,
    /// Whether templates are filled in, and the names that the configuration gives to texts.
    macros: Option<Vec<(String, String)>>,
    /// Whether templates may put headings and ids into pages.
    macros_make: bool,
    /// Whether scripts of the site may fill in templates as well.
    has_hooks: bool,
    /// The docs folder of the site whose settings this one takes over: scripts fall back to it for translations.
    parent: Option<String>,
    /// Whether a plugin lists the newest pages.
    has_feeds: bool,
    /// Whether several versions of the site are served, each below its name.
    has_versions: bool,
}

/// A folder of addresses that a plugin makes.
#[derive(Debug)]
struct MadeFolder {
    folder: String,
    /// Whether links may name what is in it as if it were files.
    has_files: bool,
    reason: Reason,
}

/// How pages in several languages are told apart.
#[derive(Debug, PartialEq, Eq)]
enum Locales {
    One,
    /// `page.fr.md` beside `page.md`.
    Suffixes(Vec<String>),
    /// `fr/page.md`, which falls back to the same path of the first.
    Folders(Vec<String>),
}

/// Plugins that make addresses, but no files that links could name.
const NO_FILES: [&str; 3] = ["blog", "material/blog", "coverage"];

/// Plugins that put pages where there are no files, and where by default.
const MAKERS: [(&str, &str, &str); 6] = [
    ("blog", "blog_dir", "blog"),
    ("material/blog", "blog_dir", "blog"),
    ("swagger-ui-tag", "", ""),
    ("coverage", "", "coverage"),
    ("api-autonav", "api_root_uri", "reference"),
    ("mkdoxy", "", ""),
];

/// Plugins that may put pages anywhere.
const ANYWHERE: [&str; 9] =
    ["gen-files", "monorepo", "multirepo", "mkapi", "autoapi", "mkdocs-simple", "simple", "same-dir", "projects"];

/// A site from its configuration; `folder` is the one that holds it. `generated` are places that scripts of the site
/// name, as far as they could be read.
pub(crate) fn site(folder: &str, config: &Value, generated: &[String]) -> MkDocs {
    let docs = config.get("docs_dir").and_then(Value::text).unwrap_or("docs");
    let plugins = plugins(config);
    let mut site = MkDocs {
        docs: paths::normalise(folder, docs).unwrap_or_else(|| paths::join(folder, "docs")),
        as_folders: config.get("use_directory_urls").and_then(Value::truth).unwrap_or(true),
        base: config.get("site_url").and_then(Value::text).map(base_of),
        excluded: excluded(config),
        hidden: BTreeSet::new(),
        redirects: Vec::new(),
        made: Vec::new(),
        posts: None,
        any: None,
        locales: Locales::One,
        ids: ids(config),
        tabs: tab_ids(config),
        snippets: None,
        untold_snippets: None,
        macros: None,
        macros_make: true,
        has_versions: false,
        has_feeds: false,
        has_hooks: config.get("hooks").is_some_and(|hooks| !hooks.items().is_empty()),
        parent: None,
    };
    site.take_in(folder, config);
    let parent = config.get("INHERIT").and_then(Value::text).and_then(|parent| paths::normalise(folder, parent));
    site.parent = parent.map(|parent| paths::join(paths::folder(&parent), docs)).filter(|parent| *parent != site.docs);
    for (name, options) in &plugins {
        site.plugin(name, options.as_ref(), generated);
    }
    if let Some(names) = &mut site.macros {
        names.extend(texts(config.get("extra")));
    }
    site
}

impl MkDocs {
    /// The same site, now that it is known what its own functions for templates are; none if it has none.
    pub(crate) fn with_macros(mut self, module: Option<&str>) -> Self {
        const MARKS: [&str; 8] = ["id=", "<h1", "<h2", "<h3", "<h4", "\"#", "'#", "\\n#"];
        self.macros_make = module.is_some_and(|module| MARKS.iter().any(|mark| module.contains(mark)));
        self
    }

    /// The same site with what its host redirects.
    pub(crate) fn with_redirects(mut self, hosted: Vec<Rule>) -> Self {
        self.redirects.extend(hosted);
        self
    }

    /// The same site, now that its files are known.
    pub(crate) fn with_files(mut self, files: &[String]) -> Self {
        let index = |path: &str| paths::join(paths::folder(path), "index.md");
        let is_hidden =
            |path: &&String| paths::file_name(path) == "README.md" && files.binary_search(&index(path)).is_ok();
        let below = files.iter().filter(|path| self.below(path).is_some());
        self.hidden = below.filter(is_hidden).cloned().collect();
        self
    }
}

impl MkDocs {
    /// Notes how pages take in others. Snippets are looked for from where the site is built, mostly its own folder.
    fn take_in(&mut self, folder: &str, config: &Value) {
        let Some(settings) = extension(config, "pymdownx.snippets") else { return };
        let Some(base) = settings.and_then(|settings| settings.get("base_path")) else {
            self.snippets = Some(vec![folder.to_owned()]);
            return;
        };
        let written: Vec<&Value> = if base.items().is_empty() { vec![base] } else { base.items().iter().collect() };
        let mut folders = Vec::new();
        for path in written {
            // `!relative` starts from the page, or with a name from a folder of the site.
            let start = match path.tag.as_deref() {
                Some(_) => None,
                None => path.text().and_then(|path| paths::normalise(folder, path)),
            };
            match start {
                Some(start) => folders.push(start),
                None => self.untold_snippets = Some(Reason::new("snippets are found by settings of the site")),
            }
        }
        self.snippets = Some(folders);
    }

    /// Folders that hold nothing but snippets.
    fn parts(&self) -> impl Iterator<Item = &str> {
        let folders = self.snippets.iter().flatten().map(String::as_str);
        folders.filter(|folder| !paths::is_below(&self.docs, folder))
    }

    fn plugin(&mut self, name: &str, options: Option<&Value>, generated: &[String]) {
        let option = |key: &str| options.and_then(|options| options.get(key));
        match name {
            "redirects" => {
                for (key, value) in option("redirect_maps").map(Value::entries).unwrap_or_default() {
                    let source = self.address_of(&key.name);
                    let destination = self.redirected(value.text().unwrap_or_default());
                    self.redirects.push(Rule {
                        source: format!("/{source}"),
                        destination,
                        place: Some(Place::of(value)),
                    });
                }
            }
            "i18n" => {
                let languages = option("languages").map(Value::items).unwrap_or_default();
                let names: Vec<String> = languages
                    .iter()
                    .filter_map(|it| it.get("locale"))
                    .filter_map(Value::text)
                    .map(str::to_owned)
                    .collect();
                self.locales = match option("docs_structure").and_then(Value::text) {
                    Some("folder") => Locales::Folders(names),
                    _ => Locales::Suffixes(names),
                };
            }
            "macros" => self.macros = Some(Vec::new()),
            "blog" | "material/blog" => self.posts = Some(posts(&option)),
            "mike" => self.has_versions = true,
            "rss" => self.has_feeds = true,
            "exclude" => {
                let globs = option("glob").map(Value::items).unwrap_or_default();
                self.excluded.extend(globs.iter().filter_map(Value::text).map(Glob::new));
            }
            _ => {}
        }
        let plain = name.strip_prefix("mkdocs-").unwrap_or(name);
        if let Some((_, key, default)) = MAKERS.iter().find(|(maker, ..)| *maker == plain || *maker == name) {
            let folder = option(key).and_then(Value::text).unwrap_or(default).trim_matches('/').to_owned();
            let reason = Reason::new(format!("the plugin `{name}` makes pages there"));
            let folder = if folder == "." { String::new() } else { folder };
            self.made.push(MadeFolder { folder, has_files: !NO_FILES.contains(&plain), reason });
        }
        if ANYWHERE.contains(&plain) {
            let reason = Reason::new(format!("the plugin `{name}` makes pages that are no files"));
            if generated.is_empty() {
                self.any.get_or_insert(reason);
            } else {
                let made =
                    |folder: &String| MadeFolder { folder: folder.clone(), has_files: true, reason: reason.clone() };
                self.made.extend(generated.iter().map(made));
            }
        }
    }

    /// The address of a page by its path below the docs folder.
    fn address_of(&self, below: &str) -> String {
        let (bare, is_index) = bare(below, &["index", "README"]);
        match () {
            () if self.as_folders => bare.to_owned(),
            () if is_index => paths::join(bare, "index.html"),
            () => format!("{bare}.html"),
        }
    }

    /// Where a redirect leads: to a page by its file, or to another site.
    fn redirected(&self, destination: &str) -> String {
        let (path, part) = destination.split_at(destination.find(['#', '?']).unwrap_or(destination.len()));
        if path.contains("://") || !path.ends_with(".md") {
            return destination.to_owned();
        }
        format!("/{}{part}", self.address_of(path))
    }

    fn below<'p>(&self, path: &'p str) -> Option<&'p str> {
        paths::below(path, &self.docs)
    }

    /// The folder that addresses in a page start from, below the docs folder.
    fn folder_of(&self, page: &str) -> String {
        let below = self.below(page).unwrap_or_default();
        let (bare, is_index) = bare(below, &["index", "README"]);
        if self.as_folders || is_index { bare.to_owned() } else { paths::folder(bare).to_owned() }
    }

    /// The posts that a page is one of.
    fn post(&self, page: &str) -> Option<&Posts> {
        self.posts.as_ref().filter(|posts| self.below(page).is_some_and(|below| paths::is_below(below, &posts.folder)))
    }

    /// Why a plugin may make what is at an address; `as_page` if it need not be a file.
    fn made_at(&self, address: &str, as_page: bool) -> Option<Reason> {
        let made = self.made.iter().filter(|made| made.has_files || as_page);
        let made = made.into_iter().find(|made| paths::is_below(address, &made.folder));
        made.map(|made| made.reason.clone()).or_else(|| self.any.clone())
    }

    /// An address as browsers find it from a page: nothing is above the host, and what is above the site is none of it.
    fn reached(&self, page: &str, path: &str) -> Option<String> {
        let base = self.base.as_deref().unwrap_or_default();
        let address = ways::clamped(&paths::join(base, &self.folder_of(page)), path);
        paths::below(&address, base).map(str::to_owned).filter(|_| self.base.is_some())
    }

    /// The files that a link to a file may mean, in the language of the page and then in the others.
    fn in_languages(&self, page: &str, path: &str) -> Vec<String> {
        let mut found = vec![path.to_owned()];
        let parent = self.parent.as_ref().filter(|_| self.has_hooks).zip(self.below(path));
        found.extend(parent.map(|(parent, below)| paths::join(parent, below)));
        match &self.locales {
            Locales::One => {}
            Locales::Suffixes(names) => {
                if let Some((stem, ending)) = path.rsplit_once('.') {
                    let own = paths::stem(page).rsplit_once('.').map(|(_, own)| own);
                    if let Some(own) = own.filter(|own| names.iter().any(|name| name == own)) {
                        found.insert(0, format!("{stem}.{own}.{ending}"));
                    }
                    found.extend(names.iter().map(|name| format!("{stem}.{name}.{ending}")));
                }
            }
            Locales::Folders(names) => {
                let own = self.below(page).and_then(|below| below.split('/').next()).unwrap_or_default();
                if let Some(rest) = self.below(path).and_then(|below| below.strip_prefix(own)) {
                    found.extend(names.iter().map(|name| format!("{}/{name}{rest}", self.docs)));
                }
            }
        }
        found
    }
}

impl Generator for MkDocs {
    fn name(&self) -> &'static str {
        "MkDocs"
    }

    fn root(&self) -> &str {
        &self.docs
    }

    fn base(&self) -> Option<&str> {
        Some(self.base.as_deref().unwrap_or_default())
    }

    fn folders(&self) -> Vec<&str> {
        std::iter::once(self.docs.as_str()).chain(self.parts()).collect()
    }

    fn is_page(&self, path: &str) -> bool {
        let Some(below) = self.below(path) else { return false };
        let is_hidden = below.split('/').any(|part| part.starts_with('.'));
        crate::page::is_page(path)
            && !is_hidden
            && !self.hidden.contains(path)
            && !self.excluded.iter().any(|glob| glob.matches(below))
    }

    fn addresses(&self, path: &str, _front: &Front) -> Vec<String> {
        let Some(below) = self.below(path) else { return Vec::new() };
        let mut addresses = vec![self.address_of(below)];
        if let Locales::Suffixes(names) = &self.locales
            && let Some((stem, ending)) = below.rsplit_once('.')
            && let Some((stem, name)) = stem.rsplit_once('.')
            && names.iter().any(|known| known == name)
        {
            let plain = self.address_of(&format!("{stem}.{ending}"));
            addresses.insert(0, paths::join(name, &plain));
            addresses.push(plain);
        }
        if let Locales::Folders(names) = &self.locales
            && let Some(first) = names.first()
            && let Some(rest) = addresses[0].strip_prefix(first.as_str())
        {
            addresses.push(rest.trim_start_matches('/').to_owned());
        }
        addresses
    }

    fn fallbacks(&self, path: &str, _front: &Front) -> Vec<String> {
        let Locales::Folders(names) = &self.locales else { return Vec::new() };
        let address = self.below(path).map(|below| self.address_of(below)).unwrap_or_default();
        let rest = names.first().and_then(|first| address.strip_prefix(first.as_str()));
        let rest = rest.map(|rest| rest.trim_start_matches('/'));
        rest.map(|rest| names.iter().map(|name| paths::join(name, rest)).collect()).unwrap_or_default()
    }

    fn ways(&self, asked: &Asked<'_>) -> Vec<Way> {
        if asked.kind == LinkKind::Snippet {
            let folders = self.snippets.iter().flatten();
            let files = folders.filter_map(|folder| paths::normalise(folder, asked.path)).map(Way::File);
            return files.chain(self.untold_snippets.clone().map(Way::Untold)).collect();
        }
        if let Some(rooted) = asked.path.strip_prefix('/') {
            return match &self.base {
                _ if self.has_versions => {
                    vec![Way::Untold(Reason::new("versions of the site are served side by side"))]
                }
                Some(base) if paths::is_below(rooted, base) => {
                    let below = paths::below(rooted, base).unwrap_or(rooted);
                    paths::normalise("", below).map(Way::Address).into_iter().collect()
                }
                Some(_) => vec![Way::Untold(ways::outside())],
                None => vec![Way::Untold(Reason::new("the site does not say (`site_url`) where it is served"))],
            };
        }
        let by_file = paths::normalise(paths::folder(asked.page), asked.path);
        let by_address = match self.post(asked.page) {
            Some(posts) if asked.in_tag => {
                let address = posts.served.as_deref().map(|served| ways::clamped(served, asked.path));
                match address.filter(|address| !address.contains('~')) {
                    Some(address) => Some(address),
                    None => return vec![Way::Untold(Reason::new("the plugin `blog` chooses the addresses of posts"))],
                }
            }
            _ => paths::normalise(&self.folder_of(asked.page), asked.path),
        };
        let by_address = by_address.or_else(|| self.reached(asked.page, asked.path));
        let files = |path: String| self.in_languages(asked.page, &path).into_iter();
        let is_page = crate::page::is_page(asked.path);
        let mut found = Vec::new();
        // What stands in tags is not rewritten, so it goes by address; pages and pictures of Markdown go by file.
        match by_file.filter(|_| !asked.in_tag) {
            Some(path) if is_page => found.extend(files(path).map(Way::Page)),
            // What lies beside the documentation is not in the site.
            Some(path) => found.extend(files(path).filter(|file| self.below(file).is_some()).map(Way::File)),
            None if !asked.in_tag => found.push(Way::Untold(ways::outside())),
            None => {}
        }
        match by_address {
            // No plugin makes pictures that Markdown shows by file.
            Some(address) if asked.kind == LinkKind::Image && !asked.in_tag && self.untold(&address).is_some() => {}
            Some(address) if !is_page || asked.in_tag => found.push(Way::Address(address)),
            Some(_) => {}
            None => found.push(Way::Untold(ways::outside())),
        }
        if is_page && let Some(path) = paths::normalise(paths::folder(asked.page), asked.path) {
            let (bare, _) = bare(&path, &["index", "README"]);
            let below = self.below(bare).unwrap_or(bare);
            found.extend(self.made_at(below, false).map(Way::Untold));
        }
        found
    }

    fn files_at(&self, address: &str) -> Vec<String> {
        let parent = self.parent.as_ref().filter(|_| self.has_hooks);
        std::iter::once(&self.docs).chain(parent).map(|folder| paths::join(folder, address)).collect()
    }

    fn redirects(&self) -> &[Rule] {
        &self.redirects
    }

    fn untold(&self, address: &str) -> Option<Reason> {
        if matches!(address, "img/favicon.ico" | "404.html" | "search.html" | "sitemap.xml" | "objects.inv") {
            return Some(Reason::new("the theme or a plugin makes it"));
        }
        let is_feed = paths::file_name(address).starts_with("feed_");
        if self.has_feeds && is_feed && matches!(paths::extension(address).as_str(), "xml" | "json") {
            return Some(Reason::new("the plugin `rss` makes it"));
        }
        self.made_at(address, !paths::is_image(address))
    }

    fn leaves_out(&self, path: &str) -> bool {
        self.hidden.contains(path)
    }

    fn filled(&self, _page: &str, written: &str) -> Option<Filled> {
        let names = self.macros.as_ref()?;
        let mut text = String::new();
        for part in liquid::parts(written)? {
            match part {
                Part::Text(plain) => text.push_str(plain),
                Part::Value(name) => text.push_str(names.iter().find(|(known, _)| known == name).map(|(_, it)| it)?),
                Part::Tag(_) => return None,
            }
        }
        Some(Filled::Written(text))
    }

    fn partial(&self, path: &str) -> Option<Reason> {
        let is_excluded = self.below(path).is_some_and(|below| self.excluded.iter().any(|glob| glob.matches(below)));
        let is_part = self.parts().any(|folder| paths::is_below(path, folder) && !paths::is_below(&self.docs, folder));
        (is_excluded || is_part).then(|| Reason::new("it stands in a part of other pages"))
    }

    fn dialect(&self) -> Dialect {
        let includes: &[&str] = match () {
            () if self.has_hooks || self.macros.is_some() && self.macros_make => &["{{", "{%"],
            () if self.macros.is_some() => &["{% include", "{%- include"],
            () => &[],
        };
        Dialect {
            ids: self.ids.clone(),
            attribute_lists: true,
            indented_blocks: true,
            templates: self.macros.is_some(),
            tabs: self.tabs.clone(),
            marks: self.has_hooks,
            modules: true,
            snippets: if self.snippets.is_some() { Snippets::Scissors } else { Snippets::Scripts },
            includes,
            ..Dialect::default()
        }
    }
}
