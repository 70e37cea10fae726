//! Next.js: routes of `app` and `pages`, and the content folders of Nextra and Fumadocs.

use copydesk_values::{Value, What};

use super::address::plain;
use super::generator::{Asked, Front, Generator, Place, Reason, Rule, Way};
use super::ways::{self, bare};
use crate::page::{Dialect, IdRule, LinkKind};
use crate::paths;

#[derive(Debug)]
pub(crate) struct Next {
    root: String,
    /// `app` and `pages`, wherever they are.
    routes: Vec<Routes>,
    contents: Vec<Content>,
    aliases: Vec<(String, String)>,
    redirects: Vec<Rule>,
    /// The languages that pages have a folder for.
    locales: Vec<String>,
    /// Whether addresses end in a slash, so that relative ones start one level deeper.
    slashes: bool,
    /// Whether links may go by file, as with Fumadocs.
    by_file: bool,
    /// Routes that only running the site tells, with a star for what they stand for.
    dynamic: Vec<String>,
}

#[derive(Debug)]
struct Routes {
    folder: String,
    is_app: bool,
}

/// A folder of pages and where it is served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Content {
    pub(crate) folder: String,
    pub(crate) route: String,
}

/// What else of the repository the site depends on.
pub(crate) struct Surroundings {
    /// The content folders of Fumadocs.
    pub(crate) contents: Vec<Content>,
    /// The aliases of imports.
    pub(crate) aliases: Vec<(String, String)>,
    /// What the host of the site redirects.
    pub(crate) hosted: Vec<Rule>,
}

/// A site from its configuration and the paths of all its files.
pub(crate) fn site(root: &str, config: &Value, files: &[String], around: Surroundings) -> Next {
    let Surroundings { contents, aliases, hosted } = around;
    let locales = config.at(&["i18n", "locales"]).map(Value::items).unwrap_or_default();
    let mut site = Next {
        root: root.to_owned(),
        routes: Vec::new(),
        slashes: config.get("trailingSlash").and_then(Value::truth).unwrap_or(false),
        by_file: !contents.is_empty(),
        contents,
        redirects: redirects(config).into_iter().chain(hosted).collect(),
        aliases,
        locales: locales.iter().filter_map(Value::text).map(str::to_owned).collect(),
        dynamic: Vec::new(),
    };
    for source in ["", "src"] {
        for (name, is_app) in [("app", true), ("pages", false)] {
            let Some(folder) = paths::normalise(root, &format!("{source}/{name}")) else { continue };
            if files.iter().any(|path| paths::is_below(path, &folder)) {
                site.routes.push(Routes { folder, is_app });
            }
        }
    }
    for path in files {
        for routes in &site.routes {
            let Some(below) = paths::below(path, &routes.folder) else { continue };
            let is_route = !routes.is_app || is_app_page(below);
            if is_route && below.contains('[') {
                site.dynamic.push(route(below, routes.is_app));
            }
        }
    }
    // Nextra serves the content folder where a route takes all that comes.
    if site.contents.is_empty() {
        for source in ["content", "src/content"] {
            let folder = paths::join(root, source);
            let has_pages = files.iter().any(|path| paths::is_below(path, &folder) && crate::page::is_page(path));
            if has_pages {
                let all = site
                    .dynamic
                    .iter()
                    .filter_map(|route| route.strip_suffix("**"))
                    .map(|route| plain(route).to_owned());
                let fixed = all.filter(|route| !route.contains('*')).min_by_key(String::len).unwrap_or_default();
                site.contents.push(Content { folder, route: fixed });
            }
        }
    }
    let served: Vec<String> = site.contents.iter().map(|content| content.route.clone()).collect();
    site.dynamic.retain(|route| match route.strip_suffix("**") {
        // The first part of a route may be the language.
        Some(fixed) => {
            let fixed = plain(fixed);
            let bare = fixed.strip_prefix('*').filter(|_| !site.locales.is_empty()).map_or(fixed, plain);
            !served.iter().any(|served| served == bare)
        }
        None => true,
    });
    site
}

fn redirects(config: &Value) -> Vec<Rule> {
    let listed = match config.get("redirects").map(|value| &value.what) {
        Some(What::Unknown(unknown)) => unknown.perhaps.iter().flat_map(Value::items).collect::<Vec<_>>(),
        _ => config.get("redirects").map(Value::items).unwrap_or_default().iter().collect(),
    };
    let rule = |redirect: &&Value| {
        let text = |name: &str| redirect.get(name).and_then(Value::text).map(str::to_owned);
        Some(Rule { source: text("source")?, destination: text("destination")?, place: Some(Place::of(redirect)) })
    };
    listed.iter().filter_map(rule).collect()
}

fn is_app_page(below: &str) -> bool {
    let stem = paths::stem(below);
    stem == "page" || stem == "route" && matches!(paths::extension(below).as_str(), "ts" | "js" | "tsx" | "jsx")
}

