//! SARIF 2.1.0, the form in which code hosts and editors take what checkers find.

use copydesk_checks::{Check, Finding};
use serde_json::{Value, json};

use super::{Outcome, text};
use crate::output::printable;

pub(super) fn document(outcome: &Outcome) -> Value {
    let rules = Check::ALL.map(
        |check| json!({ "id": check.as_str(), "name": check.as_str(), "shortDescription": { "text": check.about() } }),
    );
    json!({
        "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "Copydesk",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            } },
            "columnKind": "unicodeCodePoints",
            "invocations": [{
                "executionSuccessful": true,
                "toolExecutionNotifications": notifications(outcome),
            }],
            "results": outcome.findings.iter().map(result).collect::<Vec<_>>(),
        }],
    })
}

fn result(finding: &Finding) -> Value {
    let Finding { check, severity, path, line, column, message, subject, around: _ } = finding;
    json!({
        "ruleId": check.as_str(),
        "ruleIndex": Check::ALL.iter().position(|it| it == check),
        "level": severity.as_str(),
        "message": { "text": printable(message) },
        "locations": [{ "physicalLocation": {
            "artifactLocation": { "uri": encoded(path), "uriBaseId": "%SRCROOT%" },
            "region": { "startLine": line, "startColumn": column },
        } }],
        "partialFingerprints": { "copydesk/v1": format!("{} {path} {subject}", check.as_str()) },
    })
}

/// What was not judged: a reader of the results alone would take it for good.
fn notifications(outcome: &Outcome) -> Vec<Value> {
    let note = |text: String| json!({ "level": "note", "message": { "text": text } });
    let left = outcome.kinds().into_iter().filter(|(_, count)| count.left() > 0);
    let mut notes: Vec<Value> = left.map(|(kind, count)| note(text::judged(kind, count).join("; "))).collect();
    notes.extend(text::judged_nothing(outcome).into_iter().map(note));
    notes
}

/// A path as a relative address.
fn encoded(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}
