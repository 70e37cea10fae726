//! What a change may alter in a file of settings: navigation, titles and redirects, compared as values, not as text. What
//! cannot be read may not be written.

use std::collections::HashSet;

use copydesk_values::{Fault, Key, Map, Value, What, json, toml, yaml};

use super::ground::{Ground, is_description};
use crate::executable::is_live;
use crate::paths;

/// Keys of `mkdocs.yml` that hold navigation and titles.
const MKDOCS: [&str; 5] = ["nav", "not_in_nav", "site_name", "site_description", "copyright"];
/// Keys of Mintlify's file that hold navigation, titles and redirects.
const MINTLIFY: [&str; 11] = [
    "navigation",
    "redirects",
    "name",
    "description",
    "tabs",
    "anchors",
    "versions",
    "topbarLinks",
    "topbarCtaButton",
    "navbar",
    "footer",
];
/// The same where `$ref` puts them.
const REFERENCE: [&str; 38] = [
    "navigation",
    "redirects",
    "name",
    "description",
    "tabs",
    "anchors",
    "versions",
    "topbarLinks",
    "navbar",
    "footer",
    "groups",
    "group",
    "pages",
    "tab",
    "anchor",
    "version",
    "languages",
    "language",
    "dropdowns",
    "dropdown",
    "products",
    "product",
    "global",
    "icon",
    "iconType",
    "href",
    "hidden",
    "root",
    "expanded",
    "tag",
    "color",
    "default",
    "links",
    "menu",
    "item",
    "openapi",
    "asyncapi",
    "directory",
];
/// Of Docusaurus for a folder.
const CATEGORY: [&str; 9] =
    ["label", "position", "collapsible", "collapsed", "className", "link", "customProps", "key", "description"];
/// Of Fumadocs for a folder.
const META: [&str; 9] =
    ["title", "description", "pages", "icon", "root", "defaultOpen", "collapsible", "$schema", "pagesIndex"];
/// Of the plugins of MkDocs that order pages.
const PAGES: [&str; 17] = [
    "title",
    "nav",
    "arrange",
    "order",
    "sort_type",
    "order_by",
    "collapse",
    "collapse_single_pages",
    "hide",
    "sort",
    "flatten_single_child_sections",
    "preserve_directory_names",
    "append_unmatched",
    "ignore",
    "ignore_no_matches",
    "icon",
    "status",
];
/// Of Sphinx and Jupyter Book.
const CONTENTS: [&str; 9] =
    ["format", "root", "parts", "chapters", "sections", "subtrees", "entries", "options", "defaults"];
/// Of Jekyll and its themes.
const JEKYLL: [&str; 10] = [
    "title",
    "tagline",
    "description",
    "header_pages",
    "nav",
    "navigation",
    "aux_links",
    "nav_external_links",
    "footer_content",
    "navbar-links",
];
const HUGO: [&str; 4] = ["title", "menu", "menus", "copyright"];

/// What may differ in a file of settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The configuration of a site: these keys.
    Site(&'static [&'static str]),
    /// The same, with the redirects that a plugin holds.
    MkDocs,
    /// The same, with the redirects of its pages.
    Book,
    /// The order and titles of a folder, or of a part of the navigation: these keys.
    Folder(&'static [&'static str]),
    /// All of it: it is nothing but navigation, or data that the site shows.
    Free,
    /// All of it, as long as it describes an interface.
    Description,
    /// Lines of addresses.
    Redirects,
}

impl Kind {
    /// Whether it stands at the top of a site.
    pub(crate) fn is_of_site(self) -> bool {
        matches!(self, Self::Site(_) | Self::MkDocs | Self::Book)
    }
}

/// The kind of settings that a file holds; none if it holds none of which anything may be changed.
pub(crate) fn kind_of(path: &str, ground: &Ground) -> Option<Kind> {
    let name = paths::file_name(path);
    let is_yaml = matches!(paths::extension(name).as_str(), "yml" | "yaml");
    let stem = paths::stem(name);
    Some(match name {
        "docs.json" | "mint.json" => Kind::Site(&MINTLIFY),
        "sidebars.json" => Kind::Free,
        _ if name.ends_with("-sidebars.json") => Kind::Free,
        "_category_.json" | "_category_.yml" | "_category_.yaml" => Kind::Folder(&CATEGORY),
        "_meta.json" => Kind::Free,
        "meta.json" => Kind::Folder(&META),
        ".pages" | ".nav.yml" | ".nav.yaml" => Kind::Folder(&PAGES),
        "_toc.yml" => Kind::Folder(&CONTENTS),
        "_redirects" => Kind::Redirects,
        "_config.yml" | "_config.yaml" => Kind::Site(&JEKYLL),
        "hugo.toml" | "hugo.yaml" | "hugo.yml" | "hugo.json" => Kind::Site(&HUGO),
        "book.toml" => Kind::Book,
        _ if is_yaml && (stem == "mkdocs" || stem.starts_with("mkdocs.") || stem.starts_with("mkdocs-")) => {
            Kind::MkDocs
        }
        _ if ground.references.contains(path) => Kind::Folder(&REFERENCE),
        _ if ground.descriptions.contains(path) => Kind::Description,
        _ if is_data(name) && ground.data.iter().any(|folder| paths::is_below(path, folder)) => Kind::Free,
        _ => return None,
    })
}

