//! Hugo: content folders, one for each language or one for all, and addresses that pages may choose.

use std::collections::HashSet;
use std::sync::Arc;

use copydesk_values::Value;

use super::address::plain;
use super::generator::{Asked, Filled, Front, Generator, Reason, Rule, Way};
use super::hosted;
use super::liquid::{self, Part};
use super::permalinks::{self, Permalink};
use super::shortcodes;
use super::ways::{self, bare};
use crate::page::{Dialect, IdRule, LinkKind, Shortcode};
use crate::paths;

#[derive(Debug)]
pub(crate) struct Hugo {
    root: String,
    base: String,
    contents: Vec<Content>,
    /// The languages that may stand in names of files: `page.fr.md`.
    languages: Vec<String>,
    /// The one whose addresses have no prefix, if there is one.
    first: Option<String>,
    statics: Vec<String>,
    /// Folders of resources, which templates take pictures from.
    assets: Vec<String>,
    /// Addresses below which something other than the site's own files makes pages.
    made: Vec<(String, Reason)>,
    /// Whether a theme or a module is taken in that is not in the repository.
    has_others: bool,
    /// The folders with lists of their own, as paths below those of the content.
    sections: HashSet<String>,
    /// Sections whose pages have other addresses than their paths.
    permalinks: Vec<Permalink>,
    redirects: Vec<Rule>,
    /// The fields of front matter that pages are listed by, and the folders of the lists.
    taxonomies: Vec<String>,
    /// The settings that are texts, which pages may name; those in maps with dots between.
    params: Vec<(String, String)>,
    /// The same of the pages in some folders, those further down later.
    cascades: Vec<(String, Vec<(String, String)>)>,
    /// Whether the site makes files of other kinds than pages.
    has_outputs: bool,
    /// Whether links may name files, by a template of the site, of its theme or of Hugo for several languages.
    by_file: bool,
    /// Whether terms of definitions have ids.
    term_ids: bool,
    /// What the templates of the site are like.
    layouts: Layouts,
    /// The names of pages in small letters with their files, sorted: links of Hugo's own may go by them.
    names: Vec<(String, String)>,
}

/// The templates of a site, as far as links and anchors depend on them.
#[derive(Debug, Default)]
pub(crate) struct Layouts {
    /// The texts that the template for links compares with, if there is one.
    hook: Option<Vec<String>>,
    /// What the host redirects, by files that the site gives to it.
    redirects: Vec<Rule>,
    /// The shortcodes of which it is known what anchors they bring.
    shortcodes: Arc<[Shortcode]>,
}

impl Layouts {
    /// Reads the templates among the files of a site, `files`, and of the themes among those of the repository, `all`.
    pub(crate) fn of(root: &str, files: &[String], all: &[String], read: &dyn Fn(&str) -> Option<String>) -> Self {
        let mut hook: Option<Vec<String>> = None;
        let mut redirects = Vec::new();
        // The template that such a file is made of.
        for path in files.iter().filter(|path| path.ends_with("index.redirects")) {
            redirects.extend(hosted::listed(&read(path).unwrap_or_default()));
        }
        for path in files.iter().filter(|path| path.contains("layouts/") && path.ends_with("_markup/render-link.html"))
        {
            let text = read(path).unwrap_or_default();
            let literals = text.split('"').skip(1).step_by(2).map(str::to_owned);
            hook.get_or_insert_default().extend(literals);
        }
        Self { hook, redirects, shortcodes: shortcodes::of(root, all, read).into() }
    }

    /// The same with what the host redirects otherwise.
    pub(crate) fn with_redirects(mut self, hosted: Vec<Rule>) -> Self {
        self.redirects.extend(hosted);
        self
    }
}

#[derive(Debug)]
struct Content {
    folder: String,
    /// The prefix of its addresses.
    route: String,
}

