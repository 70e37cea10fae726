use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex};

use crate::lock::lock;
use crate::{CommitId, ForgeError, Remote};

type Outcome = Result<Option<CommitId>, ForgeError>;
/// A branch, and on whose behalf: what one may see says nothing about another.
type Key = (String, Arc<Remote>);

/// Fetches under way, so that callers who want the same share one.
#[derive(Default)]
pub(crate) struct SharedFetches {
    queues: Mutex<HashMap<Key, Arc<FetchQueue>>>,
}

#[derive(Default)]
struct FetchQueue {
    /// Held by whoever fetches.
    running: tokio::sync::Mutex<()>,
    record: Mutex<FetchRecord>,
}

#[derive(Default)]
struct FetchRecord {
    started: u64,
    last: Option<(u64, Outcome)>,
}

impl SharedFetches {
    /// Gives the outcome of a fetch that started after this call did: another caller's if there is one, else that of
    /// `fetch`. One that was under way already may have looked too early.
    pub(crate) async fn share<F: Future<Output = Outcome>>(&self, key: Key, fetch: impl FnOnce() -> F) -> Outcome {
        let queue = Arc::clone(lock(&self.queues).entry(key).or_default());
        let before = lock(&queue.record).started;
        let outcome = queue.outcome_after(before, fetch).await;
        drop(queue);
        // Nobody else waits if only the table holds it.
        lock(&self.queues).retain(|_, queue| Arc::strong_count(queue) > 1);
        outcome
    }
}

impl FetchQueue {
    async fn outcome_after<F: Future<Output = Outcome>>(&self, before: u64, fetch: impl FnOnce() -> F) -> Outcome {
        let _running = self.running.lock().await;
        let number = {
            let mut record = lock(&self.record);
            if let Some((_, outcome)) = record.last.as_ref().filter(|(number, _)| *number > before) {
                return outcome.clone();
            }
            record.started += 1;
            record.started
        };
        let outcome = fetch().await;
        lock(&self.record).last = Some((number, outcome.clone()));
        outcome
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    use futures_util::future::join_all;

    use super::*;
    use crate::Credential;

    fn key(who: Option<&str>) -> Key {
        let credential = who.map(|secret| Credential::new("x", secret));
        ("main".to_owned(), Arc::new(Remote { credential, ..Remote::default() }))
    }

    #[tokio::test]
    async fn callers_share_a_fetch_that_started_after_they_came() {
        let (shared, fetches) = (SharedFetches::default(), AtomicUsize::new(0));
        let fetch = || async {
            fetches.fetch_add(1, Relaxed);
            tokio::task::yield_now().await;
            Ok(None)
        };
        join_all((0..20).map(|_| shared.share(key(None), fetch))).await;
        // The first caller's fetch started before the others came, so they share a second.
        assert_eq!(fetches.load(Relaxed), 2);
        shared.share(key(None), fetch).await.unwrap();
        assert_eq!(fetches.load(Relaxed), 3);
        assert!(lock(&shared.queues).is_empty());
    }

    #[tokio::test]
    async fn nobody_gets_what_another_credential_has_fetched() {
        let shared = SharedFetches::default();
        let slow = |outcome: Outcome| async {
            tokio::task::yield_now().await;
            outcome
        };
        let denied = ForgeError::lasting("denied");
        let (mine, theirs) = tokio::join!(
            shared.share(key(Some("good")), || slow(Ok(None))),
            shared.share(key(Some("bad")), || slow(Err(denied.clone()))),
        );
        assert_eq!((mine, theirs), (Ok(None), Err(denied)));
    }

    #[tokio::test]
    async fn a_caller_who_leaves_takes_nobody_along() {
        let shared = SharedFetches::default();
        let never = std::future::pending::<Outcome>;
        tokio::select! {
            biased;
            _ = shared.share(key(None), never) => unreachable!(),
            () = tokio::task::yield_now() => {}
        }
        assert_eq!(shared.share(key(None), || async { Ok(None) }).await, Ok(None));
    }
}
