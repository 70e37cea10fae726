//! The questions that are asked about a sample, over HTTP.

use std::net::SocketAddr;
use std::time::Instant;

use copydesk_domain::Timestamp;
use serde::Deserialize;

use crate::bench::sample::{DAYS, FIRST};
use crate::connection::{Connection, request};
use crate::figures::Latencies;
use crate::seeded::Seeded;

/// The ranges, in days.
pub(super) const RANGES: [u32; 3] = [7, 30, 365];
/// Requests of each kind for each range in a round. There are several rounds, so that whatever else the machine does falls on
/// all.
const A_ROUND: u32 = 50;
const SEED: u64 = 365;
const A_DAY: i64 = 86_400_000;

/// An answer: human and AI views of the site, and the first 50 pages with theirs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Figures {
    pub(super) totals: (u64, u64),
    pub(super) rows: Vec<(String, u64, u64)>,
}

/// How long answers for a range took.
#[derive(Debug, Clone, Default)]
pub(super) struct Times {
    /// The last so many days, with another end in the future each time: the figures are the same, the question is new.
    pub(super) new: Latencies,
    /// The very same question again.
    pub(super) again: Latencies,
    /// So many days that ended any day of the year.
    pub(super) anywhere: Latencies,
}

pub(super) struct Asker {
    connection: Connection,
    project: String,
    key: String,
}

#[derive(Deserialize)]
struct Page {
    totals: Totals,
    views: Vec<Row>,
}

#[derive(Deserialize)]
struct Totals {
    human: u64,
    ai: u64,
    total: u64,
}

#[derive(Deserialize)]
struct Row {
    path: String,
    human: u64,
    ai: u64,
}

impl Asker {
    pub(super) async fn new(address: SocketAddr, project: &str, key: &str) -> Self {
        let connection = Connection::open(address).await.unwrap();
        Self { connection, project: project.to_owned(), key: key.to_owned() }
    }

    /// The figures of the last so many days.
    pub(super) async fn figures(&mut self, days: u32) -> Figures {
        let page: Page = serde_json::from_slice(&self.fetch(&last(days, 0)).await).unwrap();
        assert_eq!(page.totals.total, page.totals.human + page.totals.ai);
        let rows = page.views.into_iter().map(|row| (row.path, row.human, row.ai)).collect();
        Figures { totals: (page.totals.human, page.totals.ai), rows }
    }

    /// How long answers take, for each range.
    pub(super) async fn times(&mut self, rounds: u32) -> [Times; RANGES.len()] {
        let mut all: [Times; RANGES.len()] = Default::default();
        let mut seeded = Seeded::new(SEED);
        for round in 0..rounds {
            for (times, days) in all.iter_mut().zip(RANGES) {
                for number in 1..=A_ROUND {
                    self.timed(&last(days, round * A_ROUND + number), &mut times.new).await;
                }
                for _ in 0..A_ROUND {
                    self.timed(&last(days, 0), &mut times.again).await;
                }
                for _ in 0..A_ROUND {
                    let end = i64::from(first_day()) + seeded.within(7, DAYS as usize) as i64;
                    self.timed(&range(end - i64::from(days), end), &mut times.anywhere).await;
                }
            }
        }
        all
    }

    async fn timed(&mut self, range: &str, times: &mut Latencies) {
        let request = ask(&self.project, &self.key, range);
        let before = Instant::now();
        let reply = self.connection.exchange(&request).await.unwrap();
        times.add(before.elapsed());
        assert_eq!(reply.status, 200, "{}", String::from_utf8_lossy(reply.body));
    }

    async fn fetch(&mut self, range: &str) -> Vec<u8> {
        let reply = self.connection.exchange(&ask(&self.project, &self.key, range)).await.unwrap();
        assert_eq!(reply.status, 200, "{}", String::from_utf8_lossy(reply.body));
        reply.body.to_vec()
    }
}

/// A question for the totals and the first 50 pages of all days of the sample.
pub(super) fn first_question(project: &str, key: &str) -> Vec<u8> {
    ask(project, key, &last(DAYS, 0))
}

/// The day after the last one.
pub(super) fn end() -> String {
    date(i64::from(first_day() + DAYS))
}

/// The date of a day since 1970.
pub(super) fn date(day: i64) -> String {
    let mut text = Timestamp::from_millis(day * A_DAY).to_string();
    text.truncate("2025-01-01".len());
    text
}

/// The first day, since 1970.
pub(super) fn first_day() -> u32 {
    FIRST.0 / copydesk_views::Bucket::A_DAY
}

/// The last so many days of the sample, and `beyond` more in which nothing was.
fn last(days: u32, beyond: u32) -> String {
    let end = i64::from(first_day() + DAYS);
    range(end - i64::from(days), end + i64::from(beyond))
}

fn range(from: i64, to: i64) -> String {
    format!("dateFrom={}&dateTo={}", date(from), date(to))
}

fn ask(project: &str, key: &str, range: &str) -> Vec<u8> {
    request("GET", &format!("/v1/analytics/{project}/views?{range}&limit=50"), key, &[], None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_end_with_the_sample() {
        assert_eq!(last(7, 0), "dateFrom=2025-12-25&dateTo=2026-01-01");
        assert_eq!(last(365, 31), "dateFrom=2025-01-01&dateTo=2026-02-01");
        assert_eq!(end(), "2026-01-01");
    }
}
