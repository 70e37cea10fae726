//! Sidebars that are scripts: their literals are read, nothing is run.

use super::{Entry, NavKind, NavProblem, Navigation};
use crate::literal::{self, Node, Value};
use crate::paths;

/// Sidebars of Docusaurus. They name pages by ids, which pages may choose for themselves, so the entries are a reading
/// aid: an id without a file of its name need not be wrong.
pub(super) fn docusaurus(path: &str, text: &str) -> Option<Navigation> {
    let mut navigation = Navigation::new(NavKind::Docusaurus, &paths::join(paths::folder(path), "docs"));
    navigation.open = true;
    let document = if paths::extension(path) == "json" {
        match literal::json(text) {
            Ok(document) => Some(document),
            Err(fault) => {
                let message = format!("the file is not valid JSON: {}", fault.message);
                navigation.problems.push(NavProblem { message, at: fault.at });
                None
            }
        }
    } else {
        exported(text)
    };
    if let Some(document) = document {
        let mut lists = 0;
        for (_, sidebar) in document.fields() {
            items(sidebar, &mut lists, &mut navigation);
        }
    }
    Some(navigation)
}

/// The object that a script of sidebars is about: the first one that something is set to.
fn exported(text: &str) -> Option<Node> {
    let marks = ["sidebars", "module.exports", "export default"];
    marks.iter().find_map(|mark| {
        let at = text.find(mark)?;
        let brace = at + text[at..].find(['{', ';'])?;
        let node = literal::script(text, brace)?;
        matches!(node.value, Value::Object(_)).then_some(node)
    })
}

fn items(node: &Node, lists: &mut usize, navigation: &mut Navigation) {
    *lists += 1;
    let list = *lists;
    for item in node.items() {
        match &item.value {
            Value::Text(id) => push(id, item, list, navigation),
            Value::Object(_) => item_object(item, list, lists, navigation),
            _ => {}
        }
    }
}

fn item_object(item: &Node, list: usize, lists: &mut usize, navigation: &mut Navigation) {
    let kind = item.get("type").and_then(Node::text);
    match kind {
        Some("doc" | "ref") => {
            if let Some((id, node)) = item.get("id").and_then(|node| Some((node.text()?, node))) {
                push(id, node, list, navigation);
            }
        }
        Some("category") => {
            if let Some(link) = item.get("link") {
                item_object(link, list, lists, navigation);
            }
            if let Some(inner) = item.get("items") {
                items(inner, lists, navigation);
            }
        }
        Some(_) => {}
        // The short form: `{ Label: […] }`.
        None => item.fields().iter().for_each(|(_, inner)| items(inner, lists, navigation)),
    }
}

fn push(target: &str, node: &Node, list: usize, navigation: &mut Navigation) {
    let range = node.range.start + 1..node.range.end - 1;
    navigation.entries.push(Entry { target: target.to_owned(), range, list });
}

/// The sidebar of VitePress: links by address.
pub(super) fn vitepress(path: &str, text: &str) -> Option<Navigation> {
    let root = paths::folder(paths::folder(path));
    let mut navigation = Navigation::new(NavKind::VitePress, root);
    let elsewhere = ["rewrites", "srcDir", "srcExclude", "base:", "createContentLoader", "generateSidebar"];
    navigation.open = elsewhere.iter().any(|word| text.contains(word));
    let mut from = 0;
    let mut lists = 0;
    while let Some(at) = text[from..].find("sidebar:") {
        let start = from + at + "sidebar:".len();
        from = start;
        if let Some(node) = literal::script(text, start) {
            links(&node, &mut lists, &mut navigation);
            from = node.range.end.max(start);
        }
    }
    Some(navigation)
}

fn links(node: &Node, lists: &mut usize, navigation: &mut Navigation) {
    *lists += 1;
    let list = *lists;
    for item in node.items() {
        links(item, lists, navigation);
        if let Some((target, link)) = item.get("link").and_then(|link| Some((link.text()?, link)))
            && target.starts_with('/')
            && !target.starts_with("//")
        {
            push(target, link, list, navigation);
        }
    }
    for (_, value) in node.fields() {
        links(value, lists, navigation);
    }
}
