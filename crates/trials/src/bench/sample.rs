//! The views that all engines get: the same for every run, drawn quarter hour by quarter hour.

use std::io::{self, Write};
use std::sync::Arc;

use copydesk_views::{Bucket, Channel, Class, Client, Evidence, Facts, Network, Verdict};

use super::alias::Alias;
use crate::seeded::Seeded;

/// 2025-01-01, as a quarter hour. All of 2025 is in the past, so nothing depends on today.
pub(super) const FIRST: Bucket = Bucket(20_089 * Bucket::A_DAY);
/// Days that there are views of.
pub(super) const DAYS: u32 = 365;
const SEED: u64 = 20_250_101;

/// Readers and their part of all views, in hundredths: 90 by people, whom the script saw, and 10 by AI agents, whom
/// only the server saw.
const READERS: [(&str, u32, bool); 8] = [
    ("Chrome", 54, false),
    ("Safari", 19, false),
    ("Firefox", 10, false),
    ("Edge", 7, false),
    ("ChatGPT-User", 5, true),
    ("Claude-User", 3, true),
    ("Perplexity-User", 1, true),
    ("Claude-Code", 1, true),
];
const SECTIONS: [&str; 12] = [
    "guides",
    "reference",
    "api",
    "concepts",
    "tutorials",
    "integrations",
    "changelog",
    "cli",
    "sdk",
    "security",
    "billing",
    "recipes",
];
const TOPICS: [&str; 15] = [
    "authentication",
    "webhooks",
    "pagination",
    "errors",
    "deployments",
    "projects",
    "rate-limits",
    "environments",
    "search",
    "navigation",
    "components",
    "previews",
    "redirects",
    "analytics",
    "domains",
];

/// Views: how many, of which pages, by whom.
pub(in crate::bench) struct Sample {
    pub(in crate::bench) paths: Vec<Arc<str>>,
    pub(in crate::bench) clients: Vec<Arc<Client>>,
    pub(in crate::bench) views: u64,
    /// Weighs every pair of a page and a reader.
    pairs: Alias,
    /// The number of views before each quarter hour, and of all.
    before: Vec<u64>,
}

impl Sample {
    /// So many views of so many pages, by Zipf's law.
    pub(in crate::bench) fn new(views: u64, paths: usize) -> Self {
        let clients = clients();
        let mut ranks: Vec<usize> = (1..=paths).collect();
        Seeded::new(SEED).shuffle(&mut ranks);
        let mut weights = Vec::with_capacity(paths * clients.len());
        for rank in ranks {
            weights.extend(clients.iter().map(|client| f64::from(share(client)) / rank as f64));
        }
        Self { paths: names(paths), clients, views, pairs: Alias::new(&weights), before: course(views) }
    }

    /// How many quarter hours there are.
    pub(in crate::bench) fn buckets(&self) -> u32 {
        DAYS * Bucket::A_DAY
    }

    /// Which quarter hour this one is.
    pub(in crate::bench) fn bucket(&self, number: u32) -> Bucket {
        Bucket(FIRST.0 + number)
    }

    /// Draws the views of a quarter hour, in the order of time: each is a pair.
    pub(in crate::bench) fn draw(&self, number: u32, drawn: &mut Vec<u32>) {
        let count = self.before[number as usize + 1] - self.before[number as usize];
        let mut seeded = Seeded::part(SEED, u64::from(number));
        drawn.clear();
        drawn.extend((0..count).map(|_| self.pairs.place(seeded.draw())));
    }

    /// The page and the reader of a pair, by their places. Pairs are in the order of pages, then of readers.
    pub(in crate::bench) fn pair(&self, pair: u32) -> (usize, usize) {
        (pair as usize / self.clients.len(), pair as usize % self.clients.len())
    }

    /// How many pairs there are.
    pub(in crate::bench) fn pairs(&self) -> u32 {
        (self.paths.len() * self.clients.len()) as u32
    }

    /// Whether the reader of this place is an AI agent.
    pub(in crate::bench) fn is_ai(&self, client: usize) -> bool {
        self.clients[client].verdict.class != Class::Human
    }

    /// Writes every view as a line: second, page, 1 for AI.
    pub(in crate::bench) fn write_views(&self, mut to: impl Write) -> io::Result<()> {
        let ends: Vec<Vec<u8>> = (0..self.pairs())
            .map(|pair| {
                let (path, client) = self.pair(pair);
                format!(",{},{}\n", self.paths[path], u8::from(self.is_ai(client))).into_bytes()
            })
            .collect();
        let mut drawn = Vec::new();
        for number in 0..self.buckets() {
            self.draw(number, &mut drawn);
            let begins = u64::from(self.bucket(number).0) * 900;
            for (at, pair) in drawn.iter().enumerate() {
                let second = begins + at as u64 * 900 / drawn.len() as u64;
                to.write_all(second.to_string().as_bytes())?;
                to.write_all(&ends[*pair as usize])?;
            }
        }
        to.flush()
    }
}

