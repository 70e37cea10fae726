//! The prompts that comments and issues become.

use copydesk_domain::{MAX_PROMPT_BYTES, Prompt, PromptError};
use copydesk_forge::{Issue, LineRemark, Remark};

/// What is said instead of what does not fit.
const CUT: &str = "\n\n(The rest is left out: it is too long.)";

/// A comment or a review as the prompt of a follow-up.
pub(super) fn follow_up(remark: &Remark) -> Result<Prompt, PromptError> {
    let mut parts = vec![format!("{} writes about the pull request:", remark.by.name)];
    if !remark.text.trim().is_empty() {
        parts.push(remark.text.trim().to_owned());
    }
    parts.extend(remark.at_lines.iter().map(at_line));
    fitted(parts.join("\n\n"))
}

fn at_line(remark: &LineRemark) -> String {
    let LineRemark { path, line, text } = remark;
    let place = line.map_or_else(|| format!("On {path}:"), |line| format!("On {path}, line {line}:"));
    format!("{place}\n\n{}", text.trim())
}

/// An issue as the prompt of a job.
pub(super) fn job(number: u64, issue: &Issue) -> Result<Prompt, PromptError> {
    fitted(format!("Do what issue #{number} asks for: {}\n\n{}", issue.title.trim(), issue.text.trim()))
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
        let at_lines = vec![line(Some(12), "Too long."), line(None, "Move it.")];
        let remark = Remark { by, is_of_program: false, url: String::new(), text: " Nearly.\n".to_owned(), at_lines };
        let prompt = follow_up(&remark).unwrap();
        let expected = "ada writes about the pull request:\n\nNearly.\n\nOn docs/a.md, line 12:\n\nToo long.\n\n\
                        On docs/a.md:\n\nMove it.";
        assert_eq!(prompt.as_str(), expected);
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
        let prompt = job(4, &issue).unwrap();
        assert!(prompt.as_str().starts_with("Do what issue #4 asks for: Say é\n\né") && prompt.as_str().ends_with(CUT));
        assert!(prompt.as_str().len() <= MAX_PROMPT_BYTES);
    }
}
