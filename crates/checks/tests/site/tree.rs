use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

use copydesk_checks::{Check, Files, Finding, SiteSettings, check_all};

/// Files in memory that count how often they are asked for something.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    pub(crate) files: BTreeMap<String, String>,
    pub(crate) reads: AtomicUsize,
    pub(crate) lists: AtomicUsize,
}

impl Clone for Tree {
    fn clone(&self) -> Self {
        Self { files: self.files.clone(), ..Self::default() }
    }
}

impl Tree {
    pub(crate) fn of<const N: usize>(files: [(&str, &str); N]) -> Self {
        let files = files.into_iter().map(|(path, text)| (path.to_owned(), text.to_owned())).collect();
        Self { files, ..Self::default() }
    }

    pub(crate) fn with(mut self, path: &str, text: &str) -> Self {
        self.files.insert(path.to_owned(), text.to_owned());
        self
    }

    pub(crate) fn without(mut self, path: &str) -> Self {
        assert!(self.files.remove(path).is_some(), "{path}");
        self
    }
}

impl Files for Tree {
    fn read(&self, path: &str) -> io::Result<Option<Vec<u8>>> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        Ok(self.files.get(path).map(|text| text.clone().into_bytes()))
    }

    fn exists(&self, path: &str) -> io::Result<bool> {
        Ok(self.files.contains_key(path))
    }

    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        self.lists.fetch_add(1, Ordering::Relaxed);
        let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        Ok(self.files.keys().filter(|path| path.starts_with(&prefix)).cloned().collect())
    }
}

/// All findings of a tree, as check, path and subject.
pub(crate) fn found(tree: &Tree) -> Vec<(Check, String, String)> {
    briefly(&check_all(tree, &SiteSettings::default()).expect("files in memory").findings)
}

pub(crate) fn briefly(findings: &[Finding]) -> Vec<(Check, String, String)> {
    findings.iter().map(|finding| (finding.check, finding.path.clone(), finding.subject.clone())).collect()
}

/// The subjects of the findings of one check.
pub(crate) fn subjects(tree: &Tree, check: Check) -> Vec<String> {
    found(tree).into_iter().filter(|found| found.0 == check).map(|found| found.2).collect()
}

/// What a Mintlify site with these pages in its navigation has for its file.
pub(crate) fn docs_json(pages: &[&str]) -> String {
    let pages: Vec<String> = pages.iter().map(|page| format!("{page:?}")).collect();
    format!(r#"{{"navigation": {{"groups": [{{"group": "G", "pages": [{}]}}]}}}}"#, pages.join(", "))
}
