//! From lines to views and figures.

use std::sync::Arc;

use copydesk_domain::Timestamp;

use super::blocks::MAX_LINE;
use super::format::Parser;
use super::line::{LogLine, each};
use super::report::Sample;
use super::tally::{Figure, Tally};
use super::text;
use crate::classify::Classifier;
use crate::hash::FastMap;
use crate::intake::{Judge, Left, Outcome};
use crate::{Bucket, Hit, View, page};

/// What holds for all lines of a log.
#[derive(Debug, Clone, Default)]
pub(super) struct Terms {
    /// Views before this are not kept.
    pub(super) floor: Option<Bucket>,
    /// The hosts whose views count; all if there are none.
    pub(super) hosts: Vec<String>,
}

/// What was made of some lines that stand together.
#[derive(Debug, Default)]
pub(super) struct Counted {
    pub(super) views: Vec<View>,
    pub(super) tally: Tally,
    /// The first unparsable lines; their numbers count from 1 within these lines.
    pub(super) samples: Vec<Sample>,
}

/// Unparsable lines of one log that are shown.
pub(super) const SAMPLES: usize = 10;

/// Counts lines. Each thread has its own.
pub(super) struct Counter {
    judge: Judge,
    /// Where a view that does not differ stands in the list.
    places: FastMap<Same, usize>,
}

/// Views do not differ if these are the same; page and client by their place in memory, which the list keeps alive.
#[derive(PartialEq, Eq, Hash)]
struct Same(u32, usize, usize);

impl Counter {
    pub(super) fn new(classifier: Arc<Classifier>) -> Self {
        Self { judge: Judge::new(classifier), places: FastMap::default() }
    }

    /// Counts lines, but for those of them that are `known`.
    pub(super) fn count(
        &mut self,
        lines: &[u8],
        known: &[bool],
        parser: &mut Parser,
        terms: &Terms,
        now: Timestamp,
    ) -> Counted {
        self.places.clear();
        let mut counted = Counted::default();
        for line in each(lines) {
            if known.get(counted.tally.lines as usize) == Some(&true) {
                pass_known(line, parser, &mut counted.tally);
            } else {
                self.line(line, parser, terms, now, &mut counted);
            }
        }
        counted
    }

    fn line(&mut self, line: &[u8], parser: &mut Parser, terms: &Terms, now: Timestamp, counted: &mut Counted) {
        counted.tally.lines += 1;
        let parsed = if line.len() > MAX_LINE { LogLine::Unparsable } else { parser.parse(line) };
        match parsed {
            LogLine::Hit(entry) => self.request(&entry, terms, now, counted),
            LogLine::Aside => counted.tally.blank += 1,
            LogLine::Unparsable => {
                counted.tally.unparsable += 1;
                if counted.samples.len() < SAMPLES {
                    counted.samples.push(Sample::new(counted.tally.lines, line));
                }
            }
        }
    }

    fn request(&mut self, entry: &Hit<'_>, terms: &Terms, now: Timestamp, counted: &mut Counted) {
        let tally = &mut counted.tally;
        if !terms.hosts.is_empty() && !terms.is_about(entry) {
            tally.other_hosts += 1;
            return;
        }
        // Asked first, because what strangers try on a server need not name a page.
        if entry.method.as_ref().is_some_and(|method| !method.eq_ignore_ascii_case("GET")) {
            return tally.count_left(Left::Method);
        }
        if entry.status.is_some_and(|status| status != 200 && status != 304) {
            return tally.count_left(Left::Status);
        }
        match self.judge.judge(entry, now) {
            Outcome::View(view) if terms.floor.is_some_and(|floor| view.bucket < floor) => tally.refuse_old(),
            Outcome::View(view) => {
                tally.count(Figure::of(&view.client.verdict));
                self.keep(view, &mut counted.views);
            }
            Outcome::Left(left) => tally.count_left(left),
            Outcome::Refused(refusal) => tally.refuse(refusal),
        }
    }

    fn keep(&mut self, view: View, views: &mut Vec<View>) {
        if view.id.is_some() {
            views.push(view);
            return;
        }
        let same = Same(view.bucket.0, Arc::as_ptr(&view.path).addr(), Arc::as_ptr(&view.client).addr());
        let place = *self.places.entry(same).or_insert(views.len());
        match views.get_mut(place) {
            Some(known) => known.count += 1,
            None => views.push(view),
        }
    }
}

fn pass_known(line: &[u8], parser: &mut Parser, tally: &mut Tally) {
    tally.lines += 1;
    tally.duplicates += 1;
    if line.starts_with(b"#") {
        // It says how to read the lines behind it.
        let _ = parser.parse(line);
    }
}

impl Terms {
    fn is_about(&self, entry: &Hit<'_>) -> bool {
        let named = page::host(&entry.target);
        let host = named.as_deref().or(entry.host.as_deref()).map(text::host);
        host.is_some_and(|host| self.hosts.iter().any(|wanted| wanted.eq_ignore_ascii_case(host)))
    }
}
