use copydesk_domain::{ProjectId, PullRequest};
use copydesk_forge::{CodeHost, ForgeError, NewPullRequest, PullWords};
use copydesk_store::{LeaseError, LocalPull, NewPull, Permit, Store, StoreError};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

/// The code host of repositories that have none: Copydesk keeps the pull request itself.
pub(super) struct LocalHost<'a> {
    pub(super) store: &'a Store,
    pub(super) project_id: &'a ProjectId,
    pub(super) public_url: &'a str,
    pub(super) permit: &'a Permit,
}

impl LocalHost<'_> {
    fn view(&self, pull: &LocalPull) -> PullRequest {
        PullRequest {
            number: u64::from(pull.number),
            url: format!("{}/pull/{}", self.public_url, pull.token),
            state: pull.state,
            draft: pull.draft,
            merged_at: pull.merged_at,
        }
    }

    async fn put(&self, new: &NewPullRequest) -> Result<PullRequest, ForgeError> {
        let new = NewPull {
            project_id: self.project_id.clone(),
            head: new.head.clone(),
            base: new.base.clone(),
            title: new.title.clone(),
            body: new.body.clone(),
            draft: new.draft,
        };
        match self.store.put_local_pull(self.permit, new).await {
            Ok(pull) => Ok(self.view(&pull)),
            // The runner has noticed, or will in a moment, and knows what to say.
            Err(LeaseError::Lost(lost)) => Err(ForgeError::passing(lost.to_string())),
            Err(LeaseError::Store(error)) => Err(unreachable_store(error)),
        }
    }
}

impl CodeHost for LocalHost<'_> {
    fn find<'a>(&'a self, head: &'a str) -> BoxFuture<'a, Result<Option<PullRequest>, ForgeError>> {
        async move {
            let pull = self.store.local_pull(self.project_id, head).await.map_err(unreachable_store)?;
            Ok(pull.map(|pull| self.view(&pull)))
        }
        .boxed()
    }

    fn open<'a>(&'a self, new: &'a NewPullRequest) -> BoxFuture<'a, Result<PullRequest, ForgeError>> {
        self.put(new).boxed()
    }

    fn update<'a>(&'a self, _number: u64, new: &'a NewPullRequest) -> BoxFuture<'a, Result<PullRequest, ForgeError>> {
        self.put(new).boxed()
    }

    fn read(&self, number: u64) -> BoxFuture<'_, Result<PullRequest, ForgeError>> {
        async move {
            let number = u32::try_from(number).unwrap_or(u32::MAX);
            let pull = self.store.local_pull_of(self.project_id, number).await.map_err(unreachable_store)?;
            pull.map(|pull| self.view(&pull)).ok_or_else(|| ForgeError::lasting("there is no such pull request"))
        }
        .boxed()
    }

    fn words(&self, number: u64) -> BoxFuture<'_, Result<Option<PullWords>, ForgeError>> {
        async move {
            let number = u32::try_from(number).unwrap_or(u32::MAX);
            let pull = self.store.local_pull_of(self.project_id, number).await.map_err(unreachable_store)?;
            Ok(pull.map(|pull| PullWords { title: pull.title, body: pull.body }))
        }
        .boxed()
    }
}

fn unreachable_store(error: StoreError) -> ForgeError {
    tracing::warn!(%error, "the database failed in the middle of a job");
    ForgeError::passing("the database could not be used")
}
