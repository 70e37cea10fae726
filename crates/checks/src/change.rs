//! The checks of a change: what it brought, at a cost that grows with the change and not with the repository.

use std::collections::BTreeSet;
use std::io;

use copydesk_domain::CheckSummary;

use crate::all::{documentation, sort};
use crate::compare::{Comparison, Moves, difference};
use crate::context::Context;
use crate::facts::PageFacts;
use crate::finding::finding;
use crate::inbound::{self, Trace};
use crate::site::{SiteSettings, Sites, is_foreign, is_text};
use crate::{Check, Files, Finding, Scope, nav_check, page, page_check, scope};

/// How many new findings of a check its summary holds.
const MOST_SHOWN: usize = 50;

const CHECKS: [Check; 12] = [
    Check::Syntax,
    Check::FrontMatter,
    Check::Navigation,
    Check::Links,
    Check::Anchors,
    Check::Images,
    Check::Snippets,
    Check::Redirects,
    Check::CodeFences,
    Check::Scope,
    Check::Secrets,
    Check::InvisibleCharacters,
];

/// Runs the checks over a change: `changed` are the paths of all files that were added, edited or deleted between `base`
/// and `now`. Only what is new counts.
pub fn check_change(
    base: &dyn Files,
    now: &dyn Files,
    changed: &[String],
    settings: &SiteSettings,
    scope: &Scope,
) -> io::Result<Comparison> {
    let changed: BTreeSet<&str> = changed.iter().map(String::as_str).collect();
    let now_sites = Sites::find(now, settings)?;
    let sites_changed = changed.iter().any(|path| Sites::depends_on(path));
    let base_sites = if sites_changed { Sites::find(base, settings)? } else { now_sites.clone() };
    let change = Change {
        base: Context::new(base, &base_sites),
        now: Context::new(now, &now_sites),
        moves: moves(base, now, &changed)?,
        changed,
        settings,
    };
    change.compare(scope, sites_changed)
}

fn moves(base: &dyn Files, now: &dyn Files, changed: &BTreeSet<&str>) -> io::Result<Moves> {
    let mut moves = Moves::default();
    for path in changed {
        match (base.exists(path)?, now.exists(path)?) {
            (true, false) => moves.deleted.insert((*path).to_owned()),
            (false, true) => moves.added.insert((*path).to_owned()),
            _ => false,
        };
    }
    Ok(moves)
}

struct Change<'a> {
    base: Context<'a>,
    now: Context<'a>,
    changed: BTreeSet<&'a str>,
    moves: Moves,
    settings: &'a SiteSettings,
}

