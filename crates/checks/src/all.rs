//! All checks over all of the documentation.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::context::Context;
use crate::site::{SiteSettings, Sites, is_foreign, is_text};
use crate::{Files, Finding, nav_check, page, page_check, paths};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// How many pages were looked at.
    pub pages: usize,
    /// What is wrong, by path and place.
    pub findings: Vec<Finding>,
}

/// Runs all checks over all of the documentation, on all processors.
pub fn check_all(files: &dyn Files, settings: &SiteSettings) -> io::Result<Report> {
    let sites = Sites::find(files, settings)?;
    let paths = documentation(files, settings)?;
    let context = Context::new(files, &sites);
    let pages: Vec<&String> = paths.iter().filter(|path| page::is_page(path)).collect();
    // First all pages are read, so that none is read twice for the sake of its anchors.
    in_parallel(&pages, |path| context.facts(path).map(|_| Vec::new()))?;
    let all: Vec<&String> = paths.iter().collect();
    let mut findings = in_parallel(&all, |path| page_check::findings(&context, path))?;
    findings.extend(nav_check::findings(&context)?);
    // Navigation files may be scripts, and may lie above the documentation.
    for (path, _) in sites.navigations().filter(|(path, _)| paths.binary_search_by(|it| it.as_str().cmp(path)).is_err())
    {
        findings.extend(page_check::text_findings(&context, path)?);
    }
    sort(&mut findings);
    Ok(Report { pages: pages.len(), findings })
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
fn in_parallel<W>(paths: &[&String], work: W) -> io::Result<Vec<Finding>>
where
    W: Fn(&str) -> io::Result<Vec<Finding>> + Sync,
{
    let workers = std::thread::available_parallelism().map_or(1, usize::from).min(paths.len().div_ceil(16)).max(1);
    let next = AtomicUsize::new(0);
    let gathered = Mutex::new(Ok(Vec::new()));
    let run = || {
        let mut own = Vec::new();
        while let Some(path) = paths.get(next.fetch_add(1, Ordering::Relaxed)) {
            match work(path) {
                Ok(findings) => own.extend(findings),
                Err(error) => {
                    next.store(paths.len(), Ordering::Relaxed);
                    *gathered.lock().unwrap_or_else(PoisonError::into_inner) = Err(error);
                    return;
                }
            }
        }
        if let Ok(all) = gathered.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            all.append(&mut own);
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
