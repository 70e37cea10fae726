//! Finds the sites of a repository by the files that every generator has.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use copydesk_values::{Key, Map, Value, What, exports, json, script, toml, yaml};

use super::docusaurus::Surroundings;
use super::generator::{Generator, Reason, Rule};
use super::plain::Plain;
use super::{
    Site, SiteSettings, Sites, astro, docusaurus, hosted, hugo, is_foreign, jekyll, mdbook, mintlify, mkdocs, next,
    sphinx, vitepress, ways,
};
use crate::files::{Alone, Scripts, text_of};
use crate::nav::{self, Navigation};
use crate::page::{self, LinkKind};
use crate::{Files, paths};

/// More sites than these are not told apart.
const MOST_SITES: usize = 100;
/// How deep files may refer to files.
const DEEPEST: usize = 8;
/// More configurations of MkDocs in one folder are not told apart.
const MOST_VARIANTS: usize = 20;
const SCRIPTS: [&str; 6] = ["js", "ts", "mjs", "mts", "cjs", "cts"];

/// Files that give away a generator whose rules are not known here, and its name.
const OTHERS: [(&str, &str); 5] = [
    ("gatsby-config.js", "Gatsby"),
    (".eleventy.js", "Eleventy"),
    ("eleventy.config.js", "Eleventy"),
    ("_quarto.yml", "Quarto"),
    ("antora.yml", "Antora"),
];

impl Sites {
    /// Finds the sites of a repository.
    pub fn find(files: &dyn Files, settings: &SiteSettings) -> io::Result<Self> {
        let all = files.list("")?;
        let mut sites: Vec<Site> = Vec::new();
        let mut other = None;
        for path in all.iter().filter(|path| !is_foreign(path) || path.contains(".vitepress/config")) {
            if sites.len() >= MOST_SITES {
                break;
            }
            let finder = Finder { files, all: &all, path, unread: OnceCell::new() };
            if let Some((generator, navigation)) = finder.site() {
                let number = sites.len();
                let is_asked_for = settings.concerns(&*generator, path);
                let unread = finder.unread.into_inner();
                sites.push(Site { generator, number, navigation, config: path.clone(), unread, is_asked_for });
            }
            let name = paths::file_name(path);
            other = other.or(OTHERS.iter().find(|(file, _)| *file == name).map(|(_, name)| (*name).to_owned()));
        }
        // A list of pages in the folder of another site is none of a book.
        let folders: Vec<String> = sites
            .iter()
            .filter(|site| !site.generator.is_guessed())
            .flat_map(|site| site.generator.folders())
            .map(str::to_owned)
            .collect();
        let is_inside = |site: &Site| folders.iter().any(|folder| paths::is_below(site.generator.root(), folder));
        sites.retain(|site| !site.generator.is_guessed() || !is_inside(site));
        sites.iter_mut().enumerate().for_each(|(number, site)| site.number = number);
        let number = sites.len();
        let generator: Arc<dyn Generator> = Arc::new(Plain { other, has_sites: number > 0 });
        let plain =
            Site { generator, number, navigation: None, config: String::new(), unread: None, is_asked_for: true };
        Ok(Self { sites, plain, asked: settings.clone() })
    }

    /// Whether a path is that of a file by which sites are found.
    pub(crate) fn depends_on(path: &str) -> bool {
        let name = paths::file_name(path);
        nav::kind_of(path).is_some()
            || ["docusaurus.config", "astro.config", "next.config", "sidebars"].contains(&paths::stem(path))
            || ["_config", "_toc", "hugo", "config", "myst"].contains(&paths::stem(path)) && !page::is_page(path)
            || path.contains(".vitepress/")
            || is_mkdocs_variant(path)
            || paths::stem(path) == "_index"
            || matches!(name, "book.toml" | "conf.py" | ".mintignore" | "versions.json" | ".gitignore")
            || OTHERS.iter().any(|(file, _)| *file == name)
    }
}

struct Finder<'a> {
    files: &'a dyn Files,
    all: &'a [String],
    path: &'a str,
    /// Why the configuration cannot be read, once that is known.
    unread: OnceCell<Reason>,
}