fn is_data(name: &str) -> bool {
    matches!(paths::extension(name).as_str(), "json" | "yaml" | "yml" | "toml")
}

/// Why a change of a file may not be made: it alters more than navigation, titles and redirects, or what it alters runs.
/// `before` is none for a file that is new, `now` for one that is gone. Files that are no settings are not judged here.
pub(crate) fn refused(path: &str, before: Option<&[u8]>, now: Option<&[u8]>, ground: &Ground) -> Option<String> {
    let kind = match kind_of(path, ground) {
        Some(kind) => kind,
        // What the project has opened by hand is read by programs as well.
        None if is_data(path) => Kind::Free,
        None => return None,
    };
    let Ok(now) = now.map(std::str::from_utf8).transpose() else {
        return Some(format!("{path} would not be UTF-8 text."));
    };
    let Ok(before) = before.map(std::str::from_utf8).transpose() else {
        return Some(format!("{path} is not UTF-8 text as it is, so nobody can tell what a change of it would do."));
    };
    if kind == Kind::Redirects {
        return now.filter(|now| !now.lines().all(is_redirect)).map(|_| format!("{path} may hold only redirects."));
    }
    if let Some(why) = now.and_then(|now| ambiguous(path, before, now)) {
        return Some(format!("{path} {why}."));
    }
    compared(path, kind, before, now)
}

/// `/from /to`, with a status that redirects or none.
fn is_redirect(line: &str) -> bool {
    let line = line.split('#').next().unwrap_or_default();
    let words: Vec<&str> = line.split_whitespace().collect();
    match words.as_slice() {
        [] => true,
        [_, _] => true,
        [_, _, status] => matches!(status.trim_end_matches('!'), "301" | "302" | "303" | "307" | "308" | "404" | "410"),
        _ => false,
    }
}

/// Why readers of a file may not agree about what it says.
fn ambiguous(path: &str, before: Option<&str>, now: &str) -> Option<&'static str> {
    let before = before.unwrap_or_default();
    let is_odd = |c: char| matches!(c, '\u{2028}' | '\u{2029}') || c.is_control() && !matches!(c, '\n' | '\r' | '\t');
    if now.contains(is_odd) {
        return Some("would hold characters that some readers take for the end of a line");
    }
    if now.contains('\u{feff}') && !before.contains('\u{feff}') {
        return Some("would hold a byte order mark");
    }
    if !matches!(paths::extension(path).as_str(), "yml" | "yaml" | "") {
        return None;
    }
    let is_mark = |line: &str| {
        ["---", "..."]
            .iter()
            .any(|mark| line.strip_prefix(mark).is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t'])))
    };
    let is_empty = |line: &&str| line.trim().is_empty() || line.starts_with('#');
    let marks = |text: &str| text.lines().skip_while(is_empty).skip(1).filter(|line| is_mark(line)).count();
    if marks(now) > marks(before) {
        return Some("would hold several documents");
    }
    let directives = |text: &str| text.lines().filter(|line| line.starts_with('%')).count();
    (directives(now) > directives(before)).then_some("would hold directives for its reader")
}

fn read(path: &str, text: &str) -> Result<Option<Value>, Fault> {
    match paths::extension(path).as_str() {
        "json" => json(text).map(Some),
        "toml" => toml(text).map(Some),
        _ => yaml(text),
    }
}

/// Compares what is left when what may differ is taken away, and looks at what differs.
fn compared(path: &str, kind: Kind, before: Option<&str>, now: Option<&str>) -> Option<String> {
    let now = match now.map(|now| read(path, now)).transpose() {
        Ok(now) => now.flatten(),
        Err(fault) => return Some(format!("{path} could not be read any more: {}.", fault.message)),
    };
    let Ok(was) = before.map(|before| read(path, before)).transpose() else {
        return Some(format!("{path} cannot be read as it is, so nobody can tell what a change of it would do."));
    };
    let was = was.flatten();
    if let Some(name) = now.as_ref().and_then(twice).filter(|_| was.as_ref().and_then(twice).is_none()) {
        return Some(format!("{path} would say `{name}` twice."));
    }
    let (kept, left) =
        (was.clone().and_then(|value| rest(value, kind)), now.clone().and_then(|value| rest(value, kind)));
    if kept != left {
        let names = differing(kept.as_ref(), left.as_ref()).join(", ");
        let names = if names.is_empty() { String::new() } else { format!(": {names}") };
        return Some(match before {
            Some(_) => format!("{path} would be changed in more than navigation, titles and redirects{names}."),
            None => format!("{path} is new and would set more than navigation, titles and redirects{names}."),
        });
    }
    let now = now?;
    if kind == Kind::Description {
        let is_one = |text: Option<&str>| text.is_some_and(|text| is_description(path, text));
        if !is_one(before) || now.get("info").is_none() {
            return Some(format!("{path} would not describe an interface any more."));
        }
    }
    if let Some(why) = redirected(path, kind, was.as_ref(), &now) {
        return Some(why);
    }
    brought(path, kind, was.as_ref(), &now)
}

