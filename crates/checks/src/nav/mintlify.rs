use copydesk_values::{Kind, Value, What, json};

use super::{Entry, NavKind, NavProblem, Navigation, Redirect};
use crate::paths;

/// Where pages made from an API description go when nothing else is said.
const GENERATED: &str = "api-reference";

pub(super) fn read(path: &str, text: &str) -> Option<Navigation> {
    let mut navigation = Navigation::new(NavKind::Mintlify, paths::folder(path));
    let document = match json(text) {
        Ok(document) => document,
        // Other tools have files of this name.
        Err(_) if !text.contains("\"navigation\"") => return None,
        Err(fault) => {
            let message = format!("the file is not valid JSON: {}", fault.message);
            navigation.problems.push(NavProblem { message, at: fault.at });
            navigation.open = true;
            return Some(navigation);
        }
    };
    let listed = document.get("navigation").filter(|node| matches!(node.what, What::Map(_) | What::List(_)))?;
    let mut walk = Walk { navigation: &mut navigation, lists: 0 };
    walk.group(listed);
    walk.generators(&document);
    for redirect in document.get("redirects").map(Value::items).unwrap_or_default() {
        let (Some(source), Some(destination)) = (redirect.get("source"), redirect.get("destination")) else { continue };
        if let (Some(from), Some(to)) = (source.text(), destination.text()) {
            let range = source.range.start + 1..source.range.end - 1;
            navigation.redirects.push(Redirect { source: from.to_owned(), destination: to.to_owned(), range });
        }
    }
    Some(navigation)
}

struct Walk<'a> {
    navigation: &'a mut Navigation,
    lists: usize,
}

impl Walk<'_> {
    /// A group, tab, version or list of such: whatever it is, pages are in lists called `pages`.
    fn group(&mut self, node: &Value) {
        for item in node.items() {
            self.group(item);
        }
        for (key, value) in node.entries() {
            match key.name.as_str() {
                "pages" => self.pages(value),
                "root" => {
                    self.lists += 1;
                    self.page(value, self.lists);
                }
                "$ref" => self.navigation.open = true,
                _ => self.group(value),
            }
        }
    }

    fn pages(&mut self, node: &Value) {
        self.lists += 1;
        let list = self.lists;
        for item in node.items() {
            match item.what {
                What::Scalar(_, Kind::Text) => self.page(item, list),
                _ => self.group(item),
            }
        }
    }

    fn page(&mut self, node: &Value, list: usize) {
        let Some(target) = node.text().filter(|target| is_page(target)) else { return };
        let range = node.range.start + 1..node.range.end - 1;
        self.navigation.entries.push(Entry { target: target.to_owned(), range, list });
    }

    /// API descriptions from which pages are made.
    fn generators(&mut self, node: &Value) {
        for item in node.items() {
            self.generators(item);
        }
        for (key, value) in node.entries() {
            if matches!(key.name.as_str(), "openapi" | "asyncapi") {
                let folder = value.get("directory").and_then(Value::text).unwrap_or(GENERATED).trim_matches('/');
                for folder in [folder, GENERATED] {
                    if !self.navigation.generated.iter().any(|known| known == folder) {
                        self.navigation.generated.push(folder.to_owned());
                    }
                }
            }
            self.generators(value);
        }
    }
}

/// `GET /users` is an operation, and an address with a scheme is elsewhere.
fn is_page(target: &str) -> bool {
    !target.is_empty() && !target.contains(char::is_whitespace) && !target.contains("://")
}
