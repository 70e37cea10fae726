//! What a host tells of that people have said or done.

use super::state::{Hook, Pull, Repo};
use super::talk::{Issue, Remark, Review};

/// Something that has happened.
pub(super) enum News<'a> {
    /// A comment was made on a pull request.
    Comment { pull: &'a Pull, remark: &'a Remark },
    /// A review was submitted, with comments at lines.
    Review { pull: &'a Pull, review: &'a Review },
    /// An issue was given a label, or lost it.
    Label { issue: &'a Issue, label: String, by: String, added: bool },
    /// All labels of an issue were replaced, or taken away; Forgejo tells of that with others than it has.
    Relabel { issue: &'a Issue, shown: Vec<String>, by: String, cleared: bool },
    /// A comment was made on an issue that is no pull request.
    IssueComment { issue: &'a Issue, remark: &'a Remark },
}

/// Where it has happened, and who is told.
pub(super) struct Telling<'a> {
    pub(super) repo: &'a Repo,
    pub(super) hook: &'a Hook,
    pub(super) origin: &'a str,
    /// Sets this message apart from all others.
    pub(super) serial: u64,
}
