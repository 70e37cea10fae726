//! What somebody asks for at the code host.

use serde::{Deserialize, Serialize};

/// Something that was told of by a code host and may ask for a job or a follow-up. What it says is read at the host when
/// it is looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ask {
    /// A comment on a pull request.
    Comment { pull: u64, id: u64 },
    /// A review of a pull request, with all that it says of lines.
    Review { pull: u64, id: u64 },
    /// Some review of a pull request: the host has not told which.
    Reviews { pull: u64 },
    /// An issue has got the label that makes a job of it.
    Labelled {
        issue: u64,
        /// Who has put it there.
        by: Person,
        /// A digest of what the issue said then: that is what is asked for.
        #[serde(default)]
        said: Option<String>,
    },
    /// An issue has lost it, or something about its labels has changed that the host has not told.
    Unlabelled {
        issue: u64,
        /// Who has put the label there if it is there; nobody if the host has told that it is gone.
        #[serde(default)]
        by: Option<Person>,
        #[serde(default)]
        said: Option<String>,
    },
}

/// Somebody, as a code host knows them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Person {
    /// What the host goes by: a number, or a text that only it reads.
    pub id: String,
    /// What people call them.
    pub name: String,
}

impl Ask {
    /// The key of an issue that has got the label.
    pub fn key_of_issue(issue: u64) -> String {
        format!("issue {issue}")
    }

    /// What makes it one and the same, however often it is told of.
    pub fn key(&self) -> String {
        match self {
            Self::Comment { id, .. } => format!("comment {id}"),
            Self::Review { id, .. } => format!("review {id}"),
            Self::Reviews { pull } => format!("reviews of {pull}"),
            Self::Labelled { issue, .. } => Self::key_of_issue(*issue),
            Self::Unlabelled { issue, .. } => format!("no label on {issue}"),
        }
    }

    /// The pull request that it is about.
    pub fn pull(&self) -> Option<u64> {
        match self {
            Self::Comment { pull, .. } | Self::Review { pull, .. } | Self::Reviews { pull } => Some(*pull),
            Self::Labelled { .. } | Self::Unlabelled { .. } => None,
        }
    }
}

/// Whether a text in Markdown mentions a name: `@copydesk`, not a part of a longer name or of an address. What is quoted or
/// code is not said by whoever writes.
pub fn mentions(text: &str, name: &str) -> bool {
    let name = format!("@{}", name.to_lowercase());
    let mut fence: Option<(char, usize)> = None;
    without_comments(text).lines().any(|line| {
        let line = line.trim_start();
        let mark = fence_of(line);
        match (fence, mark) {
            (Some((open, length)), Some((letter, long))) if open == letter && long >= length => fence = None,
            (None, Some(mark)) => fence = Some(mark),
            _ => {}
        }
        fence.is_none()
            && mark.is_none()
            && !line.starts_with('>')
            && is_named(&without_code(line).to_lowercase(), &name)
    })
}

/// What a line that opens or closes a block of code consists of: which letter, and how often.
fn fence_of(line: &str) -> Option<(char, usize)> {
    let letter = line.chars().next().filter(|letter| matches!(letter, '`' | '~'))?;
    let length = line.chars().take_while(|next| *next == letter).count();
    (length >= 3).then_some((letter, length))
}

/// A text without what HTML hides.
fn without_comments(text: &str) -> String {
    let mut shown = String::new();
    let mut rest = text;
    while let Some((before, hidden)) = rest.split_once("<!--") {
        shown.push_str(before);
        rest = hidden.split_once("-->").map_or("", |(_, after)| after);
    }
    shown + rest
}

/// A line without what is between backticks.
fn without_code(line: &str) -> String {
    let parts: Vec<&str> = line.split('`').collect();
    // One that nothing closes opens nothing.
    let is_said = |at: usize| at.is_multiple_of(2) || at + 1 == parts.len();
    parts.iter().enumerate().filter(|(at, _)| is_said(*at)).map(|(_, part)| *part).collect::<Vec<_>>().join(" ")
}

fn is_named(line: &str, name: &str) -> bool {
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    line.match_indices(name).any(|(at, found)| {
        let before = line[..at].chars().next_back();
        let mut after = line[at + found.len()..].chars();
        let next = after.next();
        // A name may hold dots and dashes, and a sentence may end behind one.
        let goes_on = match next {
            Some('.' | '-' | '/') => after.next().is_some_and(is_word),
            next => next.is_some_and(is_word),
        };
        !goes_on && !before.is_some_and(|letter| is_word(letter) || matches!(letter, '@' | '.' | '/' | '-' | '+'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mention_is_the_whole_name() {
        for text in [
            "@copydesk please",
            "Hey @Copydesk, go",
            "(@copydesk)",
            "so, @copydesk.",
            "@copydesk-",
            "a\n@COPYDESK",
            "a ` b @copydesk",
            "```\nx\n```\n@copydesk",
            "> so?\n\n@copydesk yes",
        ] {
            assert!(mentions(text, "copydesk"), "{text}");
        }
        for text in [
            "copydesk",
            "@copydesks",
            "@copydesk-bot",
            "me@copydesk.example",
            "@copydesk.example",
            "@@copydesk",
            "@acme/copydesk",
            "https://x/@copydesk",
            "> @copydesk fix it",
            "Write `@copydesk fix it` there",
            "```\n@copydesk\n```\nso",
            "~~~ text\n```\n@copydesk",
            "````\n```\n@copydesk\n```\n````",
            "<!-- @copydesk --> so",
            "so <!-- @copydesk",
            "",
        ] {
            assert!(!mentions(text, "copydesk"), "{text}");
        }
        assert!(mentions("an İ before @copydesk", "copydesk"), "letters that grow when they are made small");
    }

    #[test]
    fn told_twice_it_has_one_key() {
        let by = |name: &str| Person { id: "1".to_owned(), name: name.to_owned() };
        let labelled = |name: &str| Ask::Labelled { issue: 3, by: by(name), said: None };
        assert_eq!(labelled("a").key(), labelled("b").key());
        assert_ne!(Ask::Comment { pull: 1, id: 3 }.key(), Ask::Review { pull: 1, id: 3 }.key());
        assert_ne!(labelled("a").key(), Ask::Unlabelled { issue: 3, by: None, said: None }.key());
    }
}
