//! Sphinx with MyST, as far as Markdown goes, and its kin: Jupyter Book, which writes the settings of Sphinx as YAML, and
//! MyST's own generator.

use copydesk_values::Value;

use super::generator::{Asked, Front, Generator, Reason, Way};
use super::glob::Glob;
use super::ways;
use crate::page::{Dialect, IdRule, LinkKind, Snippets};
use crate::paths;

#[derive(Debug)]
pub(crate) struct Sphinx {
    name: &'static str,
    root: String,
    /// Whether headings of other pages may be named as if they were of the page.
    shares_headings: bool,
    excluded: Vec<Glob>,
    /// Down to which level headings have anchors.
    anchors: u8,
    /// Folders that extensions fill with pages.
    made: Vec<String>,
    /// Whether objects of code have names that links may use.
    has_objects: bool,
    /// How names begin that directives in `conf.py` give to places.
    own: Vec<String>,
    /// Whether names of other projects may be used.
    has_others: bool,
    /// Folders whose files lie at the root of what is built.
    extra: Vec<String>,
}

/// A site from its `conf.py`: only plain assignments are read.
pub(crate) fn site(root: &str, conf: &str) -> Sphinx {
    let list = |name: &str| -> Vec<String> { assigned(conf, name).map(texts).unwrap_or_default() };
    let mut excluded: Vec<Glob> = list("exclude_patterns")
        .iter()
        .flat_map(|it| [Glob::new(it), Glob::new(&format!("{}/**", it.trim_end_matches('/')))])
        .collect();
    excluded.push(Glob::new("_build/**"));
    let anchors = assigned(conf, "myst_heading_anchors").and_then(|value| value.trim().parse().ok()).unwrap_or(0);
    let mut made = Vec::new();
    let extensions = list("extensions");
    let has = |name: &str| extensions.iter().any(|extension| extension == name);
    if has("autodoc2") {
        made.push(
            assigned(conf, "autodoc2_output_dir")
                .map(texts)
                .and_then(|it| it.into_iter().next())
                .unwrap_or_else(|| "apidocs".to_owned()),
        );
    }
    if has("autoapi.extension") {
        made.push(
            assigned(conf, "autoapi_root")
                .map(texts)
                .and_then(|it| it.into_iter().next())
                .unwrap_or_else(|| "autoapi".to_owned()),
        );
    }
    if has("sphinx.ext.autosummary") {
        made.extend(["generated".to_owned(), "_autosummary".to_owned(), "api".to_owned()]);
    }
    let has_objects = extensions.iter().any(|it| it.contains("auto") && it != "sphinx.ext.autosectionlabel");
    let others = assigned(conf, "intersphinx_mapping").map(texts).unwrap_or_default();
    let has_others = has("sphinx.ext.intersphinx") && !others.is_empty();
    let extra = list("html_extra_path").iter().filter_map(|folder| paths::normalise(root, folder)).collect();
    let (name, shares_headings) = ("Sphinx", false);
    Sphinx {
        name,
        shares_headings,
        root: root.to_owned(),
        excluded,
        anchors,
        made,
        has_objects,
        own: own_names(conf),
        has_others,
        extra,
    }
}

/// A book from the `_config.yml` of Jupyter Book.
pub(crate) fn jupyter_book(root: &str, config: &Value) -> Sphinx {
    let list = |place: &[&str]| -> String {
        let items = config.at(place).map(Value::items).unwrap_or_default();
        items.iter().filter_map(Value::text).map(|item| format!("'{item}', ")).collect()
    };
    let own = |name: &str| config.at(&["sphinx", "config", name]).or_else(|| config.at(&["parse", name]));
    let anchors = own("myst_heading_anchors").and_then(Value::written).unwrap_or("0");
    let others = own("intersphinx_mapping").map(Value::entries).unwrap_or_default();
    let others: String = others.iter().map(|(key, _)| format!("'{}', ", key.name)).collect();
    let conf = format!(
        "extensions = [{}{}]\nexclude_patterns = [{}]\nmyst_heading_anchors = {anchors}\nintersphinx_mapping = {{{others}}}\n",
        list(&["sphinx", "extra_extensions"]),
        if others.is_empty() { "" } else { "'sphinx.ext.intersphinx'" },
        list(&["exclude_patterns"]),
    );
    Sphinx { name: "Jupyter Book", ..site(root, &conf) }
}

/// A project of MyST's own generator from its `myst.yml`.
pub(crate) fn myst(root: &str, config: &Value) -> Sphinx {
    let mut site = site(root, "myst_heading_anchors = 6\n");
    let excluded = config.at(&["project", "exclude"]);
    let items = excluded.map(|value| value.items().iter().chain([value]).filter_map(Value::text).collect::<Vec<_>>());
    site.excluded.extend(items.unwrap_or_default().into_iter().map(Glob::new));
    Sphinx { name: "MyST", shares_headings: true, ..site }
}

/// What stands after the last `name =` at the beginning of a line, up to the end of its brackets.
fn assigned<'c>(conf: &'c str, name: &str) -> Option<&'c str> {
    let (mut at, mut found) = (0, None);
    for line in conf.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let Some(rest) = line.strip_prefix(name).map(str::trim_start).and_then(|rest| rest.strip_prefix('=')) else {
            continue;
        };
        if rest.starts_with('=') {
            continue;
        }
        let value = &conf[start + (line.len() - rest.len())..];
        let mut depth = 0i32;
        let end = value.char_indices().find_map(|(at, c)| {
            match c {
                '[' | '(' | '{' => depth += 1,
                ']' | ')' | '}' => depth -= 1,
                '\n' if depth <= 0 => return Some(at),
                _ => {}
            }
            None
        });
        found = Some(&value[..end.unwrap_or(value.len())]);
    }
    found
}

