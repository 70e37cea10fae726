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
mod tests {
    use super::*;

    fn refused(path: &str, before: Option<&str>, now: &str) -> Option<String> {
        super::refused(path, before.map(str::as_bytes), Some(now.as_bytes()), &Ground::default())
    }

    const BEFORE: &str = "site_name: X\nnav:\n  - index.md\nplugins:\n  - search\n  - redirects:\n      redirect_maps:\n        a.md: b.md\ntheme:\n  name: material\n";

    #[test]
    fn navigation_titles_and_redirects_may_differ() {
        for now in [
            BEFORE.replace("index.md", "start.md"),
            BEFORE.replace("site_name: X", "site_name: 'Y: Z'"),
            BEFORE.replace("a.md: b.md", "a.md: b.md\n        c.md: d.md"),
            BEFORE.replace("theme:\n  name: material", "theme: {name: material}"),
            format!("# A remark\n{BEFORE}"),
        ] {
            assert_eq!(refused("mkdocs.yml", Some(BEFORE), &now), None, "{now}");
        }
        let docs = "{\"navigation\": [], \"redirects\": []}";
        assert_eq!(
            refused("docs.json", Some(docs), "{\"redirects\": [1], \"navigation\": {\"pages\": [\"a\"]}}"),
            None
        );
        assert_eq!(refused("docs/_meta.json", Some("{}"), "{\"a\": \"A\"}"), None);
        assert_eq!(refused("docs/_category_.json", None, "{\"label\": \"A\", \"position\": 2}"), None);
        assert_eq!(refused("docs/.pages", None, "title: A\nnav: [a.md]\n"), None);
        let book = "[book]\ntitle = 'A'\n[output.html.redirect]\n'/a' = '/b'\n";
        assert_eq!(refused("book.toml", Some("[book]\ntitle = 'B'\n[output.html]\n"), book), None);
    }

    #[test]
    fn nothing_else_may_however_it_is_written() {
        for more in [
            "hooks: [x.py]\n",
            "{hooks: [x.py]}",
            "\"\\x68ooks\": [x.py]\n",
            "? hooks\n: [x.py]\n",
            "!!str hooks: [x.py]\n",
            "'hooks': [x.py]\n",
            "INHERIT: ../other.yml\n",
            "\"INHERIT\": ../other.yml\n",
            "x: !!python/object/apply:os.popen [id]\n",
            "x: !!p%79thon/object/apply:os.popen [id]\n",
            "x: !<tag:yaml.org,2002:python/object/apply:os.popen> [id]\n",
            "? !!python/object/apply:os.popen [id]\n: x\n",
            "docs_dir: /etc\n",
            "<<: {hooks: [x.py]}\n",
            "theme: {name: material, custom_dir: docs}\n",
            "plugins: [search, gen-files: {scripts: [docs/x.py]}]\n",
            "markdown_extensions: [docs.evil]\n",
            "extra_javascript: [x.js]\n",
            "watch: [/]\n",
            "site_dir: /tmp\n",
            "- a list\n",
            "a: [\n",
        ] {
            let now = if more.starts_with('{') { more.to_owned() } else { format!("{BEFORE}{more}") };
            assert!(refused("mkdocs.yml", Some(BEFORE), &now).is_some(), "{now}");
            assert!(refused("docs/mkdocs.en.yml", Some(BEFORE), &now).is_some(), "{now}");
        }
        let nested = BEFORE.replace("  - search\n", "  - search\n  - macros: {module_name: x}\n");
        let said = refused("mkdocs.yml", Some(BEFORE), &nested).unwrap();
        assert_eq!(said, "mkdocs.yml would be changed in more than navigation, titles and redirects: `plugins`.");
        let tagged = BEFORE.replace("nav:\n", "nav: !!python/name:os.x\n");
        assert!(refused("mkdocs.yml", Some(BEFORE), &tagged).is_some(), "{tagged}");
        assert!(refused("mkdocs.yml", None, "nav: []\n").is_none());
        assert!(refused("mkdocs.yml", None, BEFORE).is_some());
        assert!(refused("docs.json", Some("{\"navigation\": []}"), "{\"navigation\": [], \"api\": 1}").is_some());
        assert!(refused("docs/data.yaml", Some("a: 1\n"), "a: !!python/name:os.x 2\n").is_some());
    }

