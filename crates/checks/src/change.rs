//! The checks of a change: what it brought, at a cost that grows with the change and not with the repository.

use std::collections::BTreeSet;
use std::io;

use copydesk_domain::CheckSummary;

use crate::all::{Seen, documentation, sort};
use crate::compare::{Comparison, Moves, difference};
use crate::context::Context;
use crate::facts::PageFacts;
use crate::finding::finding;
use crate::inbound::{self, Trace};
use crate::site::{SiteSettings, Sites, is_foreign, is_text};
use crate::tally::{Count, Tally};
use crate::{Check, Files, Finding, Rules, Scope, executable, nav_check, page, page_check, scope};

/// How many new findings of a check its summary holds.
const MOST_SHOWN: usize = 50;

const CHECKS: [Check; 14] = [
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
    Check::Executable,
    Check::Suppressions,
];

/// By what a change is judged.
#[derive(Debug, Clone, Copy)]
pub struct Judge<'a> {
    /// What it may touch; none if it may touch everything.
    pub scope: Option<&'a Scope>,
    pub rules: &'a Rules,
    /// Whether comments that the change itself brings leave findings out. They never do so for secrets and for what runs.
    pub heeds_new_comments: bool,
}

/// Runs the checks over the change of a job: `changed` are the paths of all files that were added, edited or deleted
/// between `base` and `now`. Only what is new counts. Rules and comments that leave something out are those of `base`: a
/// change does not choose by what it is judged.
pub fn check_change(
    base: &dyn Files,
    now: &dyn Files,
    changed: &[String],
    settings: &SiteSettings,
    scope: &Scope,
) -> io::Result<Comparison> {
    // Rules that cannot be read leave nothing out.
    let rules = Rules::read(base)?.unwrap_or_default();
    let judge = Judge { scope: Some(scope), rules: &rules, heeds_new_comments: false };
    check_change_by(base, now, changed, settings, judge)
}

/// The same by other rules.
pub fn check_change_by(
    base: &dyn Files,
    now: &dyn Files,
    changed: &[String],
    settings: &SiteSettings,
    judge: Judge<'_>,
) -> io::Result<Comparison> {
    let changed: BTreeSet<&str> = changed.iter().map(String::as_str).collect();
    let scope = judge.scope.map(|scope| scope.clone().on(base)).transpose()?;
    let judge = Judge { scope: scope.as_ref(), ..judge };
    let now_sites = Sites::find(now, settings)?;
    let sites_changed = changed.iter().any(|path| Sites::depends_on(path));
    let base_sites = if sites_changed { Sites::find(base, settings)? } else { now_sites.clone() };
    let base_context = Context::new(base, &base_sites);
    let now_context = Context::new(now, &now_sites).since(&base_context);
    let moves = moves(base, now, &changed)?;
    let change = Change { base: &base_context, now: &now_context, moves, changed, settings, judge };
    change.compare(sites_changed)
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
    base: &'a Context<'a>,
    now: &'a Context<'a>,
    changed: BTreeSet<&'a str>,
    moves: Moves,
    settings: &'a SiteSettings,
    judge: Judge<'a>,
}

