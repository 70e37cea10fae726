use std::process::ExitCode;

use copydesk_desk::projects::{Ability, Trial};
use serde::Serialize;
use serde_json::json;

use crate::args::DoctorFlags;
use crate::failure::Failure;
use crate::output::{self, printable};

/// What a check found out.
#[derive(Serialize)]
pub(super) struct Finding {
    /// What was looked at, as a word for programs.
    name: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    project: Option<String>,
    result: Found,
    what: String,
    /// What can be done about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Found {
    Ok,
    Warning,
    Failed,
    /// It could not be checked.
    Unknown,
}

impl Found {
    fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Failed => "FAILED",
            Self::Unknown => "unknown",
        }
    }
}

impl Finding {
    fn new(name: &'static str, result: Found, what: impl Into<String>) -> Self {
        Self { name, project: None, result, what: what.into(), hint: None }
    }

    pub(super) fn ok(name: &'static str, what: impl Into<String>) -> Self {
        Self::new(name, Found::Ok, what)
    }

    pub(super) fn warning(name: &'static str, what: impl Into<String>) -> Self {
        Self::new(name, Found::Warning, what)
    }

    pub(super) fn failed(name: &'static str, what: impl Into<String>) -> Self {
        Self::new(name, Found::Failed, what)
    }

    pub(super) fn unknown(name: &'static str, what: impl Into<String>) -> Self {
        Self::new(name, Found::Unknown, what)
    }

    /// What was tried, and how it went.
    pub(super) fn of_trial(name: &'static str, trial: &Trial) -> Self {
        match &trial.ability {
            Ability::Yes => Self::ok(name, trial.what.clone()),
            Ability::No(why) => Self::failed(name, format!("it is not true that {}: {why}", trial.what)),
            Ability::Unknown(why) => Self::unknown(name, format!("not known whether {}: {why}", trial.what)),
        }
    }

    pub(super) fn of_failure(name: &'static str, failure: Failure) -> Self {
        let (message, hint) = failure.into_parts();
        Self { hint, ..Self::failed(name, message) }
    }

    pub(super) fn of_project(mut self, project: &str) -> Self {
        self.project = Some(project.to_owned());
        self
    }

    /// Says what can be done, unless all is well.
    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        if self.result != Found::Ok {
            self.hint = Some(hint.into());
        }
        self
    }

    fn lines(&self) -> String {
        let subject = match &self.project {
            Some(project) => format!("{} of {project}", self.name),
            None => self.name.to_owned(),
        };
        let line = printable(&format!("{:<8} {subject}: {}", self.result.word(), self.what));
        match &self.hint {
            Some(hint) => format!("{line}\n{:<8} what to do: {}", "", printable(hint)),
            None => line,
        }
    }
}

/// Prints everything. What could not be checked is no success: it is counted in the last line, and `--strict` fails for it.
pub(super) fn show(findings: &[Finding], flags: &DoctorFlags) -> Result<ExitCode, Failure> {
    let count = |found: Found| findings.iter().filter(|finding| finding.result == found).count();
    let (failed, warnings, unknown) = (count(Found::Failed), count(Found::Warning), count(Found::Unknown));
    if flags.json {
        let counts = json!({ "ok": count(Found::Ok), "warning": warnings, "failed": failed, "unknown": unknown });
        output::json(&json!({ "checks": findings, "counts": counts }))?;
    } else {
        findings.iter().for_each(|finding| output::line(&finding.lines()));
        output::line(&summary(failed, warnings, unknown));
    }
    let is_well = failed == 0 && (unknown == 0 || !flags.strict);
    Ok(if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn summary(failed: usize, warnings: usize, unknown: usize) -> String {
    let mut parts = vec![if failed == 0 { "nothing failed".to_owned() } else { format!("{failed} failed") }];
    if warnings > 0 {
        parts.push(if warnings == 1 { "1 warning".to_owned() } else { format!("{warnings} warnings") });
    }
    if unknown > 0 {
        parts.push(format!("{unknown} could not be checked"));
    }
    let text = parts.join(", ");
    format!("{}{}.", text[..1].to_uppercase(), &text[1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_names_all_that_is_not_well() {
        assert_eq!(summary(0, 0, 0), "Nothing failed.");
        assert_eq!(summary(2, 1, 3), "2 failed, 1 warning, 3 could not be checked.");
        assert_eq!(summary(0, 2, 0), "Nothing failed, 2 warnings.");
    }

    #[test]
    fn what_others_wrote_cannot_act_on_a_terminal() {
        let finding = Finding::failed("webhook", "a\u{1b}[2Jb\nc").of_project("docs").hint("do\u{7}");
        assert_eq!(finding.lines(), "FAILED   webhook of docs: a [2Jb c\n         what to do: do ");
    }
}
