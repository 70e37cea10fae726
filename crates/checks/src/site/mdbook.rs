//! mdBook: the pages are those that `SUMMARY.md` lists; links go by file, and `.md` becomes `.html`.

use std::collections::BTreeSet;

use copydesk_values::Value;

use super::generator::{Asked, Front, Generator, Place, Reason, Rule, Way};
use super::ways::{self, bare};
use crate::page::{Dialect, IdRule, LinkKind, Snippets};
use crate::paths;

#[derive(Debug)]
pub(crate) struct MdBook {
    source: String,
    /// The pages that the summary lists; none if all are pages.
    chapters: Option<BTreeSet<String>>,
    /// The first of them, which is also the page of the book itself.
    first: Option<String>,
    /// The path that the book is served below; none if it is not said.
    base: Option<String>,
    /// A program that reads the pages before the book does, other than those that are known to leave links alone.
    preprocessor: Option<String>,
    redirects: Vec<Rule>,
    /// The places in pages that are redirected.
    fragments: BTreeSet<String>,
}

/// Preprocessors that make no links and no ids.
const LEAVE_LINKS: [&str; 12] = [
    "links",
    "index",
    "admonish",
    "mermaid",
    "katex",
    "toc",
    "alerts",
    "pagetoc",
    "quiz",
    "emojicodes",
    "gettext",
    "tabs",
];

/// A book from its configuration, if there is any, and the files that its summary lists, in order.
pub(crate) fn site(folder: &str, config: Option<&Value>, source: &str, chapters: Option<Vec<String>>) -> MdBook {
    let html = config.and_then(|config| config.at(&["output", "html"]));
    let redirects = html.and_then(|html| html.get("redirect")).map(Value::entries).unwrap_or_default();
    let rule = |(key, value): &(copydesk_values::Key, Value)| Rule {
        source: key.name.trim_start_matches("./").to_owned(),
        destination: from(&key.name, value.text().unwrap_or_default()),
        place: Some(Place { file: Some(paths::join(folder, "book.toml").into()), at: value.range.start }),
    };
    let base = html.and_then(|html| html.get("site-url")).and_then(Value::text);
    let preprocessors = config.and_then(|config| config.get("preprocessor")).map(Value::entries).unwrap_or_default();
    let mut preprocessors = preprocessors.iter().map(|(key, _)| key.name.as_str());
    MdBook {
        source: paths::join(folder, source),
        chapters: chapters.as_ref().map(|chapters| chapters.iter().cloned().collect()),
        first: chapters.and_then(|chapters| chapters.into_iter().next()),
        base: base.map(|base| base.trim_matches('/').to_owned()),
        preprocessor: preprocessors.find(|name| !LEAVE_LINKS.contains(name)).map(str::to_owned),
        redirects: redirects.iter().map(rule).collect(),
        fragments: redirects
            .iter()
            .filter_map(|(key, _)| key.name.split_once('#'))
            .map(|(_, it)| it.to_owned())
            .collect(),
    }
}

