//! The naive model: a list of events, each with the second it happened in.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use copydesk_views::store::{AgentViews, Counts, PageViews, Source, Sources, Status};
use copydesk_views::{Bucket, Channel, Client, CountsAs, Mark, Verdict};

/// A view, or several at once.
#[derive(Debug, Clone)]
pub struct Event {
    pub at: i64,
    pub path: Arc<str>,
    pub client: Arc<Client>,
    pub count: u32,
    pub id: Option<u128>,
}

/// A range in seconds; from, and before.
#[derive(Debug, Clone, Copy)]
pub struct Range(pub i64, pub i64);

impl Range {
    pub fn has(self, at: i64) -> bool {
        self.0 <= at && at < self.1
    }
}

/// A project as a list.
#[derive(Debug, Clone, Default)]
pub struct Model {
    events: Vec<Event>,
    /// When each id was first seen.
    ids: HashMap<u128, i64>,
    marks: Vec<Mark>,
    /// The first quarter hour of each channel, the script's first.
    since: [Option<i64>; 2],
    floor: Option<Bucket>,
    known: bool,
}

const QUARTER: i64 = 900;

impl Model {
    /// What an append should answer: views that count, and the places of those that were there before.
    pub fn append(&mut self, now: i64, events: &[Event], mark: Option<&Mark>) -> (u64, Vec<u32>) {
        let (mut counted, mut duplicates) = (0, Vec::new());
        for (place, event) in (0..).zip(events) {
            if self.floor.is_some_and(|floor| event.at < second(floor)) {
                continue;
            }
            if event.id.is_some_and(|id| self.ids.contains_key(&id)) {
                duplicates.push(place);
                continue;
            }
            event.id.map(|id| self.ids.insert(id, now));
            let by_script = event.client.facts.channel == Channel::Script;
            // People open the script, machines the server side.
            if by_script == (event.client.verdict.counts_as() == CountsAs::Human) {
                let since = &mut self.since[usize::from(!by_script)];
                let quarter = event.at.div_euclid(QUARTER) * QUARTER;
                *since = Some(since.map_or(quarter, |since| since.min(quarter)));
            }
            counted += u64::from(event.count);
            self.known = true;
            self.events.push(event.clone());
        }
        if let Some(mark) = mark {
            self.marks.retain(|old| old.log != mark.log || Some(&old.digest) != mark.replaces.as_ref());
            self.marks.push(mark.clone());
        }
        (counted, duplicates)
    }

    /// When an id was counted.
    pub fn seen(&self, id: u128) -> Option<i64> {
        self.ids.get(&id).copied()
    }

    pub fn relabel(&mut self, changes: &[(Arc<Client>, Verdict)]) {
        for event in &mut self.events {
            if let Some((client, verdict)) = changes.iter().find(|(client, _)| *client == event.client) {
                event.client = Arc::new(Client { facts: client.facts.clone(), verdict: verdict.clone() });
            }
        }
    }

    pub fn retain(&mut self, floor: Bucket) {
        self.floor = Some(self.floor.map_or(floor, |old| old.max(floor)));
        self.events.retain(|event| self.floor.is_none_or(|floor| event.at >= second(floor)));
    }

    /// Whether it has ever had views that were not removed.
    pub fn is_known(&self) -> bool {
        self.known
    }

    pub fn has_views(&self) -> bool {
        !self.events.is_empty()
    }

    pub fn clients(&self) -> BTreeMap<Arc<Client>, u64> {
        let mut views = BTreeMap::new();
        for event in &self.events {
            *views.entry(Arc::clone(&event.client)).or_default() += u64::from(event.count);
        }
        views
    }

    pub fn marks(&self, log: &str) -> Vec<Mark> {
        self.marks.iter().filter(|mark| mark.log == log).cloned().collect()
    }

