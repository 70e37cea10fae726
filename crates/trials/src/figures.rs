//! How long things took, in words.

use std::time::Duration;

/// How long each of many requests took.
#[derive(Debug, Clone, Default)]
pub struct Latencies(Vec<Duration>);

impl Latencies {
    pub fn add(&mut self, took: Duration) {
        self.0.push(took);
    }

    pub fn join(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The time within which `part` (0 to 1) of them were done.
    pub fn within(&self, part: f64) -> Duration {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let at = (sorted.len() as f64 * part).ceil() as usize;
        sorted.get(at.saturating_sub(1)).copied().unwrap_or_default()
    }
}

/// What a stretch of load came to.
#[derive(Debug, Clone, Default)]
pub struct Measured {
    pub latencies: Latencies,
    /// How long they took together.
    pub time: Duration,
}

impl Measured {
    pub fn rate(&self) -> f64 {
        self.latencies.count() as f64 / self.time.as_secs_f64().max(f64::MIN_POSITIVE)
    }

    pub fn join(&mut self, other: Self) {
        self.latencies.join(other.latencies);
        self.time += other.time;
    }

    /// The rate, counted in `what`, and the percentiles.
    pub fn in_words(&self, what: &str) -> String {
        let (p50, p99) = (self.latencies.within(0.5), self.latencies.within(0.99));
        format!("{} {what}/s, p50 {}, p99 {}", thousands(self.rate() as u64), millis(p50), millis(p99))
    }
}

/// A duration as milliseconds with two digits behind the point.
pub fn millis(duration: Duration) -> String {
    format!("{:.2} ms", duration.as_secs_f64() * 1000.0)
}

/// 1234567 as 1,234,567.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_the_requests_that_were() {
        let mut all = Latencies::default();
        (1..=100).rev().for_each(|ms| all.add(Duration::from_millis(ms)));
        assert_eq!(all.within(0.5), Duration::from_millis(50));
        assert_eq!(all.within(0.99), Duration::from_millis(99));
        assert_eq!(all.within(1.0), Duration::from_millis(100));
        assert_eq!(Latencies::default().within(0.99), Duration::ZERO);
    }

    #[test]
    fn thousands_are_set_apart() {
        let shown: Vec<_> = [0, 999, 1000, 1_234_567].map(thousands).into();
        assert_eq!(shown, ["0", "999", "1,000", "1,234,567"]);
    }
}
