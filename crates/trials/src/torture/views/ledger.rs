//! What was sent, what the server said to it, and what it must therefore have counted.

use std::collections::{HashMap, VecDeque};

use super::event::{Counts, Kind, Request};
use crate::seeded::Seeded;

/// What the server said to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// Nothing: it was killed, or it has not answered yet.
    Unknown,
    /// That nothing was kept.
    Refused,
    /// That it is on disk.
    Acknowledged,
}

struct Entry {
    request: Request,
    fate: Fate,
    /// How many tries of it were never answered: it may have been kept.
    unanswered: u32,
}

pub(super) struct Ledger {
    seeded: Seeded,
    entries: Vec<Entry>,
    /// Those that are to be sent again.
    again: VecDeque<u32>,
    /// For each project, views that must be counted, and views that may be on top of them.
    sums: Vec<(Counts, Counts)>,
    pub(super) sent_again: u64,
    pub(super) violations: Vec<String>,
}

impl Ledger {
    pub(super) fn new(seed: u64, projects: usize) -> Self {
        Self {
            seeded: Seeded::new(seed),
            entries: Vec::new(),
            again: VecDeque::new(),
            sums: vec![Default::default(); projects],
            sent_again: 0,
            violations: Vec::new(),
        }
    }

    /// The next request to send: one that has to be sent again, or a new one of this kind.
    pub(super) fn next(&mut self, kind: Kind) -> Request {
        if let Some(again) = self.next_again() {
            return again;
        }
        let number = self.entries.len() as u32;
        let request = Request::new(number, kind, self.sums.len(), &mut self.seeded);
        self.sums[request.project].1 += request.counts();
        self.entries.push(Entry { request: request.clone(), fate: Fate::Unknown, unanswered: 1 });
        request
    }

    /// The next one that has to be sent again.
    pub(super) fn next_again(&mut self) -> Option<Request> {
        let number = self.again.pop_front()?;
        self.sent_again += 1;
        let entry = &mut self.entries[number as usize];
        entry.fate = Fate::Unknown;
        entry.unanswered += 1;
        Some(entry.request.clone())
    }

    /// The server says that it is on disk: so many accepted now, so many there before.
    pub(super) fn acknowledged(&mut self, number: u32, accepted: u64, duplicates: u64) {
        let entry = &mut self.entries[number as usize];
        let request = &entry.request;
        let events = u64::from(request.events);
        if !matches!((accepted, duplicates), (0, all) | (all, 0) if all == events) {
            let path = request.path();
            self.violations.push(format!("{path} with {events} events: {accepted} accepted, {duplicates} duplicates"));
        }
        entry.fate = Fate::Acknowledged;
        let (certain, perhaps) = &mut self.sums[request.project];
        *perhaps -= request.counts();
        *certain += request.counts();
    }

    /// The server says that nothing of it was kept.
    pub(super) fn refused(&mut self, number: u32) {
        let entry = &mut self.entries[number as usize];
        entry.fate = Fate::Refused;
        entry.unanswered -= 1;
        if entry.request.kind.has_ids() {
            self.again.push_back(number);
        } else {
            self.sums[entry.request.project].1 -= entry.request.counts();
        }
    }

    /// The server is gone. Whatever has ids and was not acknowledged is to be sent again.
    pub(super) fn cut_off(&mut self) {
        let open = |entry: &&Entry| entry.fate != Fate::Acknowledged && entry.request.kind.has_ids();
        self.again = self.entries.iter().filter(open).map(|entry| entry.request.number).collect();
    }

    /// Whether nothing has to be sent again.
    pub(super) fn is_settled(&self) -> bool {
        self.again.is_empty()
    }

    /// Whether a request was acknowledged.
    pub(super) fn is_acknowledged(&self, number: u32) -> bool {
        self.entries.get(number as usize).is_some_and(|entry| entry.fate == Fate::Acknowledged)
    }

    /// Requests with each fate: acknowledged, refused, unknown.
    pub(super) fn fates(&self) -> [usize; 3] {
        let of = |fate| self.entries.iter().filter(|entry| entry.fate == fate).count();
        [of(Fate::Acknowledged), of(Fate::Refused), of(Fate::Unknown)]
    }

    /// Events that were acknowledged.
    pub(super) fn certain(&self) -> u64 {
        self.sums.iter().map(|(certain, _)| certain.human + certain.ai).sum()
    }

