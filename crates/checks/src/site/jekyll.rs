//! Jekyll, also as GitHub Pages runs it: pages, posts and collections, each with its permalink.

use copydesk_values::Value;

use super::address::plain;
use super::generator::{Asked, Filled, Front, Generator, Reason, Way};
use super::glob::Glob;
use super::liquid::{self, Part};
use super::ways::{self, bare};
use crate::page::{Dialect, IdRule, LinkKind, Snippets};
use crate::paths;

#[derive(Debug)]
pub(crate) struct Jekyll {
    root: String,
    base: String,
    /// Whether pages are served as folders.
    pretty: bool,
    collections: Vec<Collection>,
    excluded: Vec<Glob>,
    included: Vec<Glob>,
    /// Whether GitHub builds it, with plugins of its choice: pages need no front matter, and links may name files.
    on_github: bool,
    /// Whether links may name files.
    by_file: bool,
    /// The settings that are texts, which templates may name.
    settings: Vec<(String, String)>,
    /// Whether a theme brings parts of its own.
    has_theme: bool,
}

/// Pages of one kind, such as posts.
#[derive(Debug)]
struct Collection {
    name: String,
    permalink: Option<String>,
    is_served: bool,
}

/// A site from its configuration; `gems` is what its `Gemfile` says, if it has one.
pub(crate) fn site(root: &str, config: &Value, gems: Option<&str>) -> Jekyll {
    let globs = |name: &str| -> Vec<Glob> {
        let items = config.get(name).map(Value::items).unwrap_or_default().iter().filter_map(Value::text);
        items.flat_map(|item| [Glob::new(plain(item)), Glob::new(&format!("{}/**", plain(item)))]).collect()
    };
    let permalink = config.get("permalink").and_then(Value::text);
    let mut collections =
        vec![Collection { name: "posts".to_owned(), permalink: permalink.map(str::to_owned), is_served: true }];
    for (key, settings) in config.get("collections").map(Value::entries).unwrap_or_default() {
        let own = settings.get("permalink").and_then(Value::text).map(str::to_owned);
        let is_served = key.name == "posts" || settings.get("output").and_then(Value::truth).unwrap_or(false);
        collections.retain(|known| known.name != key.name);
        collections.push(Collection {
            name: key.name.clone(),
            permalink: own.or(permalink.map(str::to_owned)),
            is_served,
        });
    }
    let mut excluded = globs("exclude");
    let usual = ["vendor/**", "node_modules/**", "Gemfile", "**/Gemfile.lock", ".sass-cache/**", ".jekyll-cache/**"];
    excluded.extend(usual.map(Glob::new));
    let on_github = gems.is_none_or(|gems| gems.contains("github-pages"));
    let plugins = ["plugins", "gems", "whitelist"].iter().filter_map(|name| config.get(name)).flat_map(Value::items);
    let has_plugin = plugins.filter_map(Value::text).any(|name| name == "jekyll-relative-links");
    let source = config.get("source").and_then(Value::text).unwrap_or("");
    Jekyll {
        root: paths::normalise(root, source).unwrap_or_else(|| root.to_owned()),
        base: config.get("baseurl").and_then(Value::text).map(|base| plain(base).to_owned()).unwrap_or_default(),
        pretty: permalink.is_some_and(|permalink| permalink == "pretty" || permalink.ends_with('/')),
        collections,
        excluded,
        included: globs("include"),
        on_github,
        by_file: on_github || has_plugin || gems.is_some_and(|gems| gems.contains("jekyll-relative-links")),
        settings: config
            .entries()
            .iter()
            .filter_map(|(key, value)| Some((key.name.clone(), value.text()?.to_owned())))
            .collect(),
        has_theme: ["theme", "remote_theme"].iter().any(|name| config.get(name).is_some()),
    }
}

