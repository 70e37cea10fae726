//! Astro, with Starlight or without: pages of the docs collection and of `src/pages`.

use std::collections::HashSet;

use copydesk_values::{Value, What};

use super::address::plain;
use super::generator::{Asked, Front, Generator, Place, Reason, Rule, Way};
use super::ways::{self, bare};
use crate::page::{Dialect, IdRule, LinkKind};
use crate::paths;

#[derive(Debug)]
pub(crate) struct Astro {
    root: String,
    /// The folder of the docs collection, if Starlight is there.
    docs: Option<String>,
    pages: String,
    base: String,
    /// The languages that have a folder; the one without comes first, as nothing.
    locales: Vec<String>,
    /// The language that the others fall back to.
    fallback: Option<String>,
    redirects: Vec<Rule>,
    made: Vec<(String, Reason)>,
    /// The files of `src/pages` whose names stand for many addresses, below that folder and without their endings.
    routes: Vec<String>,
    /// What the sidebar lists.
    listed: HashSet<String>,
    aliases: Vec<(String, String)>,
    /// Whether plugins may turn links to files into links to pages.
    by_file: bool,
}

/// Plugins that put pages where there are no files: the setting that says where, and the default.
const MAKERS: [(&str, &str, &str); 6] = [
    ("starlight-blog", "prefix", "blog"),
    ("starlight-typedoc", "output", "api"),
    ("starlight-changelogs", "base", "changelog"),
    ("starlight-tags", "tagsPagesPrefix", "tags"),
    ("@lunariajs/starlight", "route", "lunaria"),
    ("starlight-openapi", "base", "api"),
];

/// A site from its configuration; `aliases` are those of imports, `hosted` what the host of the site redirects.
pub(crate) fn site(root: &str, config: &Value, aliases: Vec<(String, String)>, hosted: Vec<Rule>) -> Astro {
    let integrations = config.get("integrations").map(Value::items).unwrap_or_default();
    let is_starlight = |value: &&Value| value.through.as_deref() == Some("@astrojs/starlight");
    let starlight = integrations.iter().find(is_starlight);
    let source = config.get("srcDir").and_then(Value::text).unwrap_or("src");
    let source = paths::normalise(root, source).unwrap_or_else(|| paths::join(root, "src"));
    let mut site = Astro {
        root: root.to_owned(),
        docs: starlight.map(|_| paths::join(&source, "content/docs")),
        pages: paths::join(&source, "pages"),
        base: config.get("base").and_then(Value::text).map(|base| plain(base).to_owned()).unwrap_or_default(),
        locales: Vec::new(),
        fallback: None,
        redirects: redirects(config).into_iter().chain(hosted).collect(),
        made: Vec::new(),
        routes: Vec::new(),
        listed: HashSet::new(),
        aliases,
        by_file: ["remarkPlugins", "rehypePlugins"].iter().any(|name| config.at(&["markdown", name]).is_some()),
    };
    let option = |name: &str| starlight.and_then(|starlight| starlight.get(name));
    if let Some(locales) = option("locales") {
        let names =
            locales.entries().iter().map(|(key, _)| if key.name == "root" { String::new() } else { key.name.clone() });
        site.locales = names.collect();
        site.locales.sort();
        let default = option("defaultLocale").and_then(Value::text).filter(|name| *name != "root");
        site.fallback = match default {
            Some(name) if site.locales.iter().any(|locale| locale == name) => Some(name.to_owned()),
            _ => site.locales.first().cloned(),
        };
    }
    for item in option("sidebar").map(Value::items).unwrap_or_default() {
        site.listed(item);
    }
    for plugin in option("plugins").map(Value::items).unwrap_or_default() {
        let Some((name, key, default)) = MAKERS.iter().find(|(name, ..)| plugin.through.as_deref() == Some(name))
        else {
            continue;
        };
        let reason = Reason::new(format!("the plugin `{name}` makes pages there"));
        let folder = plugin.get(key).and_then(Value::text).unwrap_or(default);
        site.made.push((plain(folder).to_owned(), reason.clone()));
        // Lists of several, each with its place.
        let places = several(plugin).filter_map(|one| one.get(key)).filter_map(Value::text);
        site.made.extend(places.map(|folder| (plain(folder).to_owned(), reason.clone())));
    }
    site
}

