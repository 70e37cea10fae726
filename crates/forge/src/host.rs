use copydesk_domain::PullRequest;
use futures_util::future::BoxFuture;

use crate::ForgeError;

/// Where pull requests live.
pub trait CodeHost: Send + Sync {
    /// The pull request from branch `head` of the repository itself, open or not; the newest if there are several.
    fn find<'a>(&'a self, head: &'a str) -> BoxFuture<'a, Result<Option<PullRequest>, ForgeError>>;

    /// Opens a pull request. If there is an open one from that branch already, gives that one.
    fn open<'a>(&'a self, new: &'a NewPullRequest) -> BoxFuture<'a, Result<PullRequest, ForgeError>>;

    /// Replaces title, text and draft state of an open pull request.
    fn update<'a>(&'a self, number: u64, new: &'a NewPullRequest) -> BoxFuture<'a, Result<PullRequest, ForgeError>>;
}

/// A pull request to open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPullRequest {
    /// The branch to merge from.
    pub head: String,
    /// The branch to merge into.
    pub base: String,
    /// The title.
    pub title: String,
    /// The text, in Markdown.
    pub body: String,
    /// Whether it is a draft.
    pub draft: bool,
}