impl Jekyll {
    /// The collection that a path is in, and the path below it.
    fn collection<'p>(&self, below: &'p str) -> Option<(&Collection, &'p str)> {
        let mut at = 0;
        for part in below.split('/') {
            let name = part.strip_prefix('_').map(|name| if name == "drafts" { "posts" } else { name });
            if let Some(collection) = name.and_then(|name| self.collections.iter().find(|known| known.name == name)) {
                return Some((collection, below[at + part.len()..].trim_start_matches('/')));
            }
            at += part.len() + 1;
        }
        None
    }

    /// The base as addresses begin with it.
    fn prefix(&self) -> String {
        if self.base.is_empty() { String::new() } else { format!("/{}", self.base) }
    }

    /// What a name in a template stands for. The site's own host is left out, so that addresses on it are its own.
    fn named(&self, name: &str) -> Option<String> {
        match name.strip_prefix("site.")? {
            "baseurl" => Some(self.prefix()),
            "url" => Some(String::new()),
            setting => self.settings.iter().find(|(known, _)| known == setting).map(|(_, value)| value.clone()),
        }
    }

    /// The files that a tag such as `{% link _posts/x.md %}` names.
    fn tagged(&self, tag: &str) -> Option<Vec<Way>> {
        let (name, file) = tag.split_once(char::is_whitespace)?;
        let file = file.trim().trim_matches(['"', '\'']).trim_start_matches('/');
        if file.contains(['{', '}', ' ']) {
            return None;
        }
        match name {
            "link" => Some(vec![Way::File(paths::join(&self.root, file))]),
            "post_url" => {
                let folder = paths::folder(file);
                let places = [paths::join("_posts", folder), paths::join(folder, "_posts")];
                let place = |folder: &String| paths::join(&self.root, &paths::join(folder, paths::file_name(file)));
                let endings = ["md", "markdown", "html"];
                let file = |place: String| endings.map(|ending| Way::File(format!("{place}.{ending}")));
                Some(places.iter().map(place).flat_map(file).collect())
            }
            _ => None,
        }
    }

    fn address(&self, below: &str, front: &Front) -> String {
        if let Some(permalink) = front.get("permalink").filter(|permalink| !permalink.contains(':')) {
            return permalink.to_owned();
        }
        let Some((collection, inner)) = self.collection(below) else {
            let (bare, is_index) = bare(below.strip_suffix(".html").unwrap_or(below), &["index", "README", "readme"]);
            return if self.pretty || is_index { format!("{bare}/") } else { format!("{bare}.html") };
        };
        let (inner, ending) = inner.rsplit_once('.').unwrap_or((inner, "html"));
        let ending = if ending == "txt" { ".txt" } else { ".html" };
        let name = paths::file_name(inner);
        let (date, title) = dated(name);
        let template = front.get("permalink").or(collection.permalink.as_deref());
        let template = match (template, collection.name.as_str()) {
            (Some("pretty"), "posts") => "/:categories/:year/:month/:day/:title/",
            (Some("none"), _) => "/:categories/:title:output_ext",
            (Some("date") | None, "posts") => "/:categories/:year/:month/:day/:title:output_ext",
            (Some(template), _) if template.contains(':') => template,
            _ => "/:collection/:path:output_ext",
        };
        let date: Vec<String> = front
            .get("date")
            .map_or(date, |date| date.get(..10).unwrap_or_default().to_owned())
            .split('-')
            .map(str::to_owned)
            .collect();
        let part = |number: usize| date.get(number).cloned().unwrap_or_default();
        let slug = front.get("slug").unwrap_or(title);
        let categories =
            front.all("categories").into_iter().chain(front.all("category")).flat_map(str::split_whitespace);
        let categories: Vec<String> = categories.map(str::to_lowercase).collect();
        let filled = template
            .replace(":output_ext", ending)
            .replace(":collection", &collection.name)
            .replace(":categories", &categories.join("/"))
            .replace(":path", if collection.name == "posts" { slug } else { inner })
            .replace(":year", &part(0))
            .replace(":i_month", part(1).trim_start_matches('0'))
            .replace(":month", &part(1))
            .replace(":i_day", part(2).trim_start_matches('0'))
            .replace(":day", &part(2))
            .replace(":title", slug)
            .replace(":slug", slug)
            .replace(":name", title);
        let trailing = if filled.ends_with('/') { "/" } else { "" };
        let parts: Vec<&str> = filled.split('/').filter(|part| !part.is_empty()).collect();
        format!("{}{trailing}", parts.join("/"))
    }
}

/// The date at the beginning of a post's name, and the rest.
fn dated(name: &str) -> (String, &str) {
    let is_date = name.len() > 11
        && name.is_char_boundary(11)
        && name[..11]
            .char_indices()
            .all(|(at, c)| if matches!(at, 4 | 7 | 10) { c == '-' } else { c.is_ascii_digit() });
    if is_date { (name[..10].to_owned(), &name[11..]) } else { (String::new(), name) }
}

/// The ways an address may be written: with its ending, without, and as a folder.
fn spellings(address: &str) -> Vec<String> {
    let plain = plain(address);
    let bare = plain.strip_suffix(".html").unwrap_or(plain);
    let folder = bare.strip_suffix("/index").unwrap_or(if bare == "index" { "" } else { bare });
    let mut all = vec![plain.to_owned(), bare.to_owned(), folder.to_owned()];
    all.dedup();
    all
}

