//! Docusaurus: pages come from plugins, each with its folder and its route; links go by file or by address.

mod part;

use copydesk_values::{Value, What};

use super::address::plain;
use super::generator::{Asked, Front, Generator, Place, Reason, Rule, Way};
use super::glob::Glob;
use super::ways;
use crate::page::{Dialect, IdRule, LinkKind};
use crate::paths;
use part::{Kind, Part};

#[derive(Debug)]
pub(crate) struct Docusaurus {
    /// The folder of the configuration.
    root: String,
    base: String,
    /// Whether addresses end in a slash, so that relative ones start one level deeper.
    slashes: bool,
    /// Whether Markdown is read as MDX, whatever its ending.
    is_mdx: bool,
    parts: Vec<Part>,
    statics: Vec<String>,
    /// Redirects, and lists of pages that are made.
    redirects: Vec<Rule>,
    /// Routes of folders that are not seen.
    outside: Vec<String>,
    /// Why addresses that none of the parts owns may be there all the same.
    plugins: Option<Reason>,
}

/// What else of the repository the site depends on.
pub(crate) struct Surroundings<'a> {
    /// The text of a file below the folder of the site.
    pub(crate) read: &'a dyn Fn(&str) -> Option<String>,
    /// The paths of all files below a folder.
    pub(crate) list: &'a dyn Fn(&str) -> Vec<String>,
    /// What a script exports.
    pub(crate) script: &'a dyn Fn(&str) -> Option<Value>,
}

/// A site from its configuration; `hosted` is what the host of the site redirects.
pub(crate) fn site(root: &str, config: &Value, around: &Surroundings<'_>, hosted: Vec<Rule>) -> Docusaurus {
    let known = |value: Option<&Value>| match value.map(|value| &value.what) {
        Some(What::Unknown(unknown)) => unknown.perhaps.iter().find_map(Value::text).map(str::to_owned),
        _ => value.and_then(Value::text).map(str::to_owned),
    };
    let statics = config.get("staticDirectories").map(Value::items).unwrap_or_default();
    let mut statics: Vec<String> =
        statics.iter().filter_map(Value::text).filter_map(|folder| paths::normalise(root, folder)).collect();
    if statics.is_empty() {
        statics.push(paths::join(root, "static"));
    }
    let mut site = Docusaurus {
        root: root.to_owned(),
        base: known(config.get("baseUrl")).map(|base| plain(&base).to_owned()).unwrap_or_default(),
        slashes: config.get("trailingSlash").and_then(Value::truth).unwrap_or(false),
        is_mdx: !matches!(config.at(&["markdown", "format"]).and_then(Value::text), Some("md" | "detect")),
        parts: Vec::new(),
        statics,
        redirects: hosted,
        outside: Vec::new(),
        plugins: None,
    };
    let presets = config.get("presets").map(Value::items).unwrap_or_default();
    if presets.is_empty() && config.get("plugins").is_none() {
        for kind in [Kind::Docs, Kind::Blog, Kind::Pages] {
            site.part(kind, None, around);
        }
    }
    for preset in presets {
        let options = preset.items().get(1);
        let option = |name: &str| options.and_then(|options| options.get(name));
        for (name, kind) in [("docs", Kind::Docs), ("blog", Kind::Blog), ("pages", Kind::Pages)] {
            if option(name).and_then(Value::truth) != Some(false) {
                site.part(kind, option(name), around);
            }
        }
    }
    for plugin in config.get("plugins").map(Value::items).unwrap_or_default() {
        site.plugin(plugin, around);
    }
    site.translations(around);
    site
}