impl Change<'_> {
    fn compare(&self, scope: &Scope, sites_changed: bool) -> io::Result<Comparison> {
        let affected = self.affected()?;
        let mut before = Vec::new();
        let mut now = Vec::new();
        for path in &affected {
            before.extend(page_check::findings(&self.base, path)?);
            now.extend(page_check::findings(&self.now, path)?);
        }
        // Whatever else a file is, it must not bring in a secret or hidden text.
        for path in self.changed.iter().filter(|path| !affected.contains(**path)) {
            before.extend(page_check::text_findings(&self.base, path)?);
            now.extend(page_check::text_findings(&self.now, path)?);
        }
        let lists_matter = sites_changed || !self.moves.deleted.is_empty() || !self.moves.added.is_empty();
        if lists_matter {
            before.extend(nav_check::findings(&self.base)?);
            now.extend(nav_check::findings(&self.now)?);
        }
        let (mut new, gone) = difference(&before, &now, &self.moves);
        new.extend(self.scope_findings(scope)?);
        sort(&mut new);
        let has_pages = affected.iter().any(|path| page::is_page(path));
        let ran = |check| match check {
            Check::Navigation | Check::Redirects => lists_matter && self.now.sites.navigations().next().is_some(),
            Check::Scope | Check::Secrets | Check::InvisibleCharacters => !self.changed.is_empty(),
            _ => has_pages,
        };
        new.sort_by_key(|finding| finding.check);
        let checks = CHECKS.map(|check| summary(check, ran(check), &new, &gone));
        Ok(Comparison { checks: checks.into(), new })
    }

    /// The files whose findings may differ: those that changed, and those that lead to something that is gone.
    fn affected(&self) -> io::Result<BTreeSet<String>> {
        let mut affected: BTreeSet<String> =
            self.changed.iter().filter(|path| self.is_looked_at(path)).map(|path| (*path).to_owned()).collect();
        if !self.base.sites.has_same_rules(self.now.sites) {
            affected.extend(documentation(self.base.look.files, self.settings)?);
            affected.extend(documentation(self.now.look.files, self.settings)?);
            return Ok(affected);
        }
        let mut trace = Trace::default();
        for path in &self.moves.deleted {
            trace.file_is_gone(path, &self.now.look)?;
        }
        for path in self.changed.iter().filter(|path| page::is_page(path) && !self.moves.added.contains(**path)) {
            let (Some(before), Some(now)) = (self.base.facts(path)?, self.now.facts(path)?) else { continue };
            if has_fewer_anchors(&before, &now) {
                trace.anchors_are_gone(path);
            }
        }
        for redirect in self.lost_redirects() {
            trace.redirect_is_gone(&redirect);
        }
        let mut seen = BTreeSet::new();
        while !trace.is_empty() {
            trace = self.follow(trace, &mut affected, &mut seen)?;
        }
        Ok(affected)
    }

    fn is_looked_at(&self, path: &str) -> bool {
        self.settings.holds(path) && is_text(path) && !is_foreign(path)
    }

    fn lost_redirects(&self) -> Vec<String> {
        let sources = |sites: &Sites| -> BTreeSet<String> {
            let redirects = sites.navigations().flat_map(|(_, navigation)| &navigation.redirects);
            redirects.map(|redirect| redirect.source.clone()).collect()
        };
        let kept = sources(self.now.sites);
        sources(self.base.sites).into_iter().filter(|source| !kept.contains(source)).collect()
    }

    /// Looks through the pages for names of what is gone. Pages that took in a snippet that is gone, or that has lost
    /// anchors, have lost anchors themselves: those are the next round.
    fn follow(&self, trace: Trace, affected: &mut BTreeSet<String>, seen: &mut BTreeSet<String>) -> io::Result<Trace> {
        let mut next = Trace::default();
        let search = trace.search();
        for path in documentation(self.now.look.files, self.settings)? {
            let is_changed = self.changed.contains(path.as_str());
            if !page::is_page(&path) || self.moves.added.contains(&path) {
                continue;
            }
            let mentions = match self.base.look.files.read(&path)? {
                Some(content) => search.is_in(&content),
                None => false,
            };
            if !mentions {
                continue;
            }
            if inbound::takes_in(&self.base, &path, &trace)? && seen.insert(path.clone()) {
                next.anchors_are_gone(&path);
            }
            if !is_changed {
                affected.insert(path);
            }
        }
        Ok(next)
    }

    fn scope_findings(&self, scope: &Scope) -> io::Result<Vec<Finding>> {
        let mut findings = Vec::new();
        let (mut lines, mut bytes) = (0usize, 0usize);
        let mut report = |path: &str, message: String| {
            findings.push(finding(Check::Scope, path, (1, 1), message.clone(), message));
        };
        for path in &self.changed {
            let before = self.base.look.files.read(path)?;
            let now = self.now.look.files.read(path)?;
            lines = lines.saturating_add(scope::changed_lines(
                before.as_deref().unwrap_or_default(),
                now.as_deref().unwrap_or_default(),
            ));
            bytes = bytes.saturating_add(now.as_ref().map_or(0, Vec::len));
            let content = before.as_deref().or(now.as_deref()).unwrap_or_default();
            if let Err(message) = scope.may_write(path).and_then(|()| scope.may_replace(path, content)) {
                report(path, message);
            }
            if scope::brings_code(path, before.as_deref().unwrap_or_default(), now.as_deref().unwrap_or_default()) {
                report(path, format!("{path} would run code of its own when the documentation is built."));
            }
        }
        let first = self.changed.first().copied().unwrap_or_default();
        if self.changed.len() > scope.max_files {
            let message = format!("{} files are changed; at most {} may be.", self.changed.len(), scope.max_files);
            report(first, message);
        }
        if lines > scope.max_lines {
            report(first, format!("{lines} lines are changed; at most {} may be.", scope.max_lines));
        }
        if bytes > scope.max_bytes {
            report(first, format!("The changed files have {bytes} bytes; at most {} are allowed.", scope.max_bytes));
        }
        Ok(findings)
    }
}

fn summary(check: Check, ran: bool, new: &[Finding], gone: &[Finding]) -> CheckSummary {
    let of_check = |finding: &&Finding| finding.check == check;
    CheckSummary {
        check: check.as_str().to_owned(),
        ran,
        new_findings: new.iter().filter(of_check).count() as u64,
        repaired: gone.iter().filter(of_check).count() as u64,
        findings: new.iter().filter(of_check).take(MOST_SHOWN).map(Finding::summary).collect(),
    }
}

/// Whether a page may have lost anchors that it had, or a snippet that gave it some.
fn has_fewer_anchors(before: &PageFacts, now: &PageFacts) -> bool {
    let snippets =
        |facts: &PageFacts| -> BTreeSet<String> { facts.snippets().map(|link| link.target.clone()).collect() };
    before.open && !now.open || !before.anchors.is_subset(&now.anchors) || !snippets(before).is_subset(&snippets(now))
}