/// Generators write redirects into pages, and pages to where a redirect comes from: both must be plain addresses.
fn redirected(path: &str, kind: Kind, before: Option<&Value>, now: &Value) -> Option<String> {
    let known: HashSet<(String, String)> = before.map(|before| redirects_of(before, kind)).unwrap_or_default();
    let is_plain =
        |address: &str| !address.contains(|c: char| c.is_whitespace() || c.is_control() || "\"'`<>\\{}".contains(c));
    let stays = |source: &str| !source.split('/').any(|part| part == "..");
    // MkDocs writes files where redirects come from; a stroke in front would be the top of the machine.
    let is_below = |source: &str| kind != Kind::MkDocs || !source.starts_with('/');
    let odd = redirects_of(now, kind).into_iter().find(|redirect| {
        let (source, target) = redirect;
        let is_fine = is_plain(source) && is_plain(target) && stays(source) && is_below(source);
        !known.contains(redirect) && !is_fine
    });
    odd.map(|(source, target)| {
        let shown: String = format!("{source} → {target}").chars().take(80).collect();
        format!("{path} would hold a redirect that is no plain address: {shown:?}.")
    })
}

/// The redirects that generators write as pages.
fn redirects_of(config: &Value, kind: Kind) -> HashSet<(String, String)> {
    let maps: Vec<&Value> = match kind {
        Kind::MkDocs => {
            let plugins = config.get("plugins");
            let inside = plugins.into_iter().flat_map(|plugins| plugins.items().iter().chain([plugins]));
            inside.filter_map(|plugin| plugin.get("redirects")?.get("redirect_maps")).collect()
        }
        Kind::Book => config.get("output").and_then(|it| it.get("html")?.get("redirect")).into_iter().collect(),
        _ => Vec::new(),
    };
    let entries = maps.into_iter().flat_map(|map| map.entries());
    entries.map(|(from, to)| (from.name.clone(), to.written().unwrap_or("{}").to_owned())).collect()
}

/// What may be free to differ must still be nothing that programs act upon: no tags, no scripts, no files elsewhere.
fn brought(path: &str, kind: Kind, before: Option<&Value>, now: &Value) -> Option<String> {
    let (mut known, mut found) = (Said::default(), Said::default());
    if let Some(before) = before {
        known.take(before);
    }
    found.take(now);
    if tagged(now) != before.map(tagged).unwrap_or_default() {
        return Some(format!("{path} would have tags that programs act upon when they read it."));
    }
    if let Some(text) = found.texts.iter().filter(|text| !known.texts.contains(*text)).find(|text| is_live(text)) {
        let shown: String = text.chars().take(80).collect();
        return Some(format!("{path} would hold a script: {shown:?}."));
    }
    // Titles may be filled in like templates.
    let is_template = |text: &&String| kind.is_of_site() && (text.contains("{{") || text.contains("{%"));
    if let Some(text) = found.texts.iter().filter(|text| !known.texts.contains(*text)).find(is_template) {
        let shown: String = text.chars().take(80).collect();
        return Some(format!("{path} would hold a template: {shown:?}."));
    }
    let is_inside = |target: &String| {
        let place = paths::normalise(paths::folder(path), target);
        place.is_some_and(|place| {
            paths::extension(&place) == "json" && !place.split('/').any(|part| part.starts_with('.'))
        })
    };
    let is_mintlify = matches!(paths::file_name(path), "docs.json" | "mint.json");
    let mut fresh = found.references.iter().filter(|target| !known.references.contains(*target));
    let outside = if is_mintlify { fresh.find(|target| !is_inside(target)) } else { None };
    outside.map(|target| format!("{path} would take in {target:?}, which is no file of settings of the repository."))
}

/// The values that have a tag, in order: they may not differ, wherever they stand.
fn tagged(value: &Value) -> Vec<Value> {
    let mut found = Vec::new();
    collect_tagged(value, &mut found);
    found
}

