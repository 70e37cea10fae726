use super::exchange::{Reply, Request};
use super::hooks::Delivery;
use super::news::{News, Telling};
use super::state::{Hook, Pull, Repo, State, Token};

/// How one host speaks. A further one is a type that implements this.
pub(super) trait Dialect: Send + Sync {
    fn prefix(&self) -> &'static str;

    /// Whether a path belongs to the interface and not to git.
    fn is_interface(&self, path: &str) -> bool {
        path.starts_with(self.prefix())
    }

    /// Answers a request to the interface.
    fn answer(&self, request: &Request, state: &mut State) -> Reply;

    /// What it says when it cannot answer or will not.
    fn refuse(&self, refusal: ApiRefusal, state: &State) -> Reply;

    /// A new token, as the host writes them.
    fn new_token(&self, number: u64) -> String;

    /// The token that git shows with a user name, if the host takes it so.
    fn git_token(&self, user: &str, password: &str, state: &State) -> Option<Token>;

    /// What it says to git instead of serving it.
    fn git_refusal(&self, refusal: GitRefusal, repo: &str) -> Reply;

    /// Whether it lets those begin to push who may only read, and refuses them in its hook: so it says.
    fn refuses_readers_late(&self) -> Option<&'static str> {
        None
    }

    /// What it says to git of a repository that is archived.
    fn archived(&self) -> &'static str {
        "This repository was archived so it is read-only."
    }

    /// What it says to a push to a protected branch.
    fn protected(&self, branch: &str) -> String;

    /// What it sends when a pull request was merged or closed.
    fn delivery(&self, repo: &Repo, pull: &Pull, hook: &Hook, origin: &str) -> Delivery;

    /// What it sends of what people have said or done.
    fn told(&self, news: &News<'_>, to: &Telling<'_>) -> Delivery;
}

/// Why a request to the interface is not served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ApiRefusal {
    /// Something is broken on the host's side.
    Status(u16),
    RateLimit(Option<u64>),
    SecondaryLimit(Option<u64>),
    /// The credential was taken back.
    Revoked,
}

/// Why git is not served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GitRefusal {
    /// It shows no credential where one is needed.
    Anonymous,
    /// The credential is not good.
    Unknown,
    /// There is no such repository, or the caller may not know of it.
    Hidden,
    /// The caller may not push.
    ReadOnly,
}
