use copydesk_checks::{Count, Finding};

use super::{Outcome, names};
use crate::output::{self, printable};

/// For people, and for editors, which find the place by the beginning of a line.
pub(super) fn print(outcome: &Outcome) {
    outcome.findings.iter().for_each(print_finding);
    closing(outcome).iter().for_each(|line| output::line(line));
}

/// What was judged, what was not and why, and how many findings there are.
pub(super) fn closing(outcome: &Outcome) -> Vec<String> {
    let mut lines = Vec::new();
    for (kind, count) in outcome.kinds() {
        lines.extend(judged(kind, count));
    }
    lines.extend(judged_nothing(outcome));
    let counted = |count: usize, noun: &str| format!("{count} {noun}{}", if count == 1 { "" } else { "s" });
    let errors = outcome.errors();
    let mut parts = vec![counted(outcome.pages, "page"), counted(errors, "finding")];
    if outcome.findings.len() > errors {
        parts.push(counted(outcome.findings.len() - errors, "warning"));
    }
    if let Some(base) = &outcome.base {
        parts.push(format!("new since {}", base.chars().take(12).collect::<String>()));
    }
    lines.push(parts.join(", "));
    lines
}

/// A sentence on the checks of which nothing can be said.
pub(super) fn judged_nothing(outcome: &Outcome) -> Vec<String> {
    let mut lines = Vec::new();
    if !outcome.idle.is_empty() {
        let why = if outcome.base.is_some() {
            "nothing of the kind was changed"
        } else {
            "there is nothing of the kind here"
        };
        lines.push(format!("Not checked, because {why}: {}.", names(&outcome.idle)));
    }
    if !outcome.off.is_empty() {
        lines.push(format!("Switched off by .copydesk.toml: {}.", names(&outcome.off)));
    }
    lines
}

/// How many of a kind were judged, and why the others were not, the most frequent reason first.
pub(super) fn judged(kind: &str, count: &Count) -> Vec<String> {
    let left = count.left();
    if count.judged == 0 && left == 0 {
        return Vec::new();
    }
    let mut reasons: Vec<(&String, &u64)> = count.not_judged.iter().collect();
    reasons.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let mut lines = vec![format!("{} of {} {kind} judged", count.judged, count.judged + left)];
    lines.extend(reasons.iter().map(|(reason, count)| printable(&format!("  {count} not judged: {reason}"))));
    lines
}

fn print_finding(finding: &Finding) {
    let Finding { path, line, column, message, check, .. } = finding;
    let severity = if finding.is_error() { "" } else { "warning: " };
    output::line(&printable(&format!("{path}:{line}:{column}: {severity}{message} [{}]", check.as_str())));
}
