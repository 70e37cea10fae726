//! What the interfaces of code hosts have in common, and opening a pull request once, whatever happens on the way.

use std::future::Future;

use copydesk_domain::{PullRequest, PullRequestState};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::client::{HostClient, HostPull};
use super::exchange::Failed;
use super::refusal::Act;
use super::report::{self, Rights, Unseen};
use crate::{Abilities, Ability, CodeHost, ForgeError, HostInterface, HostTalk, NewPullRequest, PullWords};

/// What came of the wish to open a pull request.
pub(super) enum Posted {
    Open(PullRequest),
    /// There is one from that branch already.
    Exists,
}

/// What each kind of host does in its own way. Whatever has a dialect is a [`HostInterface`].
pub(super) trait Dialect: Send + Sync {
    type Pull: HostPull;

    fn client(&self) -> &HostClient;

    /// Where the pull request of that number is, below the interface's address.
    fn pull_path(&self, number: u64) -> String;

    fn find_pull(&self, head: &str) -> impl Future<Output = Result<Option<PullRequest>, ForgeError>> + Send;

    /// The open one from `new.head` to `new.base`; hosts that can tell it without going through a list do so.
    fn find_open(&self, new: &NewPullRequest) -> impl Future<Output = Result<Option<PullRequest>, ForgeError>> + Send {
        async { Ok(self.find_pull(&new.head).await?.filter(is_open)) }
    }

    /// Asks once for a pull request.
    fn post_pull(&self, new: &NewPullRequest) -> impl Future<Output = Result<Posted, Failed>> + Send;

    fn update_pull(
        &self,
        number: u64,
        new: &NewPullRequest,
    ) -> impl Future<Output = Result<PullRequest, ForgeError>> + Send;

    fn main_branch(&self) -> impl Future<Output = Result<String, ForgeError>> + Send;

    /// What the host says of the repository, if it shows it.
    fn rights(&self, pushes: bool) -> impl Future<Output = Result<Rights, Unseen>> + Send;
}

impl<D: Dialect> CodeHost for D {
    fn find<'a>(&'a self, head: &'a str) -> BoxFuture<'a, Result<Option<PullRequest>, ForgeError>> {
        self.find_pull(head).boxed()
    }

    fn open<'a>(&'a self, new: &'a NewPullRequest) -> BoxFuture<'a, Result<PullRequest, ForgeError>> {
        open(self, new).boxed()
    }

    fn update<'a>(&'a self, number: u64, new: &'a NewPullRequest) -> BoxFuture<'a, Result<PullRequest, ForgeError>> {
        self.update_pull(number, new).boxed()
    }

    fn read(&self, number: u64) -> BoxFuture<'_, Result<PullRequest, ForgeError>> {
        async move { Ok(self.client().get::<D::Pull>(&self.pull_path(number), Act::Read).await?.view()) }.boxed()
    }

    fn words(&self, number: u64) -> BoxFuture<'_, Result<Option<PullWords>, ForgeError>> {
        async move { Ok(Some(self.client().get::<D::Pull>(&self.pull_path(number), Act::Read).await?.words())) }.boxed()
    }
}

impl<D: Dialect + HostTalk> HostInterface for D {
    fn default_branch(&self) -> BoxFuture<'_, Result<String, ForgeError>> {
        self.main_branch().boxed()
    }

    fn abilities(&self, pushes: bool) -> BoxFuture<'_, Abilities> {
        async move {
            match self.rights(pushes).await {
                Ok(Rights { writable, pull_requests }) => {
                    Abilities { reachable: Ability::Yes, readable: Ability::Yes, writable, pull_requests }
                }
                Err(unseen) => report::without_a_look(self.client(), unseen).await,
            }
        }
        .boxed()
    }

    fn check(&self, writes: bool) -> BoxFuture<'_, Result<(), ForgeError>> {
        async move {
            let rights = self.rights(writes).await?;
            let writable = rights.writable.why_not().filter(|_| writes);
            match rights.pull_requests.why_not().or(writable) {
                Some(why) => Err(ForgeError::lasting(why)),
                None => Ok(()),
            }
        }
        .boxed()
    }
}

pub(super) fn is_open(pull: &PullRequest) -> bool {
    pull.state == PullRequestState::Open
}

/// Opens a pull request. After an end that leaves unclear what the host has done, it looks before it asks again.
async fn open(host: &impl Dialect, new: &NewPullRequest) -> Result<PullRequest, ForgeError> {
    let transport = &host.client().transport;
    let mut tries = 0;
    loop {
        tries += 1;
        let failed = match host.post_pull(new).await {
            Ok(Posted::Open(pull)) => return Ok(pull),
            Ok(Posted::Exists) => {
                // Its list may lag behind.
                let hidden = || {
                    ForgeError::passing(format!(
                        "{} says that there is a pull request from `{}` already, but shows none; close it there",
                        transport.subject.host(),
                        new.head
                    ))
                };
                return host.find_open(new).await?.ok_or_else(hidden);
            }
            Err(failed) => failed,
        };
        if !failed.is_unclear {
            return Err(failed.error);
        }
        if let Some(there) = host.find_open(new).await? {
            return Ok(there);
        }
        if tries >= transport.settings.tries {
            return Err(failed.error);
        }
        transport.pause(tries, None).await;
    }
}
