//! The prompts that comments and issues become.

use copydesk_domain::{MAX_PROMPT_BYTES, Prompt, PromptError};
use copydesk_forge::{Issue, LineRemark, Remark};

/// What is said instead of what does not fit.
const CUT: &str = "\n\n(The rest is left out: it is too long.)";

/// A comment or a review as the prompt of a follow-up.
pub(super) fn follow_up(remark: &Remark, mention: &str) -> Result<Prompt, PromptError> {
    let text = addressed(&remark.text, mention);
    let mut parts = if text.is_empty() { Vec::new() } else { vec![text.to_owned()] };
    parts.extend(remark.at_lines.iter().map(|line| at_line(line, mention)));
    fitted(parts.join("\n\n"))
}

/// What is said, without whom it is said to.
fn addressed<'t>(text: &'t str, mention: &str) -> &'t str {
    let text = text.trim();
    let name = text.strip_prefix('@').and_then(|rest| rest.get(..mention.len()));
    if !name.is_some_and(|name| name.eq_ignore_ascii_case(mention)) {
        return text;
    }
    let rest = &text[1 + mention.len()..];
    let said = rest.trim_start_matches([',', ':', ';', '.', '!', '-']);
    // `@copydesk-team` is somebody else.
    let is_whole = said.is_empty() || said.starts_with(char::is_whitespace);
    if is_whole { said.trim_start() } else { text }
}

fn at_line(remark: &LineRemark, mention: &str) -> String {
    let LineRemark { path, line, text } = remark;
    let place = line.map_or_else(|| format!("On {path}:"), |line| format!("On {path}, line {line}:"));
    format!("{place}\n\n{}", addressed(text, mention))
}

/// An issue as the prompt of a job.
pub(super) fn job(issue: &Issue) -> Result<Prompt, PromptError> {
    fitted(format!("Resolve this issue: {}\n\n{}", issue.title.trim(), issue.text.trim()))
}

fn fitted(mut text: String) -> Result<Prompt, PromptError> {
    if text.len() > MAX_PROMPT_BYTES {
        text.truncate(text.floor_char_boundary(MAX_PROMPT_BYTES - CUT.len()));
        text.push_str(CUT);
    }
    Prompt::parse(&text)
}

#[cfg(test)]
mod tests {
    use copydesk_domain::Person;

    use super::*;

    #[test]
    fn a_review_says_where() {
        let by = Person { id: "7".to_owned(), name: "ada".to_owned() };
        let line = |line, text: &str| LineRemark { path: "docs/a.md".to_owned(), line, text: text.to_owned() };
        let at_lines = vec![line(Some(12), "@copydesk Too long."), line(None, "Move it.")];
        let remark = Remark { by, is_of_program: false, url: String::new(), text: " Nearly.\n".to_owned(), at_lines };
        let prompt = follow_up(&remark, "copydesk").unwrap();
        let expected = "Nearly.\n\nOn docs/a.md, line 12:\n\nToo long.\n\nOn docs/a.md:\n\nMove it.";
        assert_eq!(prompt.as_str(), expected);
    }

    #[test]
    fn whom_it_is_said_to_is_not_said() {
        for (text, said) in [
            ("@copydesk, say two", "say two"),
            (" @Copydesk: @ada wants two", "@ada wants two"),
            ("@copydesk\n\nSay two.", "Say two."),
            ("@copydesk", ""),
            ("Say two, @copydesk", "Say two, @copydesk"),
            ("@copydesks say two", "@copydesks say two"),
            ("@copydesk-team: look, @copydesk fix", "@copydesk-team: look, @copydesk fix"),
            ("@copydesk- say two", "say two"),
            ("@copydesk\n- one\n- two", "- one\n- two"),
            ("@é", "@é"),
        ] {
            assert_eq!(addressed(text, "copydesk"), said);
        }
    }

    #[test]
    fn what_is_too_long_is_cut_and_says_so() {
        let issue = Issue {
            title: "Say é".to_owned(),
            text: "é".repeat(MAX_PROMPT_BYTES),
            url: String::new(),
            is_open: true,
            labels: Vec::new(),
        };
        let prompt = job(&issue).unwrap();
        assert!(prompt.as_str().starts_with("Resolve this issue: Say é\n\né") && prompt.as_str().ends_with(CUT));
        assert!(prompt.as_str().len() <= MAX_PROMPT_BYTES);
    }
}
