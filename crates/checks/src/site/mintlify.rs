//! Mintlify: every page below the folder of its configuration has the address of its path.

use copydesk_values::Value;

use super::generator::{Asked, Front, Generator, Place, Reason, Rule, Way};
use super::glob::Glob;
use super::ways::{self, bare};
use crate::page::{Dialect, IdRule, LinkKind};
use crate::paths;

#[derive(Debug)]
pub(crate) struct Mintlify {
    root: String,
    redirects: Vec<Rule>,
    /// Folders of pages that are made from API descriptions.
    generated: Vec<String>,
    ignored: Vec<Glob>,
}

/// Where pages made from an API description go when nothing else is said.
const GENERATED: &str = "api-reference";

/// A site from its configuration, in which every `$ref` has been followed, and the lines of `.mintignore`.
pub(crate) fn site(root: &str, config: &Value, ignored: &str) -> Mintlify {
    let mut redirects = Vec::new();
    for redirect in config.get("redirects").map(Value::items).unwrap_or_default() {
        let text = |name: &str| redirect.get(name).and_then(Value::text).map(str::to_owned);
        if let (Some(source), Some(destination)) = (text("source"), text("destination")) {
            redirects.push(Rule { source, destination, place: Some(Place::default()) });
        }
    }
    let mut generated = Vec::new();
    generators(config, &mut generated);
    let rules = ignored.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    // A folder that is named stands for all that is in it.
    let globs = |line: &str| ["", "/**"].map(|below| Glob::new(&format!("**/{}{below}", line.trim_matches('/'))));
    let ignored = rules.flat_map(globs).collect();
    Mintlify { root: root.to_owned(), redirects, generated, ignored }
}

fn generators(value: &Value, found: &mut Vec<String>) {
    for item in value.items() {
        generators(item, found);
    }
    for (key, value) in value.entries() {
        if matches!(key.name.as_str(), "openapi" | "asyncapi") {
            let folder = value.get("directory").and_then(Value::text).unwrap_or(GENERATED).trim_matches('/');
            found.extend([folder.to_owned(), GENERATED.to_owned()]);
        }
        generators(value, found);
    }
}

impl Mintlify {
    fn below<'p>(&self, path: &'p str) -> Option<&'p str> {
        paths::below(path, &self.root)
    }
}

impl Generator for Mintlify {
    fn name(&self) -> &'static str {
        "Mintlify"
    }

    fn root(&self) -> &str {
        &self.root
    }

    fn folders(&self) -> Vec<&str> {
        vec![&self.root]
    }

    fn is_page(&self, path: &str) -> bool {
        let Some(below) = self.below(path) else { return false };
        let is_hidden = below.split('/').any(|part| part.starts_with('.') || part == "node_modules");
        let is_part = below.starts_with("snippets/") || below.starts_with("_snippets/");
        let ending = paths::extension(path);
        matches!(ending.as_str(), "md" | "mdx")
            && !is_hidden
            && !is_part
            && !self.ignored.iter().any(|glob| glob.matches(below))
    }

    fn addresses(&self, path: &str, _front: &Front) -> Vec<String> {
        let Some(below) = self.below(path) else { return Vec::new() };
        let (bare, _) = bare(below, &[]);
        let mut addresses = vec![bare.to_owned()];
        if paths::file_name(bare) == "index" {
            addresses.push(paths::folder(bare).to_owned());
        }
        addresses
    }

    fn ways(&self, asked: &Asked<'_>) -> Vec<Way> {
        if asked.kind == LinkKind::Snippet {
            return self.snippet(asked);
        }
        // Only what starts with a dot goes from the page.
        let path = if asked.path.starts_with('.') {
            paths::normalise(paths::folder(self.below(asked.page).unwrap_or_default()), asked.path)
        } else {
            paths::normalise("", asked.path.trim_start_matches('/'))
        };
        let Some(path) = path else { return vec![Way::Untold(ways::outside())] };
        let (bare, _) = bare(&path, &[]);
        // A folder shows its first page.
        let mut found = vec![Way::Address(bare.to_owned()), Way::Folder(paths::join(&self.root, bare))];
        if bare != path {
            found.push(Way::File(paths::join(&self.root, &path)));
        }
        // A site may be served below `/docs` of its host, which links in tags have to say.
        found.extend(path.strip_prefix("docs/").filter(|_| asked.in_tag).map(|rest| Way::Address(rest.to_owned())));
        found
    }

    fn files_at(&self, address: &str) -> Vec<String> {
        ["", "public"].map(|folder| paths::join(&paths::join(&self.root, folder), address)).into()
    }

    fn sources(&self, address: &str) -> Vec<String> {
        ["mdx", "md"].map(|ending| paths::join(&self.root, &format!("{address}.{ending}"))).into()
    }

    fn redirects(&self) -> &[Rule] {
        &self.redirects
    }

    fn untold(&self, address: &str) -> Option<Reason> {
        const SERVED: [&str; 9] = [
            "llms.txt",
            "llms-full.txt",
            "sitemap.xml",
            "robots.txt",
            "skill.md",
            "mcp",
            "_mintlify",
            "login",
            "logout",
        ];
        let first = address.split('/').next().unwrap_or_default();
        if address.is_empty() {
            return Some(Reason::new("Mintlify shows the first page there"));
        }
        if SERVED.contains(&first) || first == ".well-known" || address.ends_with("rss.xml") {
            return Some(Reason::new("Mintlify makes it"));
        }
        let is_made = self.generated.iter().any(|folder| paths::is_below(address, folder));
        is_made.then(|| Reason::new("pages are made there from an API description"))
    }

    fn partial(&self, path: &str) -> Option<Reason> {
        let below = self.below(path).unwrap_or(path);
        let is_part = below.split('/').any(|part| matches!(part, "snippets" | "_snippets"));
        is_part.then(|| Reason::new("it stands in a part of other pages"))
    }

    fn dialect(&self) -> Dialect {
        Dialect { ids: IdRule::Mintlify, component_ids: true, ..Dialect::default() }
    }
}

impl Mintlify {
    fn snippet(&self, asked: &Asked<'_>) -> Vec<Way> {
        if !asked.in_tag {
            return ways::script_import(asked, &self.root);
        }
        let path = asked.path.trim_start_matches('/');
        let folders = ["snippets", "_snippets", ""].map(|name| paths::join(&self.root, name));
        let files = folders.iter().filter_map(|folder| paths::normalise(folder, path));
        files.flat_map(|file| [file.clone(), format!("{file}.mdx"), format!("{file}.md")]).map(Way::File).collect()
    }
}
