//! Pages that are written as HTML, as far as anchors in them go.

use std::collections::{BTreeSet, HashSet};

use crate::page::{Dialect, shortcodes};
use crate::paths;

/// The anchors of a page of HTML.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Anchors {
    pub(crate) ids: HashSet<String>,
    /// How those begin that shortcodes fill in.
    pub(crate) starts: Vec<String>,
    /// Whether templates may make any other.
    pub(crate) is_filled: bool,
}

pub(crate) fn is_html(path: &str) -> bool {
    matches!(paths::extension(path).as_str(), "html" | "htm")
}

/// Finds the anchors in a text.
pub(crate) fn anchors(text: &str, dialect: &Dialect) -> Anchors {
    let mut found = Anchors::default();
    for name in ["id=", "name="] {
        let mut before = "";
        for (number, part) in text.split(name).enumerate() {
            let is_attribute = number > 0 && before.ends_with(char::is_whitespace);
            before = part;
            let value = part.trim_start_matches(['"', '\'']);
            let end = value.find(['"', '\'', ' ', '>', '\n']).unwrap_or(value.len());
            found.ids.extend(is_attribute.then(|| value[..end].to_owned()));
        }
    }
    let names: BTreeSet<&str> = shortcodes(text).filter(|name| !name.starts_with('/')).collect();
    for name in names {
        match dialect.shortcode(name) {
            Some(shortcode) => {
                found.ids.extend(shortcode.ids.iter().cloned());
                found.starts.extend(shortcode.starts.iter().cloned());
            }
            None => found.is_filled = true,
        }
    }
    // Other templates may do anything.
    found.is_filled |= text.split("{{").skip(1).any(|template| !template.starts_with(['<', '%']));
    found.is_filled |= text.replace("{{%", "").contains("{%");
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::Shortcode;

    #[test]
    fn ids_of_html_are_found() {
        let shortcode = Shortcode { name: "note".to_owned(), ids: vec!["two".to_owned()], starts: Vec::new() };
        let dialect = Dialect { shortcodes: [shortcode].into(), ..Dialect::default() };
        for (text, ids, is_filled) in [
            ("<p id=\"one\">", vec!["one"], false),
            ("<p class='x' id='one'><a name=three>", vec!["one", "three"], false),
            ("<p data-id=\"one\">", vec![], false),
            ("{{< note >}}x{{< /note >}}", vec!["two"], false),
            ("{{% note %}}", vec!["two"], false),
            ("{{< other >}}", vec![], true),
            ("{{ page.x }}", vec![], true),
            ("{% include x %}", vec![], true),
        ] {
            let found = anchors(text, &dialect);
            let mut found_ids: Vec<&str> = found.ids.iter().map(String::as_str).collect();
            found_ids.sort_unstable();
            assert_eq!((found_ids, found.is_filled), (ids, is_filled), "{text}");
        }
    }
}