    /// Everything but the bytes on disk.
    pub fn status(&self) -> Status {
        let bucket = |at: i64| Bucket::of_seconds(at);
        Status {
            views: self.events.iter().map(|event| u64::from(event.count)).sum(),
            bytes: 0,
            pages: self.events.iter().map(|event| &event.path).collect::<BTreeSet<_>>().len() as u64,
            first: self.events.iter().map(|event| bucket(event.at)).min(),
            last: self.events.iter().map(|event| bucket(event.at)).max(),
            script_since: self.since[0].map(bucket),
            server_since: self.since[1].map(bucket),
            floor: self.floor,
            restorable: None,
        }
    }

    /// Totals, and pages in their order.
    pub fn ranking(&self, range: Range, sources: Sources) -> (Counts, Vec<PageViews>) {
        let mut pages: BTreeMap<Arc<str>, Counts> = BTreeMap::new();
        let mut totals = Counts::default();
        for event in self.counted(range, sources) {
            add(&mut totals, event);
            add(pages.entry(Arc::clone(&event.path)).or_default(), event);
        }
        let mut rows: Vec<PageViews> = pages.into_iter().map(|(path, counts)| PageViews { path, counts }).collect();
        rows.retain(|row| row.counts.total() > 0);
        // Stable, and they come in the order of their paths.
        rows.sort_by_key(|row| std::cmp::Reverse(row.counts.total()));
        (totals, rows)
    }

    pub fn counts(&self, range: Range, sources: Sources, path: Option<&str>) -> Counts {
        let mut counts = Counts::default();
        for event in self.counted(range, sources).filter(|event| path.is_none_or(|path| *event.path == *path)) {
            add(&mut counts, event);
        }
        counts
    }

    pub fn agents(&self, range: Range, sources: Sources, path: Option<&str>, pages_each: usize) -> Vec<AgentViews> {
        let mut agents: BTreeMap<Verdict, BTreeMap<Arc<str>, u64>> = BTreeMap::new();
        let machines = self.counted(range, sources).filter(|event| counts_as(event) != CountsAs::Human);
        for event in machines.filter(|event| path.is_none_or(|path| *event.path == *path)) {
            let pages = agents.entry(event.client.verdict.clone()).or_default();
            *pages.entry(Arc::clone(&event.path)).or_default() += u64::from(event.count);
        }
        let agent = |(verdict, pages): (Verdict, BTreeMap<Arc<str>, u64>)| {
            let mut most_read: Vec<(Arc<str>, u64)> = pages.into_iter().collect();
            most_read.sort_by_key(|page| std::cmp::Reverse(page.1));
            let (views, pages) = (most_read.iter().map(|page| page.1).sum(), most_read.len() as u64);
            most_read.truncate(pages_each);
            AgentViews { verdict, views, pages, most_read }
        };
        let mut agents: Vec<AgentViews> = agents.into_iter().map(agent).collect();
        agents.sort_by_key(|agent| std::cmp::Reverse(agent.views));
        agents
    }

    /// The events of a range that count by these sources.
    fn counted(&self, range: Range, sources: Sources) -> impl Iterator<Item = &Event> {
        let [script_since, server_since] = self.since;
        self.events.iter().filter(move |event| {
            let began = |since: Option<i64>| since.is_some_and(|since| event.at >= since);
            let by_script = event.client.facts.channel == Channel::Script;
            // People are counted by script as soon as there is one, machines by the server side.
            let (source, auto) = match counts_as(event) {
                CountsAs::Human => (sources.people, by_script == began(script_since)),
                _ => (sources.machines, by_script != began(server_since)),
            };
            let counts = match source {
                Source::Auto => auto,
                Source::Script => by_script,
                Source::Server => !by_script,
                Source::Both => true,
            };
            counts && range.has(event.at)
        })
    }
}

pub fn second(bucket: Bucket) -> i64 {
    i64::from(bucket.0) * QUARTER
}

fn counts_as(event: &Event) -> CountsAs {
    event.client.verdict.counts_as()
}

fn add(counts: &mut Counts, event: &Event) {
    match counts_as(event) {
        CountsAs::Human => counts.human += u64::from(event.count),
        CountsAs::Ai => counts.ai += u64::from(event.count),
        CountsAs::Other => {}
    }
}
