//! Where a link within the documentation leads.

use std::collections::HashSet;

use copydesk_checks::paths;

/// The parts of a link to a page, decoded.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Address {
    /// Empty for the page that the link is on.
    pub(crate) path: String,
    pub(crate) fragment: Option<String>,
}

impl Address {
    /// None for a link that leads out of the documentation, or that a template makes.
    pub(crate) fn of(target: &str) -> Option<Self> {
        let outside = target.starts_with("//") || target.contains([':', '{', '}', '<', '>', '\\']);
        if outside || target.is_empty() {
            return None;
        }
        let (path, fragment) = target.split_once('#').map_or((target, None), |(path, fragment)| (path, Some(fragment)));
        let path = path.split('?').next().unwrap_or_default();
        Some(Self { path: decoded(path)?, fragment: fragment.and_then(decoded) })
    }
}

/// Percent-encoding resolved; none if it is wrong.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits = [rest.next()?, rest.next()?];
            bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

/// The pages that a link can lead to.
pub(crate) struct Pages<'a> {
    all: HashSet<&'a str>,
    roots: Vec<&'a str>,
}

impl<'a> Pages<'a> {
    pub(crate) fn new(all: &'a [String], docs_paths: &'a [String]) -> Self {
        let mut roots: Vec<&str> = docs_paths.iter().map(String::as_str).collect();
        roots.push("");
        Self { all: all.iter().map(String::as_str).collect(), roots }
    }

    /// The page that a link on page `from` leads to.
    pub(crate) fn find(&self, from: &str, path: &str) -> Option<&'a str> {
        if path.is_empty() {
            return self.all.get(from).copied();
        }
        let stem = from.rsplit_once('.').map_or(from, |(stem, _)| stem);
        // Relative to the page, to the page as a folder, which is how some sites serve it, or to the site.
        let starts: Vec<&str> =
            if path.starts_with('/') { self.roots.clone() } else { vec![paths::folder(from), stem] };
        let bases = starts.into_iter().filter_map(|start| paths::normalise(start, path.trim_start_matches('/')));
        bases.flat_map(|base| files_of(&base)).find_map(|file| self.all.get(file.as_str()).copied())
    }
}

/// The files that may be meant by an address, the likeliest first.
fn files_of(base: &str) -> Vec<String> {
    let bare = [".mdx", ".md", ".markdown", ".html"].iter().find_map(|end| base.strip_suffix(end)).unwrap_or(base);
    let folder = if base.is_empty() { String::new() } else { format!("{base}/") };
    let mut files = vec![base.to_owned()];
    files.extend(["mdx", "md", "markdown"].map(|end| format!("{bare}.{end}")));
    files.extend(["index.mdx", "index.md", "README.md", "README.mdx"].map(|name| format!("{folder}{name}")));
    files
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn links_lead_to_pages() {
        let all = ["docs/a.md", "docs/b/index.mdx", "docs/b/c.mdx"].map(str::to_owned);
        let docs = ["docs".to_owned()];
        let pages = Pages::new(&all, &docs);
        for (from, path, wanted) in [
            ("docs/a.md", "", Some("docs/a.md")),
            ("docs/a.md", "b/c.mdx", Some("docs/b/c.mdx")),
            ("docs/b/c.mdx", "../a", Some("docs/a.md")),
            ("docs/b/c.mdx", "/b", Some("docs/b/index.mdx")),
            ("docs/b/c.mdx", "/docs/a.md", Some("docs/a.md")),
            ("docs/b/c.mdx", "./", Some("docs/b/index.mdx")),
            ("docs/a.md", "../../x", None),
            ("docs/a.md", "gone.md", None),
        ] {
            assert_eq!(pages.find(from, path), wanted, "{from} {path}");
        }
    }

    #[test]
    fn addresses_elsewhere_are_none() {
        for target in ["https://a.example/#b", "mailto:a@b.example", "//a.example", "{{ x }}#b", "", "a%zz"] {
            assert_eq!(Address::of(target), None, "{target}");
        }
        let address = Address { path: "a b.md".to_owned(), fragment: Some("ü".to_owned()) };
        assert_eq!(Address::of("a%20b.md?x=1#%C3%BC"), Some(address));
    }

    proptest! {
        #[test]
        fn no_address_makes_it_panic(from in "\\PC{0,12}", target in "\\PC{0,12}|[./%#a-f]{0,12}") {
            let pages = [from.clone()];
            if let Some(address) = Address::of(&target) {
                Pages::new(&pages, &[]).find(&from, &address.path);
            }
        }
    }
}