/// The address of a route: groups in brackets are left out, parameters are stars.
fn route(below: &str, is_app: bool) -> String {
    let bare = below.rsplit_once('.').map_or(below, |(bare, _)| bare);
    let bare = if is_app { paths::folder(bare) } else { bare };
    let mut parts = Vec::new();
    for part in bare.split('/').filter(|part| !part.is_empty()) {
        match part {
            part if part.starts_with('(') && part.ends_with(')') || part.starts_with('@') => {}
            "index" if !is_app => {}
            part if part.starts_with("[[...") || part.starts_with("[...") => parts.push("**"),
            part if part.starts_with('[') => parts.push("*"),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

impl Next {
    fn content_of(&self, path: &str) -> Option<&Content> {
        let contents = self.contents.iter().filter(|content| paths::is_below(path, &content.folder));
        contents.max_by_key(|content| content.folder.len())
    }
}

impl Generator for Next {
    fn name(&self) -> &'static str {
        "Next.js"
    }

    fn folders(&self) -> Vec<&str> {
        let contents = self.contents.iter().map(|content| content.folder.as_str());
        contents.chain(self.routes.iter().map(|routes| routes.folder.as_str())).collect()
    }

    fn is_page(&self, path: &str) -> bool {
        if self.content_of(path).is_some() {
            return crate::page::is_page(path);
        }
        let ending = paths::extension(path);
        self.routes.iter().any(|routes| {
            let Some(below) = paths::below(path, &routes.folder) else { return false };
            let is_script = ["md", "mdx", "js", "jsx", "ts", "tsx"].contains(&ending.as_str());
            let is_hidden = below.split('/').any(|part| part.starts_with('_'));
            is_script && !is_hidden && (!routes.is_app || is_app_page(below))
        })
    }

    fn addresses(&self, path: &str, _front: &Front) -> Vec<String> {
        if let Some(content) = self.content_of(path) {
            let below = paths::below(path, &content.folder).unwrap_or_default();
            let (bare, _) = bare(below, &["index"]);
            // `page.fr.mdx` is the same page in another language.
            let is_locale =
                |name: &str| (2..=5).contains(&name.len()) && name.chars().all(|c| c.is_ascii_alphabetic() || c == '-');
            let bare = match paths::file_name(bare).rsplit_once('.') {
                Some((_, locale)) if is_locale(locale) => &bare[..bare.len() - locale.len() - 1],
                _ => bare,
            };
            let bare = bare.strip_suffix("/index").unwrap_or(bare);
            let parts = bare.split('/').filter(|part| !(part.starts_with('(') && part.ends_with(')')));
            let below: Vec<&str> = parts.collect();
            let address = |parts: &[&str]| plain(&format!("{}/{}", content.route, parts.join("/"))).to_owned();
            return match below.as_slice() {
                // An address without a language is answered in that of the reader.
                [locale, rest @ ..] if self.locales.iter().any(|known| known == locale) => {
                    vec![address(&below), address(rest)]
                }
                _ => vec![address(&below)],
            };
        }
        let routes = self.routes.iter().find(|routes| paths::is_below(path, &routes.folder));
        let below = routes.and_then(|routes| Some((paths::below(path, &routes.folder)?, routes.is_app)));
        match below {
            Some((below, is_app)) if !below.contains('[') => vec![route(below, is_app)],
            _ => Vec::new(),
        }
    }

    fn ways(&self, asked: &Asked<'_>) -> Vec<Way> {
        if asked.kind == LinkKind::Snippet {
            return ways::aliased_import(asked, &self.root, &self.aliases);
        }
        let mut found = Vec::new();
        if !asked.path.starts_with('/') && (self.by_file || asked.kind == LinkKind::Image) {
            found.extend(paths::normalise(paths::folder(asked.page), asked.path).map(Way::File));
        }
        // Nextra takes the ending away and leaves the rest to the browser.
        let (path, _) = bare(asked.path, &[]);
        match (path.strip_prefix('/'), asked.at) {
            (Some(rooted), _) => found.extend(paths::normalise("", rooted).map(Way::Address)),
            (None, Some(at)) => {
                let folder = if self.slashes { at } else { paths::folder(at) };
                found.push(Way::Address(ways::clamped(folder, path)));
            }
            (None, None) => found.push(Way::Untold(Reason::new("the page has no address of its own"))),
        }
        found
    }

    fn files_at(&self, address: &str) -> Vec<String> {
        vec![paths::join(&paths::join(&self.root, "public"), address)]
    }

    fn sources(&self, address: &str) -> Vec<String> {
        let below =
            |content: &Content| Some((content.folder.clone(), paths::below(address, &content.route)?.to_owned()));
        let names = [".md", ".mdx", "/index.md", "/index.mdx"];
        let places = self.contents.iter().filter_map(below);
        places.flat_map(|(folder, below)| names.map(|name| format!("{folder}/{below}{name}"))).collect()
    }

    fn redirects(&self) -> &[Rule] {
        &self.redirects
    }

    fn untold(&self, address: &str) -> Option<Reason> {
        let matches = |route: &&String| super::glob::Glob::new(route).matches(address);
        let route = self.dynamic.iter().find(matches)?;
        Some(Reason::new(format!("the route `/{route}` is made when the site is built")))
    }

    fn root(&self) -> &str {
        &self.root
    }

    fn follows_parts(&self) -> bool {
        true
    }

    fn source(&self) -> Option<String> {
        Some(paths::join(&self.root, "src"))
    }

    fn partial(&self, path: &str) -> Option<Reason> {
        (!self.is_page(path)).then(|| Reason::new("it stands in a part of other pages"))
    }

    fn dialect(&self) -> Dialect {
        Dialect { ids: IdRule::GitHub, comment_ids: true, bracket_ids: true, ..Dialect::default() }
    }
}
