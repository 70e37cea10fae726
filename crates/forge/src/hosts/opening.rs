//! Opening a pull request once, whatever happens on the way.

use copydesk_domain::{PullRequest, PullRequestState};
use futures_util::future::BoxFuture;

use super::http::Line;
use super::message::Failed;
use crate::{CodeHost, ForgeError, NewPullRequest};

/// What came of the wish to open a pull request.
pub(super) enum Posted {
    /// It is open.
    New(PullRequest),
    /// There is one from that branch already.
    Exists,
}

/// A host that can be asked once to open a pull request.
pub(super) trait Opener: CodeHost {
    /// Asks once.
    fn post<'a>(&'a self, new: &'a NewPullRequest) -> BoxFuture<'a, Result<Posted, Failed>>;

    /// The open one from `new.head` to `new.base`, for hosts that can tell it without going through a list.
    fn find_open<'a>(&'a self, new: &'a NewPullRequest) -> BoxFuture<'a, Result<Option<PullRequest>, ForgeError>> {
        Box::pin(async move { Ok(self.find(&new.head).await?.filter(is_open)) })
    }
}

pub(super) fn is_open(pull: &PullRequest) -> bool {
    pull.state == PullRequestState::Open
}

/// Opens a pull request. After an end that leaves unclear what the host has done, it looks before it asks again.
pub(super) async fn open(host: &impl Opener, line: &Line, new: &NewPullRequest) -> Result<PullRequest, ForgeError> {
    let mut tries = 0;
    loop {
        tries += 1;
        let failed = match host.post(new).await {
            Ok(Posted::New(pull)) => return Ok(pull),
            Ok(Posted::Exists) => {
                let there = host.find_open(new).await?;
                return there.ok_or_else(|| hidden(line, &new.head));
            }
            Err(failed) => failed,
        };
        if !failed.is_unclear {
            return Err(failed.error);
        }
        if let Some(there) = host.find_open(new).await? {
            return Ok(there);
        }
        if tries >= line.settings.tries {
            return Err(failed.error);
        }
        line.pause(tries, None).await;
    }
}

fn hidden(line: &Line, head: &str) -> ForgeError {
    // Its list may lag behind.
    ForgeError::passing(format!(
        "{} says that there is a pull request from `{head}` already, but shows none; close it there",
        line.host()
    ))
}
