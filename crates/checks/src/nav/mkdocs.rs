use copydesk_values::{Value, What, yaml};

use super::{Entry, NavKind, NavProblem, Navigation};
use crate::paths;

pub(super) fn read(path: &str, text: &str) -> Option<Navigation> {
    let folder = paths::folder(path);
    let mut navigation = Navigation::new(NavKind::MkDocs, folder);
    let document = match yaml(text) {
        Ok(document) => document?,
        Err(fault) => {
            navigation.root = paths::join(folder, "docs");
            navigation.open = true;
            let message = format!("the file is not valid YAML: {}", fault.message);
            navigation.problems.push(NavProblem { message, at: fault.at });
            return Some(navigation);
        }
    };
    let docs_dir = document.get("docs_dir").and_then(Value::text).unwrap_or("docs");
    match paths::normalise(folder, docs_dir) {
        Some(root) if !docs_dir.starts_with('/') => navigation.root = root,
        _ => navigation.open = true,
    }
    if let Some(nav) = document.get("nav") {
        let mut lists = 0;
        list(nav, &mut lists, text, &mut navigation);
    }
    Some(navigation)
}

fn list(node: &Value, lists: &mut usize, text: &str, navigation: &mut Navigation) {
    *lists += 1;
    let number = *lists;
    for item in node.items() {
        match &item.what {
            What::Scalar(target, _) => entry(target, item, number, text, navigation),
            What::Map(map) => {
                for (_, value) in &map.entries {
                    match &value.what {
                        What::Scalar(target, _) => entry(target, value, number, text, navigation),
                        _ => list(value, lists, text, navigation),
                    }
                }
            }
            _ => {}
        }
    }
}

fn entry(target: &str, node: &Value, list: usize, text: &str, navigation: &mut Navigation) {
    let is_file = crate::page::is_page(target) && !target.contains("://") && !target.contains(['*', '{']);
    let written = &text[node.range.clone()];
    // Quotes are not part of it; what is written with escapes or over several lines is left alone.
    if let Some(offset) = written.find(target).filter(|_| is_file) {
        let start = node.range.start + offset;
        navigation.entries.push(Entry { target: target.to_owned(), range: start..start + target.len(), list });
    }
}