/// What a plugin is given in a list.
fn several(plugin: &Value) -> impl Iterator<Item = &Value> {
    let perhaps = match &plugin.what {
        What::Unknown(unknown) => unknown.perhaps.as_slice(),
        _ => &[],
    };
    perhaps.iter().chain([plugin]).flat_map(Value::items)
}

fn redirects(config: &Value) -> Vec<Rule> {
    let entries = config.get("redirects").map(Value::entries).unwrap_or_default();
    // What a file gives that is taken in stands there, and so does all that is in it.
    let file = config.get("redirects").and_then(|redirects| redirects.file.clone());
    let destination =
        |value: &Value| value.text().or_else(|| value.get("destination")?.text()).unwrap_or_default().to_owned();
    let rule = |(key, value): &(copydesk_values::Key, Value)| Rule {
        source: wildcards(&key.name),
        destination: wildcards(&destination(value)),
        place: Some(Place::within(value, file.as_ref())),
    };
    entries.iter().map(rule).collect()
}

/// `[...slug]` stands for any number of parts, `[id]` for one.
fn wildcards(route: &str) -> String {
    let part = |part: &str| match part.strip_prefix('[').and_then(|part| part.strip_suffix(']')) {
        Some(name) if name.starts_with("...") => format!(":{}*", &name[3..]),
        Some(name) => format!(":{name}"),
        None => part.to_owned(),
    };
    route.split('/').map(part).collect::<Vec<_>>().join("/")
}

impl Astro {
    /// The same with the pages that loaders of collections make.
    pub(crate) fn with_collections(mut self, collections: Option<Value>) -> Self {
        let mut left: Vec<&Value> = collections.iter().collect();
        while let Some(value) = left.pop() {
            if value.through.as_deref().is_some_and(|through| through.starts_with("starlight-changelogs")) {
                let bases = several(value).chain([value]).filter_map(|one| one.get("base")?.text());
                let reason = Reason::new("the plugin `starlight-changelogs` makes pages there");
                self.made.extend(bases.map(|base| (plain(base).to_owned(), reason.clone())));
            }
            left.extend(value.items().iter().chain(value.entries().iter().map(|(_, value)| value)));
        }
        self
    }

    /// The same with the files of the site that make many pages each: `[slug].astro`, `[...path].ts`.
    pub(crate) fn with_routes(mut self, files: &[String]) -> Self {
        let route = |path: &&String| {
            self.is_page(path) && !self.docs.as_deref().is_some_and(|docs| paths::is_below(path, docs))
        };
        let below = files.iter().filter(route).filter_map(|path| paths::below(path, &self.pages));
        let bare = below.map(|below| below.rsplit_once('.').map_or(below, |(bare, _)| bare));
        self.routes = bare
            .filter(|bare| bare.contains('['))
            .map(|bare| bare.strip_suffix("/index").unwrap_or(bare).to_owned())
            .collect();
        self
    }

    /// Notes what the sidebar lists: where there is no file of it, a program makes the page, or Starlight would not build.
    fn listed(&mut self, item: &Value) {
        let texts = [Some(item), item.get("slug"), item.get("link")];
        for text in texts.into_iter().flatten().filter_map(Value::text).filter(|text| !text.contains("://")) {
            self.listed.insert(plain(text.split(['#', '?']).next().unwrap_or_default()).to_owned());
        }
        if let Some(folder) = item.at(&["autogenerate", "directory"]).and_then(Value::text) {
            self.listed.insert(plain(folder).to_owned());
        }
        for inner in item.get("items").map(Value::items).unwrap_or_default() {
            self.listed(inner);
        }
    }

