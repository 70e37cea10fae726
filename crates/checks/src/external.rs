//! Links to other hosts: where they stand. Whether they lead somewhere is for others to ask; nothing here sees a network.

use std::io;

use crate::all::documentation;
use crate::context::Context;
use crate::finding::finding;
use crate::page::{self, LinkKind};
use crate::site::{SiteSettings, Sites};
use crate::{Check, Files, Finding, Rules};

/// A link to another host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalLink {
    /// The page that it stands in.
    pub path: String,
    pub line: u32,
    pub column: u32,
    /// The address without its fragment.
    pub address: String,
}

impl ExternalLink {
    /// What is wrong with it, and why.
    pub fn finding(&self, why: &str) -> Finding {
        let shown: String = self.address.chars().take(200).collect();
        let message = format!("`{shown}` leads nowhere: {why}");
        finding(Check::ExternalLinks, &self.path, (self.line, self.column), message, self.address.clone())
    }
}

/// The links to other hosts in those pages of the documentation that `wanted` takes, without what rules and comments leave
/// out.
pub fn external_links(
    files: &dyn Files,
    settings: &SiteSettings,
    rules: &Rules,
    wanted: &dyn Fn(&str) -> bool,
) -> io::Result<Vec<ExternalLink>> {
    let sites = Sites::find(files, settings)?;
    let context = Context::new(files, &sites);
    let mut found = Vec::new();
    for path in documentation(files, settings)?.iter().filter(|path| page::is_page(path) && wanted(path)) {
        let Some(facts) = context.facts(path)? else { continue };
        for placed in facts.links.iter().filter(|placed| placed.link.kind != LinkKind::Snippet) {
            let target = placed.link.target.trim();
            let is_web = ["http://", "https://"]
                .iter()
                .any(|scheme| target.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)));
            if !is_web || target.contains(['{', '}', '<', '>', '$', '`', '\\']) {
                continue;
            }
            let address = target.split('#').next().unwrap_or_default().to_owned();
            let link = ExternalLink { path: path.clone(), line: placed.place.0, column: placed.place.1, address };
            let mut kept = vec![link.finding("")];
            rules.apply(&mut kept);
            if kept.iter().any(|finding| !facts.suppressions.covers(finding)) {
                found.push(link);
            }
        }
    }
    Ok(found)
}