/// A site from its configuration, its templates and the files below its folder.
pub(crate) fn site(root: &str, config: &Value, mut layouts: Layouts, files: &[String]) -> Hugo {
    let text = |names: &[&str]| names.iter().find_map(|name| config.get(name)).and_then(Value::text);
    let first = text(&["defaultContentLanguage", "defaultcontentlanguage"]).unwrap_or("en");
    let in_folder = config.get("defaultContentLanguageInSubdir").and_then(Value::truth).unwrap_or(false);
    let languages = config.get("languages").map(Value::entries).unwrap_or_default();
    let route = |language: &str| if language == first && !in_folder { String::new() } else { language.to_owned() };
    let mut contents = Vec::new();
    let folder = |written: &str| paths::normalise(root, written);
    for mount in config.at(&["module", "mounts"]).map(Value::items).unwrap_or_default() {
        let option = |name: &str| mount.get(name).and_then(Value::text);
        let Some(target) = option("target").filter(|target| paths::is_below(plain(target), "content")) else {
            continue;
        };
        let below = paths::below(plain(target), "content").unwrap_or_default();
        let language = option("lang").unwrap_or(first);
        // A single file is shown by code hosts as well, for which it is written.
        let source = option("source").filter(|source| !crate::page::is_page(source));
        if let Some(folder) = source.and_then(folder) {
            contents.push(Content { folder, route: plain(&format!("{}/{below}", route(language))).to_owned() });
        }
    }
    let has_mounts = !contents.is_empty();
    for (key, settings) in languages {
        if let Some(folder) = settings.get("contentDir").and_then(Value::text).and_then(folder) {
            contents.push(Content { folder, route: route(&key.name) });
        }
    }
    let is_shared = languages.iter().any(|(_, settings)| settings.get("contentDir").is_none());
    if !has_mounts && is_shared || contents.is_empty() {
        contents.extend(
            folder(text(&["contentDir", "contentdir"]).unwrap_or("content"))
                .map(|folder| Content { folder, route: String::new() }),
        );
    }
    let listed = config
        .get("staticDir")
        .map(|value| value.text().into_iter().chain(value.items().iter().filter_map(Value::text)).collect::<Vec<_>>());
    let statics = listed.unwrap_or_else(|| vec!["static"]).into_iter().filter_map(folder).collect();
    let after_host = |url: &str| {
        url.split_once("://").map_or(url, |(_, rest)| rest).split_once('/').map_or("", |(_, path)| path).to_owned()
    };
    let mut site = Hugo {
        root: root.to_owned(),
        base: text(&["baseURL", "baseurl"]).map(after_host).map(|base| plain(&base).to_owned()).unwrap_or_default(),
        contents,
        languages: languages.iter().map(|(key, _)| key.name.clone()).collect(),
        first: (!in_folder).then(|| first.to_owned()),
        statics,
        assets: Vec::new(),
        made: Vec::new(),
        has_others: false,
        sections: HashSet::new(),
        permalinks: permalinks::of(config),
        taxonomies: taxonomies(config),
        params: params(config),
        cascades: Vec::new(),
        has_outputs: config.get("outputs").is_some() || config.get("outputFormats").is_some(),
        redirects: std::mem::take(&mut layouts.redirects),
        by_file: layouts.hook.is_some()
            || languages.len() > 1
            || config.get("theme").is_some()
            || config.at(&["module", "imports"]).is_some(),
        term_ids: config
            .at(&["markup", "goldmark", "parser", "autoDefinitionTermID"])
            .and_then(Value::truth)
            .unwrap_or(false),
        layouts,
        names: Vec::new(),
    };
    let named = |path: &String| {
        let below = paths::below(path, &site.content_of(path)?.folder)?;
        let (bare, _) = site.bare(below);
        let is_folder = matches!(paths::file_name(bare), "index" | "_index");
        let name = paths::file_name(if is_folder { paths::folder(bare) } else { bare });
        (site.is_page(path) && !name.is_empty()).then(|| (name.to_lowercase(), path.clone()))
    };
    let mut names: Vec<(String, String)> = files.iter().filter_map(named).collect();
    names.sort();
    site.names = names;
    let list = |path: &String| paths::below(paths::folder(path), &site.content_of(path)?.folder).map(str::to_owned);
    let sections = files.iter().filter(|path| paths::stem(path).split('.').next() == Some("_index"));
    site.sections = sections.filter_map(list).collect();
    site.assets = mounted(root, config, "assets", "assets");
    site.statics.extend(mounted(root, config, "static", "static"));
    site.others(config, files);
    site
}