/// The texts in quotes, comments left out.
fn texts(value: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in value.lines() {
        let line = if line.trim_start().starts_with('#') { "" } else { line };
        for quote in ['"', '\''] {
            found.extend(line.split(quote).skip(1).step_by(2).map(str::to_owned));
        }
    }
    found
}

/// How names begin that directives of the configuration's own make: what stands before the first brace of a text.
fn own_names(conf: &str) -> Vec<String> {
    if !conf.contains("add_directive") {
        return Vec::new();
    }
    let starts = texts(conf).into_iter().filter_map(|text| text.split_once('{').map(|(start, _)| start.to_owned()));
    starts.filter(|start| start.len() > 3 && start.ends_with(['-', '_', '/', ':', '.'])).collect()
}

/// Whether what follows a dot is the ending of a file rather than a part of a name.
fn is_ending(text: &str) -> bool {
    matches!(
        text,
        "md" | "rst" | "txt" | "ipynb" | "html" | "htm" | "py" | "pdf" | "zip" | "json" | "yml" | "yaml" | "toml"
    ) || matches!(text, "png" | "jpg" | "jpeg" | "svg" | "gif" | "webp")
}

impl Sphinx {
    fn below<'p>(&self, path: &'p str) -> Option<&'p str> {
        paths::below(path, &self.root)
    }
}

impl Generator for Sphinx {
    fn name(&self) -> &'static str {
        self.name
    }

    fn root(&self) -> &str {
        &self.root
    }

    fn folders(&self) -> Vec<&str> {
        vec![&self.root]
    }

    fn is_page(&self, path: &str) -> bool {
        let Some(below) = self.below(path) else { return false };
        matches!(paths::extension(path).as_str(), "md" | "rst" | "txt" | "ipynb")
            && !self.excluded.iter().any(|glob| glob.matches(below))
    }

    fn addresses(&self, path: &str, _front: &Front) -> Vec<String> {
        let below = self.below(path).unwrap_or_default();
        let bare = below.rsplit_once('.').map_or(below, |(bare, _)| bare);
        vec![bare.to_owned(), format!("{bare}.html")]
    }

    fn ways(&self, asked: &Asked<'_>) -> Vec<Way> {
        if asked.kind == LinkKind::Snippet {
            let path = match asked.path.strip_prefix('/') {
                Some(rooted) => paths::normalise(&self.root, rooted),
                None => paths::normalise(paths::folder(asked.page), asked.path),
            };
            return vec![path.map_or_else(|| Way::Untold(ways::outside()), Way::File)];
        }
        let rooted = asked.path.strip_prefix('/');
        let path = match rooted {
            Some(rooted) => paths::normalise(&self.root, rooted),
            None => paths::normalise(paths::folder(asked.page), asked.path),
        };
        let Some(path) = path else { return vec![Way::Untold(ways::outside())] };
        let is_source = matches!(paths::extension(&path).as_str(), "md" | "rst" | "ipynb");
        let mut found = vec![if is_source { Way::Page(path.clone()) } else { Way::File(path.clone()) }];
        let below = self.below(&path).unwrap_or(&path).to_owned();
        found.extend(self.untold(&below).map(Way::Untold));
        found.push(Way::Address(below));
        let is_file = paths::file_name(asked.path).rsplit_once('.').is_some_and(|(_, end)| is_ending(end));
        if asked.kind == LinkKind::Page && rooted.is_none() && !is_file {
            found.push(Way::Label(asked.path.to_owned()));
        }
        found
    }

    fn files_at(&self, address: &str) -> Vec<String> {
        self.extra.iter().map(|folder| paths::join(folder, address)).collect()
    }

    fn shares_labels(&self) -> bool {
        true
    }

    fn shares_headings(&self) -> bool {
        self.shares_headings
    }

    fn untold_label(&self, name: &str) -> Option<Reason> {
        if matches!(name, "genindex" | "modindex" | "py-modindex" | "search") {
            return Some(Reason::new("Sphinx makes it"));
        }
        // Ids of headings and names of places are in small letters or have hyphens, unlike those of most objects.
        let is_plain = name.chars().all(|c| c.is_alphanumeric() && !c.is_uppercase() || c == '_');
        if self.has_objects && !is_plain && !name.contains(['-', '/', ' ']) {
            return Some(Reason::new("it may be the name of an object of code"));
        }
        if name.contains(' ') {
            return Some(Reason::new("it may be a term of a glossary"));
        }
        if self.own.iter().any(|start| name.starts_with(start)) {
            return Some(Reason::new("a directive of the site's own may name it"));
        }
        // Links that go by headings look the same as names in other projects, which are rare where headings have ids.
        let is_other = self.has_others && self.anchors == 0;
        is_other.then(|| Reason::new("it may be a name in another project"))
    }

    fn untold(&self, address: &str) -> Option<Reason> {
        let is_made = self.made.iter().any(|folder| paths::is_below(address, folder));
        is_made.then(|| Reason::new("an extension makes pages there"))
    }

    fn dialect(&self) -> Dialect {
        Dialect {
            ids: IdRule::Myst { deepest: self.anchors },
            snippets: Snippets::Myst,
            roles: if self.has_others { &["doc"] } else { &["ref", "numref", "doc"] },
            includes: &["```{auto", ":::{auto", "```{eval-rst}", "```{py:", "```{glossary}"],
            ..Dialect::default()
        }
    }
}