fn collect_tagged(value: &Value, found: &mut Vec<Value>) {
    if value.tag.is_some() {
        found.push(value.clone());
        return;
    }
    for (key, value) in value.entries() {
        if let Some(other) = &key.other {
            collect_tagged(other, found);
        }
        collect_tagged(value, found);
    }
    value.items().iter().for_each(|item| collect_tagged(item, found));
}

/// The texts of a value, and the files that it takes in.
#[derive(Default)]
struct Said {
    texts: HashSet<String>,
    references: HashSet<String>,
}

impl Said {
    fn take(&mut self, value: &Value) {
        self.texts.extend(value.text().map(str::to_owned));
        value.items().iter().for_each(|item| self.take(item));
        for (key, value) in value.entries() {
            self.texts.insert(key.name.clone());
            if key.name == "$ref" {
                self.references.extend(value.text().map(str::to_owned));
            }
            self.take(value);
        }
    }
}

/// A name that a map has twice, written in it and not taken in from elsewhere.
fn twice(value: &Value) -> Option<String> {
    let mut names = HashSet::new();
    for (key, inner) in value.entries() {
        let is_own = value.range.start <= key.range.start && key.range.end <= value.range.end;
        if is_own && key.other.is_none() && !names.insert(&key.name) {
            return Some(key.name.chars().take(40).collect());
        }
        if let Some(name) = twice(inner) {
            return Some(name);
        }
    }
    value.items().iter().find_map(twice)
}

/// What may not differ; none if that is nothing.
fn rest(value: Value, kind: Kind) -> Option<Value> {
    let left = match kind {
        Kind::Site(names) => without(value, names),
        // A list is a part of the navigation.
        Kind::Folder(names) if value.items().is_empty() => without(value, names),
        Kind::MkDocs => mkdocs_rest(value),
        Kind::Book => book_rest(value),
        Kind::Folder(_) | Kind::Free | Kind::Description | Kind::Redirects => return None,
    };
    let is_nothing = matches!(&left.what, What::Map(map) if map.entries.is_empty() && left.tag.is_none());
    (!is_nothing && !left.is_null()).then_some(left)
}

/// The names of the entries that differ, some of them.
fn differing(before: Option<&Value>, now: Option<&Value>) -> Vec<String> {
    let named = |value: Option<&Value>| -> Vec<(String, Value)> {
        let entries = value.map(Value::entries).unwrap_or_default();
        entries.iter().map(|(key, value)| (key.name.clone(), value.clone())).collect()
    };
    let (before, now) = (named(before), named(now));
    let mut names: Vec<String> = Vec::new();
    for (one, other) in [(&before, &now), (&now, &before)] {
        let other: std::collections::HashMap<&String, &Value> =
            other.iter().map(|(name, value)| (name, value)).collect();
        for (name, value) in one {
            let is_same = other.get(name).is_some_and(|known| *known == value);
            let shown = format!("`{}`", name.chars().take(40).collect::<String>());
            if !is_same && names.len() < 5 && !names.contains(&shown) {
                names.push(shown);
            }
        }
    }
    names
}

/// A map without some of its entries.
fn without(value: Value, names: &[&str]) -> Value {
    let Value { what, tag, range, file, through } = value;
    let what = match what {
        What::Map(map) => {
            let keeps = |(key, _): &(Key, Value)| key.other.is_some() || !names.contains(&key.name.as_str());
            What::Map(Map { entries: map.entries.into_iter().filter(keeps).collect(), open: map.open })
        }
        other => other,
    };
    Value { what, tag, range, file, through }
}

/// The settings of MkDocs without navigation, titles, and the redirects of the plugin for them.
fn mkdocs_rest(config: Value) -> Value {
    let mut rest = without(config, &MKDOCS);
    for plugins in named_mut(&mut rest, "plugins") {
        redirects_taken(plugins);
        if let What::List(list) = &mut plugins.what {
            list.items.iter_mut().for_each(redirects_taken);
        }
    }
    rest
}

fn redirects_taken(plugins: &mut Value) {
    for options in named_mut(plugins, "redirects") {
        *options = without(options.clone(), &["redirect_maps"]);
    }
}

/// The settings of mdBook without titles and redirects.
fn book_rest(mut config: Value) -> Value {
    for book in named_mut(&mut config, "book") {
        *book = without(book.clone(), &["title", "description", "authors"]);
    }
    for output in named_mut(&mut config, "output") {
        for html in named_mut(output, "html") {
            *html = without(html.clone(), &["redirect"]);
        }
    }
    config
}

fn named_mut<'v>(value: &'v mut Value, name: &'static str) -> impl Iterator<Item = &'v mut Value> {
    let entries = match &mut value.what {
        What::Map(map) => map.entries.as_mut_slice(),
        _ => &mut [],
    };
    entries.iter_mut().filter(move |(key, _)| key.name == name && key.other.is_none()).map(|(_, value)| value)
}

#[cfg(test)]
mod tests;
