//! No generator: files link to files, as code hosts show them.

use super::generator::{Asked, Front, Generator, Reason, Way};
use super::ways;
use crate::page::{Dialect, IdRule, LinkKind};
use crate::paths;

#[derive(Debug)]
pub(crate) struct Plain {
    /// The generator that is there but not known here, if there is one.
    pub(crate) other: Option<String>,
    /// Whether the repository has sites.
    pub(crate) has_sites: bool,
}

/// Whether a link is written for a site rather than for code hosts, which show no page without its ending.
fn is_of_site(path: &str, page: &str) -> bool {
    let is_readme = paths::stem(page).eq_ignore_ascii_case("readme");
    path.ends_with(".html") || !paths::file_name(path).contains('.') && !is_readme
}

impl Generator for Plain {
    fn name(&self) -> &'static str {
        "plain files"
    }

    fn root(&self) -> &str {
        ""
    }

    fn folders(&self) -> Vec<&str> {
        Vec::new()
    }

    fn is_page(&self, path: &str) -> bool {
        crate::page::is_page(path)
    }

    fn addresses(&self, _path: &str, _front: &Front) -> Vec<String> {
        Vec::new()
    }

    fn ways(&self, asked: &Asked<'_>) -> Vec<Way> {
        if asked.kind == LinkKind::Snippet {
            return ways::script_import(asked, "");
        }
        let path = match asked.path.strip_prefix('/') {
            Some(rooted) => paths::normalise("", rooted),
            None => paths::normalise(paths::folder(asked.page), asked.path),
        };
        let Some(path) = path else {
            return vec![Way::Untold(Reason::new("it leads outside the repository"))];
        };
        let path = path.trim_end_matches('/').to_owned();
        let mut found = vec![Way::File(path.clone()), Way::Folder(path.clone())];
        if asked.kind == LinkKind::Page && !crate::page::is_page(&path) {
            found.extend(
                [".md", ".mdx", "/index.md", "/index.mdx", "/README.md"].map(|end| Way::File(format!("{path}{end}"))),
            );
        }
        let is_certain = crate::page::is_page(asked.path) || asked.kind == LinkKind::Image;
        match &self.other {
            // Code hosts take a slash for the root of the repository.
            _ if asked.path.starts_with('/') && is_certain && super::is_aside(asked.page) => {}
            _ if asked.path.starts_with('/') => {
                found.push(Way::Untold(Reason::new("nobody here knows where the site begins that shows the page")));
            }
            None if self.has_sites && !is_certain && is_of_site(&path, asked.page) => {
                found.push(Way::Untold(Reason::new("nobody here knows which site shows the page")));
            }
            Some(other) if !is_certain => {
                found.push(Way::Untold(Reason::new(format!("the rules of {other} are not known here"))));
            }
            _ => {}
        }
        found
    }

    fn files_at(&self, _address: &str) -> Vec<String> {
        Vec::new()
    }

    fn dialect(&self) -> Dialect {
        let ids = if self.other.is_some() { IdRule::Unknown } else { IdRule::GitHub };
        Dialect { ids, any_ids: true, ..Dialect::default() }
    }
}
