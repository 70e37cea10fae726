//! All checks over all of the documentation.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::context::Context;
use crate::site::{SiteSettings, Sites, is_foreign, is_text};
use crate::tally::{Count, Tally};
use crate::{Check, Files, Finding, Rules, nav_check, page, page_check, paths};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// How many pages were looked at.
    pub pages: usize,
    /// What is wrong, by path and place.
    pub findings: Vec<Finding>,
    /// What was judged, and why the rest was not.
    pub tally: Tally,
    /// The checks that had nothing to judge: that they found nothing says nothing.
    pub idle: Vec<Check>,
}

/// A page that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageReport {
    pub path: String,
    /// What it is called, if it says so.
    pub title: Option<String>,
    /// Its address on the site, without slashes around it; none if the repository does not tell.
    pub address: Option<String>,
    /// How many of its links, anchors, images and snippets could not be judged, by the reason.
    pub not_judged: BTreeMap<String, u64>,
}

/// The same as [`check_all`], with every page that was looked at, by path. Navigation that is written as a page is none.
pub fn check_pages(files: &dyn Files, settings: &SiteSettings) -> io::Result<(Report, Vec<PageReport>)> {
    let rules = rules_of(files)?;
    let seen = Mutex::default();
    let report = look(files, settings, &rules, Some(&seen))?;
    let mut pages = seen.into_inner().unwrap_or_else(PoisonError::into_inner);
    pages.sort_by(|a, b| a.path.cmp(&b.path));
    Ok((report, pages))
}

fn rules_of(files: &dyn Files) -> io::Result<Rules> {
    Rules::read(files)?.map_err(|bad| io::Error::new(io::ErrorKind::InvalidData, bad.to_string()))
}

/// Runs all checks over all of the documentation, on all processors, by the rules of the repository.
pub fn check_all(files: &dyn Files, settings: &SiteSettings) -> io::Result<Report> {
    check_all_by(files, settings, &rules_of(files)?)
}

/// The same by other rules.
pub fn check_all_by(files: &dyn Files, settings: &SiteSettings, rules: &Rules) -> io::Result<Report> {
    look(files, settings, rules, None)
}

/// Checks everything; what is to be said of single pages is put into `reports`.
fn look(
    files: &dyn Files,
    settings: &SiteSettings,
    rules: &Rules,
    reports: Option<&Mutex<Vec<PageReport>>>,
) -> io::Result<Report> {
    let sites = Sites::find(files, settings)?;
    let mut paths = documentation(files, settings)?;
    paths.retain(|path| !rules.leaves_out(path));
    let context = Context::new(files, &sites);
    let pages: Vec<&String> = paths.iter().filter(|path| page::is_page(path)).collect();
    // First all pages are read, so that none is read twice for the sake of its anchors.
    in_parallel(&pages, |path, _| context.facts(path).map(|_| Vec::new()))?;
    let all: Vec<&String> = paths.iter().collect();
    let (mut findings, mut tally) = in_parallel(&all, |path, tally| {
        let mut own = Tally::default();
        let mut findings = page_check::findings(&context, path, &mut own)?;
        if page::is_page(path) {
            let facts = context.facts(path)?;
            findings.retain(|finding| facts.as_ref().is_none_or(|facts| !facts.suppressions.covers(finding)));
            if let Some(reports) = reports.filter(|_| !sites.is_navigation(path)) {
                let title = facts.and_then(|facts| facts.title.clone());
                let address = context.address(path, settings)?;
                let report = PageReport { path: path.to_owned(), title, address, not_judged: own.not_judged() };
                reports.lock().unwrap_or_else(PoisonError::into_inner).push(report);
            }
        }
        tally.join(own);
        Ok(findings)
    })?;
    findings.extend(nav_check::findings(&context, &mut tally)?);
    // Navigation files may be scripts, and may lie above the documentation.
    for (path, _) in sites.navigations().filter(|(path, _)| paths.binary_search_by(|it| it.as_str().cmp(path)).is_err())
    {
        findings.extend(page_check::text_findings(&context, path)?);
    }
    rules.apply(&mut findings);
    sort(&mut findings);
    let seen = Seen { pages: pages.len(), files: paths.len() };
    let idle = seen.idle(&tally).filter(|check| !rules.is_off(*check)).collect();
    Ok(Report { pages: pages.len(), findings, tally, idle })
}