/// The folders of a kind of files: the usual one, and those that are put in its place.
fn mounted(root: &str, config: &Value, kind: &str, usual: &str) -> Vec<String> {
    let mounts = config.at(&["module", "mounts"]).map(Value::items).unwrap_or_default();
    let of_kind = mounts.iter().filter(|mount| mount.get("target").and_then(Value::text).map(plain) == Some(kind));
    let sources = of_kind.filter_map(|mount| mount.get("source").and_then(Value::text));
    let mut found: Vec<String> =
        [usual].into_iter().chain(sources).filter_map(|it| paths::normalise(root, it)).collect();
    found.dedup();
    found
}

/// What pages are listed by: tags and categories, if the site does not say otherwise.
fn taxonomies(config: &Value) -> Vec<String> {
    match config.get("taxonomies") {
        Some(own) => own.entries().iter().filter_map(|(_, value)| value.text()).map(str::to_owned).collect(),
        None => vec!["tags".to_owned(), "categories".to_owned()],
    }
}

/// The texts among the settings of the site's own, in small letters as Hugo reads their names.
fn params(config: &Value) -> Vec<(String, String)> {
    let all = config.entries().iter().filter(|(key, _)| key.name == "params");
    texts(all.map(|(_, params)| (String::new(), params)).collect())
}

/// The texts in maps, and in maps in them, with the names of both.
fn texts(mut round: Vec<(String, &Value)>) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for _ in 0..DEEPEST {
        let mut next = Vec::new();
        for (prefix, value) in round {
            for (key, value) in value.entries() {
                let name = format!("{prefix}{}", key.name.to_lowercase());
                match value.written() {
                    Some(text) => found.push((name, text.to_owned())),
                    None => next.push((format!("{name}."), value)),
                }
            }
        }
        round = next;
    }
    found
}

/// Deeper settings are named by nobody.
const DEEPEST: usize = 4;

impl Hugo {
    /// The same site with what the pages of folders say for all that is below them; `read` gives their texts.
    pub(crate) fn with_cascades(mut self, files: &[String], read: &dyn Fn(&str) -> Option<String>) -> Self {
        let mut cascades = Vec::new();
        for path in files.iter().filter(|path| paths::stem(path) == "_index" && self.is_page(path)) {
            let Some(text) = read(path).filter(|text| text.contains("cascade")) else { continue };
            let Some(front) = crate::page::front_values(&text) else { continue };
            let Some(cascade) = front.get("cascade") else { continue };
            let own =
                cascade.items().iter().chain([cascade]).filter(|it| it.get("_target").or(it.get("target")).is_none());
            let maps = own.flat_map(|map| [Some(map), map.get("params")]).flatten();
            let texts = texts(maps.map(|map| (String::new(), map)).collect());
            cascades.push((paths::folder(path).to_owned(), texts));
        }
        self.cascades = cascades;
        self
    }
}

impl Hugo {
    /// Notes what other things than the site's own files make: content adapters, and modules with their mounts.
    fn others(&mut self, config: &Value, files: &[String]) {
        let mut made = Vec::new();
        for path in files.iter().filter(|path| paths::file_name(path) == "_content.gotmpl") {
            let Some(content) = self.content_of(path) else { continue };
            let below = paths::below(paths::folder(path), &content.folder).unwrap_or_default();
            let address = plain(&format!("{}/{}", content.route, self.placed(below))).to_owned();
            made.push((address, Reason::new("a content adapter makes pages there")));
        }
        let text = |value: &Value, name: &str| value.get(name).and_then(Value::text).map(str::to_owned);
        let own = config.at(&["module", "mounts"]).map(Value::items).unwrap_or_default();
        let is_there = |path: &str| files.iter().any(|file| paths::is_below(file, path));
        // Of the site's own, single pages and what a program puts there are not followed.
        let is_unknown = |mount: &&Value| {
            let source = text(mount, "source").and_then(|source| paths::normalise(&self.root, &source));
            source.is_none_or(|source| crate::page::is_page(&source) || !is_there(&source))
        };
        let mut mounts: Vec<&Value> = own.iter().filter(is_unknown).collect();
        let imports = config.at(&["module", "imports"]).map(Value::items).unwrap_or_default();
        mounts.extend(imports.iter().filter_map(|import| import.get("mounts")).flat_map(Value::items));
        for target in mounts.into_iter().filter_map(|mount| text(mount, "target")) {
            let Some(below) = paths::below(plain(&target), "content") else { continue };
            let (bare, _) = self.bare(below);
            // Links may go by the file as well as by the address.
            for address in [self.placed(bare), served(bare)] {
                made.push((address, Reason::new("a mount of the configuration brings pages there")));
            }
        }
        let themes = config
            .get("theme")
            .map(|theme| theme.text().into_iter().chain(theme.items().iter().filter_map(Value::text)));
        let themes = themes.into_iter().flatten().map(|theme| format!("themes/{theme}"));
        let modules = imports.iter().filter_map(|import| text(import, "path"));
        let modules = modules.map(|path| {
            if is_there(&paths::join(&self.root, &format!("themes/{path}"))) {
                format!("themes/{path}")
            } else {
                format!("_vendor/{path}")
            }
        });
        for folder in themes.chain(modules).map(|folder| paths::join(&self.root, &folder)).collect::<Vec<_>>() {
            self.has_others |= !is_there(&folder);
            self.statics.push(paths::join(&folder, "static"));
            self.assets.push(paths::join(&folder, "assets"));
        }
        self.made = made;
    }