type Found = (Arc<dyn Generator>, Option<(String, Navigation)>);

impl Finder<'_> {
    fn site(&self) -> Option<Found> {
        let name = paths::file_name(self.path);
        let (stem, ending) = name.rsplit_once('.')?;
        let is_script = SCRIPTS.contains(&ending);
        match (stem, ending) {
            ("docusaurus.config", _) if is_script => self.docusaurus(),
            ("config", _) if is_script && paths::file_name(paths::folder(self.path)) == ".vitepress" => {
                self.vitepress(1)
            }
            ("index", _) if is_script && paths::folder(self.path).ends_with(".vitepress/config") => self.vitepress(2),
            ("astro.config", _) if is_script => {
                let (aliases, hosted) = (self.aliases(), self.hosted(self.folder(), "public"));
                let site = astro::site(self.folder(), &self.script(), aliases, hosted);
                let files = if self.folder().is_empty() { self.all.to_vec() } else { self.below(self.folder()) };
                Some((Arc::new(site.with_collections(self.collections()).with_routes(&files)), None))
            }
            ("next.config", _) if is_script => self.next(),
            ("_config", "yml" | "yaml") => {
                let config = yaml(&self.text()?).ok().flatten()?;
                if ["_toc.yml", "_toc.yaml"].iter().any(|name| self.has(&paths::join(self.folder(), name))) {
                    return Some((Arc::new(sphinx::jupyter_book(self.folder(), &config)), None));
                }
                let gems = text_of(self.files, &paths::join(self.folder(), "Gemfile"));
                let gems = gems.or_else(|| text_of(self.files, "Gemfile"));
                Some((Arc::new(jekyll::site(self.folder(), &config, gems.as_deref())), None))
            }
            ("hugo" | "config", "toml" | "yaml" | "yml" | "json") => self.hugo(stem == "config"),
            ("conf", "py") => self.sphinx(),
            ("myst", "yml") => {
                let config = yaml(&self.text()?).ok().flatten().filter(|config| config.get("project").is_some())?;
                Some((Arc::new(sphinx::myst(self.folder(), &config)), None))
            }
            ("docs" | "mint", "json") => self.mintlify(stem == "mint"),
            ("mkdocs", "yml" | "yaml") => self.mkdocs(),
            (_, "yml" | "yaml") if is_mkdocs_variant(self.path) => self.mkdocs_variant(),
            ("SUMMARY", "md") => self.book(),
            ("sidebars", _) if is_script || ending == "json" => self.sidebars(),
            _ => None,
        }
    }

    fn folder(&self) -> &str {
        paths::folder(self.path)
    }

    fn text(&self) -> Option<String> {
        text_of(self.files, self.path)
    }

    fn has(&self, path: &str) -> bool {
        self.all.binary_search_by(|known| known.as_str().cmp(path)).is_ok()
    }

    fn navigation(&self, path: &str) -> Option<(String, Navigation)> {
        Some((path.to_owned(), nav::parse(path, &text_of(self.files, path)?)?))
    }

    /// The aliases of imports that the settings of TypeScript beside the configuration give.
    fn aliases(&self) -> Vec<(String, String)> {
        let files = ["tsconfig.json", "jsconfig.json"].map(|name| paths::join(self.folder(), name));
        let Some(path) = files.iter().find(|path| self.has(path)) else { return Vec::new() };
        // It is JSON with comments, which a script is as well.
        let text = format!("export default {}", text_of(self.files, path).unwrap_or_default());
        let name = format!("{path}.js");
        let value = script(&Alone { path: &name, text: &text }, &name).ok();
        value.map(|value| ways::aliases(self.folder(), &value)).unwrap_or_default()
    }

    fn hosted(&self, folder: &str, public: &str) -> Vec<Rule> {
        hosted::redirects(self.files, folder, public)
    }

    /// What a script exports; a map that nobody can see into if it cannot be read.
    fn script(&self) -> Value {
        script(&Scripts(self.files), self.path).unwrap_or_else(|fault| self.unreadable(&fault.message))
    }

    /// Notes that the configuration cannot be read; gives a map that nobody can see into.
    fn unreadable(&self, why: &str) -> Value {
        let why = format!("{} cannot be read: {why}", self.path);
        self.unread.get_or_init(|| Reason::new(why.clone()));
        Value::new(What::Map(Map { entries: Vec::new(), open: Some(why) }), 0..0)
    }

    /// The collections of content that Astro has, as far as scripts tell.
    fn collections(&self) -> Option<Value> {
        let names = ["src/content.config", "src/content/config"].map(|name| paths::join(self.folder(), name));
        let files = names.iter().flat_map(|name| SCRIPTS.map(|ending| format!("{name}.{ending}")));
        let path = files.into_iter().find(|path| self.has(path))?;
        exports(&Scripts(self.files), &path).ok()
    }

    fn vitepress(&self, above: usize) -> Option<Found> {
        let mut folder = self.folder();
        for _ in 0..above {
            folder = paths::folder(folder);
        }
        let files = if folder.is_empty() { self.all.to_vec() } else { self.below(folder) };
        let config = self.script();
        let source = config.get("srcDir").and_then(Value::text).unwrap_or(".");
        let public = paths::join(source, "public");
        let site = vitepress::site(folder, &config, &files, self.hosted(folder, &public));
        Some((Arc::new(site), self.navigation(self.path)))
    }

    fn docusaurus(&self) -> Option<Found> {
        let read = |path: &str| text_of(self.files, path);
        let list = |folder: &str| self.below(folder);
        let script = |path: &str| script(&Scripts(self.files), path).ok();
        let around = Surroundings { read: &read, list: &list, script: &script };
        let generator = docusaurus::site(self.folder(), &self.script(), &around, self.hosted(self.folder(), "static"));
        let sidebars = SCRIPTS.iter().map(|ending| format!("sidebars.{ending}")).chain(["sidebars.json".to_owned()]);
        let sidebars = sidebars.map(|name| paths::join(self.folder(), &name)).find(|path| self.has(path));
        Some((Arc::new(generator), sidebars.and_then(|path| self.navigation(&path))))
    }

    fn next(&self) -> Option<Found> {
        let files = if self.folder().is_empty() { self.all.to_vec() } else { self.below(self.folder()) };
        let around = next::Surroundings {
            contents: self.fumadocs(&files),
            aliases: self.aliases(),
            hosted: self.hosted(self.folder(), "public"),
        };
        Some((Arc::new(next::site(self.folder(), &self.script(), &files, around)), None))
    }

    /// The content folders of Fumadocs: collections name the folders, loaders the addresses.
    fn fumadocs(&self, files: &[String]) -> Vec<next::Content> {
        let (mut folders, mut routes) = (Vec::new(), Vec::new());
        let is_source = |path: &&String| {
            let below = paths::below(path, self.folder()).unwrap_or(path);
            let below = below.strip_prefix("src/").unwrap_or(below);
            let is_script = SCRIPTS.contains(&paths::extension(path).as_str()) || path.ends_with(".tsx");
            is_script
                && (below.starts_with("source.config.")
                    || below.starts_with("lib/source")
                    || below.starts_with("app/source"))
        };
        for path in files.iter().filter(is_source) {
            let Ok(exported) = exports(&Scripts(self.files), path) else { continue };
            for (_, value) in exported.entries() {
                let through = value.through.as_deref().unwrap_or_default();
                if !through.starts_with("fumadocs") {
                    continue;
                }
                folders.extend(value.get("dir").and_then(Value::text).map(str::to_owned));
                routes
                    .extend(value.get("baseUrl").and_then(Value::text).map(|route| route.trim_matches('/').to_owned()));
            }
        }
        if folders.is_empty() {
            folders.extend(routes.iter().map(|route| format!("content/{}", paths::file_name(route))));
        }
        let content = |folder: &String| {
            let named = routes.iter().find(|route| paths::file_name(route) == paths::file_name(folder));
            let route = named.or_else(|| routes.first().filter(|_| folders.len() == 1))?;
            Some(next::Content { folder: paths::normalise(self.folder(), folder)?, route: route.clone() })
        };
        folders.iter().filter_map(content).collect()
    }

    /// A file called `config` may be anything: that of Hugo says where the site is served and has content beside it.
    fn hugo(&self, is_plain_name: bool) -> Option<Found> {
        let text = self.text()?;
        let mut config = match paths::extension(self.path).as_str() {
            "toml" => toml(&text).ok()?,
            "json" => json(&text).ok()?,
            _ => yaml(&text).ok().flatten()?,
        };
        let mut root = self.folder();
        if is_plain_name && config.get("baseURL").or_else(|| config.get("baseurl")).is_none() {
            return None;
        }
        // What holds in one environment only is none of a site of its own.
        let beside = paths::join(paths::folder(root), "_default/");
        let is_environment = paths::file_name(paths::folder(root)) == "config" && !root.ends_with("/_default");
        if is_environment && !self.below(beside.trim_end_matches('/')).is_empty() {
            return None;
        }
        if root.ends_with("config/_default") {
            root = root.strip_suffix("config/_default").unwrap_or(root).trim_end_matches('/');
            for key in ["languages", "module", "permalinks", "params", "taxonomies", "outputs", "markup"] {
                let name = key;
                for ending in ["toml", "yaml", "yml"] {
                    let path = paths::join(self.folder(), &format!("{name}.{ending}"));
                    let Some(text) = text_of(self.files, &path) else { continue };
                    let value = if ending == "toml" { toml(&text).ok() } else { yaml(&text).ok().flatten() };
                    if let (Some(value), What::Map(map)) = (value, &mut config.what) {
                        map.entries.push((Key { name: key.to_owned(), other: None, range: 0..0 }, value));
                    }
                }
            }
        }
        let files = if root.is_empty() { self.all.to_vec() } else { self.below(root) };
        let hosted = self.hosted(root, "static");
        let layouts = hugo::Layouts::of(root, &files, self.all, &|path| text_of(self.files, path));
        let site = hugo::site(root, &config, layouts.with_redirects(hosted), &files);
        let site = site.with_cascades(&files, &|path| text_of(self.files, path));
        // A theme has settings as well, but nothing to show.
        files.iter().any(|path| site.is_page(path)).then(|| -> Found { (Arc::new(site), None) })
    }

    fn sphinx(&self) -> Option<Found> {
        let conf = self.text()?;
        let is_myst = conf.contains("myst") || conf.contains("recommonmark") || conf.contains("nbsphinx");
        is_myst.then(|| -> Found { (Arc::new(sphinx::site(self.folder(), &conf)), None) })
    }

    /// Sidebars without a configuration beside them are those of a site whose settings are elsewhere.
    fn sidebars(&self) -> Option<Found> {
        let is_known =
            SCRIPTS.iter().any(|ending| self.has(&paths::join(self.folder(), &format!("docusaurus.config.{ending}"))));
        let navigation = self.navigation(self.path).filter(|_| !is_known)?;
        let (read, list) = (|path: &str| text_of(self.files, path), |folder: &str| self.below(folder));
        let open = Value::new(What::Map(Map::default()), 0..0);
        let around = Surroundings { read: &read, list: &list, script: &|_| None };
        let generator = docusaurus::site(self.folder(), &open, &around, Vec::new());
        Some((Arc::new(generator), Some(navigation)))
    }

    fn below(&self, folder: &str) -> Vec<String> {
        let prefix = format!("{folder}/");
        let start = self.all.partition_point(|path| path.as_str() < prefix.as_str());
        self.all[start..].iter().take_while(|path| path.starts_with(&prefix)).cloned().collect()
    }

    /// Both names of the file in one folder: the newer one counts.
    fn mintlify(&self, is_old: bool) -> Option<Found> {
        if is_old && self.has(&paths::join(self.folder(), "docs.json")) {
            return None;
        }
        let navigation = self.navigation(self.path)?;
        let config = match json(&self.text()?) {
            Ok(config) => self.referred(config, self.path, 0),
            Err(fault) => self.unreadable(&fault.message),
        };
        let ignored = text_of(self.files, &paths::join(self.folder(), ".mintignore")).unwrap_or_default();
        Some((Arc::new(mintlify::site(self.folder(), &config, &ignored)), Some(navigation)))
    }

    /// A value with what every `$ref` in it stands for.
    fn referred(&self, value: Value, file: &str, depth: usize) -> Value {
        if let Some(reference) = value.get("$ref").and_then(Value::text).filter(|_| depth < DEEPEST) {
            let path = paths::normalise(paths::folder(file), reference);
            let read = path.and_then(|path| Some((json(&text_of(self.files, &path)?).ok()?, path)));
            if let Some((inner, path)) = read {
                return self.referred(inner, &path, depth + 1);
            }
        }
        let Value { what, tag, range, file: origin, through } = value;
        let what = match what {
            What::List(mut list) => {
                list.items = list.items.into_iter().map(|item| self.referred(item, file, depth)).collect();
                What::List(list)
            }
            What::Map(mut map) => {
                let inner = |(key, value): (Key, Value)| (key, self.referred(value, file, depth));
                map.entries = map.entries.into_iter().map(inner).collect();
                What::Map(map)
            }
            other => other,
        };
        Value { what, tag, range, file: origin, through }
    }

    fn mkdocs(&self) -> Option<Found> {
        let config = self.inherited(self.path, 0).unwrap_or_else(|| self.unreadable("it is no map of settings"));
        let generated = self.generated(&config);
        let generator = mkdocs::site(self.folder(), &config, &generated).with_files(self.all);
        let docs = config.get("docs_dir").and_then(Value::text).unwrap_or("docs");
        let generator = generator.with_macros(self.macros(&config).as_deref());
        let generator = generator.with_redirects(self.hosted(self.folder(), docs));
        Some((Arc::new(generator), self.navigation(self.path)))
    }

    /// A configuration that `mkdocs build -f` names: it counts if it is whole, and for each docs folder only one does.
    fn mkdocs_variant(&self) -> Option<Found> {
        let main = ["mkdocs.yml", "mkdocs.yaml"].map(|name| paths::join(self.folder(), name));
        let files: Vec<String> = self.below(self.folder());
        let files = if self.folder().is_empty() { self.all } else { files.as_slice() };
        let beside = |path: &&String| paths::folder(path) == self.folder();
        let variants = files.iter().filter(beside).filter(|path| is_mkdocs_variant(path) || main.contains(path));
        let read = |path: &String| Some((path.clone(), self.inherited(path, 0)?));
        let mut known: Vec<(String, Value)> = variants.take(MOST_VARIANTS).filter_map(read).collect();
        let parents: Vec<String> = known
            .iter()
            .filter_map(|(_, config)| config.get("INHERIT").and_then(Value::text))
            .filter_map(|parent| paths::normalise(self.folder(), parent))
            .collect();
        known.retain(|(path, config)| config.get("site_name").is_some() && !parents.contains(path));
        let docs = |config: &Value| config.get("docs_dir").and_then(Value::text).unwrap_or("docs").to_owned();
        let own = known.iter().find(|(path, _)| path == self.path).map(|(_, config)| docs(config))?;
        known.retain(|(_, config)| docs(config) == own);
        let chosen = known.iter().find(|(path, _)| main.contains(path));
        let chosen = chosen.or_else(|| known.iter().find(|(_, config)| config.get("site_url").is_some()));
        let (chosen, _) = chosen.or_else(|| known.first())?;
        if chosen == self.path { self.mkdocs() } else { None }
    }

    /// The configuration with what it takes over from another.
    fn inherited(&self, path: &str, depth: usize) -> Option<Value> {
        let own = yaml(&text_of(self.files, path)?).ok().flatten()?;
        let parent = own.get("INHERIT").and_then(Value::text).filter(|_| depth < DEEPEST);
        let parent = parent.and_then(|parent| paths::normalise(paths::folder(path), parent));
        let Some(parent) = parent.and_then(|parent| self.inherited(&parent, depth + 1)) else { return Some(own) };
        Some(merged(parent, own))
    }

    /// The module with the functions that templates of a site may call, if it is in the repository.
    fn macros(&self, config: &Value) -> Option<String> {
        let plugins = config.get("plugins")?;
        let options = plugins.items().iter().find_map(|item| item.get("macros")).or_else(|| plugins.get("macros"));
        let named = options.and_then(|options| options.get("module_name")).and_then(Value::text);
        let module = paths::normalise(self.folder(), named.unwrap_or("main"))?;
        [format!("{module}.py"), format!("{module}/__init__.py")].iter().find_map(|path| text_of(self.files, path))
    }

    /// Folders that the scripts of a site name: where they put pages.
    fn generated(&self, config: &Value) -> Vec<String> {
        let plugins = config.get("plugins");
        let options = plugins.into_iter().flat_map(|plugins| {
            let listed = plugins.items().iter().filter_map(|item| item.get("gen-files"));
            listed.chain(plugins.get("gen-files"))
        });
        let mut found = BTreeMap::new();
        for script in
            options.filter_map(|options| options.get("scripts")).flat_map(Value::items).filter_map(Value::text)
        {
            let path = paths::normalise(self.folder(), script);
            let Some(source) = path.and_then(|path| text_of(self.files, &path)) else { continue };
            for literal in literals(&source) {
                let first = literal.trim_start_matches("./").split('/').next().unwrap_or_default();
                if !first.is_empty() && !first.contains(['.', '{', ' ', ':']) {
                    found.insert(first.to_owned(), ());
                }
            }
        }
        found.into_keys().collect()
    }

    fn book(&self) -> Option<Found> {
        let source = self.folder();
        let above = paths::folder(source);
        let config = [source, above].iter().map(|folder| paths::join(folder, "book.toml")).find(|path| self.has(path));
        // Without a configuration it is a book of another kind, of which every page is one.
        let Some(config) = config else {
            let navigation = self.navigation(self.path)?;
            return Some((Arc::new(mdbook::site(source, None, "", None)), Some(navigation)));
        };
        let folder = paths::folder(&config).to_owned();
        let config = toml(&text_of(self.files, &config)?).ok();
        let wanted =
            config.as_ref().and_then(|config| config.at(&["book", "src"])).and_then(Value::text).unwrap_or("src");
        if paths::normalise(&folder, wanted).as_deref() != Some(source) {
            return None;
        }
        let summary = self.text()?;
        let mut chapters = Vec::new();
        for link in page::parse(self.path, &summary).links.iter().filter(|link| link.kind == LinkKind::Page) {
            let Some(address) = super::address(&link.target) else { continue };
            chapters.extend(paths::normalise(source, &address.path).filter(|path| page::is_page(path)));
        }
        let generator = mdbook::site(&folder, config.as_ref(), wanted, Some(chapters));
        Some((Arc::new(generator), self.navigation(self.path)))
    }
}

