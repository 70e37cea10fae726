//! What a host says, made fit to be shown: short, on one line and without a credential.

use copydesk_domain::SecretText;
use serde_json::Value;

/// The most of a host's own words that is passed on.
const MOST_QUOTED: usize = 300;
/// How deep a message is looked for.
const DEEPEST: usize = 6;
/// How tokens begin that hosts give out. One that is not ours may be in an answer, too.
const TOKENS: &[&str] = &[
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "gldt-",
    "glptt-",
    "glcbt-",
    "ATBB",
    "ATCTT",
    "ATATT",
    "eyJ",
];

/// The message in the body of an answer, masked and bounded; empty if there is none.
pub(super) fn message(body: &[u8], masks: &[SecretText]) -> String {
    let Ok(value) = serde_json::from_slice::<Value>(body) else { return String::new() };
    let mut parts = Vec::new();
    collect(&value, DEEPEST, &mut parts);
    parts.dedup();
    quoted(&parts.join("; "), masks)
}

/// Gathers the texts under the names that hosts use for what they have to say.
fn collect(value: &Value, depth: usize, parts: &mut Vec<String>) {
    if depth == 0 {
        return;
    }
    match value {
        Value::String(text) => parts.push(text.clone()),
        Value::Array(items) => items.iter().take(8).for_each(|item| collect(item, depth - 1, parts)),
        Value::Object(fields) => {
            let known = ["message", "error", "error_description", "errors", "detail", "fields"];
            let told: Vec<&Value> = known.iter().filter_map(|name| fields.get(*name)).collect();
            // An object without any of them is one from field to complaint, such as `{"title": ["is too long"]}`, or
            // GitHub's `{"resource": "PullRequest", "field": "head", "code": "invalid"}`.
            if told.is_empty() {
                let mut pairs: Vec<_> = fields.iter().filter(|(name, _)| *name != "resource").collect();
                // Whether a map keeps its order is decided elsewhere in the program.
                pairs.sort_by_key(|(name, _)| *name);
                for (name, inner) in pairs.into_iter().take(8) {
                    let mut inside = Vec::new();
                    collect(inner, depth - 1, &mut inside);
                    if !inside.is_empty() {
                        parts.push(format!("{name} {}", inside.join(", ")));
                    }
                }
            }
            told.into_iter().for_each(|inner| collect(inner, depth - 1, parts));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// A stranger's words: one line, bounded, no control characters, no secret.
pub(super) fn quoted(text: &str, masks: &[SecretText]) -> String {
    let visible = |c: char| if c.is_control() { ' ' } else { c };
    let text: String = text.chars().map(visible).take(16 * MOST_QUOTED).collect();
    let text = masked(&text, masks);
    let words: Vec<&str> = text.split_whitespace().map(|word| if is_token(word) { "…" } else { word }).collect();
    let line = copydesk_domain::visible(&words.join(" ")).into_owned();
    // Once more: what stands together now may have stood apart before.
    let line = masked(&line, masks);
    let short: String = line.chars().take(MOST_QUOTED).collect();
    if short.len() < line.len() { format!("{short}…") } else { short }
}

fn masked(text: &str, masks: &[SecretText]) -> String {
    let forms = masks.iter().map(SecretText::expose).filter(|form| form.len() > 3);
    forms.fold(text.to_owned(), |text, form| text.replace(form, "…"))
}

fn is_token(word: &str) -> bool {
    let bare = word.trim_start_matches(|c: char| !c.is_alphanumeric());
    bare.len() > 16 && TOKENS.iter().any(|start| bare.starts_with(start))
}

/// A sentence and what the host says about it, if it says something.
pub(super) fn with_message(sentence: &str, words: &str) -> String {
    if words.is_empty() { sentence.to_owned() } else { format!("{sentence}; it says: {words}") }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn said(body: &str) -> String {
        message(body.as_bytes(), &["planted-secret".into()])
    }

    #[test]
    fn every_host_says_it_in_another_way() {
        for (body, words) in [
            (r#"{"message":"Not Found","documentation_url":"https://x"}"#, "Not Found"),
            (
                r#"{"message":"Validation Failed","errors":[{"resource":"PullRequest","code":"custom","message":"No commits between main and x"}]}"#,
                "Validation Failed; No commits between main and x",
            ),
            (
                r#"{"message":"Validation Failed","errors":[{"resource":"PullRequest","field":"head","code":"invalid"}]}"#,
                "Validation Failed; code invalid; field head",
            ),
            (
                r#"{"message":["Another open merge request already exists"]}"#,
                "Another open merge request already exists",
            ),
            (r#"{"message":{"title":["is too long"]}}"#, "title is too long"),
            (r#"{"error":"insufficient_scope","error_description":"needs api"}"#, "insufficient_scope; needs api"),
            (r#"{"type":"error","error":{"message":"no changes","fields":{"source":["x"]}}}"#, "no changes; source x"),
            ("<html>", ""),
            ("[1,null,true]", ""),
        ] {
            assert_eq!(said(body), words, "{body}");
        }
    }

    #[test]
    fn no_credential_and_no_control_character_comes_through() {
        assert_eq!(said(r#"{"message":"bad planted-secret\u0007\nhere"}"#), "bad … here");
        let tokens =
            "see ghs_16C7e42F292c6912E7710c838347Ae178B4a, (glpat-abcdefghijklmnop1234) and eyJhbGciOiJSUzI1NiJ9.x";
        assert_eq!(quoted(tokens, &[]), "see … … and …");
        assert_eq!(quoted("planted-\u{202e}secret", &["planted-secret".into()]), "planted-<U+202E>secret");
        assert!(quoted(&"long ".repeat(9999), &[]).chars().count() <= MOST_QUOTED + 1);
    }

    proptest! {
        #[test]
        fn a_secret_never_shows(secret in "[a-zA-Z0-9]{8,40}", before in "\\PC{0,400}", after in "\\PC{0,40}") {
            let body = serde_json::json!({"message": format!("{before}{secret}{after}")}).to_string();
            prop_assert!(!message(body.as_bytes(), &[secret.as_str().into()]).contains(&secret));
        }

        #[test]
        fn any_body_is_read_without_a_panic(body in "\\PC{0,80}") {
            let _ = message(body.as_bytes(), &[]);
        }
    }
}