    /// The address of what is put into the content at a path.
    fn placed(&self, bare: &str) -> String {
        let section = bare.split('/').next().unwrap_or_default();
        let permalink = self.permalinks.iter().find(|it| it.section == section && !it.is_of_lists && it.is_known());
        match permalink.filter(|_| bare.contains('/')) {
            Some(permalink) => permalink.address(bare, &Front::default(), &|_| true),
            None => served(bare),
        }
    }
}

/// More pages of one name are not looked through.
const MOST_NAMED: usize = 20;

impl Hugo {
    fn content_of(&self, path: &str) -> Option<&Content> {
        let contents = self.contents.iter().filter(|content| paths::is_below(path, &content.folder));
        contents.max_by_key(|content| content.folder.len())
    }

    /// Where `ref` and the templates for links look: beside the page, from the content folder, and by name.
    fn referred(&self, page: &str, path: &str) -> Vec<Way> {
        let (bare, _) = self.bare(path.trim_end_matches('/'));
        let own = self.content_of(page);
        let own_language = own.and_then(|own| self.bare(paths::below(page, &own.folder)?).1);
        let contents: Vec<&Content> = own.map_or_else(|| self.contents.iter().collect(), |own| vec![own]);
        let roots = contents.iter().map(|content| content.folder.as_str());
        let starts: Vec<&str> = match path.starts_with('/') {
            true => roots.collect(),
            false => std::iter::once(paths::folder(page)).chain(roots).collect(),
        };
        let mut found = Vec::new();
        for start in starts {
            let Some(bare) = paths::normalise(start, bare.trim_start_matches('/')) else { continue };
            // What a mount brings lies beside the page as well.
            let below = own.and_then(|own| paths::below(&bare, &own.folder));
            found.extend(below.and_then(|below| self.untold(&served(below))).map(Way::Untold));
            // Either index stands for its folder.
            let is_index = matches!(paths::file_name(&bare), "index" | "_index");
            let bare = if is_index { paths::folder(&bare).to_owned() } else { bare };
            // The page of the same language is meant, if there is one.
            let others = self.languages.iter().filter(|_| self.contents.len() == 1);
            let others = others.map(|language| format!(".{language}.md"));
            let endings = own_language.iter().map(|own| format!(".{own}.md"));
            for ending in endings.chain([".md".to_owned()]).chain(others) {
                found.extend(["", "/index", "/_index"].map(|end| Way::File(format!("{bare}{end}{ending}"))));
            }
            found.extend([Way::File(format!("{bare}.html")), Way::File(bare)]);
        }
        // Files are found whatever their capital letters are.
        let routes = contents.iter().map(|content| content.route.as_str());
        let addresses = routes.filter_map(|route| paths::normalise(route, bare.trim_start_matches('/')));
        found.extend(addresses.map(|address| Way::Address(served(&address))));
        if !bare.contains('/') {
            let name = bare.to_lowercase();
            let first = self.names.partition_point(|(known, _)| *known < name);
            let named = self.names[first..].iter().take_while(|(known, _)| *known == name);
            found.extend(named.take(MOST_NAMED).map(|(_, file)| Way::File(file.clone())));
        }
        found
    }