/// `mkdocs-online.yml`, `mkdocs.fr.yml`
fn is_mkdocs_variant(path: &str) -> bool {
    let rest = paths::file_name(path).strip_prefix("mkdocs");
    let is_yaml = matches!(paths::extension(path).as_str(), "yml" | "yaml");
    is_yaml && rest.is_some_and(|rest| rest.starts_with(['-', '.', '_']) && !matches!(rest, ".yml" | ".yaml"))
}

/// Texts in quotes in a script of Python.
fn literals(source: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for line in source.lines() {
        for quote in ['"', '\''] {
            found.extend(line.split(quote).skip(1).step_by(2).filter(|text| text.len() < 100));
        }
    }
    found
}

/// The entries of one configuration over those of another, maps in maps as well.
fn merged(parent: Value, own: Value) -> Value {
    match (parent.what, own.what) {
        (What::Map(parent), What::Map(own_map)) => {
            let mut entries = parent.entries;
            for (key, value) in own_map.entries {
                match entries.iter_mut().find(|(known, _)| known.name == key.name) {
                    Some((_, known)) => *known = merged(known.clone(), value),
                    None => entries.push((key, value)),
                }
            }
            Value { what: What::Map(Map { entries, open: None }), ..Value::new(What::Map(Map::default()), own.range) }
        }
        (_, what) => Value { what, tag: own.tag, range: own.range, file: own.file, through: own.through },
    }
}
