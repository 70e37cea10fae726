//! The requests: each has a path of its own, so that its events can be told from all others.

use std::fmt::Write;
use std::ops::{Add, AddAssign, SubAssign};

use crate::connection::request;
use crate::seeded::Seeded;

/// User agents of people and of AI agents, in turn.
pub(super) const READERS: [(&str, bool); 5] = [
    ("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", false),
    ("Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko); compatible; ChatGPT-User/1.0; +https://openai.com/bot", true),
    (
        "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36",
        false,
    ),
    (
        "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Safari/605.1.15",
        false,
    ),
    (
        "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; Claude-User/1.0; +Claude-User@anthropic.com)",
        true,
    ),
];
/// What every path begins with; the request's number in seven digits follows.
pub(super) const PREFIX: &str = "/torture/";
/// 2026-01-01 and the month after it, in seconds since 1970.
const MONTH: (usize, usize) = (OLDEST, 1_769_904_000);
/// No event is older.
pub(super) const OLDEST: usize = 1_767_225_600;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Many events, each with an id.
    Ids,
    /// Several events without ids.
    Plain,
    /// One event without an id.
    Single,
}

impl Kind {
    pub(super) fn has_ids(self) -> bool {
        self == Self::Ids
    }
}

/// Human and AI views.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) human: u64,
    pub(super) ai: u64,
}

impl Add for Counts {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self { human: self.human + other.human, ai: self.ai + other.ai }
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl SubAssign for Counts {
    fn sub_assign(&mut self, other: Self) {
        self.human -= other.human;
        self.ai -= other.ai;
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) number: u32,
    pub(super) kind: Kind,
    pub(super) project: usize,
    pub(super) events: u32,
    /// When its first event was.
    second: usize,
}

/// The user agent of the reader of that number, and whether it is an AI agent.
pub(super) fn reader(number: usize) -> (&'static str, bool) {
    READERS[number % READERS.len()]
}

impl Request {
    pub(super) fn new(number: u32, kind: Kind, projects: usize, seeded: &mut Seeded) -> Self {
        let events = match kind {
            Kind::Ids => seeded.within(2, 200),
            Kind::Plain => seeded.within(2, 50),
            Kind::Single => 1,
        };
        let (project, second) = (seeded.below(projects), seeded.within(MONTH.0, MONTH.1));
        Self { number, kind, project, events: events as u32, second }
    }

    pub(super) fn path(&self) -> String {
        format!("{PREFIX}{:07}", self.number)
    }

    /// What it adds to the counts.
    pub(super) fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for event in 0..self.events {
            let by_ai = self.reader(event).1;
            counts.human += u64::from(!by_ai);
            counts.ai += u64::from(by_ai);
        }
        counts
    }

    fn reader(&self, event: u32) -> (&'static str, bool) {
        reader((self.number + event) as usize)
    }

    /// The bytes to send, the same every time.
    pub(super) fn bytes(&self, project: &str, key: &str) -> Vec<u8> {
        let path = self.path();
        let mut body = String::new();
        for event in 0..self.events {
            body.push(if event == 0 { '[' } else { ',' });
            // Events of one request are up to an hour apart, in several quarter hours.
            let second = self.second + (event as usize * 379) % 3600;
            let user_agent = self.reader(event).0;
            let _ = write!(body, r#"{{"path":"{path}","userAgent":"{user_agent}","timestamp":{second}"#);
            if self.kind.has_ids() {
                let _ = write!(body, r#","id":"{}-{event}""#, self.number);
            }
            body.push('}');
        }
        body.push(']');
        let address = format!("/v1/analytics/{project}/events");
        let body = if self.kind == Kind::Single { body.trim_matches(['[', ']']) } else { &body };
        request("POST", &address, key, &[], Some(body))
    }
}