/// Adds up equal ones of what was drawn, in order.
pub(super) fn counted(drawn: &mut [u32]) -> impl Iterator<Item = (u32, u32)> {
    drawn.sort_unstable();
    drawn.chunk_by(|one, other| one == other).map(|same| (same[0], same.len() as u32))
}

/// The number of views before each quarter hour: more by day than by night, fewer at weekends, and more every week.
fn course(views: u64) -> Vec<u64> {
    let buckets = DAYS * Bucket::A_DAY;
    let weight = |number: u32| {
        let (day, of_day) = (number / Bucket::A_DAY, f64::from(number % Bucket::A_DAY) / f64::from(Bucket::A_DAY));
        let hour = 1.0 - 0.7 * (of_day * std::f64::consts::TAU).cos();
        // 2025 began on a Wednesday.
        let weekday = if matches!(day % 7, 3 | 4) { 0.4 } else { 1.0 };
        hour * weekday * (1.0 + 0.5 * f64::from(day) / f64::from(DAYS))
    };
    let sum: f64 = (0..buckets).map(weight).sum();
    let mut so_far = 0.0;
    let mut before = vec![0];
    for number in 0..buckets {
        so_far += weight(number);
        before.push(if number + 1 == buckets { views } else { (views as f64 * so_far / sum) as u64 });
    }
    before
}

fn names(paths: usize) -> Vec<Arc<str>> {
    let name = |number: usize| {
        let (section, topic) = (SECTIONS[number % SECTIONS.len()], TOPICS[number / SECTIONS.len() % TOPICS.len()]);
        format!("/{section}/{topic}/{number:06}").into()
    };
    let mut names: Vec<Arc<str>> = (0..paths).map(name).collect();
    names.sort_unstable();
    names
}

fn share(client: &Client) -> u32 {
    READERS.iter().find(|(name, ..)| client.facts.user_agent == *name).map_or(0, |(_, share, _)| *share)
}

fn clients() -> Vec<Arc<Client>> {
    let mut clients: Vec<Arc<Client>> = READERS.iter().map(|(name, _, ai)| Arc::new(client(name, *ai))).collect();
    clients.sort_unstable();
    clients
}

fn client(name: &str, ai: bool) -> Client {
    let channel = if ai { Channel::Server } else { Channel::Script };
    let facts =
        Facts { user_agent: name.to_owned(), markdown: false, network: Network::Unknown, signed_by: None, channel };
    let verdict = if ai {
        let rule = format!("token:{name}");
        Verdict { class: Class::Assistant, agent: Some(name.to_owned()), evidence: Evidence::Token, rule }
    } else {
        Verdict { class: Class::Human, agent: None, evidence: Evidence::Browser, rule: "browser".to_owned() }
    };
    Client { facts, verdict }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_the_same_every_time_and_as_large_as_asked() {
        let sample = Sample::new(200_000, 100);
        assert!(sample.paths.is_sorted() && sample.clients.is_sorted());
        let (mut drawn, mut all, mut ai, mut by_path) = (Vec::new(), 0, 0, vec![0u64; 100]);
        for number in 0..sample.buckets() {
            sample.draw(number, &mut drawn);
            all += drawn.len();
            for pair in &drawn {
                let (path, client) = sample.pair(*pair);
                ai += usize::from(sample.is_ai(client));
                by_path[path] += 1;
            }
            assert_eq!(counted(&mut drawn).map(|(_, count)| count as usize).sum::<usize>(), drawn.len());
        }
        assert_eq!(all, 200_000);
        assert!(ai.abs_diff(20_000) < 1_000, "{ai}");
        by_path.sort_unstable_by(|a, b| b.cmp(a));
        // The first page has twice the views of the second and about a hundred times those of the last.
        assert!((1.9..2.1).contains(&(by_path[0] as f64 / by_path[1] as f64)), "{by_path:?}");
        assert!(by_path[99] > 0 && by_path[0] / by_path[99] > 70, "{by_path:?}");
        let again = Sample::new(200_000, 100);
        let mut other = Vec::new();
        sample.draw(77, &mut drawn);
        again.draw(77, &mut other);
        assert_eq!(drawn, other);
    }

    #[test]
    fn views_are_written_in_the_order_of_time() {
        let mut text = Vec::new();
        Sample::new(10_000, 10).write_views(&mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let seconds: Vec<u64> = text.lines().map(|line| line.split(',').next().unwrap().parse().unwrap()).collect();
        assert_eq!(seconds.len(), 10_000);
        assert!(seconds.is_sorted());
        assert!(seconds[0] >= 1_735_689_600 && seconds[9_999] < 1_767_225_600, "all of 2025");
        assert!(text.lines().all(|line| line.ends_with(",0") || line.ends_with(",1")));
    }
}