    #[test]
    fn redirects_are_plain_addresses_and_titles_are_texts() {
        for (from, to, why) in [
            ("a.md: b.md", "a.md: 'https://x.example/\";alert(1);\"'", "redirect"),
            ("a.md: b.md", "a.md: https://x.example/</script>", "redirect"),
            ("a.md: b.md", "../../x/a.md: b.md", "redirect"),
            ("a.md: b.md", "/tmp/a.md: b.md", "redirect"),
            ("site_name: X", "site_name: 'X\" onmouseover=\"alert(1)'", "script"),
            ("- index.md", "- '{{ x.__globals__ }}': index.md", "template"),
        ] {
            let now = BEFORE.replace(from, to);
            assert_ne!(now, BEFORE);
            let said = refused("mkdocs.yml", Some(BEFORE), &now).unwrap_or_else(|| panic!("{now}"));
            assert!(said.contains(why), "{said}");
        }
        let now = BEFORE.replace("a.md: b.md", "a.md: https://x.example/b?c=d&e#f%20g\n        'old/x y.md': b.md");
        assert!(refused("mkdocs.yml", Some(BEFORE), &now.replace("x y", "x-y")).is_none());
        assert!(refused("book.toml", Some("[output.html]\n"), "[output.html.redirect]\n'/../a' = 'b'\n").is_some());
    }

    #[test]
    fn what_readers_do_not_agree_about_is_refused() {
        for (now, why) in [
            (format!("{BEFORE}# a remark\u{2028}hooks: [x.py]\n"), "end of a line"),
            (format!("{BEFORE}# a remark\u{85}hooks: [x.py]\n"), "end of a line"),
            (format!("{BEFORE}---\nhooks: [x.py]\n"), "several documents"),
            (format!("{BEFORE}...\nhooks: [x.py]\n"), "several documents"),
            (format!("\u{feff}{BEFORE}"), "byte order mark"),
            (format!("%TAG ! tag:yaml.org,2002:python/\n---\n{BEFORE}"), ""),
            (format!("{BEFORE}nav: [x.md]\n"), "twice"),
            (BEFORE.replace("site_name: X", "site_name: &a {hooks: [x.py]}\n<<: *a"), ""),
            (BEFORE.replace("site_name: X", "site_name: '<script>x</script>'"), "script"),
            (BEFORE.replace("index.md", "javascript:alert(1)"), "script"),
            (BEFORE.replace("site_name: X", "site_name: !ENV SECRET"), "tags"),
        ] {
            let said = refused("mkdocs.yml", Some(BEFORE), &now).unwrap_or_else(|| panic!("{now}"));
            assert!(said.contains(why), "{said}");
        }
        for bytes in [&b"nav: [\xff]\n"[..], &[0xff, 0xfe, b'n', 0, b'a', 0], b"nav: []\0\n"] {
            let said = super::refused("mkdocs.yml", Some(BEFORE.as_bytes()), Some(bytes), &Ground::default());
            assert!(said.is_some(), "{bytes:?}");
        }
        assert!(super::refused("mkdocs.yml", Some(BEFORE.as_bytes()), None, &Ground::default()).is_some());
        assert!(super::refused("docs/_meta.json", Some(b"{}"), None, &Ground::default()).is_none());
    }

