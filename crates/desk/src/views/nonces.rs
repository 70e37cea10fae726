//! Signatures of agents that were seen: each counts once, so that nobody can show another's again.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, PoisonError};

use copydesk_views::classify::Signed;

/// Seconds by which a server may tell of a request later than it was made. Of what comes later nobody can say whether
/// it was told of before.
const LATE: i64 = 60 * 60;
/// Signatures that are remembered at most, some megabytes. Only valid ones are, so no stranger can fill it.
const MOST: usize = 200_000;

/// The nonces of valid signatures for as long as somebody could show them again. In memory: what was seen before a start
/// is not known after it.
#[derive(Default)]
pub(super) struct Nonces {
    secret: RandomState,
    /// Until which second each is remembered.
    seen: Mutex<HashMap<u64, i64>>,
}

/// A nonce that was used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Spent(u64);

impl Nonces {
    /// Whether a valid signature of a request made at `at` may count, seen from `now`; and what it uses up if it has a
    /// nonce.
    pub(super) fn spend(&self, signed: &Signed, at: i64, now: i64) -> Result<Option<Spent>, Seen> {
        if now.saturating_sub(at) > LATE {
            return Err(Seen::Late);
        }
        let Some(once) = &signed.once else { return Ok(None) };
        let digest = self.secret.hash_one(once);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.len() >= MOST {
            seen.retain(|_, until| *until >= now);
        }
        if seen.get(&digest).is_some_and(|until| *until >= now) {
            return Err(Seen::Before);
        }
        if seen.len() >= MOST {
            return Err(Seen::Full);
        }
        seen.insert(digest, signed.ends.saturating_add(LATE));
        Ok(Some(Spent(digest)))
    }

    /// What was signed could not be kept after all, so it may be told of again.
    pub(super) fn give_back(&self, spent: &[Spent]) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        for Spent(digest) in spent {
            seen.remove(digest);
        }
    }
}

/// Why a valid signature does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen {
    Before,
    Late,
    /// Too many are remembered to remember one more.
    Full,
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_773_576_000;

    fn signed(nonce: Option<&str>) -> Signed {
        Signed { operator: "chatgpt".to_owned(), once: nonce.map(str::to_owned), ends: NOW + 300 }
    }

    #[test]
    fn a_nonce_counts_once_while_its_signature_is_valid() {
        let nonces = Nonces::default();
        let spent = nonces.spend(&signed(Some("key a")), NOW, NOW).unwrap().unwrap();
        assert_eq!(nonces.spend(&signed(Some("key a")), NOW + 1, NOW + 1), Err(Seen::Before));
        assert_eq!(
            nonces.spend(&signed(Some("key a")), NOW + 300, NOW + 300 + LATE),
            Err(Seen::Before),
            "told of late"
        );
        assert!(nonces.spend(&signed(Some("key b")), NOW, NOW).is_ok());
        nonces.give_back(&[spent]);
        assert!(nonces.spend(&signed(Some("key a")), NOW, NOW).is_ok(), "it was not kept");
        assert_eq!(nonces.spend(&signed(None), NOW, NOW), Ok(None));
        assert_eq!(nonces.spend(&signed(None), NOW, NOW), Ok(None), "without a nonce nobody can tell");
        assert_eq!(nonces.spend(&signed(Some("key c")), NOW, NOW + LATE + 1), Err(Seen::Late));
    }

    #[test]
    fn what_is_remembered_has_a_bound() {
        let nonces = Nonces::default();
        for number in 0..MOST {
            nonces.spend(&signed(Some(&number.to_string())), NOW, NOW).unwrap();
        }
        assert_eq!(nonces.spend(&signed(Some("one more")), NOW, NOW), Err(Seen::Full));
        let later = NOW + 301 + LATE;
        assert!(nonces.spend(&signed(Some("one more")), later, later).is_ok(), "the old ones were forgotten");
        assert_eq!(nonces.seen.lock().unwrap().len(), 1);
    }
}