impl Change<'_> {
    fn compare(&self, sites_changed: bool) -> io::Result<Comparison> {
        let mut affected = self.affected()?;
        affected.retain(|path| !self.judge.rules.leaves_out(path));
        let mut before = Vec::new();
        let mut now = Vec::new();
        let mut tally = Tally::default();
        for path in &affected {
            before.extend(page_check::findings(self.base, path, &mut Tally::default())?);
            now.extend(page_check::findings(self.now, path, &mut tally)?);
        }
        // Whatever else a file is, it must not bring in a secret or hidden text.
        for path in self.changed.iter().filter(|path| !affected.contains(**path)) {
            before.extend(page_check::text_findings(self.base, path)?);
            now.extend(page_check::text_findings(self.now, path)?);
        }
        for path in &self.changed {
            before.extend(executable::findings(self.base, self.base, self.settings, path)?);
            now.extend(executable::findings(self.now, self.base, self.settings, path)?);
        }
        let lists_matter = sites_changed || !self.moves.deleted.is_empty() || !self.moves.added.is_empty();
        if lists_matter {
            before.extend(nav_check::findings(self.base, &mut Tally::default())?);
            now.extend(nav_check::findings(self.now, &mut tally)?);
        }
        self.judge.rules.apply(&mut before);
        self.judge.rules.apply(&mut now);
        let (mut new, gone) = difference(&before, &now, &self.moves);
        self.leave_out(&mut new)?;
        if let Some(scope) = self.judge.scope {
            new.extend(self.scope_findings(scope)?);
        }
        sort(&mut new);
        new.sort_by_key(|finding| finding.check);
        let pages = affected.iter().filter(|path| page::is_page(path)).count();
        let seen = Seen { pages, files: self.changed.len() };
        let idle = seen.idle(&tally).filter(|check| !self.judge.rules.is_off(*check)).collect();
        let counted = |check| match check {
            _ if self.judge.rules.is_off(check) => Count::default(),
            Check::Suppressions if !new.iter().chain(&gone).any(|finding| finding.check == check) => Count::default(),
            _ => seen.count(check, &tally),
        };
        let checks = CHECKS.map(|check| summary(check, &counted(check), &new, &gone));
        Ok(Comparison { checks: checks.into(), new, tally, pages, idle })
    }

    /// Drops what comments in the pages leave out, as far as they count.
    fn leave_out(&self, new: &mut Vec<Finding>) -> io::Result<()> {
        let mut kept = Vec::with_capacity(new.len());
        for finding in new.drain(..) {
            if !page::is_page(&finding.path) || !self.is_left_out(&finding)? {
                kept.push(finding);
            }
        }
        *new = kept;
        Ok(())
    }

    fn is_left_out(&self, finding: &Finding) -> io::Result<bool> {
        let Some(now) = self.now.facts(&finding.path)? else { return Ok(false) };
        if !now.suppressions.covers(finding) {
            return Ok(false);
        }
        if self.judge.heeds_new_comments && !matches!(finding.check, Check::Secrets | Check::Executable) {
            return Ok(true);
        }
        let before = self.base.facts(&finding.path)?;
        Ok(before.is_some_and(|before| now.suppressions.covers_as(&before.suppressions, finding)))
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
        for path in self.changed.iter().filter(|path| !self.moves.added.contains(**path)) {
            let kept = self.now.addresses(path)?;
            for address in self.base.addresses(path)?.iter().filter(|address| !kept.contains(*address)) {
                trace.address_is_gone(address);
            }
        }
        for path in &self.changed {
            for label in self.lost_labels(path)? {
                trace.address_is_gone(&label);
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

    /// Names by which all pages of a site lead to a place, and which a file does not give any more.
    fn lost_labels(&self, path: &str) -> io::Result<BTreeSet<String>> {
        if !self.base.sites.of(path).generator.shares_labels() {
            return Ok(BTreeSet::new());
        }
        let labels = |context: &Context<'_>| -> io::Result<BTreeSet<String>> {
            Ok(context.text(path)?.as_deref().map(page::labels).unwrap_or_default().into_iter().collect())
        };
        Ok(labels(self.base)?.difference(&labels(self.now)?).cloned().collect())
    }

    fn lost_redirects(&self) -> Vec<String> {
        let sources =
            |sites: &Sites| -> BTreeSet<String> { sites.redirects().map(|redirect| redirect.source.clone()).collect() };
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
            if inbound::takes_in(self.base, &path, &trace)? && seen.insert(path.clone()) {
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
            let refused = scope::settings::refused(path, before.as_deref(), now.as_deref(), &scope.ground)
                .or_else(|| scope::scripts::refused(path, self.base.look.files, self.now.look.files, &scope.ground));
            if let Some(message) = refused {
                report(path, message);
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

fn summary(check: Check, count: &Count, new: &[Finding], gone: &[Finding]) -> CheckSummary {
    let of_check = |finding: &&Finding| finding.check == check;
    CheckSummary {
        check: check.as_str().to_owned(),
        ran: count.judged > 0,
        judged: count.judged,
        not_judged: count.reasons(),
        new_findings: new.iter().filter(of_check).count() as u64,
        repaired: gone.iter().filter(of_check).count() as u64,
        findings: new.iter().filter(of_check).take(MOST_SHOWN).map(Finding::summary).collect(),
    }
}

/// Whether a page may have lost anchors that it had, or a snippet that gave it some.
fn has_fewer_anchors(before: &PageFacts, now: &PageFacts) -> bool {
    let snippets =
        |facts: &PageFacts| -> BTreeSet<String> { facts.snippets().map(|link| link.target.clone()).collect() };
    before.open.is_some() && now.open.is_none()
        || !before.anchors.is_subset(&now.anchors)
        || !snippets(before).is_subset(&snippets(now))
}
