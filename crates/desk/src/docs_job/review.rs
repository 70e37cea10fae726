//! The docs checks of a change against the base, and what is to become of it.

use std::collections::BTreeSet;
use std::sync::Arc;

use copydesk_agent::{WorkspaceFiles, seated};
use copydesk_checks::{Check, Comparison, Finding, Scope, SiteSettings, Until, check_change};
use copydesk_domain::{CheckSummary, FindingSummary, OnFindings, Project, WritePaths};
use copydesk_forge::Workspace;
use copydesk_store::{Edit, Round, Verdict};

use super::failure::commit_id;
use super::{Bench, changes};
use crate::runner::Failure;

/// How much a job may change.
#[derive(Debug, Clone)]
pub struct ChangeLimits {
    pub files: u32,
    /// Lines, added and removed.
    pub lines: u32,
}

impl ChangeLimits {
    /// What a job of a project may write.
    pub(super) fn scope(&self, project: &Project) -> Scope {
        let WritePaths { allow, deny } = project.write_paths.clone();
        let (max_files, max_lines) = (self.files as usize, self.lines as usize);
        Scope { allow, deny, max_files, max_lines, ..Scope::new(&project.docs_paths) }
    }
}

pub(super) struct Reviewed {
    pub(super) verdict: Verdict,
    pub(super) checks: Vec<CheckSummary>,
}

/// Checks all that the job has changed so far against the commit that it started from.
pub(super) async fn review(
    bench: &Bench<'_>,
    round: &Round,
    before: &[Round],
    workspace: Workspace,
    scope: &Arc<Scope>,
) -> Result<Reviewed, Failure> {
    let mut paths: BTreeSet<String> = workspace.changed_paths().map(str::to_owned).collect();
    for edit in before.iter().filter_map(|round| round.edit.as_ref()).filter(|edit| !edit.changes.is_empty()) {
        paths.extend(changes::from_bytes(&edit.changes)?.into_iter().map(|change| change.path));
    }
    let paths: Vec<String> = paths.into_iter().collect();
    let base = bench.mirror.tree(&commit_id(&round.base_commit)?)?;
    let settings = SiteSettings { docs_paths: bench.project.docs_paths.clone() };
    let scope = scope.clone();
    let checked = seated(move |is_enough| {
        let (before, now) = (WorkspaceFiles::Base(&*base), WorkspaceFiles::Edited(&workspace));
        let (before, now) = (Until::new(&before, is_enough), Until::new(&now, is_enough));
        check_change(&before, &now, &paths, &settings, &scope)
    });
    let comparison = checked.await.map_err(|_| Failure::Retry("the docs checks crashed".to_owned()))??;
    let verdict = verdict(&comparison, bench.project.on_findings);
    Ok(Reviewed { verdict, checks: comparison.checks })
}

fn verdict(comparison: &Comparison, on_findings: OnFindings) -> Verdict {
    // What a job may touch is not a matter of taste.
    if comparison.new.iter().any(|finding| finding.check == Check::Scope) {
        return Verdict::Refused;
    }
    match on_findings {
        _ if !comparison.new.iter().any(Finding::is_error) => Verdict::Good,
        OnFindings::Draft => Verdict::Draft,
        OnFindings::Fail => Verdict::Refused,
    }
}

/// The docs checks of an edit, line by line.
#[derive(Default)]
pub(super) struct Lines {
    pub(super) new: Vec<String>,
    pub(super) repaired: Vec<String>,
    pub(super) passed: Vec<String>,
    pub(super) not_judged: Vec<String>,
}

/// How many reasons are named for what a check could not judge.
const MOST_REASONS: usize = 3;

pub(super) fn lines(edit: &Edit) -> Lines {
    let mut lines = Lines::default();
    for check in &edit.checks {
        let name = check.check.replace('_', " ");
        match check.repaired {
            0 => {}
            1 => lines.repaired.push(format!("{name}: 1 finding of before is gone")),
            count => lines.repaired.push(format!("{name}: {count} findings of before are gone")),
        }
        if let Some(line) = not_judged(check, &name) {
            lines.not_judged.push(line);
        }
        if check.findings.is_empty() && check.ran {
            lines.passed.push(name);
        }
        lines.new.extend(check.findings.iter().map(place_and_message));
    }
    lines
}

/// How much a check could not judge, and why.
fn not_judged(check: &CheckSummary, name: &str) -> Option<String> {
    let left: u64 = check.not_judged.iter().map(|part| part.count).sum();
    if left == 0 {
        return None;
    }
    let reasons = check.not_judged.iter().map(|part| format!("{} ({})", part.reason, part.count));
    let mut named: Vec<String> = reasons.take(MOST_REASONS).collect();
    if check.not_judged.len() > MOST_REASONS {
        named.push("other reasons".to_owned());
    }
    Some(format!("{name}: {left} of {}: {}", check.judged + left, named.join(", ")))
}

fn place_and_message(finding: &FindingSummary) -> String {
    let severity = if finding.warning { "warning: " } else { "" };
    format!("{}:{}: {severity}{}", finding.path, finding.line, finding.message)
}

/// What is said of a change that the project does not accept.
pub(super) fn sentence(edit: &Edit, is_open: bool) -> String {
    let what = if is_open { "The change was not added to the pull request" } else { "No pull request was opened" };
    let count: u64 = edit.checks.iter().map(|check| check.new_findings).sum();
    let mut findings = edit.checks.iter().flat_map(|check| &check.findings);
    let noun = if count == 1 { "finding" } else { "findings" };
    match findings.next() {
        Some(first) => {
            let first = place_and_message(first);
            format!("{what}: the docs checks have {count} new {noun}; the first is {first}")
        }
        None => format!("{what}, because the change did not pass the docs checks."),
    }
}
