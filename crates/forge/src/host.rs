use copydesk_domain::PullRequest;
use futures_util::future::BoxFuture;

use crate::{Ability, ForgeError, HostTalk};

/// Where pull requests live.
pub trait CodeHost: Send + Sync {
    /// The pull request from branch `head` of the repository itself, open or not; the newest if there are several.
    fn find<'a>(&'a self, head: &'a str) -> BoxFuture<'a, Result<Option<PullRequest>, ForgeError>>;

    /// Opens a pull request. If there is an open one from that branch already, gives that one.
    fn open<'a>(&'a self, new: &'a NewPullRequest) -> BoxFuture<'a, Result<PullRequest, ForgeError>>;

    /// Replaces title, text and draft state of an open pull request.
    fn update<'a>(&'a self, number: u64, new: &'a NewPullRequest) -> BoxFuture<'a, Result<PullRequest, ForgeError>>;

    /// Where a pull request stands now.
    fn read(&self, number: u64) -> BoxFuture<'_, Result<PullRequest, ForgeError>>;

    /// What a pull request says now, which people may have edited; none where the host keeps no words.
    fn words(&self, number: u64) -> BoxFuture<'_, Result<Option<PullWords>, ForgeError>>;
}

/// A code host that can be asked about more than pull requests.
pub trait HostInterface: CodeHost + HostTalk {
    /// The branch that the repository takes for its main one.
    fn default_branch(&self) -> BoxFuture<'_, Result<String, ForgeError>>;

    /// What can be done with the credential, asked without writing anything. `pushes` says that git may push with that
    /// same credential, which is all that some hosts tell of a token.
    fn abilities(&self, pushes: bool) -> BoxFuture<'_, Abilities>;

    /// An error if the host says by now that no pull request could be opened; or, with `writes`, that the credential may
    /// not write to the repository.
    fn check(&self, writes: bool) -> BoxFuture<'_, Result<(), ForgeError>>;
}

/// A pull request to open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPullRequest {
    /// The branch to merge from.
    pub head: String,
    /// The branch to merge into.
    pub base: String,
    pub title: String,
    /// The text, in Markdown.
    pub body: String,
    pub draft: bool,
}

/// What a pull request says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullWords {
    /// Without what marks a draft.
    pub title: String,
    /// In Markdown.
    pub body: String,
}

/// What a project can do through the interface of its code host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Abilities {
    /// Whether the host answers.
    pub reachable: Ability,
    /// Whether the repository can be read.
    pub readable: Ability,
    /// Whether whoever the credential belongs to may write to it. A yes does not say that the credential itself may.
    pub writable: Ability,
    /// Whether pull requests can be opened.
    pub pull_requests: Ability,
}
