//! Annotations of GitHub's workflows: lines that its runner reads and shows beside the changed files.

use copydesk_checks::Finding;

use super::{Outcome, text};
use crate::output::{self, printable};

pub(super) fn print(outcome: &Outcome) {
    for finding in &outcome.findings {
        output::line(&annotation(finding, &finding.path));
    }
    text::closing(outcome).iter().for_each(|line| output::line(line));
}

fn annotation(finding: &Finding, path: &str) -> String {
    let Finding { line, column, message, check, severity, .. } = finding;
    let (kind, path, check) = (severity.as_str(), property(path), property(check.as_str()));
    format!("::{kind} file={path},line={line},col={column},title={check}::{}", data(&printable(message)))
}

/// A text as the runner reads it: a line break would begin a command of its own.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// The same in a property, which a comma or a colon would end.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use copydesk_checks::{Check, Severity};

    use super::*;

    #[test]
    fn nothing_in_a_finding_ends_its_line() {
        let finding = Finding {
            check: Check::Links,
            severity: Severity::Warning,
            path: String::new(),
            line: 3,
            column: 7,
            message: "`a%b\r\n::error::x, y: z`".to_owned(),
            subject: String::new(),
            around: None,
        };
        assert_eq!(
            annotation(&finding, "a,b:c%\n.md"),
            "::warning file=a%2Cb%3Ac%25%0A.md,line=3,col=7,title=links::`a%25b  ::error::x, y: z`"
        );
        assert_eq!(data("100%\r\n"), "100%25%0D%0A");
    }
}
