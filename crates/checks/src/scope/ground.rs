//! What a repository says about its own files before a change: which the site names, and which it reads as data.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use copydesk_values::{Value, What, json, script, toml, yaml};

use super::parts;
use crate::files::{Scripts, text_of};
use crate::nav;
use crate::site::is_foreign;
use crate::{Files, paths};

/// How deep files may refer to files.
const DEEPEST: usize = 8;
const MOST: usize = 1000;

/// What is known about the files of a repository from its base. Nothing is known by default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ground {
    /// Files that the configuration takes in with `$ref`.
    pub(super) references: BTreeSet<String>,
    /// Descriptions of interfaces that a configuration names.
    pub(super) descriptions: BTreeSet<String>,
    /// Folders of data that a site reads.
    pub(super) data: BTreeSet<String>,
    /// Pages called like instructions for agents that the navigation of a site lists.
    pub(super) listed: BTreeSet<String>,
    /// Scripts that navigation is written in, each with the configurations that take it in.
    pub(super) scripts: BTreeMap<String, BTreeSet<String>>,
    /// How files are called by which pages of a folder are ordered, if those are scripts.
    pub(super) metas: BTreeSet<String>,
}

impl Ground {
    /// Reads what the files say.
    pub fn of(files: &dyn Files) -> io::Result<Self> {
        let mut ground = Self::default();
        let all = files.list("")?;
        for path in all.iter().filter(|path| !is_foreign(path) || path.contains(".vitepress/config")) {
            ground.configuration(files, path);
            ground.navigation(files, path);
        }
        Ok(ground)
    }

    /// Takes in a script if navigation is written in it.
    fn navigation(&mut self, files: &dyn Files, path: &str) {
        let is_config = match paths::stem(paths::file_name(path)) {
            "docusaurus.config" | "astro.config" => true,
            "config" | "index" => path.contains(".vitepress/config"),
            stem if stem.starts_with("sidebars") => is_beside(files, path, "docusaurus.config"),
            "_meta" => true,
            _ => false,
        };
        if !is_config || !parts::is_script(path) || self.scripts.len() >= MOST {
            return;
        }
        if parts::is_meta(path) {
            self.metas.insert(paths::file_name(path).to_owned());
        }
        let Ok(value) = script(&Scripts(files), path) else { return };
        for file in parts::files(path, &value) {
            self.scripts.entry(file).or_default().insert(path.to_owned());
        }
    }

    /// Takes in what a file says if it is the configuration of a site.
    fn configuration(&mut self, files: &dyn Files, path: &str) {
        let name = paths::file_name(path);
        let folder = paths::folder(path);
        let ending = paths::extension(path);
        let is_script = matches!(ending.as_str(), "js" | "ts" | "mjs" | "mts" | "cjs" | "cts");
        let data: &[&str] = match paths::stem(name) {
            "docs" | "mint" | "mkdocs" if nav::kind_of(path).is_some() => &[],
            "_config" if matches!(ending.as_str(), "yml" | "yaml") => &["_data"],
            "hugo" if matches!(ending.as_str(), "toml" | "yaml" | "yml" | "json") => &["data", "i18n"],
            "docusaurus.config" if is_script => &["i18n"],
            "astro.config" if is_script => &["src/content", "src/data"],
            "eleventy.config" | ".eleventy" if is_script => &["_data", "src/_data"],
            "config" if is_script && folder.ends_with(".vitepress") => &[],
            _ => return,
        };
        let folder = folder.strip_suffix(".vitepress").unwrap_or(folder).trim_end_matches('/');
        self.data.extend(data.iter().map(|data| paths::join(folder, data)));
        let value = match ending.as_str() {
            "json" => text_of(files, path).and_then(|text| json(&text).ok()),
            "yml" | "yaml" => text_of(files, path).and_then(|text| yaml(&text).ok().flatten()),
            "toml" => text_of(files, path).and_then(|text| toml(&text).ok()),
            _ => script(&Scripts(files), path).ok(),
        };
        let Some(value) = value else { return };
        let follows = nav::kind_of(path) == Some(nav::NavKind::Mintlify);
        self.names(files, folder, path, &value, follows, 0);
    }

