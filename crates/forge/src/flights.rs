use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex};

use crate::objects::lock;
use crate::{CommitId, ForgeError, Remote};

type Outcome = Result<Option<CommitId>, ForgeError>;
/// A branch, and on whose behalf: what one may see says nothing about another.
type Key = (String, Arc<Remote>);

/// Fetches under way, so that callers who want the same share one.
#[derive(Default)]
pub(crate) struct Flights {
    routes: Mutex<HashMap<Key, Arc<Route>>>,
}

#[derive(Default)]
struct Route {
    turn: tokio::sync::Mutex<()>,
    log: Mutex<Log>,
}

#[derive(Default)]
struct Log {
    started: u64,
    last: Option<(u64, Outcome)>,
}

impl Flights {
    /// Gives the outcome of a fetch that started after this call did: another caller's if there is one, else that of
    /// `fetch`. One that was under way already may have looked too early.
    pub(crate) async fn share<F: Future<Output = Outcome>>(&self, key: Key, fetch: impl FnOnce() -> F) -> Outcome {
        let route = Arc::clone(lock(&self.routes).entry(key.clone()).or_default());
        let before = lock(&route.log).started;
        let outcome = {
            let _turn = route.turn.lock().await;
            let shared = lock(&route.log).last.clone().filter(|(number, _)| *number > before);
            match shared {
                Some((_, outcome)) => outcome,
                None => {
                    let number = {
                        let mut log = lock(&route.log);
                        log.started += 1;
                        log.started
                    };
                    let outcome = fetch().await;
                    lock(&route.log).last = Some((number, outcome.clone()));
                    outcome
                }
            }
        };
        drop(route);
        // Nobody else is on the way if only the table holds it.
        lock(&self.routes).retain(|_, route| Arc::strong_count(route) > 1);
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
        let (flights, fetches) = (Flights::default(), AtomicUsize::new(0));
        let fetch = || async {
            fetches.fetch_add(1, Relaxed);
            tokio::task::yield_now().await;
            Ok(None)
        };
        join_all((0..20).map(|_| flights.share(key(None), fetch))).await;
        // The first caller's fetch started before the others came, so they share a second.
        assert_eq!(fetches.load(Relaxed), 2);
        flights.share(key(None), fetch).await.unwrap();
        assert_eq!(fetches.load(Relaxed), 3);
        assert!(lock(&flights.routes).is_empty());
    }

    #[tokio::test]
    async fn nobody_gets_what_another_credential_has_fetched() {
        let flights = Flights::default();
        let slow = |outcome: Outcome| async {
            tokio::task::yield_now().await;
            outcome
        };
        let denied = ForgeError::lasting("denied");
        let (mine, theirs) = tokio::join!(
            flights.share(key(Some("good")), || slow(Ok(None))),
            flights.share(key(Some("bad")), || slow(Err(denied.clone()))),
        );
        assert_eq!((mine, theirs), (Ok(None), Err(denied)));
    }

    #[tokio::test]
    async fn a_caller_who_leaves_takes_nobody_along() {
        let flights = Flights::default();
        let never = std::future::pending::<Outcome>;
        tokio::select! {
            biased;
            _ = flights.share(key(None), never) => unreachable!(),
            () = tokio::task::yield_now() => {}
        }
        assert_eq!(flights.share(key(None), || async { Ok(None) }).await, Ok(None));
    }
}