    /// The address of a page of the docs collection by its path below it.
    fn slug(below: &str) -> String {
        let (bare, _) = bare(below, &[]);
        let slugged: Vec<String> = bare.split('/').map(|part| IdRule::GitHub.slug(part)).collect();
        let whole = slugged.join("/");
        whole
            .strip_suffix("/index")
            .map_or_else(|| if whole == "index" { String::new() } else { whole.clone() }, str::to_owned)
    }

    /// The language of an address and the rest of it.
    fn split<'p>(&self, address: &'p str) -> (&str, &'p str) {
        let first = address.split('/').next().unwrap_or_default();
        match self.locales.iter().find(|locale| !locale.is_empty() && *locale == first) {
            Some(locale) => (locale, address[first.len()..].trim_start_matches('/')),
            None => ("", address),
        }
    }
}

/// Whether a route with names in brackets may make an address, both in parts.
fn makes(route: &[&str], address: &[&str]) -> bool {
    let Some((first, further)) = route.split_first() else { return address.is_empty() };
    let Some((before, rest)) = first.split_once('[') else {
        return address.split_first().is_some_and(|(part, left)| part == first && makes(further, left));
    };
    let after = rest.rsplit_once(']').map_or("", |(_, after)| after);
    let fits =
        |part: &str| part.len() > before.len() + after.len() && part.starts_with(before) && part.ends_with(after);
    if !rest.starts_with("...") {
        return address.split_first().is_some_and(|(part, left)| fits(part) && makes(further, left));
    }
    let ends = |count: usize| match count {
        0 => before.is_empty() && after.is_empty(),
        count => address[0].starts_with(before) && address[count - 1].ends_with(after),
    };
    (0..=address.len()).any(|count| ends(count) && makes(further, &address[count..]))
}

