//! What people say on a code host, and what is said to them.

use copydesk_domain::{Person, Timestamp};
use futures_util::future::BoxFuture;

use crate::{Ability, ForgeError};

/// What somebody has said in a pull request: a comment, or a review with all that it says of lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    pub by: Person,
    /// Whether it comes from a program, as far as the host tells.
    pub is_of_program: bool,
    /// Where people look at it.
    pub url: String,
    /// In Markdown.
    pub text: String,
    pub at_lines: Vec<LineRemark>,
}

/// What is said of one place in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineRemark {
    pub path: String,
    /// In the file as the pull request has it; none if it is about the file, or a line that is gone.
    pub line: Option<u64>,
    pub text: String,
}

/// An issue, as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issue {
    pub title: String,
    /// In Markdown.
    pub text: String,
    pub url: String,
    pub is_open: bool,
    pub labels: Vec<String>,
}

/// Where something can be said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Pull(u64),
    Issue(u64),
}

/// A code host on which people talk.
pub trait HostTalk: Send + Sync {
    /// A comment on a pull request; none if it is gone, or on something else.
    fn comment(&self, pull: u64, id: u64) -> BoxFuture<'_, Result<Option<Remark>, ForgeError>>;

    /// A review of a pull request that was handed in.
    fn review(&self, pull: u64, id: u64) -> BoxFuture<'_, Result<Option<Remark>, ForgeError>>;

    /// The reviews of a pull request that were handed in, where the host has such a thing, and when.
    fn reviews(&self, pull: u64) -> BoxFuture<'_, Result<Vec<(u64, Timestamp)>, ForgeError>>;

    /// An issue; none if there is no such one.
    fn issue(&self, number: u64) -> BoxFuture<'_, Result<Option<Issue>, ForgeError>>;

    /// Whether somebody may write to the repository.
    fn may_write<'a>(&'a self, person: &'a Person) -> BoxFuture<'a, Result<Ability, ForgeError>>;

    /// Says something, unless something with that `mark` was said there before.
    fn reply<'a>(&'a self, place: Place, mark: &'a str, text: &'a str) -> BoxFuture<'a, Result<(), ForgeError>>;

    /// Gives a pull request labels and asks people to look at it. What cannot be done is told, a sentence each.
    fn furnish<'a>(
        &'a self,
        pull: u64,
        labels: &'a [String],
        reviewers: &'a [String],
    ) -> BoxFuture<'a, Result<Vec<String>, ForgeError>>;
}