impl Docusaurus {
    fn plugin(&mut self, plugin: &Value, around: &Surroundings<'_>) {
        if let What::Unknown(unknown) = &plugin.what {
            let maybe = unknown.perhaps.clone();
            if maybe.is_empty() {
                self.added(self.config_text(around), "a plugin of the site may make it");
            }
            return maybe.iter().for_each(|plugin| self.plugin(plugin, around));
        }
        let (name, options) = match plugin.items() {
            [name, options, ..] => (name.text(), Some(options)),
            [name] => (name.text(), None),
            [] => (plugin.text(), None),
        };
        let Some(name) = name else {
            self.added(self.config_text(around), "a plugin of the site may make it");
            return;
        };
        let short = name.rsplit('/').next().unwrap_or(name);
        let short = short.strip_prefix("docusaurus-").unwrap_or(short);
        match short.strip_prefix("plugin-").unwrap_or(short) {
            "content-docs" => self.part(Kind::Docs, options, around),
            "content-blog" => self.part(Kind::Blog, options, around),
            "content-pages" => self.part(Kind::Pages, options, around),
            "client-redirects" => self.client_redirects(options),
            _ if name.starts_with('.') => {
                let reason = format!("the plugin `{name}` may make it");
                self.added(plugin_text(&self.root, name, around), &reason);
            }
            _ => {}
        }
    }

    fn config_text(&self, around: &Surroundings<'_>) -> Option<String> {
        let endings = ["js", "ts", "mjs", "mts", "cjs", "cts"];
        let config = endings.map(|ending| paths::join(&self.root, &format!("docusaurus.config.{ending}")));
        config.iter().find_map(|path| (around.read)(path))
    }

    /// Notes the routes that a plugin adds by its script; any address may be there if the script does not tell.
    fn added(&mut self, script: Option<String>, reason: &str) {
        let routes = script.as_deref().and_then(added_routes);
        match routes {
            Some(routes) => routes.iter().for_each(|route| self.made(&format!("{}/*", plain(route)))),
            None => {
                self.plugins.get_or_insert(Reason::new(reason));
            }
        }
    }

    fn client_redirects(&mut self, options: Option<&Value>) {
        for redirect in options.and_then(|options| options.get("redirects")).map(Value::items).unwrap_or_default() {
            let destination = redirect.get("to").and_then(Value::text).unwrap_or_default();
            let from = redirect.get("from");
            let sources = from
                .into_iter()
                .flat_map(|from| from.text().into_iter().chain(from.items().iter().filter_map(Value::text)));
            let place = Place::of(redirect);
            let rule = |source: &str| Rule {
                source: source.to_owned(),
                destination: destination.to_owned(),
                place: Some(place.clone()),
            };
            self.redirects.extend(sources.map(rule));
        }
        if options.and_then(|options| options.get("createRedirects")).is_some() {
            self.plugins.get_or_insert(Reason::new("redirects are made by a function of the configuration"));
        }
    }