    /// Where templates look for a picture that is a resource of the site rather than of the page.
    fn resources(&self, path: &str) -> Vec<Way> {
        self.assets.iter().filter_map(|folder| paths::normalise(folder, path)).map(Way::File).collect()
    }

    /// An address with the settings of the site that it names: `{{< param "x" >}}`.
    fn with_params(&self, page: &str, written: &str) -> Option<String> {
        let around = self.cascades.iter().rev().filter(|(folder, _)| paths::is_below(page, folder));
        let known: Vec<&(String, String)> = around.flat_map(|(_, texts)| texts).chain(&self.params).collect();
        let mut text = String::new();
        for part in liquid::parts(written)? {
            match part {
                Part::Text(plain) => text.push_str(plain),
                Part::Value(shortcode) => {
                    let inside = shortcode.strip_prefix(['<', '%'])?.strip_suffix(['>', '%'])?.trim();
                    let name = inside.strip_prefix("param ")?.trim().trim_matches(['"', '`']).to_lowercase();
                    text.push_str(known.iter().find(|(known, _)| *known == name).map(|(_, value)| value)?);
                }
                Part::Tag(_) => return None,
            }
        }
        Some(text)
    }

    /// A path below the content folder without its ending and language, and the language.
    fn bare<'p>(&self, below: &'p str) -> (&'p str, Option<&str>) {
        let (bare, _) = bare(below.strip_suffix(".html").unwrap_or(below), &[]);
        match bare.rsplit_once('.') {
            Some((stem, language)) => match self.languages.iter().find(|known| *known == language) {
                Some(language) => (stem, Some(language)),
                None => (bare, None),
            },
            None => (bare, None),
        }
    }
}

/// A path as Hugo serves it.
fn served(path: &str) -> String {
    path.to_lowercase().replace(' ', "-")
}

