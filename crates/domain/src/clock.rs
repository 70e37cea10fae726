use std::fmt;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An instant, to the millisecond, as the contract shows and the stores keep it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// From milliseconds since 1970-01-01T00:00:00Z.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Milliseconds since 1970-01-01T00:00:00Z.
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// This instant and `duration`, stopping at the end of time instead of wrapping.
    pub fn plus(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)))
    }

    /// This instant less `duration`.
    pub fn minus(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)))
    }

    /// How long from `earlier` to this; nothing if `earlier` is later.
    pub fn since(self, earlier: Self) -> Duration {
        let millis = self.0.saturating_sub(earlier.0).max(0);
        Duration::from_millis(millis.unsigned_abs())
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(instant) => write!(f, "{instant:.3}"),
            Err(_) => f.write_str(if self.0 < 0 { "-9999-01-01T00:00:00.000Z" } else { "9999-12-31T23:59:59.999Z" }),
        }
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let instant = jiff::Timestamp::deserialize(deserializer)?;
        Ok(Self(instant.as_millisecond()))
    }
}

/// Where the time comes from. A parameter everywhere, so that a test can hold it still.
pub trait Clock: Send + Sync + fmt::Debug {
    fn now(&self) -> Timestamp;

    /// Time that has passed since some moment, which nobody can set forward or back. A clock that a test moves runs
    /// evenly, unless the test says otherwise.
    fn uptime(&self) -> Duration {
        self.now().since(Timestamp(0))
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[allow(clippy::disallowed_methods, reason = "this is the one place that asks the machine")]
    fn now(&self) -> Timestamp {
        Timestamp(jiff::Timestamp::now().as_millisecond())
    }

    fn uptime(&self) -> Duration {
        static FIRST_ASKED: OnceLock<Instant> = OnceLock::new();
        FIRST_ASKED.get_or_init(Instant::now).elapsed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_milliseconds_and_z() {
        assert_eq!(Timestamp::from_millis(0).to_string(), "1970-01-01T00:00:00.000Z");
        assert_eq!(Timestamp::from_millis(1_794_706_496_120).to_string(), "2026-11-15T01:34:56.120Z");
    }

    #[test]
    fn stays_printable_at_the_ends_of_time() {
        assert!(Timestamp::from_millis(i64::MAX).to_string().ends_with('Z'));
        assert!(Timestamp::from_millis(i64::MIN).to_string().ends_with('Z'));
    }

    #[test]
    fn survives_json() {
        let instant = Timestamp::from_millis(1_794_706_496_120);
        let json = serde_json::to_string(&instant).unwrap();
        assert_eq!(serde_json::from_str::<Timestamp>(&json).unwrap(), instant);
    }
}