    #[test]
    fn other_files_of_settings_keep_what_they_set() {
        for (path, before, now) in [
            ("_config.yml", "title: A\n", "title: A\nplugins: [x]\n"),
            ("hugo.toml", "title = 'A'\n", "title = 'A'\n[module]\nimports = [{path = 'x'}]\n"),
            ("book.toml", "[book]\ntitle = 'A'\n", "[book]\ntitle = 'A'\n[preprocessor.x]\ncommand = 'id'\n"),
            ("docs/meta.json", "{\"title\": \"A\"}", "{\"title\": \"A\", \"scripts\": {}}"),
            ("docs/_category_.yml", "label: A\n", "label: A\nhooks: x\n"),
            ("docs/.pages", "nav: []\n", "nav: !!python/name:os.x\n"),
            ("docs/_meta.json", "{}", "{\"a\": {\"href\": \"javascript:alert(1)\"}}"),
            (
                "docs/sidebars.json",
                "{}",
                "{\"a\": [{\"type\": \"html\", \"value\": \"<img src=x onerror=alert(1)>\"}]}",
            ),
            ("docs/sidebars.json", "{}", "{"),
            ("docs.json", "{\"navigation\": {}}", "{\"navigation\": {\"$ref\": \"../../x.json\"}}"),
            ("docs.json", "{\"navigation\": {}}", "{\"navigation\": {\"$ref\": \".github/x.json\"}}"),
            ("docs.json", "{\"navigation\": {}}", "{\"navigation\": {}, \"$ref\": \"x.json\"}"),
            ("docs.json", "{\"navigation\": {}}", "{\"navigation\": {}} {\"api\": 1}"),
            ("docs/_redirects", "", "/api/* https://evil.example/:splat 200\n"),
        ] {
            assert!(refused(path, Some(before), now).is_some(), "{path} {now}");
        }
        let ground = Ground {
            descriptions: ["api.yaml".to_owned()].into(),
            references: ["nav.json".to_owned()].into(),
            data: ["_data".to_owned()].into(),
            ..Ground::default()
        };
        let said = |path: &str, before: &str, now: &str| {
            super::refused(path, Some(before.as_bytes()), Some(now.as_bytes()), &ground)
        };
        let api = "openapi: 3.1.0\ninfo: {title: A}\n";
        assert_eq!(said("api.yaml", api, &api.replace("A}", "B}")), None);
        assert!(said("api.yaml", api, "on: push\njobs: {}\n").is_some());
        assert_eq!(said("nav.json", "{\"groups\": []}", "{\"groups\": [{\"group\": \"A\"}]}"), None);
        assert!(said("nav.json", "{\"groups\": []}", "{\"groups\": [], \"scripts\": {}}").is_some());
        assert_eq!(said("_data/a.yml", "- a\n", "- b\n"), None);
        assert!(said("_data/a.yml", "- a\n", "- !ruby/object:X {}\n").is_some());
    }

    proptest::proptest! {
        /// Whatever a change is made of: if it is accepted, nothing but navigation and titles says something else.
        #[test]
        fn an_accepted_change_keeps_all_other_values(
            parts in proptest::collection::vec(proptest::sample::select(PARTS.to_vec()), 0..6),
            place in 0usize..8,
            cut in 0usize..4,
        ) {
            let mut lines: Vec<&str> = BEFORE.lines().collect();
            let at = place.min(lines.len());
            lines.drain(at..(at + cut).min(lines.len()));
            for part in parts.iter().rev() {
                lines.insert(at, part);
            }
            let now = lines.join("\n") + "\n";
            if refused("mkdocs.yml", Some(BEFORE), &now).is_none() {
                let values = |text: &str| {
                    let value = yaml(text).unwrap().unwrap();
                    let kept = value.entries().iter().filter(|(key, _)| !MKDOCS.contains(&key.name.as_str()));
                    let kept: Vec<(String, Value)> = kept.map(|(key, value)| (key.name.clone(), value.clone())).collect();
                    kept.into_iter().filter(|(name, _)| name != "plugins").collect::<Vec<_>>()
                };
                proptest::prop_assert_eq!(values(&now), values(BEFORE));
                proptest::prop_assert!(!now.contains("hooks:") || now.contains("- hooks: "));
            }
        }
    }

    const PARTS: [&str; 24] = [
        "nav:",
        "  - a.md",
        "  - B: b.md",
        "site_name: Y",
        "site_name: &x Y",
        "hooks: [x.py]",
        "? hooks",
        ": [x.py]",
        "\"\\x68ooks\": [x.py]",
        "  - hooks: x.md",
        "<<: {hooks: [x.py]}",
        "theme:",
        "  name: material",
        "  custom_dir: x",
        "---",
        "...",
        "# remark",
        "plugins:",
        "  - redirects:",
        "  - macros",
        "x: !!python/name:os.x y",
        "copyright: |",
        "  text",
        "INHERIT: x.yml",
    ];
}
