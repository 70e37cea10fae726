//! VitePress: pages are files below `srcDir`, links go by file or by address.

use copydesk_values::{Value, What};

use super::address::plain;
use super::generator::{Asked, Front, Generator, Reason, Rule, Way};
use super::glob::Glob;
use super::ways;
use crate::page::{Dialect, IdRule, LinkKind};
use crate::paths;

#[derive(Debug)]
pub(crate) struct VitePress {
    source: String,
    /// What the site is served below, without slashes around it; none if that is not known.
    base: Option<String>,
    excluded: Vec<Glob>,
    /// Patterns of paths and what they become; none if that is not known.
    rewrites: Vec<(String, String)>,
    rewritten: Option<Reason>,
    /// What the host of the site redirects.
    redirects: Vec<Rule>,
    /// Routes with a parameter, with a star for it.
    dynamic: Vec<Glob>,
}

/// A site from its configuration; `folder` is the one that holds `.vitepress`, `files` are all below it.
pub(crate) fn site(folder: &str, config: &Value, files: &[String], redirects: Vec<Rule>) -> VitePress {
    let source = config.get("srcDir").and_then(Value::text).unwrap_or(".");
    let source = paths::normalise(folder, source).unwrap_or_else(|| folder.to_owned());
    let excluded = config.get("srcExclude").map(Value::items).unwrap_or_default();
    let mut excluded: Vec<Glob> = excluded.iter().filter_map(Value::text).map(Glob::new).collect();
    excluded.push(Glob::new("**/node_modules/**"));
    let mut rewrites = Vec::new();
    let mut rewritten = None;
    if let Some(value) = config.get("rewrites") {
        for (key, to) in value.entries() {
            match to.text() {
                Some(to) => rewrites.push((key.name.clone(), to.to_owned())),
                None => rewritten = Some(Reason::new("`rewrites` in the configuration is not constant")),
            }
        }
        if let Some(why) = value.why_open() {
            rewritten = Some(Reason::new(format!("`rewrites` in the configuration: {why}")));
        }
    }
    if let Some(Value { what: What::Unknown(unknown), .. }) = config.get("srcDir") {
        rewritten = Some(Reason::new(format!("`srcDir` in the configuration: {}", unknown.why)));
    }
    let routes = files.iter().filter(|path| path.ends_with(".md") && path.contains('['));
    let dynamic =
        routes.filter_map(|path| paths::below(path, &source)).map(|below| Glob::new(&starred(below))).collect();
    let base = match config.get("base") {
        Some(base) => base.text().map(|base| plain(base).to_owned()),
        None => Some(String::new()),
    };
    VitePress { source, base, excluded, rewrites, rewritten, redirects, dynamic }
}

impl VitePress {
    fn below<'p>(&self, path: &'p str) -> Option<&'p str> {
        paths::below(path, &self.source)
    }

    /// The path below the source that a file is served from.
    fn rewritten(&self, below: &str) -> String {
        for (from, to) in &self.rewrites {
            if let Some(new) = rewrite(from, to, below) {
                return new;
            }
        }
        below.to_owned()
    }

    /// A picture: a file beside the page, below the source, or a public one.
    fn image(&self, asked: &Asked<'_>) -> Vec<Way> {
        if asked.path.starts_with(['@', '~']) {
            return vec![Way::Untold(ways::alias())];
        }
        let Some(rooted) = asked.path.strip_prefix('/') else {
            return paths::normalise(paths::folder(asked.page), asked.path).map(Way::File).into_iter().collect();
        };
        let public = paths::join(&self.source, "public");
        [public.as_str(), &self.source]
            .iter()
            .filter_map(|root| paths::normalise(root, rooted))
            .map(Way::File)
            .collect()
    }

    /// A page or a public file, by address: from where the page is served, as the file that it is. An index page is one
    /// of its folder, which ends in a slash.
    fn page(&self, asked: &Asked<'_>) -> Vec<Way> {
        let ways = |start: &str, path: &str| -> Vec<Way> {
            let Some(address) = paths::normalise(start, path) else { return Vec::new() };
            let is_folder = path.is_empty() || path.ends_with(['/', '.']);
            let file = if is_folder { paths::join(&address, "index") } else { address.clone() };
            let bare = file.strip_suffix(".html").or_else(|| file.strip_suffix(".md")).unwrap_or(&file);
            vec![Way::Address(bare.to_owned()), Way::File(paths::join(&paths::join(&self.source, "public"), &address))]
        };
        let Some(rooted) = asked.path.strip_prefix('/') else {
            let below = self.below(asked.page).map(|below| self.rewritten(below)).unwrap_or_default();
            return ways(paths::folder(&below), asked.path);
        };
        // Links of Markdown get the base put before them; of tags only the components know whether they do.
        match &self.base {
            Some(base) if !asked.in_tag || base.is_empty() => ways("", rooted),
            Some(base) => match paths::below(rooted, base) {
                Some(below) => ways("", below),
                None => vec![Way::Untold(Reason::new("a component may put the base of the site before it"))],
            },
            None => vec![Way::Untold(Reason::new("`base` in the configuration is not constant"))],
        }
    }
}