    fn part(&mut self, kind: Kind, options: Option<&Value>, around: &Surroundings<'_>) {
        let option = |name: &str| options.and_then(|options| options.get(name));
        let text = |name: &str| option(name).and_then(Value::text);
        let (path, route) = match kind {
            Kind::Docs => ("docs", "docs"),
            Kind::Blog => ("blog", "blog"),
            Kind::Pages => ("src/pages", ""),
        };
        let route = plain(text("routeBasePath").unwrap_or(route)).to_owned();
        let Some(folder) = paths::normalise(&self.root, text("path").unwrap_or(path)) else {
            return self.outside.push(route);
        };
        let excluded = option("exclude").map(Value::items).unwrap_or_default();
        let mut excluded: Vec<Glob> = excluded.iter().filter_map(Value::text).map(Glob::new).collect();
        let usual = ["**/_*.{js,jsx,ts,tsx,md,mdx}", "**/_*/**", "**/*.test.{js,jsx,ts,tsx}", "**/__tests__/**"];
        if option("exclude").is_none() {
            excluded.extend(usual.map(Glob::new));
        }
        let keeps_numbers = option("numberPrefixParser").is_some_and(|it| it.truth() == Some(false));
        let plugin = self.parts.iter().map(|part| part.plugin + 1).max().unwrap_or_default();
        if kind != Kind::Docs {
            if kind == Kind::Blog {
                self.made(&route);
            }
            self.parts.push(Part { kind, plugin, folder, route, original: None, excluded, keeps_numbers });
            return;
        }
        if let Some(sidebars) = text("sidebarPath").and_then(|path| paths::normalise(&self.root, path)) {
            let value = (around.script)(&sidebars);
            for (_, sidebar) in value.iter().flat_map(Value::entries) {
                self.lists(sidebar, &route);
            }
        }
        let id = text("id").filter(|id| *id != "default");
        let prefix = id.map(|id| format!("{id}_")).unwrap_or_default();
        let versions: Vec<String> = (around.read)(&paths::join(&self.root, &format!("{prefix}versions.json")))
            .and_then(|text| copydesk_values::json(&text).ok())
            .map(|value| value.items().iter().filter_map(Value::text).map(str::to_owned).collect())
            .unwrap_or_default();
        let last = text("lastVersion").map(str::to_owned).or_else(|| versions.first().cloned());
        let last = last.unwrap_or_else(|| "current".to_owned());
        let all = std::iter::once("current".to_owned()).chain(versions);
        for version in all {
            let set = option("versions").and_then(|versions| versions.at(&[&version, "path"])).and_then(Value::text);
            let path = match set {
                Some(path) => path.to_owned(),
                None if version == last => String::new(),
                None if version == "current" => "next".to_owned(),
                None => version.clone(),
            };
            let folder = match version.as_str() {
                "current" => folder.clone(),
                version => paths::join(&self.root, &format!("{prefix}versioned_docs/version-{version}")),
            };
            let route = plain(&format!("{route}/{}", plain(&path))).to_owned();
            let excluded = excluded.clone();
            self.parts.push(Part { kind, plugin, folder, route, original: None, excluded, keeps_numbers });
        }
    }

    /// Notes an address at which Docusaurus makes a list of pages.
    fn made(&mut self, address: &str) {
        self.redirects.push(Rule { source: format!("/{address}"), destination: String::new(), place: None });
    }

    /// The lists of pages that the categories of a sidebar have for themselves.
    fn lists(&mut self, sidebar: &Value, route: &str) {
        for item in sidebar.items() {
            if let Some(slug) = item.at(&["link", "slug"]).and_then(Value::text) {
                self.made(plain(&format!("{route}/{}", plain(slug))));
            }
            item.get("items").into_iter().for_each(|items| self.lists(items, route));
        }
    }

    /// Translations of the parts: `i18n/fr/docusaurus-plugin-content-docs/current`.
    fn translations(&mut self, around: &Surroundings<'_>) {
        let i18n = paths::join(&self.root, "i18n");
        let mut folders: Vec<String> = Vec::new();
        for path in (around.list)(&i18n) {
            let Some(below) = paths::below(&path, &i18n) else { continue };
            let parts: Vec<&str> = below.split('/').collect();
            let [locale, plugin, version, ..] = parts.as_slice() else { continue };
            let folder = match *plugin {
                name if name.starts_with("docusaurus-plugin-content-docs") => {
                    format!("{i18n}/{locale}/{name}/{version}")
                }
                name if name.starts_with("docusaurus-plugin-content-") => format!("{i18n}/{locale}/{name}"),
                _ => continue,
            };
            if folders.last() != Some(&folder) && !folders.contains(&folder) {
                folders.push(folder);
            }
        }
        for folder in folders {
            let below = paths::below(&folder, &i18n).unwrap_or_default();
            let mut parts = below.split('/').skip(1);
            let (plugin, version) = (parts.next().unwrap_or_default(), parts.next());
            let plugin = plugin.strip_prefix("docusaurus-plugin-content-").unwrap_or_default();
            let (kind, id) = match plugin.split_once('-').unwrap_or((plugin, "")) {
                ("docs", id) => (Kind::Docs, id),
                ("blog", id) => (Kind::Blog, id),
                ("pages", id) => (Kind::Pages, id),
                _ => continue,
            };
            let is_original = |part: &&Part| {
                part.kind == kind
                    && part.original.is_none()
                    && match version {
                        Some("current") | None => !part.folder.contains("versioned_docs/"),
                        Some(version) => part.folder.ends_with(&format!("versioned_docs/{version}")),
                    }
            };
            let originals: Vec<&Part> = self.parts.iter().filter(is_original).collect();
            let named = originals.iter().find(|part| !id.is_empty() && part.folder.contains(id));
            let Some(original) = named.or(originals.first()) else { continue };
            let (route, excluded) = (original.route.clone(), original.excluded.clone());
            let plugin = original.plugin;
            let (keeps_numbers, original) = (original.keeps_numbers, Some(original.folder.clone()));
            self.parts.push(Part { kind, plugin, folder, route, original, excluded, keeps_numbers });
        }
    }