impl Generator for MdBook {
    fn name(&self) -> &'static str {
        "mdBook"
    }

    fn root(&self) -> &str {
        &self.source
    }

    fn folders(&self) -> Vec<&str> {
        vec![&self.source]
    }

    fn is_page(&self, path: &str) -> bool {
        match &self.chapters {
            Some(chapters) => chapters.contains(path),
            None => crate::page::is_page(path) && paths::is_below(path, &self.source),
        }
    }

    fn addresses(&self, path: &str, _front: &Front) -> Vec<String> {
        let Some(below) = paths::below(path, &self.source) else { return Vec::new() };
        let (bare, is_index) = bare(below, &["README", "index"]);
        let mut addresses = vec![if is_index { paths::join(bare, "index.html") } else { format!("{bare}.html") }];
        if is_index {
            addresses.push(bare.to_owned());
        }
        if self.first.as_deref() == Some(path) {
            addresses.extend(["index.html".to_owned(), String::new()]);
        }
        addresses
    }

    fn ways(&self, asked: &Asked<'_>) -> Vec<Way> {
        if asked.kind == LinkKind::Snippet {
            let path = paths::normalise(paths::folder(asked.page), asked.path);
            return vec![path.map_or_else(|| Way::Untold(ways::outside()), Way::File)];
        }
        let path = match asked.path.strip_prefix('/') {
            Some(rooted) => match paths::below(rooted, self.base.as_deref().unwrap_or_default()) {
                Some(below) => paths::normalise("", below),
                None => return vec![Way::Elsewhere],
            },
            None => {
                let below = paths::below(asked.page, &self.source).unwrap_or_default();
                paths::normalise(paths::folder(below), asked.path)
            }
        };
        let Some(path) = path else {
            // Books are often parts of larger sites, to which their links go as to other hosts.
            let is_page = crate::page::is_page(asked.path);
            return vec![if is_page { Way::Untold(ways::outside()) } else { Way::Elsewhere }];
        };
        let file = paths::join(&self.source, &path);
        if crate::page::is_page(&path) {
            // A page called so becomes the index of its folder, but links to it are not changed with it.
            let is_readme = paths::stem(&path).eq_ignore_ascii_case("readme") && self.chapters.is_some();
            return vec![if is_readme { Way::Address(path) } else { Way::Page(file) }];
        }
        if matches!(path.as_str(), "print.html" | "toc.html") {
            return vec![Way::Package];
        }
        let mut found = vec![Way::Address(path)];
        // Without a configuration it is read by GitBook, to which a slash is the folder of the book.
        let is_file = self.chapters.is_none() && asked.kind == LinkKind::Image;
        if self.base.is_none() && asked.path.starts_with('/') && !is_file {
            found.push(Way::Untold(Reason::new("the book does not say (`site-url`) where it is served")));
        }
        let is_name = !asked.path.contains('/') && !asked.path.ends_with(".html");
        if let Some(name) = self.preprocessor.as_ref().filter(|_| is_name && asked.kind == LinkKind::Page) {
            found.push(Way::Untold(Reason::new(format!("the preprocessor `{name}` may read it"))));
        }
        if self.chapters.is_none() && asked.path.ends_with(".html") {
            found.push(Way::Untold(Reason::new("the book has no `book.toml` that says what is made of it")));
        }
        found
    }

    fn files_at(&self, address: &str) -> Vec<String> {
        let file = paths::join(&self.source, address);
        if crate::page::is_page(&file) { Vec::new() } else { vec![file] }
    }

    fn untold_anchor(&self, fragment: &str) -> Option<Reason> {
        if self.fragments.contains(fragment) {
            return Some(Reason::new("the book redirects it"));
        }
        let name = self.preprocessor.as_ref()?;
        let is_heading = fragment.chars().all(|c| c.is_alphanumeric() && !c.is_uppercase() || matches!(c, '-' | '_'));
        (!is_heading).then(|| Reason::new(format!("the preprocessor `{name}` may make it")))
    }

    fn is_guessed(&self) -> bool {
        self.chapters.is_none()
    }

    fn redirects(&self) -> &[Rule] {
        &self.redirects
    }

    fn dialect(&self) -> Dialect {
        let ids = if self.chapters.is_some() { IdRule::MdBook } else { IdRule::GitBook };
        Dialect { ids, snippets: Snippets::MdBook, ..Dialect::default() }
    }
}

/// Where a redirect leads: what does not begin with a slash is meant from the page that is left.
fn from(source: &str, destination: &str) -> String {
    let (path, part) = destination.split_at(destination.find(['#', '?']).unwrap_or(destination.len()));
    let is_relative = !path.is_empty() && !path.starts_with('/') && !path.contains("://");
    match paths::normalise(paths::folder(source.trim_start_matches('/')), path).filter(|_| is_relative) {
        Some(path) => format!("/{path}{part}"),
        None => destination.to_owned(),
    }
}
