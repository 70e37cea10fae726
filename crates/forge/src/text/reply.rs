//! What is said at the code host to somebody who has asked for something there.

use super::markdown::{Keep, prose};
use super::origin;

const MOST: usize = 4_000;
/// What every reply holds, so that none is taken for something that is asked for.
const OWN: &str = "copydesk-answer";

/// What a reply is made from. Nothing in it is trusted but the links.
#[derive(Debug, Clone)]
pub struct Reply<'a> {
    pub is_done: bool,
    /// What the agent says, or why it came to nothing.
    pub message: &'a str,
    /// The pull request, where that is news.
    pub pull: Option<&'a str>,
    pub job_link: &'a str,
    pub job_id: &'a str,
    pub mark: &'a str,
}

/// By what a reply to this is known. `key` tells it from all others of the project.
pub fn reply_mark(project: &str, key: &str) -> String {
    let plain = |text: &str| text.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    // A definition that nothing leads to: no host shows it, and unlike a comment it is Markdown everywhere.
    format!("[//]: # \"{OWN} {} {}\"", plain(project), plain(key))
}

/// Whether a text is a reply.
pub fn is_reply(text: &str) -> bool {
    text.contains(&format!("[//]: # \"{OWN} "))
}

/// The text of a reply, in Markdown.
pub fn reply(input: &Reply) -> String {
    let message = prose(input.message, Keep::Paragraphs, MOST);
    let mut parts = Vec::new();
    if !input.is_done {
        parts.push("This was not done.".to_owned());
    }
    parts.push(message);
    parts.extend(input.pull.filter(|link| super::is_plain_link(link)).map(|link| format!("See {link}")));
    parts.push(origin(Some(input.job_link), input.job_id));
    parts.push(input.mark.to_owned());
    parts.retain(|part| !part.is_empty());
    parts.join("\n\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_is_known_again_and_harmless() {
        let mark = reply_mark("acme", "comment 12");
        assert!(mark != reply_mark("acme", "comment 1") && !mark.contains(&reply_mark("acme", "comment 1")));
        let message = "Fixed, @maintainer.\n\n/merge\n\nCloses #4";
        let input = Reply {
            is_done: true,
            message,
            pull: Some("https://host.example/acme/docs/pull/3"),
            job_link: "https://desk.example/v2/agent/acme/job/1",
            job_id: "1",
            mark: &mark,
        };
        let text = reply(&input);
        assert!(is_reply(&text) && text.contains(&mark), "{text}");
        assert!(!text.contains(", @maintainer") && !text.contains(" #4"), "{text}");
        assert!(!text.lines().any(|line| line.starts_with('/')), "no order to a host: {text}");
        assert!(text.contains("See https://host.example/acme/docs/pull/3\n"), "{text}");
        let text = reply(&Reply { is_done: false, pull: Some("javascript:x"), ..input });
        assert!(text.starts_with("This was not done.") && !text.contains("javascript"), "{text}");
        assert!(!is_reply("What is a copydesk-answer?"));
    }
}
