//! What a site is, in a few facts, for whoever is to edit it.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use crate::files::text_of;
use crate::page::is_page;
use crate::{Files, SiteSettings, Sites, paths};

/// What is worth knowing of a site before a word of it is changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SiteFacts {
    /// What it is made with, as people call it.
    pub generator: &'static str,
    /// The file by which it was found.
    pub config: String,
    /// The folders that its pages are in; empty for the repository itself.
    pub folders: Vec<String>,
    pub pages: usize,
    /// The file that lists its pages, if there is one that can be read.
    pub navigation: Option<String>,
    /// The files that its redirects are in.
    pub redirects: Vec<String>,
    /// Where pages are there in several languages: a folder, and the languages below it or in its names.
    pub languages: Vec<(String, Vec<String>)>,
}

impl SiteFacts {
    /// The sites of a repository that have to do with what is asked about and have pages, the largest first: repositories
    /// also hold sites that are examples or made for tests.
    pub fn find(files: &dyn Files, settings: &SiteSettings) -> io::Result<Vec<Self>> {
        let sites = Sites::find(files, settings)?;
        let all: Vec<String> = files.list("")?.into_iter().filter(|path| is_page(path)).collect();
        let facts = sites.asked_for().map(|site| {
            let pages: Vec<&str> = all.iter().map(String::as_str).filter(|path| site.generator.is_page(path)).collect();
            let is_within = |path: &&str| paths::is_below(path, site.generator.root());
            let rules = site.generator.redirects().iter().filter_map(|rule| rule.place.as_ref());
            let redirects: BTreeSet<&str> = rules.map(|place| place.file.as_deref().unwrap_or(&site.config)).collect();
            Self {
                generator: site.generator.name(),
                config: site.config.clone(),
                folders: folders(site.generator.folders(), &pages),
                pages: pages.len(),
                navigation: site
                    .navigation
                    .as_ref()
                    .map(|(path, _)| path.clone())
                    .or_else(|| sidebar(files, &site.config)),
                redirects: redirects.into_iter().map(str::to_owned).collect(),
                languages: languages(&pages, all.iter().map(String::as_str).filter(|path| is_within(path))),
            }
        });
        let mut facts: Vec<Self> = facts.filter(|site| site.pages > 0).collect();
        facts.sort_by_key(|site| std::cmp::Reverse(site.pages));
        Ok(facts)
    }
}

/// The configuration itself, if it has a sidebar: as Starlight has it.
fn sidebar(files: &dyn Files, config: &str) -> Option<String> {
    let is_astro = paths::stem(config) == "astro.config";
    let text = is_astro.then(|| text_of(files, config)).flatten()?;
    text.contains("sidebar").then(|| config.to_owned())
}

/// Those of the folders in which there are pages.
fn folders(all: Vec<&str>, pages: &[&str]) -> Vec<String> {
    let has_pages = |folder: &&str| pages.iter().any(|page| paths::is_below(page, folder));
    all.into_iter().filter(has_pages).map(str::to_owned).collect()
}

/// Folders with translations lie beside each other, below `i18n`, or the language is the second ending of a name.
fn languages<'a>(pages: &[&'a str], all: impl Iterator<Item = &'a str>) -> Vec<(String, Vec<String>)> {
    // By folder, and whether files are called after languages there, or folders.
    let mut found: BTreeMap<(&str, bool), BTreeSet<&str>> = BTreeMap::new();
    let known: BTreeSet<&str> = pages.iter().copied().collect();
    // Translations of some generators are no pages of their own.
    for path in all.filter(|path| known.contains(path) || path.contains("i18n/")) {
        let mut start = 0;
        for part in path.split('/') {
            let (above, end) = (path[..start].trim_end_matches('/'), start + part.len());
            if end < path.len() && is_language(part) {
                found.entry((above, false)).or_default().insert(part);
                break;
            }
            start = end + 1;
        }
        if let Some((stem, language)) = paths::stem(path).rsplit_once('.')
            && is_language(language)
            && known.contains(paths::join(paths::folder(path), &format!("{stem}.{}", paths::extension(path))).as_str())
        {
            found.entry((paths::folder(path), true)).or_default().insert(language);
        }
    }
    // One alone is the name of something else, unless the folder is for translations.
    found.retain(|(above, _), languages| languages.len() > 1 || paths::file_name(above) == "i18n");
    let list = |languages: BTreeSet<&str>| languages.into_iter().map(str::to_owned).collect();
    found.into_iter().map(|((above, _), languages)| (above.to_owned(), list(languages))).collect()
}

