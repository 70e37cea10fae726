//! A browser that tells of the same page twice in a moment: a script that is on the page twice, or beside the pixel.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use copydesk_domain::Timestamp;

/// Readers that are remembered at most; the window is short.
const READERS: usize = 100_000;

/// The page that a reader saw last, for a moment. Addresses go in as a digest under a secret that is drawn anew at
/// every start, and nothing of it is written to disk.
pub struct Doubles {
    window: Duration,
    secret: RandomState,
    last: Mutex<HashMap<u64, (u64, Timestamp)>>,
}

impl Doubles {
    pub(super) fn new(window: Duration) -> Self {
        Self { window, secret: RandomState::new(), last: Mutex::default() }
    }

    /// Whether this reader told of this page a moment ago, and of no other since.
    pub fn seen(&self, ip: Option<IpAddr>, user_agent: &str, target: &str, now: Timestamp) -> bool {
        let Some(ip) = ip.filter(|_| !self.window.is_zero()) else { return false };
        let (reader, page) = (self.secret.hash_one((ip, user_agent)), self.secret.hash_one(target));
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.len() >= READERS {
            last.retain(|_, (_, at)| now.since(*at) < self.window);
            if last.len() >= READERS {
                last.clear();
            }
        }
        let before = last.insert(reader, (page, now));
        before.is_some_and(|(seen, at)| seen == page && now.since(at) < self.window)
    }

    /// It could not be kept after all, so whoever tells of it again tells of it for the first time.
    pub fn forget(&self, ip: Option<IpAddr>, user_agent: &str) {
        if let Some(ip) = ip {
            let reader = self.secret.hash_one((ip, user_agent));
            self.last.lock().unwrap_or_else(PoisonError::into_inner).remove(&reader);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_page_of_the_same_reader_in_a_moment_is_a_double() {
        let doubles = Doubles::new(Duration::from_secs(1));
        let at = Timestamp::from_millis;
        let one = Some(IpAddr::from([192, 0, 2, 1]));
        let two = Some(IpAddr::from([192, 0, 2, 2]));
        assert!(!doubles.seen(one, "a", "/x", at(0)));
        assert!(doubles.seen(one, "a", "/x", at(500)));
        assert!(!doubles.seen(two, "a", "/x", at(500)));
        assert!(!doubles.seen(one, "b", "/x", at(500)));
        assert!(!doubles.seen(one, "a", "/y", at(600)), "another page");
        assert!(!doubles.seen(one, "a", "/x", at(700)), "and back");
        assert!(!doubles.seen(one, "a", "/x", at(1700)), "later");
        doubles.forget(one, "a");
        assert!(!doubles.seen(one, "a", "/x", at(1700)), "it was not kept");
        assert!(!doubles.seen(None, "a", "/x", at(1701)));
        assert!(!Doubles::new(Duration::ZERO).seen(one, "a", "/x", at(0)));
    }
}
