use copydesk_domain::Timestamp;
use serde::{Deserialize, Serialize};

/// A quarter of an hour, counted from 1970-01-01T00:00Z. Every time zone's midnight is the edge of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Bucket(pub u32);

const SECONDS: i64 = 15 * 60;

impl Bucket {
    /// The first of all.
    pub const MIN: Self = Self(0);
    /// The last of all; nothing is ever in it.
    pub const MAX: Self = Self(u32::MAX);
    /// A day has this many.
    pub const A_DAY: u32 = 96;

    /// The one that this second since 1970 is in; the first or last for what is out of reach.
    pub fn of_seconds(seconds: i64) -> Self {
        Self(u32::try_from(seconds.div_euclid(SECONDS).max(0)).unwrap_or(u32::MAX))
    }

    /// The one that this instant is in.
    pub fn of(instant: Timestamp) -> Self {
        Self::of_seconds(instant.as_millis().div_euclid(1000))
    }

    pub fn begins(self) -> Timestamp {
        Timestamp::from_millis(i64::from(self.0) * SECONDS * 1000)
    }
}