    fn part_of(&self, path: &str) -> Option<&Part> {
        let parts = self.parts.iter().filter(|part| paths::is_below(path, &part.folder));
        parts.max_by_key(|part| part.folder.len())
    }
}

/// The script of a plugin of the site's own, if it is seen.
fn plugin_text(root: &str, name: &str, around: &Surroundings<'_>) -> Option<String> {
    const ENDINGS: [&str; 8] = ["", ".js", ".ts", ".mjs", ".cjs", "/index.js", "/index.ts", "/src/index.ts"];
    let path = paths::normalise(root, name)?;
    ENDINGS.iter().find_map(|ending| (around.read)(&format!("{path}{ending}")))
}

/// The routes that a script adds; none if one of them is not plain to see.
fn added_routes(script: &str) -> Option<Vec<String>> {
    script
        .split("addRoute(")
        .skip(1)
        .map(|call| {
            let (_, path) = call.split_once("path:")?;
            let path = path.trim_start();
            let quote = path.chars().next().filter(|c| matches!(c, '"' | '\''))?;
            path[1..].split_once(quote).map(|(route, _)| route.to_owned())
        })
        .collect()
}

impl Generator for Docusaurus {
    fn name(&self) -> &'static str {
        "Docusaurus"
    }

    fn root(&self) -> &str {
        &self.root
    }

    fn base(&self) -> Option<&str> {
        Some(&self.base)
    }

    fn folders(&self) -> Vec<&str> {
        self.parts.iter().map(|part| part.folder.as_str()).collect()
    }

    fn is_page(&self, path: &str) -> bool {
        self.part_of(path).is_some_and(|part| part.holds(path))
    }

    fn reads_front_matter(&self) -> bool {
        true
    }

    fn addresses(&self, path: &str, front: &Front) -> Vec<String> {
        let Some(part) = self.part_of(path) else { return Vec::new() };
        let Some(below) = paths::below(path, &part.folder) else { return Vec::new() };
        let address = part.address(below, front);
        // The first is where links go from.
        match address.strip_suffix('/') {
            Some(bare) => vec![address.clone(), bare.to_owned()],
            None => vec![address],
        }
    }

    fn ways(&self, asked: &Asked<'_>) -> Vec<Way> {
        if let Some(rest) = asked.path.strip_prefix("@site/") {
            return ways::script_import(&Asked { path: &format!("/{rest}"), ..*asked }, &self.root);
        }
        if asked.kind == LinkKind::Snippet {
            return ways::script_import(asked, &self.root);
        }
        let part = self.part_of(asked.page);
        let rooted = asked.path.strip_prefix('/');
        let mut found = Vec::new();
        let beside = paths::normalise(paths::folder(asked.page), asked.path).filter(|_| rooted.is_none());
        let is_page = crate::page::is_page(asked.path);
        let is_own = |path: &String| match (part, self.part_of(path)) {
            (Some(own), Some(other)) => !is_page || own.plugin == other.plugin,
            _ => true,
        };
        let way = |path: String| if is_page { Way::Page(path) } else { Way::File(path) };
        found.extend(beside.filter(is_own).map(way));
        if is_page && !asked.path.starts_with('.') {
            let path = rooted.unwrap_or(asked.path);
            let folders = part.into_iter().flat_map(|part| [Some(&part.folder), part.original.as_ref()]).flatten();
            let places = folders.chain([&self.root]).filter_map(|folder| paths::normalise(folder, path));
            found.extend(places.filter(is_own).map(way));
        }
        if is_page && !asked.in_tag {
            return found;
        }
        match rooted {
            Some(path) => {
                if let Some(address) = paths::normalise("", path) {
                    let inner = paths::below(&address, &self.base).filter(|_| !self.base.is_empty()).map(str::to_owned);
                    found.push(Way::Address(address));
                    found.extend(inner.map(Way::Address));
                }
            }
            None => match (asked.at, part) {
                (Some(at), Some(_)) => {
                    let folder = match at.strip_suffix('/') {
                        Some(at) => at,
                        None if self.slashes => at,
                        None => paths::folder(at),
                    };
                    match self.base.is_empty() {
                        true => found.push(Way::Address(ways::clamped(folder, asked.path))),
                        false => found.extend(paths::normalise(folder, asked.path).map(Way::Address)),
                    }
                }
                _ => found.push(Way::Untold(Reason::new("the page has no address of its own"))),
            },
        }
        found
    }

    fn files_at(&self, address: &str) -> Vec<String> {
        let mut files: Vec<String> = Vec::new();
        for folder in &self.statics {
            files.push(paths::join(folder, address));
            files.push(paths::join(&paths::join(folder, address), "index.html"));
            files.push(paths::join(folder, &format!("{address}.html")));
        }
        files
    }

    fn sources(&self, address: &str) -> Vec<String> {
        let below = |part: &Part| Some((part.folder.clone(), paths::below(address, &part.route)?.to_owned()));
        let places = self.parts.iter().filter_map(below);
        let names = [".md", ".mdx", "/index.md", "/index.mdx"];
        places.flat_map(|(folder, below)| names.map(|name| format!("{folder}/{below}{name}"))).collect()
    }

    fn redirects(&self) -> &[Rule] {
        &self.redirects
    }

    fn untold(&self, address: &str) -> Option<Reason> {
        for part in &self.parts {
            let Some(below) = paths::below(address, &part.route) else { continue };
            let first = below.split('/').next().unwrap_or_default();
            let is_made = match part.kind {
                Kind::Docs => matches!(first, "category" | "tags"),
                Kind::Blog => {
                    matches!(first, "tags" | "archive" | "authors" | "page" | "rss.xml" | "atom.xml" | "feed.json")
                }
                Kind::Pages => false,
            };
            if is_made {
                return Some(Reason::new("Docusaurus makes lists of pages there"));
            }
        }
        if self.outside.iter().any(|route| paths::is_below(address, route)) {
            return Some(Reason::new("the folder of its pages is outside of what is checked"));
        }
        let is_owned = self.parts.iter().any(|part| part.kind != Kind::Pages && paths::is_below(address, &part.route));
        // `2.1.0` is a name, `logo.svg` is a file.
        let is_file = paths::extension(address).starts_with(|c: char| c.is_ascii_alphabetic());
        self.plugins.clone().filter(|_| !is_owned && !is_file)
    }

    fn follows_parts(&self) -> bool {
        true
    }

    fn source(&self) -> Option<String> {
        Some(paths::join(&self.root, "src"))
    }

    fn partial(&self, path: &str) -> Option<Reason> {
        let is_part = match self.part_of(path) {
            Some(part) => {
                paths::below(path, &part.folder).is_some_and(|below| below.split('/').any(|part| part.starts_with('_')))
            }
            None => true,
        };
        is_part.then(|| Reason::new("it stands in a part of other pages"))
    }

    fn dialect(&self) -> Dialect {
        Dialect { ids: IdRule::GitHub, comment_ids: true, title_ids: false, is_mdx: self.is_mdx, ..Dialect::default() }
    }
}