/// What there was to look at.
pub(crate) struct Seen {
    pub(crate) pages: usize,
    pub(crate) files: usize,
}

impl Seen {
    /// What a check has judged.
    pub(crate) fn count(&self, check: Check, tally: &Tally) -> Count {
        match check {
            Check::Syntax | Check::FrontMatter | Check::CodeFences | Check::Suppressions => Count::of(self.pages),
            Check::Scope | Check::Secrets | Check::InvisibleCharacters | Check::Executable => Count::of(self.files),
            _ => tally.of(check).cloned().unwrap_or_default(),
        }
    }

    /// The checks that had nothing to judge, of those that run by themselves.
    pub(crate) fn idle<'a>(&'a self, tally: &'a Tally) -> impl Iterator<Item = Check> + 'a {
        let own = Check::ALL
            .into_iter()
            .filter(|check| !matches!(check, Check::Scope | Check::Executable | Check::ExternalLinks));
        own.filter(|check| {
            let count = self.count(*check, tally);
            count.judged == 0 && count.left() == 0
        })
    }
}

/// The files of the documentation that are looked at, sorted.
pub(crate) fn documentation(files: &dyn Files, settings: &SiteSettings) -> io::Result<Vec<String>> {
    let mut found = Vec::new();
    for folder in &settings.docs_paths {
        let folder = paths::plain_folder(folder);
        let mut files =
            if !folder.is_empty() && files.exists(&folder)? { vec![folder.clone()] } else { files.list(&folder)? };
        // Data in a folder of documentation belongs to it; in the rest of a repository it may be anything.
        let all_of_it = folder.is_empty();
        files.retain(|path| (page::is_page(path) || is_text(path) && !all_of_it) && !is_foreign(path));
        found.append(&mut files);
    }
    found.sort();
    found.dedup();
    Ok(found)
}

pub(crate) fn sort(findings: &mut [Finding]) {
    findings.sort_by(|a, b| {
        let key = |finding: &Finding| (finding.line, finding.column, finding.check);
        a.path.cmp(&b.path).then_with(|| key(a).cmp(&key(b))).then_with(|| a.subject.cmp(&b.subject))
    });
}

/// Does something for each path on all processors; the first error ends it.
fn in_parallel<W>(paths: &[&String], work: W) -> io::Result<(Vec<Finding>, Tally)>
where
    W: Fn(&str, &mut Tally) -> io::Result<Vec<Finding>> + Sync,
{
    let workers = std::thread::available_parallelism().map_or(1, usize::from).min(paths.len().div_ceil(16)).max(1);
    let next = AtomicUsize::new(0);
    let gathered = Mutex::new(Ok((Vec::new(), Tally::default())));
    let run = || {
        let (mut own, mut tally) = (Vec::new(), Tally::default());
        while let Some(path) = paths.get(next.fetch_add(1, Ordering::Relaxed)) {
            match work(path, &mut tally) {
                Ok(findings) => own.extend(findings),
                Err(error) => {
                    next.store(paths.len(), Ordering::Relaxed);
                    *gathered.lock().unwrap_or_else(PoisonError::into_inner) = Err(error);
                    return;
                }
            }
        }
        if let Ok(all) = gathered.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            all.0.append(&mut own);
            all.1.join(tally);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..workers {
            scope.spawn(run);
        }
        run();
    });
    gathered.into_inner().unwrap_or_else(PoisonError::into_inner)
}