    /// Takes in the files that a value names: those behind `$ref`, and descriptions of interfaces.
    fn names(&mut self, files: &dyn Files, root: &str, file: &str, value: &Value, follows: bool, depth: usize) {
        if let Some(text) = value.text() {
            self.description(files, root, text);
            self.skill(root, text);
        }
        if let Some(target) = value.get("$ref").and_then(Value::text).filter(|_| follows && depth < DEEPEST) {
            let path = paths::normalise(paths::folder(file), target).filter(|path| paths::extension(path) == "json");
            let read = path.and_then(|path| Some((json(&text_of(files, &path)?).ok()?, path)));
            if let Some((inner, path)) = read
                && self.references.len() < MOST
                && self.references.insert(path.clone())
            {
                self.names(files, root, &path, &inner, follows, depth + 1);
            }
        }
        for inner in value.items().iter().chain(value.entries().iter().map(|(_, inner)| inner)) {
            self.names(files, root, file, inner, follows, depth);
        }
        if let What::Unknown(unknown) = &value.what {
            for inner in &unknown.perhaps {
                self.names(files, root, file, inner, follows, depth);
            }
        }
    }

    /// A skill that the navigation lists is a page like others.
    fn skill(&mut self, root: &str, named: &str) {
        let bare = [".mdx", ".md"].iter().find_map(|ending| named.strip_suffix(ending)).unwrap_or(named);
        if self.listed.len() < MOST && paths::file_name(bare).eq_ignore_ascii_case("skill") {
            let page = |ending| paths::normalise(root, &format!("{}.{ending}", bare.trim_start_matches('/')));
            self.listed.extend(["md", "mdx"].into_iter().filter_map(page));
            let page = |ending| paths::normalise(&paths::join(root, "docs"), &format!("{bare}.{ending}"));
            self.listed.extend(["md", "mdx"].into_iter().filter_map(page));
        }
    }

    fn description(&mut self, files: &dyn Files, root: &str, named: &str) {
        let is_data = matches!(paths::extension(named).as_str(), "json" | "yaml" | "yml");
        if !is_data || named.contains("://") || self.descriptions.len() >= MOST {
            return;
        }
        let path = match named.strip_prefix('/') {
            Some(rooted) => paths::normalise(root, rooted),
            None => paths::normalise(root, named),
        };
        let places = path.iter().flat_map(|path| [path.clone()]).chain(
            ["docs", "public", "static", "src"]
                .iter()
                .filter_map(|folder| paths::normalise(&paths::join(root, folder), named.trim_start_matches('/'))),
        );
        let found = places
            .filter(|path| !self.descriptions.contains(path))
            .find(|path| text_of(files, path).is_some_and(|text| is_description(path, &text)));
        self.descriptions.extend(found);
    }
}

/// Whether a script of this name stands in the same folder.
fn is_beside(files: &dyn Files, path: &str, stem: &str) -> bool {
    let beside = |ending: &str| paths::join(paths::folder(path), &format!("{stem}.{ending}"));
    ["js", "ts", "mjs", "mts", "cjs", "cts"].iter().any(|ending| files.exists(&beside(ending)).unwrap_or(false))
}

/// Whether a text describes an interface: OpenAPI, Swagger or AsyncAPI.
pub(super) fn is_description(path: &str, text: &str) -> bool {
    let value = match paths::extension(path).as_str() {
        "json" => json(text).ok(),
        _ => yaml(text).ok().flatten(),
    };
    value.is_some_and(|value| {
        let is_version = |name: &str| value.get(name).and_then(Value::written).is_some();
        ["openapi", "swagger", "asyncapi"].iter().any(|name| is_version(name)) && value.get("info").is_some()
    })
}
