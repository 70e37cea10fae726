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

    /// Where a pull request stands now.
    fn read(&self, number: u64) -> BoxFuture<'_, Result<PullRequest, ForgeError>>;

    /// Writes below a pull request. If the connection breaks it is not known whether the comment is there.
    fn comment<'a>(&'a self, number: u64, text: &'a str) -> BoxFuture<'a, Result<(), ForgeError>>;

    /// The branch that the repository takes for its main one.
    fn default_branch(&self) -> BoxFuture<'_, Result<String, ForgeError>>;

    /// What can be done with the credential, asked without writing anything.
    fn abilities(&self) -> BoxFuture<'_, Abilities>;
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

/// What a project can do on its code host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Abilities {
    /// Whether the host answers.
    pub reachable: Ability,
    /// Whether the repository can be read.
    pub readable: Ability,
    /// Whether branches can be pushed.
    pub push: Ability,
    /// Whether pull requests can be opened.
    pub pull_requests: Ability,
}

impl Abilities {
    /// All four the same.
    pub fn all(ability: &Ability) -> Self {
        let [reachable, readable, push, pull_requests] = std::array::from_fn(|_| ability.clone());
        Self { reachable, readable, push, pull_requests }
    }
}

/// Whether something can be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ability {
    /// It can.
    Yes,
    /// It cannot; why, as one sentence.
    No(String),
    /// The host does not say; why, as one sentence.
    Unknown(String),
}

impl Ability {
    /// `Yes` if `is_so`, else `No` with the reason.
    pub(crate) fn when(is_so: bool, why_not: impl Into<String>) -> Self {
        if is_so { Self::Yes } else { Self::No(why_not.into()) }
    }
}
