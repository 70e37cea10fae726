//! How many large bodies are worked on at a time.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Large bodies that are worked on at a time; whoever brings another one waits.
const AT_A_TIME: usize = 8;
/// A body of no more than this that is not packed is not large.
const SMALL: usize = 256 * 1024;

/// Room for large bodies that were read: what is made of them takes several times as much memory. Nobody holds a place
/// who still sends, so nobody can hold one up.
#[derive(Clone)]
pub(crate) struct LargeBodies(Arc<Semaphore>);

/// A place for one large body, until it is dropped.
pub(crate) struct LargeBodyPlace(#[allow(dead_code, reason = "held")] OwnedSemaphorePermit);

impl Default for LargeBodies {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(AT_A_TIME)))
    }
}

impl LargeBodies {
    /// A place for a body of so many bytes, once there is one; none if it needs none.
    pub(crate) async fn place_for(&self, bytes: usize, is_packed: bool) -> Option<LargeBodyPlace> {
        if bytes <= SMALL && !is_packed {
            return None;
        }
        // Never closed, so there always is one in the end.
        self.0.clone().acquire_owned().await.ok().map(LargeBodyPlace)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn large_bodies_wait_for_each_other_and_small_ones_for_nobody() {
        let bodies = LargeBodies::default();
        let enter = |(bytes, is_packed)| bodies.place_for(bytes, is_packed).now_or_never();
        let large = [(SMALL + 1, false), (10, true)];
        let mut inside: Vec<_> = large.iter().cycle().take(AT_A_TIME).map(|it| enter(*it).flatten().unwrap()).collect();
        assert!(large.iter().all(|it| enter(*it).is_none()), "they wait");
        assert!(matches!(enter((SMALL, false)), Some(None)));
        inside.pop();
        assert!(matches!(enter(large[0]), Some(Some(_))));
    }
}
