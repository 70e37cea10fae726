//! How many large bodies are in memory at a time.

use std::sync::Arc;

use axum::http::HeaderMap;
use axum::http::header::{CONTENT_ENCODING, CONTENT_LENGTH};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Large bodies in memory at a time; whoever brings another one waits.
const AT_A_TIME: usize = 8;
/// A body that says it has no more than this, and is not packed, is not large.
const SMALL: u64 = 256 * 1024;

/// Room for large bodies. Everybody may send one to some addresses, and who sent it is known only when it is read.
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
    /// A place for the body that comes with these headers, once there is one; none if it needs none.
    pub(crate) async fn place_for(&self, headers: &HeaderMap) -> Option<LargeBodyPlace> {
        let announced = headers.get(CONTENT_LENGTH).and_then(|it| it.to_str().ok()?.parse::<u64>().ok());
        let is_small = announced.is_some_and(|bytes| bytes <= SMALL) && !headers.contains_key(CONTENT_ENCODING);
        if is_small { None } else { self.place().await }
    }

    /// A place, once there is one.
    pub(crate) async fn place(&self) -> Option<LargeBodyPlace> {
        // Never closed, so there always is one in the end.
        self.0.clone().acquire_owned().await.ok().map(LargeBodyPlace)
    }
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};
    use futures_util::FutureExt;

    use super::*;

    fn headers(given: &[(HeaderName, &'static str)]) -> HeaderMap {
        given.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn large_bodies_wait_for_each_other_and_small_ones_for_nobody() {
        let bodies = LargeBodies::default();
        let large = [
            headers(&[]),
            headers(&[(CONTENT_LENGTH, "262145")]),
            headers(&[(CONTENT_LENGTH, "10"), (CONTENT_ENCODING, "gzip")]),
        ];
        let enter = |headers: &HeaderMap| bodies.place_for(headers).now_or_never();
        let mut inside: Vec<_> = large.iter().cycle().take(AT_A_TIME).map(|it| enter(it).flatten().unwrap()).collect();
        for headers in &large {
            assert!(enter(headers).is_none(), "waits: {headers:?}");
        }
        assert!(matches!(enter(&headers(&[(CONTENT_LENGTH, "262144")])), Some(None)));
        inside.pop();
        assert!(matches!(enter(&large[0]), Some(Some(_))));
    }
}