impl Generator for VitePress {
    fn name(&self) -> &'static str {
        "VitePress"
    }

    fn root(&self) -> &str {
        &self.source
    }

    fn base(&self) -> Option<&str> {
        self.base.as_deref()
    }

    fn folders(&self) -> Vec<&str> {
        vec![&self.source]
    }

    fn is_page(&self, path: &str) -> bool {
        let Some(below) = self.below(path) else { return false };
        let is_hidden = below.split('/').any(|part| part.starts_with('.'));
        path.ends_with(".md") && !is_hidden && !self.excluded.iter().any(|glob| glob.matches(below))
    }

    fn addresses(&self, path: &str, _front: &Front) -> Vec<String> {
        let Some(below) = self.below(path) else { return Vec::new() };
        if below.contains('[') {
            return Vec::new();
        }
        let served = self.rewritten(below);
        vec![served.strip_suffix(".md").unwrap_or(&served).to_owned()]
    }

    fn ways(&self, asked: &Asked<'_>) -> Vec<Way> {
        match asked.kind {
            LinkKind::Snippet => {
                let rooted = asked.path.strip_prefix('@').filter(|rest| rest.starts_with('/'));
                ways::script_import(&Asked { path: rooted.unwrap_or(asked.path), ..*asked }, &self.source)
            }
            LinkKind::Image => self.image(asked),
            LinkKind::Page => self.page(asked),
        }
    }

    fn files_at(&self, address: &str) -> Vec<String> {
        vec![paths::join(&paths::join(&self.source, "public"), address)]
    }

    fn sources(&self, address: &str) -> Vec<String> {
        vec![paths::join(&self.source, &format!("{address}.md"))]
    }

    fn redirects(&self) -> &[Rule] {
        &self.redirects
    }

    fn untold(&self, address: &str) -> Option<Reason> {
        let is_made = self.dynamic.iter().any(|route| route.matches(address));
        let made = is_made.then(|| Reason::new("a route with a parameter makes pages there"));
        made.or_else(|| self.rewritten.clone())
    }

    fn partial(&self, path: &str) -> Option<Reason> {
        let is_part = !self.is_page(path) && path.ends_with(".md");
        is_part.then(|| Reason::new("it stands in a part of other pages"))
    }

    fn dialect(&self) -> Dialect {
        Dialect { ids: IdRule::VitePress, comment_includes: true, ..Dialect::default() }
    }
}

/// A route with stars for its parameters: `[name].md` is `*`.
fn starred(below: &str) -> String {
    let bare = below.strip_suffix(".md").unwrap_or(below);
    let part = |part: &str| match (part.find('['), part.rfind(']')) {
        (Some(start), Some(end)) if start < end => format!("{}*{}", &part[..start], &part[end + 1..]),
        _ => part.to_owned(),
    };
    bare.split('/').map(part).collect::<Vec<_>>().join("/")
}

/// What a path becomes by a rewrite such as `packages/:name/src/:page(.*)` to `:name/:page`.
fn rewrite(from: &str, to: &str, path: &str) -> Option<String> {
    let mut names: Vec<(&str, String)> = Vec::new();
    let (pattern, parts): (Vec<&str>, Vec<&str>) = (from.split('/').collect(), path.split('/').collect());
    for (number, part) in pattern.iter().enumerate() {
        if *part == "(.*)" {
            names.push(("(.*)", parts.get(number..)?.join("/")));
            return Some(filled(to, &names));
        }
        let Some(name) = part.strip_prefix(':') else {
            if parts.get(number) != Some(part) {
                return None;
            }
            continue;
        };
        let end = name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(name.len());
        let (name, rest) = name.split_at(end);
        if rest.starts_with("(.*)") || rest.starts_with('*') || rest.starts_with('+') {
            let tail = parts.get(number..)?.join("/");
            let suffix = rest.trim_start_matches("(.*)").trim_start_matches(['*', '+']);
            names.push((name, tail.strip_suffix(suffix)?.to_owned()));
            return Some(filled(to, &names));
        }
        names.push((name, parts.get(number)?.strip_suffix(rest)?.to_owned()));
    }
    (pattern.len() == parts.len()).then(|| filled(to, &names))
}

fn filled(to: &str, names: &[(&str, String)]) -> String {
    let mut filled = to.to_owned();
    for (name, value) in names {
        if *name == "(.*)" {
            filled = filled.replace(name, value);
            continue;
        }
        filled = filled
            .replace(&format!(":{name}(.*)"), value)
            .replace(&format!(":{name}*"), value)
            .replace(&format!(":{name}+"), value);
        filled = filled.replace(&format!(":{name}"), value);
    }
    filled
}