/// A language as folders and files are called after it: `de`, `pt-BR`, `zh_Hans`.
fn is_language(name: &str) -> bool {
    const LANGUAGES: [&str; 60] = [
        "ar", "az", "be", "bg", "bn", "bs", "ca", "cs", "da", "de", "el", "en", "es", "et", "eu", "fa", "fi", "fr",
        "gl", "he", "hi", "hr", "hu", "hy", "id", "is", "it", "ja", "ka", "kk", "km", "ko", "lt", "lv", "mk", "mn",
        "ms", "my", "nb", "ne", "nl", "no", "pl", "pt", "ro", "ru", "si", "sk", "sl", "sq", "sr", "sv", "ta", "te",
        "th", "tr", "uk", "uz", "vi", "zh",
    ];
    let (language, region) = match name.split_once(['-', '_']) {
        Some((language, region)) => (language, Some(region)),
        None => (name, None),
    };
    let is_region = |region: &str| {
        let has_length = matches!(region.len(), 2 | 4) && region.bytes().all(|byte| byte.is_ascii_alphabetic());
        has_length || region.len() == 3 && region.bytes().all(|byte| byte.is_ascii_digit())
    };
    LANGUAGES.contains(&language) && region.is_none_or(is_region)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap as Map;

    use super::*;

    struct Memory(Map<String, String>);

    impl Files for Memory {
        fn read(&self, path: &str) -> io::Result<Option<Vec<u8>>> {
            Ok(self.0.get(path).map(|text| text.clone().into_bytes()))
        }

        fn exists(&self, path: &str) -> io::Result<bool> {
            Ok(self.0.contains_key(path))
        }

        fn list(&self, folder: &str) -> io::Result<Vec<String>> {
            Ok(self.0.keys().filter(|path| paths::is_below(path, folder)).cloned().collect())
        }
    }

    fn facts(files: &[(&str, &str)]) -> Vec<SiteFacts> {
        let files = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        SiteFacts::find(&Memory(files), &SiteSettings::default()).unwrap()
    }

    #[test]
    fn what_a_site_is_made_with_and_where_things_are() {
        let found = facts(&[
            (
                "mkdocs.yml",
                "site_name: x\nnav:\n  - Home: index.md\nplugins:\n  - redirects:\n      redirect_maps:\n        old.md: index.md\n",
            ),
            ("docs/index.md", "# Home\n"),
            ("docs/index.de.md", "# Start\n"),
            ("docs/index.pt-BR.md", "# Início\n"),
            ("docs/is/it.md", "# A folder is not a language because of its name\n"),
        ]);
        let [site] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((site.generator, site.pages), ("MkDocs", 4));
        assert_eq!((site.config.as_str(), site.navigation.as_deref()), ("mkdocs.yml", Some("mkdocs.yml")));
        assert_eq!(
            (site.folders.as_slice(), site.redirects.as_slice()),
            (&["docs".to_owned()][..], &["mkdocs.yml".to_owned()][..])
        );
        assert_eq!(site.languages, [("docs".to_owned(), vec!["de".to_owned(), "pt-BR".to_owned()])]);
    }

    #[test]
    fn the_site_itself_comes_before_its_examples_and_what_has_no_pages_is_none() {
        let found = facts(&[
            ("examples/a/mkdocs.yml", "site_name: a\n"),
            ("examples/a/docs/index.md", "# A\n"),
            ("examples/empty/mkdocs.yml", "site_name: empty\n"),
            ("website/mkdocs.yml", "site_name: w\n"),
            ("website/docs/index.md", "# W\n"),
            ("website/docs/more.md", "# M\n"),
        ]);
        let configs: Vec<&str> = found.iter().map(|site| site.config.as_str()).collect();
        assert_eq!(configs, ["website/mkdocs.yml", "examples/a/mkdocs.yml"]);
    }

    #[test]
    fn languages_lie_beside_each_other() {
        let pages = ["docs/en/a.md", "docs/de/a.md", "docs/zh_Hans/a.md", "docs/en/no/b.md", "notes/it/x.md"];
        let beside = languages(&pages, pages.into_iter());
        assert_eq!(beside, [("docs".to_owned(), ["de", "en", "zh_Hans"].map(str::to_owned).to_vec())]);
        let i18n = languages(&["docs/a.md"], ["docs/a.md", "i18n/fr/docs/a.md"].into_iter());
        assert_eq!(i18n, [("i18n".to_owned(), vec!["fr".to_owned()])]);
        assert!(!is_language("guide") && !is_language("en-") && !is_language("v1-x") && is_language("es-419"));
    }
}