impl Generator for Jekyll {
    fn name(&self) -> &'static str {
        "Jekyll"
    }

    fn root(&self) -> &str {
        &self.root
    }

    fn base(&self) -> Option<&str> {
        Some(&self.base)
    }

    fn folders(&self) -> Vec<&str> {
        vec![&self.root]
    }

    fn is_page(&self, path: &str) -> bool {
        let Some(below) = paths::below(path, &self.root) else { return false };
        let extension = paths::extension(path);
        let is_written = matches!(extension.as_str(), "md" | "markdown" | "html");
        if let Some((collection, _)) = self.collection(below) {
            // Whatever has front matter is shown.
            return collection.is_served
                && (is_written || matches!(extension.as_str(), "txt" | "rst" | "adoc" | "textile"));
        }
        if !is_written {
            return false;
        }
        let is_hidden = below.split('/').any(|part| part.starts_with(['_', '.', '#']));
        let is_kept = self.included.iter().any(|glob| glob.matches(below));
        (!is_hidden || is_kept) && !self.excluded.iter().any(|glob| glob.matches(below))
    }

    fn reads_front_matter(&self) -> bool {
        true
    }

    fn addresses(&self, path: &str, front: &Front) -> Vec<String> {
        let Some(below) = paths::below(path, &self.root) else { return Vec::new() };
        let is_hidden = front.get("published") == Some("false");
        if is_hidden || !front.is_there && !self.on_github {
            return Vec::new();
        }
        // The first is where relative addresses start from: what ends in a slash is a folder.
        let address = self.address(below, front);
        let mut all = spellings(&address);
        if address.ends_with('/') {
            all.insert(0, paths::join(plain(&address), "index.html"));
        }
        all
    }

    fn aliases(&self, _path: &str, front: &Front) -> Vec<String> {
        front.all("redirect_from").into_iter().flat_map(spellings).collect()
    }

    fn ways(&self, asked: &Asked<'_>) -> Vec<Way> {
        if asked.kind == LinkKind::Snippet {
            let part = paths::normalise(&paths::join(&self.root, "_includes"), asked.path);
            let beside = paths::normalise(paths::folder(asked.page), asked.path);
            let mut found: Vec<Way> = part.into_iter().chain(beside).map(Way::File).collect();
            if self.has_theme {
                found.push(Way::Untold(Reason::new("the theme may have it")));
            }
            return found;
        }
        let mut found = Vec::new();
        let address = match asked.path.strip_prefix('/') {
            Some(rooted) => {
                let inner = paths::below(rooted, &self.base).filter(|_| !self.base.is_empty());
                found.extend(inner.and_then(|inner| paths::normalise("", inner)).map(Way::Address));
                paths::normalise("", rooted)
            }
            None => {
                if self.by_file && crate::page::is_page(asked.path) {
                    found.extend(paths::normalise(paths::folder(asked.page), asked.path).map(Way::Page));
                }
                asked.at.and_then(|at| paths::normalise(paths::folder(at), asked.path))
            }
        };
        match address {
            Some(address) => found.push(Way::Address(address)),
            None => found.push(Way::Untold(ways::outside())),
        }
        found
    }

    fn filled(&self, _page: &str, written: &str) -> Option<Filled> {
        let mut text = String::new();
        let mut ways = None;
        for part in liquid::parts(written)? {
            match part {
                Part::Text(plain) => text.push_str(plain),
                Part::Value(expression) => {
                    text.push_str(&liquid::value(expression, &self.prefix(), &|name| self.named(name))?);
                }
                Part::Tag(tag) => {
                    ways = Some(self.tagged(tag)?);
                    text.clear();
                }
            }
        }
        Some(match ways {
            Some(ways) => Filled::Ways(ways, text.split_once('#').map(|(_, fragment)| fragment.to_owned())),
            None if text.is_empty() => Filled::Written("/".to_owned()),
            None => Filled::Written(text),
        })
    }

    fn files_at(&self, address: &str) -> Vec<String> {
        // Pages are not served as they are written.
        let file = paths::join(&self.root, address);
        if self.is_page(&file) { Vec::new() } else { vec![file] }
    }

    fn untold(&self, address: &str) -> Option<Reason> {
        matches!(address, "feed.xml" | "sitemap.xml" | "robots.txt").then(|| Reason::new("a plugin makes it"))
    }

    fn leaves_out(&self, path: &str) -> bool {
        paths::below(path, &self.root).is_some_and(|below| self.excluded.iter().any(|glob| glob.matches(below)))
    }

    fn partial(&self, path: &str) -> Option<Reason> {
        (!self.is_page(path)).then(|| Reason::new("it stands in a part of other pages"))
    }

    fn dialect(&self) -> Dialect {
        Dialect {
            ids: IdRule::Kramdown,
            attribute_lists: true,
            templates: true,
            snippets: Snippets::Liquid,
            includes: &["{% include {{", "{%- include {{"],
            ..Dialect::default()
        }
    }
}
