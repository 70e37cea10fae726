//! Which parts of a script hold navigation, titles and redirects, and which files those are written in.

use std::collections::HashSet;

use copydesk_values::{Value, What};

use crate::paths;

/// How deep values are looked into.
const DEEPEST: usize = 64;

/// Whether a path is that of a script, by its ending.
pub(super) fn is_script(path: &str) -> bool {
    matches!(paths::extension(path).as_str(), "js" | "ts" | "mjs" | "mts" | "cjs" | "cts" | "jsx" | "tsx")
}

/// Whether a script says how the pages of its folder are called and ordered.
pub(super) fn is_meta(path: &str) -> bool {
    is_script(path) && paths::stem(paths::file_name(path)) == "_meta"
}

/// The parts of a configuration that hold navigation, titles and redirects.
pub(super) fn parts<'v>(config: &str, value: &'v Value) -> Vec<&'v Value> {
    let stem = paths::stem(paths::file_name(config));
    let mut found: Vec<&Value> = Vec::new();
    let mut take = |value: &'v Value, names: &[&[&str]]| {
        found.extend(names.iter().filter_map(|name| value.at(name)));
    };
    if is_meta(config) || stem.starts_with("sidebars") {
        found.push(value);
    } else if stem == "docusaurus.config" {
        take(
            value,
            &[&["title"], &["tagline"], &["themeConfig", "navbar", "items"], &["themeConfig", "footer", "links"]],
        );
        for plugin in value.get("plugins").map(Value::items).unwrap_or_default() {
            let name = plugin.items().first().and_then(Value::text).unwrap_or_default();
            if name.ends_with("plugin-client-redirects") || name == "client-redirects" {
                found.extend(plugin.items().get(1).and_then(|options| options.get("redirects")));
            }
        }
    } else if stem == "astro.config" {
        take(value, &[&["redirects"]]);
        for integration in value.get("integrations").map(Value::items).unwrap_or_default() {
            if integration.through.as_deref() == Some("@astrojs/starlight") {
                found.extend([integration.get("title"), integration.get("sidebar")].into_iter().flatten());
            }
        }
    } else if config.contains(".vitepress/") {
        let locales = value.get("locales").map(Value::entries).unwrap_or_default();
        for site in [value].into_iter().chain(locales.iter().map(|(_, locale)| locale)) {
            take(site, &[&["title"], &["description"], &["themeConfig", "nav"], &["themeConfig", "sidebar"]]);
        }
    }
    found
}

/// The files that the parts are written in.
pub(super) fn files(config: &str, value: &Value) -> HashSet<String> {
    let mut found = HashSet::from([config.to_owned()]);
    parts(config, value).into_iter().for_each(|part| files_of(part, 0, &mut found));
    found
}

fn files_of(value: &Value, depth: usize, found: &mut HashSet<String>) {
    found.extend(value.file.as_deref().map(str::to_owned));
    if depth < DEEPEST {
        inside(value).for_each(|inner| files_of(inner, depth + 1, found));
    }
}

pub(super) fn inside(value: &Value) -> impl Iterator<Item = &Value> {
    let perhaps = if let What::Unknown(unknown) = &value.what { unknown.perhaps.as_slice() } else { &[] };
    value.items().iter().chain(value.entries().iter().map(|(_, inner)| inner)).chain(perhaps)
}
