use std::sync::{Arc, LazyLock, Mutex};

use rand::RngExt;
use uuid::{ContextV7, Uuid};

use crate::Timestamp;

/// Keeps ids made in one millisecond in the order they were made, so that sorting by id is sorting by age.
static ORDER: LazyLock<Mutex<ContextV7>> = LazyLock::new(|| Mutex::new(ContextV7::new()));

/// A new UUIDv7 for something made at `now`.
pub fn new_id(now: Timestamp) -> String {
    let millis = now.as_millis().max(0).unsigned_abs();
    let nanos = u32::try_from(millis % 1000).unwrap_or(0) * 1_000_000;
    Uuid::new_v7(uuid::Timestamp::from_unix(&*ORDER, millis / 1000, nanos)).to_string()
}

/// What an id that is text and a type of its own needs, so that nothing else is taken for it.
macro_rules! text_id {
    ($id:ident) => {
        impl $id {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $id {
            fn from(text: &str) -> Self {
                Self(text.into())
            }
        }

        impl std::ops::Deref for $id {
            type Target = str;

            fn deref(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $id {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self)
            }
        }

        impl std::fmt::Debug for $id {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Debug::fmt(&**self, f)
            }
        }

        impl serde::Serialize for $id {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self)
            }
        }
    };
}
pub(crate) use text_id;

/// A job's id: a UUIDv7, so that it sorts by age. One that a client names may be nobody's, which a look tells.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId(Arc<str>);

text_id!(JobId);

impl JobId {
    pub fn new(now: Timestamp) -> Self {
        Self(new_id(now).into())
    }
}

/// A short random word of lower-case letters and digits, to make a taken name free again.
pub fn random_suffix() -> String {
    const ALPHABET: &[u8] = b"abcdefghjkmnpqrstuvwxyz23456789";
    let mut rng = random();
    (0..6).map(|_| char::from(ALPHABET[rng.random_range(0..ALPHABET.len())])).collect()
}

/// A random word of 32 letters and digits that nobody can guess.
pub fn random_token() -> String {
    const ALPHABET: &[u8] = b"abcdefghijkmnopqrstuvwxyz0123456";
    let mut rng = random();
    (0..32).map(|_| char::from(ALPHABET[rng.random_range(0..ALPHABET.len())])).collect()
}

/// Random bytes that nobody can guess.
pub fn random_secret() -> [u8; 32] {
    random().random()
}

/// A random number from 0 up to 1, for jitter.
pub fn random_fraction() -> f64 {
    random().random_range(0.0..1.0)
}

/// A number that is not 0.
pub(crate) fn random_number() -> u64 {
    random().random_range(1..=u64::MAX)
}

/// The one place that asks for randomness; keys come from here too.
#[allow(clippy::disallowed_methods, reason = "this is the one place that asks for it")]
pub(crate) fn random() -> impl rand::CryptoRng {
    rand::rng()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_made_in_one_millisecond_keep_their_order() {
        let now = Timestamp::from_millis(1_794_706_496_120);
        let ids: Vec<_> = (0..2000).map(|_| new_id(now)).collect();
        let mut sorted = ids.clone();
        sorted.sort();
        sorted.dedup();
        assert_eq!(ids, sorted);
    }
}