    /// What is wrong with these totals of a project. Nothing may be on its way.
    pub(super) fn check_totals(&self, project: usize, totals: Counts) -> Result<(), String> {
        let (certain, perhaps) = self.sums[project];
        let most = certain + perhaps;
        let right = |least, it, most| (least..=most).contains(&it);
        if right(certain.human, totals.human, most.human) && right(certain.ai, totals.ai, most.ai) {
            return Ok(());
        }
        Err(format!(
            "project {project} counts {totals:?}; acknowledged are {certain:?}, and {perhaps:?} may be besides"
        ))
    }

    /// What is wrong with these counts of every path of a project.
    pub(super) fn check(&self, project: usize, counted: &HashMap<String, Counts>) -> Vec<String> {
        let mut wrong = Vec::new();
        let mut known = 0;
        for Entry { request, fate, unanswered } in self.entries.iter().filter(|entry| entry.request.project == project)
        {
            let path = request.path();
            let found = counted.get(&path).copied();
            known += usize::from(found.is_some());
            let (found, whole) = (found.unwrap_or_default(), request.counts());
            let right = match fate {
                Fate::Acknowledged => found == whole,
                _ if *unanswered > 0 => found == whole || found == Counts::default(),
                _ => found == Counts::default(),
            };
            if !right {
                wrong.push(format!("{path} ({:?}, {fate:?}): {whole:?} was sent and {found:?} counted", request.kind));
            }
        }
        if known != counted.len() {
            wrong.push(format!("project {project} has {} paths, and only {known} were sent", counted.len()));
        }
        wrong
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(requests: &[&Request]) -> HashMap<String, Counts> {
        requests.iter().map(|request| (request.path(), request.counts())).collect()
    }

    #[test]
    fn what_was_acknowledged_must_be_there_once_and_whole() {
        let mut ledger = Ledger::new(1, 1);
        let (one, two) = (ledger.next(Kind::Ids), ledger.next(Kind::Plain));
        ledger.acknowledged(one.number, u64::from(one.events), 0);
        assert_eq!(ledger.check(0, &counted(&[&one])), Vec::<String>::new());
        assert_eq!(ledger.check(0, &counted(&[&one, &two])), Vec::<String>::new());
        assert_eq!(ledger.check(0, &counted(&[&two])).len(), 1);
        let mut twice = counted(&[&one]);
        twice.values_mut().for_each(|counts| *counts += *counts);
        assert_eq!(ledger.check(0, &twice).len(), 1);
        let mut part = counted(&[&one, &two]);
        part.get_mut(&two.path()).unwrap().human -= 1;
        assert_eq!(ledger.check(0, &part).len(), 1);
        assert!(ledger.check_totals(0, one.counts()).is_ok());
        assert!(ledger.check_totals(0, one.counts() + two.counts()).is_ok());
        assert!(ledger.check_totals(0, two.counts()).is_err() || two.counts().human >= one.counts().human);
        assert!(ledger.check_totals(0, one.counts() + one.counts() + two.counts()).is_err());
        let mut strange = counted(&[&one]);
        strange.insert("/strange".to_owned(), Counts { human: 1, ai: 0 });
        assert_eq!(ledger.check(0, &strange).len(), 1);
    }

    #[test]
    fn what_was_refused_must_not_be_there() {
        let mut ledger = Ledger::new(1, 1);
        let one = ledger.next(Kind::Single);
        ledger.refused(one.number);
        assert_eq!(ledger.check(0, &counted(&[])), Vec::<String>::new());
        assert_eq!(ledger.check(0, &counted(&[&one])).len(), 1);
        assert!(ledger.is_settled(), "without an id it is not sent again");
    }

    #[test]
    fn what_has_ids_is_sent_again_until_it_is_acknowledged() {
        let mut ledger = Ledger::new(1, 1);
        let one = ledger.next(Kind::Ids);
        let two = ledger.next(Kind::Plain);
        ledger.cut_off();
        let again = ledger.next(Kind::Plain);
        assert_eq!(again, one);
        assert!(ledger.is_settled());
        ledger.acknowledged(one.number, 0, u64::from(one.events));
        ledger.cut_off();
        assert!(ledger.is_settled() && !ledger.is_acknowledged(two.number));
        ledger.acknowledged(two.number, 1, u64::from(two.events) - 1);
        assert_eq!(ledger.violations.len(), 1, "half a request");
    }
}
