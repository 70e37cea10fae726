//! Pages of one plugin, and the addresses that they are served at.

use crate::paths;
use crate::site::address::plain;
use crate::site::generator::Front;
use crate::site::glob::Glob;
use crate::site::ways::bare;

/// Pages of one plugin, in one version, in one language.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) kind: Kind,
    /// The number of the plugin: links go by file within one only.
    pub(super) plugin: usize,
    pub(super) folder: String,
    /// Where it is served, without slashes around it.
    pub(super) route: String,
    /// The folder that the same pages are in for the language that translations fall back to.
    pub(super) original: Option<String>,
    pub(super) excluded: Vec<Glob>,
    pub(super) keeps_numbers: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Docs,
    Blog,
    Pages,
}

impl Part {
    pub(super) fn holds(&self, path: &str) -> bool {
        let Some(below) = paths::below(path, &self.folder) else { return false };
        let ending = paths::extension(path);
        let is_kind = match self.kind {
            Kind::Pages => ["md", "mdx", "js", "jsx", "ts", "tsx"].contains(&ending.as_str()),
            _ => ["md", "mdx"].contains(&ending.as_str()),
        };
        is_kind && !path.ends_with(".d.ts") && !self.excluded.iter().any(|glob| glob.matches(below))
    }

    /// The address of a page; with a slash at its end if relative links start below it.
    pub(super) fn address(&self, below: &str, front: &Front) -> String {
        let below = below.strip_suffix(".tsx").or_else(|| below.strip_suffix(".jsx")).unwrap_or(below);
        let below = below.strip_suffix(".ts").or_else(|| below.strip_suffix(".js")).unwrap_or(below);
        let slug = front.get("slug");
        let (page, is_index) = bare(below, &["index"]);
        let mut is_index = is_index && self.kind == Kind::Pages || slug.is_some_and(|slug| slug.ends_with('/'));
        let address = match self.kind {
            Kind::Docs => {
                let (address, is_folder) = self.doc(below, front);
                is_index |= is_folder;
                address
            }
            Kind::Blog => blog(below, slug),
            Kind::Pages => match slug {
                Some(slug) => plain(slug).to_owned(),
                None => page.to_owned(),
            },
        };
        let end = if is_index { "/" } else { "" };
        format!("{}{end}", plain(&format!("{}/{address}", self.route)))
    }

    /// The address of a page below its route, and whether it stands for its folder.
    fn doc(&self, below: &str, front: &Front) -> (String, bool) {
        let stripped = |part: &str| if self.keeps_numbers { part.to_owned() } else { unnumbered(part).to_owned() };
        let folders: Vec<String> =
            paths::folder(below).split('/').filter(|part| !part.is_empty()).map(stripped).collect();
        let folder = folders.join("/");
        let (name, _) = bare(paths::file_name(below), &[]);
        if let Some(slug) = front.get("slug") {
            let address = match slug.strip_prefix('/') {
                Some(rooted) => plain(rooted).to_owned(),
                None => paths::normalise(&folder, slug).unwrap_or_default(),
            };
            return (address, false);
        }
        let name = front.get("id").map_or_else(|| stripped(name), str::to_owned);
        let lower = name.to_lowercase();
        let is_index = front.get("id").is_none()
            && (lower == "index"
                || lower == "readme"
                || folders.last().is_some_and(|last| last.to_lowercase() == lower));
        if is_index { (folder, true) } else { (paths::join(&folder, &name), false) }
    }
}

/// A post: `2024-01-31-name.md` is served by its date, unless it says otherwise.
fn blog(below: &str, slug: Option<&str>) -> String {
    if let Some(slug) = slug {
        return plain(slug).to_owned();
    }
    let (bare, _) = bare(below, &["index"]);
    let digits = |text: &str, length: usize| text.len() == length && text.bytes().all(|b| b.is_ascii_digit());
    let parts: Vec<&str> = bare.splitn(4, ['-', '/']).collect();
    match parts.as_slice() {
        [year, month, day, rest] if digits(year, 4) && digits(month, 2) && digits(day, 2) => {
            format!("{year}/{month}/{day}/{rest}")
        }
        _ => bare.to_owned(),
    }
}

/// `01-intro` is `intro`; dates and versions keep their numbers.
fn unnumbered(name: &str) -> &str {
    let digits = name.bytes().take_while(u8::is_ascii_digit).count();
    let rest = name[digits..].trim_start();
    let after = rest.trim_start_matches(['-', '_', '.']);
    if digits == 0 || after.len() == rest.len() {
        return name;
    }
    let after = after.trim_start();
    let is_number = after.starts_with(|c: char| c.is_ascii_digit());
    if after.is_empty() || is_number && !after.contains(char::is_alphabetic) { name } else { after }
}
