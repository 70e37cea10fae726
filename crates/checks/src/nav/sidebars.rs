//! Sidebars that are scripts: what is constant in them is read, nothing is run.

use copydesk_values::{Value, What, json, script};

use super::{Entry, NavKind, NavProblem, Navigation};
use crate::files::Alone;
use crate::paths;

/// Sidebars of Docusaurus. They name pages by ids, which pages may choose for themselves, so the entries are a reading
/// aid: an id without a file of its name need not be wrong.
pub(super) fn docusaurus(path: &str, text: &str) -> Option<Navigation> {
    let mut navigation = Navigation::new(NavKind::Docusaurus, &paths::join(paths::folder(path), "docs"));
    navigation.open = true;
    let document = if paths::extension(path) == "json" {
        json(text).map_err(|fault| {
            let message = format!("the file is not valid JSON: {}", fault.message);
            navigation.problems.push(NavProblem { message, at: fault.at });
        })
    } else {
        script(&Alone { path, text }, path).map_err(|_| ())
    };
    if let Ok(document) = document {
        let mut lists = 0;
        for (_, sidebar) in document.entries() {
            items(sidebar, &mut lists, &mut navigation);
        }
    }
    Some(navigation)
}

fn items(node: &Value, lists: &mut usize, navigation: &mut Navigation) {
    *lists += 1;
    let list = *lists;
    for item in node.items() {
        match &item.what {
            What::Scalar(id, _) => push(id, item, list, navigation),
            What::Map(_) => item_map(item, list, lists, navigation),
            _ => {}
        }
    }
}

fn item_map(item: &Value, list: usize, lists: &mut usize, navigation: &mut Navigation) {
    match item.get("type").and_then(Value::text) {
        Some("doc" | "ref") => {
            if let Some((id, node)) = item.get("id").and_then(|node| Some((node.text()?, node))) {
                push(id, node, list, navigation);
            }
        }
        Some("category") => {
            if let Some(link) = item.get("link") {
                item_map(link, list, lists, navigation);
            }
            if let Some(inner) = item.get("items") {
                items(inner, lists, navigation);
            }
        }
        Some(_) => {}
        // The short form: `{ Label: […] }`.
        None => item.entries().iter().for_each(|(_, inner)| items(inner, lists, navigation)),
    }
}

fn push(target: &str, node: &Value, list: usize, navigation: &mut Navigation) {
    if node.range.len() < 2 {
        return;
    }
    let range = node.range.start + 1..node.range.end - 1;
    navigation.entries.push(Entry { target: target.to_owned(), range, list });
}

/// The sidebar of VitePress: links by address.
pub(super) fn vitepress(path: &str, text: &str) -> Option<Navigation> {
    let root = paths::folder(paths::folder(path));
    let mut navigation = Navigation::new(NavKind::VitePress, root);
    let Ok(config) = script(&Alone { path, text }, path) else {
        navigation.open = true;
        return Some(navigation);
    };
    if let Some(source) = config.get("srcDir") {
        match source.text().and_then(|source| paths::normalise(root, source)) {
            Some(source) => navigation.root = source,
            None => navigation.open = true,
        }
    }
    let mut lists = 0;
    let locales = config.get("locales").map(Value::entries).unwrap_or_default().iter().map(|(_, locale)| locale);
    for settings in std::iter::once(&config).chain(locales) {
        if let Some(sidebar) = settings.at(&["themeConfig", "sidebar"]) {
            links(sidebar, "", &mut lists, &mut navigation);
        }
    }
    Some(navigation)
}

fn links(node: &Value, base: &str, lists: &mut usize, navigation: &mut Navigation) {
    *lists += 1;
    let list = *lists;
    let base = node.get("base").and_then(Value::text).unwrap_or(base);
    for item in node.items() {
        links(item, base, lists, navigation);
        let own = item.get("base").and_then(Value::text).unwrap_or(base);
        if let Some((target, link)) = item.get("link").and_then(|link| Some((link.text()?, link))) {
            let whole = if own.is_empty() { target.to_owned() } else { format!("{own}{target}") };
            if whole.starts_with('/') && !whole.starts_with("//") && !target.contains("://") {
                push(&whole, link, list, navigation);
            }
        }
    }
    for (_, value) in node.entries() {
        links(value, base, lists, navigation);
    }
}