impl Generator for Astro {
    fn name(&self) -> &'static str {
        if self.docs.is_some() { "Starlight" } else { "Astro" }
    }

    fn root(&self) -> &str {
        &self.root
    }

    fn base(&self) -> Option<&str> {
        Some(&self.base)
    }

    fn folders(&self) -> Vec<&str> {
        self.docs.iter().map(String::as_str).chain([self.pages.as_str()]).collect()
    }

    fn is_page(&self, path: &str) -> bool {
        let ending = paths::extension(path);
        if let Some(below) = self.docs.as_deref().and_then(|docs| paths::below(path, docs)) {
            let is_hidden = below.split('/').any(|part| part.starts_with('_'));
            return matches!(ending.as_str(), "md" | "mdx" | "mdoc") && !is_hidden;
        }
        paths::below(path, &self.pages).is_some_and(|below| {
            let is_hidden = below.split('/').any(|part| part.starts_with('_'));
            matches!(ending.as_str(), "astro" | "md" | "mdx" | "html" | "ts" | "js") && !is_hidden
        })
    }

    fn reads_front_matter(&self) -> bool {
        true
    }

    fn addresses(&self, path: &str, front: &Front) -> Vec<String> {
        if let Some(below) = self.docs.as_deref().and_then(|docs| paths::below(path, docs)) {
            let own = front.get("slug").map_or_else(|| Self::slug(below), |slug| plain(slug).to_owned());
            return vec![own];
        }
        let Some(below) = paths::below(path, &self.pages) else { return Vec::new() };
        let bare = below.rsplit_once('.').map_or(below, |(bare, _)| bare);
        let bare = bare.strip_suffix("/index").unwrap_or(if bare == "index" { "" } else { bare });
        if bare.contains('[') { Vec::new() } else { vec![bare.to_owned()] }
    }

    fn fallbacks(&self, path: &str, front: &Front) -> Vec<String> {
        let addresses = self.addresses(path, front);
        let Some(own) = addresses.first() else { return Vec::new() };
        let (locale, rest) = self.split(own);
        if self.fallback.as_deref() != Some(locale) || !paths::is_below(path, self.docs.as_deref().unwrap_or("\0")) {
            return Vec::new();
        }
        self.locales.iter().map(|other| plain(&format!("{other}/{rest}")).to_owned()).collect()
    }

    fn ways(&self, asked: &Asked<'_>) -> Vec<Way> {
        if asked.kind == LinkKind::Snippet || asked.path.starts_with(['~', '@']) {
            return ways::aliased_import(asked, &self.root, &self.aliases);
        }
        if let Some(rooted) = asked.path.strip_prefix('/') {
            // Pictures may be named by their path in the repository.
            let file = paths::normalise(&self.root, rooted).map(Way::File);
            let below = paths::below(rooted, &self.base);
            let address = match below {
                Some(below) => paths::normalise("", below).map(Way::Address),
                None => paths::normalise("", rooted).map(Way::Outside),
            };
            return address.into_iter().chain(file.filter(|_| asked.kind == LinkKind::Image)).collect();
        }
        let mut found = Vec::new();
        if asked.kind == LinkKind::Image || self.by_file && crate::page::is_page(asked.path) {
            found.extend(paths::normalise(paths::folder(asked.page), asked.path).map(Way::File));
        }
        match asked.at {
            // Pictures of Markdown are files that the site takes in.
            Some(_) if asked.kind == LinkKind::Image && !asked.in_tag => {}
            Some(at) if self.base.is_empty() => found.push(Way::Address(ways::clamped(at, asked.path))),
            Some(at) => found.extend(paths::normalise(at, asked.path).map(Way::Address)),
            None => found.push(Way::Untold(Reason::new("the page has no address of its own"))),
        }
        found
    }

    fn files_at(&self, address: &str) -> Vec<String> {
        vec![paths::join(&paths::join(&self.root, "public"), address)]
    }

    fn sources(&self, address: &str) -> Vec<String> {
        let (_, rest) = self.split(address);
        let docs = self.docs.iter().flat_map(|docs| {
            let names = [".md", ".mdx", "/index.md", "/index.mdx"];
            names.map(|name| [format!("{docs}/{address}{name}"), format!("{docs}/{rest}{name}")])
        });
        docs.flatten().collect()
    }

    fn redirects(&self) -> &[Rule] {
        &self.redirects
    }

    fn untold(&self, address: &str) -> Option<Reason> {
        let parts: Vec<&str> = address.split('/').filter(|part| !part.is_empty()).collect();
        if let Some(route) = self.routes.iter().find(|route| makes(&route.split('/').collect::<Vec<_>>(), &parts)) {
            return Some(Reason::new(format!("`src/pages/{route}` makes many pages, maybe that one")));
        }
        let (_, rest) = self.split(address);
        let made = self.made.iter().find(|(folder, reason)| match paths::below(rest, folder) {
            // The posts of the blog are files; what lists them is made.
            Some(below) if reason.0.contains("starlight-blog") => {
                let first = below.split('/').next().unwrap_or_default();
                matches!(first, "" | "tags" | "authors" | "rss.xml") || first.bytes().all(|byte| byte.is_ascii_digit())
            }
            below => below.is_some(),
        });
        let made = made.map(|(_, reason)| reason.clone());
        let listed = || self.listed.contains(rest).then(|| Reason::new("the sidebar lists it, so a program makes it"));
        made.or_else(listed)
    }

    fn follows_parts(&self) -> bool {
        true
    }

    fn source(&self) -> Option<String> {
        Some(paths::folder(&self.pages).to_owned())
    }

    fn partial(&self, path: &str) -> Option<Reason> {
        (!self.is_page(path)).then(|| Reason::new("it stands in a part of other pages"))
    }

    fn dialect(&self) -> Dialect {
        Dialect { ids: IdRule::GitHub, ..Dialect::default() }
    }
}