impl Generator for Hugo {
    fn name(&self) -> &'static str {
        "Hugo"
    }

    fn root(&self) -> &str {
        &self.root
    }

    fn base(&self) -> Option<&str> {
        Some(&self.base)
    }

    fn folders(&self) -> Vec<&str> {
        self.contents.iter().map(|content| content.folder.as_str()).collect()
    }

    fn is_page(&self, path: &str) -> bool {
        self.content_of(path).is_some() && matches!(paths::extension(path).as_str(), "md" | "markdown" | "html")
    }

    fn reads_front_matter(&self) -> bool {
        true
    }

    fn addresses(&self, path: &str, front: &Front) -> Vec<String> {
        let Some(content) = self.content_of(path).filter(|_| front.get("draft") != Some("true")) else {
            return Vec::new();
        };
        let below = paths::below(path, &content.folder).unwrap_or_default();
        let (bare, language) = self.bare(below);
        let prefix = language.filter(|language| self.first.as_deref() != Some(language)).unwrap_or_default();
        let route = plain(&format!("{prefix}/{}", content.route)).to_owned();
        if let Some(url) = front.get("url") {
            return vec![match url.strip_prefix('/') {
                Some(rooted) => plain(rooted).to_owned(),
                None => plain(&format!("{route}/{}", plain(url))).to_owned(),
            }];
        }
        let name = paths::file_name(bare);
        let bare = if matches!(name, "index" | "_index") { paths::folder(bare) } else { bare };
        let section = bare.split('/').next().unwrap_or_default();
        let is_list = name == "_index";
        let permalink = self.permalinks.iter().find(|it| it.section == section && it.is_of_lists == is_list);
        if let Some(permalink) = permalink.filter(|permalink| permalink.is_known()) {
            let address = permalink.address(bare, front, &|folder| self.sections.contains(folder));
            return vec![plain(&format!("{route}/{address}")).to_owned()];
        }
        let own = match front.get("slug").filter(|_| name != "_index") {
            Some(slug) => paths::join(paths::folder(bare), slug),
            None => bare.to_owned(),
        };
        vec![plain(&format!("{route}/{}", served(&own))).to_owned()]
    }

    fn aliases(&self, path: &str, front: &Front) -> Vec<String> {
        let own = self.addresses(path, front).into_iter().next().unwrap_or_default();
        let alias = |alias: &str| match alias.strip_prefix('/') {
            Some(rooted) => Some(plain(rooted).to_owned()),
            None => paths::normalise(paths::folder(&own), alias),
        };
        front.all("aliases").into_iter().filter_map(alias).collect()
    }

    fn lists(&self, path: &str, front: &Front) -> Vec<String> {
        let own = self.addresses(path, front);
        let Some(content) = self.content_of(path).filter(|_| !own.is_empty()) else { return Vec::new() };
        let list = |name: &String| {
            let terms = front.all(name).into_iter().map(permalinks::sanitized);
            let terms: Vec<String> =
                terms.map(|term| plain(&format!("{}/{name}/{term}", content.route)).to_owned()).collect();
            let whole = plain(&format!("{}/{name}", content.route)).to_owned();
            terms.into_iter().chain([whole])
        };
        self.taxonomies.iter().flat_map(list).collect()
    }

    fn ways(&self, asked: &Asked<'_>) -> Vec<Way> {
        if asked.kind == LinkKind::Snippet {
            return ways::script_import(asked, &self.root);
        }
        let content = self.content_of(asked.page);
        let mut found = Vec::new();
        if let Some(rooted) = asked.path.strip_prefix('/') {
            let inner = paths::below(rooted, &self.base).filter(|_| !self.base.is_empty());
            for path in [Some(rooted), inner].into_iter().flatten() {
                let (bare, _) = self.bare(path.trim_end_matches('/'));
                found.extend(paths::normalise("", bare).map(|path| Way::Address(served(&path))));
                found.extend(paths::normalise("", bare).map(Way::Address));
                found.extend(content.and_then(|content| paths::normalise(&content.route, bare)).map(Way::Address));
                found.extend(paths::normalise("", path).map(Way::Address));
                found.extend(content.and_then(|content| paths::normalise(&content.folder, path)).map(Way::File));
            }
            if self.by_file {
                found.extend(self.referred(asked.page, asked.path));
            }
            if asked.kind == LinkKind::Image {
                found.extend(self.resources(rooted));
                if self.has_others {
                    found.push(Way::Untold(Reason::new("a theme that is not in the repository may bring it")));
                }
            }
            return found;
        }
        // What lies beside a page of its own folder is served with it, wherever that is.
        let is_bundle = paths::stem(asked.page) == "index" && !asked.path.starts_with("..");
        if asked.kind == LinkKind::Image && is_bundle {
            let beside = paths::normalise(paths::folder(asked.page), asked.path).map(Way::File);
            let served =
                asked.at.and_then(|at| paths::normalise(at, asked.path)).filter(|it| self.untold(it).is_none());
            let resources = self.resources(asked.path);
            return beside.into_iter().chain(served.map(Way::Address)).chain(resources).collect();
        }
        // By file, by address, and from the folder of the file, as templates for links do it.
        let beside = paths::normalise(paths::folder(asked.page), asked.path);
        if let Some(path) = beside.as_ref().filter(|_| self.by_file) {
            found.push(Way::File(path.clone()));
            for ending in [".md", "/index.md", "/_index.md"] {
                found.push(Way::Page(format!("{}{ending}", path.trim_end_matches('/'))));
            }
        }
        let (bare, _) = self.bare(asked.path.trim_end_matches('/'));
        match asked.at {
            Some(at) => {
                let from_page = paths::normalise(at, asked.path);
                let from_folder = paths::normalise(paths::folder(at), bare).filter(|_| self.by_file);
                for address in from_page.into_iter().chain(from_folder) {
                    found.push(Way::Address(served(&address)));
                    found.push(Way::Address(address));
                }
            }
            None => found.push(Way::Untold(ways::outside())),
        }
        if let Some(literals) = self.layouts.hook.as_ref().filter(|_| asked.kind == LinkKind::Page) {
            found.extend(self.referred(asked.page, asked.path));
            if literals.iter().any(|literal| literal == asked.path) {
                found.push(Way::Elsewhere);
            }
        }
        if asked.kind == LinkKind::Image {
            found.extend(self.resources(asked.path));
        }
        if found.is_empty() {
            found.push(Way::Untold(ways::outside()));
        }
        found
    }

    fn filled(&self, page: &str, written: &str) -> Option<Filled> {
        if let Some(text) = self.with_params(page, written) {
            return Some(Filled::Written(text));
        }
        let [Part::Value(shortcode), rest @ ..] = &liquid::parts(written)?[..] else { return None };
        let inside = shortcode.strip_prefix(['<', '%'])?.strip_suffix(['>', '%'])?.trim();
        let (name, arguments) = inside.split_once(char::is_whitespace)?;
        if !matches!(name, "ref" | "relref") {
            return None;
        }
        let argument = arguments.trim();
        let argument = argument.strip_prefix("path=").unwrap_or(argument);
        let quote = argument.chars().next().filter(|c| matches!(c, '"' | '\'' | '`'));
        let path = match quote {
            Some(quote) => argument[1..].split(quote).next()?,
            None => argument.split_whitespace().next()?,
        };
        let (path, fragment) = path.split_once('#').map_or((path, None), |(path, fragment)| (path, Some(fragment)));
        let after = match rest {
            [Part::Text(text)] => text.strip_prefix('#'),
            [] => None,
            _ => return None,
        };
        let ways = if path.is_empty() { vec![Way::File(page.to_owned())] } else { self.referred(page, path) };
        Some(Filled::Ways(ways, fragment.or(after).map(str::to_owned)))
    }

    fn files_at(&self, address: &str) -> Vec<String> {
        let mut files: Vec<String> = self.statics.iter().map(|folder| paths::join(folder, address)).collect();
        files.push(paths::join(&paths::join(&self.root, "assets"), address));
        // What lies in a section is served with it, wherever `permalinks` puts that.
        let moved = self.permalinks.iter().map(|permalink| paths::join(&permalink.section, address));
        for below in moved.chain([address.to_owned()]) {
            files.extend(self.contents.iter().map(|content| paths::join(&content.folder, &below)));
        }
        files
    }

    fn redirects(&self) -> &[Rule] {
        &self.redirects
    }

    fn untold(&self, address: &str) -> Option<Reason> {
        let section = address.split('/').find(|part| !self.languages.iter().any(|language| language == part));
        let section = section.unwrap_or_default();
        let may_give =
            |it: &Permalink| !it.is_known() && (it.section == section || paths::is_below(address, it.start()));
        if self.permalinks.iter().any(may_give) {
            return Some(Reason::new("`permalinks` gives the pages of the section other addresses"));
        }
        let lower = address.to_lowercase();
        let rest = lower.split_once('/').filter(|(first, _)| self.languages.iter().any(|language| language == first));
        let is_below = |folder: &str| {
            paths::is_below(&lower, folder) || rest.is_some_and(|(_, rest)| paths::is_below(rest, folder))
        };
        if let Some((_, reason)) = self.made.iter().find(|(folder, _)| is_below(folder)) {
            return Some(reason.clone());
        }
        let (before, name) = (paths::folder(address), paths::file_name(address));
        let is_number = !name.is_empty() && name.chars().all(|c| c.is_ascii_digit());
        let is_next = is_number && paths::file_name(before) == "page";
        if matches!(name, "index.xml" | "sitemap.xml" | "robots.txt") || is_next {
            return Some(Reason::new("Hugo makes lists of pages there"));
        }
        let is_file = matches!(paths::extension(name).as_str(), "txt" | "json" | "xml" | "ics" | "webmanifest");
        let is_output = self.has_outputs && is_file && (before.is_empty() || name.starts_with("index."));
        is_output.then(|| Reason::new("an output format of the site may make it"))
    }

    fn partial(&self, path: &str) -> Option<Reason> {
        let below = self.content_of(path).and_then(|content| paths::below(path, &content.folder)).unwrap_or_default();
        let is_part = below.split('/').any(|part| part.starts_with('_') && !part.starts_with("_index"));
        (is_part || !self.is_page(path)).then(|| Reason::new("it stands in a part of other pages"))
    }

    fn dialect(&self) -> Dialect {
        Dialect {
            ids: IdRule::Hugo,
            term_ids: self.term_ids,
            templates: true,
            includes: &["{{%", "{{<"],
            shortcodes: Arc::clone(&self.layouts.shortcodes),
            ..Dialect::default()
        }
    }
}
