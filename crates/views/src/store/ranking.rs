//! Pages in the order of their views, as they were at one moment.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize, Serializer};

use super::{Counts, PageViews};

/// Rows that are in order from the start: a little more than a page of the interface has at most.
const TOP: usize = 256;

/// Pages by their views: most first, then by path. It never changes, so that paging over it repeats and misses nothing.
#[derive(Debug, Default, Deserialize)]
#[serde(from = "Rows")]
pub struct Ranking {
    names: Names,
    totals: Counts,
    /// Of each path, as the names have them; also of those without views.
    counts: Vec<Counts>,
    /// Places of the pages that have views: the first [`TOP`] in order, the others not.
    rows: Vec<u32>,
    /// All in order, once somebody asked for more than the first.
    sorted: OnceLock<Vec<u32>>,
}

/// A ranking as it is written down: all of it, in order.
#[derive(Serialize, Deserialize)]
struct Rows {
    totals: Counts,
    rows: Vec<PageViews>,
}

impl From<Rows> for Ranking {
    fn from(Rows { totals, rows }: Rows) -> Self {
        Self::from_rows(totals, rows)
    }
}

impl Serialize for Ranking {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Rows { totals: self.totals, rows: self.page(0, usize::MAX).0 }.serialize(serializer)
    }
}

/// The paths that rows are about: many in order, shared by all answers, and some that came later.
#[derive(Debug, Clone, Default)]
struct Names {
    /// Ascending.
    known: Arc<Vec<Arc<str>>>,
    /// In no order, and none of the others.
    late: Vec<Arc<str>>,
}

impl Names {
    fn get(&self, place: u32) -> Option<&Arc<str>> {
        let place = place as usize;
        self.known.get(place).or_else(|| self.late.get(place - self.known.len()))
    }

    fn compare(&self, one: u32, other: u32) -> Ordering {
        let known = self.known.len();
        if (one as usize) < known && (other as usize) < known {
            return one.cmp(&other);
        }
        self.get(one).cmp(&self.get(other))
    }
}

/// What the order of pages is made of.
#[derive(Clone, Copy)]
struct Order<'a> {
    names: &'a Names,
    counts: &'a [Counts],
}

impl Order<'_> {
    fn total(&self, place: u32) -> u64 {
        self.counts.get(place as usize).map_or(0, |counts| counts.total())
    }

    fn compare(&self, one: u32, other: u32) -> Ordering {
        self.total(other).cmp(&self.total(one)).then_with(|| self.names.compare(one, other))
    }
}

impl Ranking {
    /// From rows that are in order; for stores that answer so.
    pub fn from_rows(totals: Counts, rows: Vec<PageViews>) -> Self {
        let counts: Vec<Counts> = rows.iter().map(|row| row.counts).collect();
        let sorted: Vec<u32> = (0..).take(rows.len()).collect();
        let late = rows.into_iter().map(|row| row.path).collect();
        Self { names: Names { late, ..Names::default() }, totals, counts, rows: Vec::new(), sorted: sorted.into() }
    }

    /// From the views of each path: first those of `known`, which ascend and which many answers share, then those of
    /// `late`, which are in no order and none of the others.
    pub fn from_counts(known: Arc<Vec<Arc<str>>>, late: Vec<Arc<str>>, counts: Vec<Counts>) -> Self {
        let names = Names { known, late };
        let mut totals = Counts::default();
        let order = Order { names: &names, counts: &counts };
        let (mut top, mut rows) = (Top::new(order), Vec::with_capacity(counts.len()));
        for (place, counts) in counts.iter().enumerate().filter(|(_, counts)| counts.total() > 0) {
            totals.human += counts.human;
            totals.ai += counts.ai;
            top.push(place as u32, counts.total(), &mut rows);
        }
        let mut first = top.finish(&mut rows);
        first.append(&mut rows);
        Self { names, totals, counts, rows: first, sorted: OnceLock::new() }
    }

    /// Of the whole site.
    pub fn totals(&self) -> Counts {
        self.totals
    }

    /// How many pages have views.
    pub fn len(&self) -> usize {
        self.rows.len().max(self.sorted.get().map_or(0, Vec::len))
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The views of some pages, in the order in which they are asked for.
    pub fn counts_of(&self, paths: &[&str]) -> Vec<Counts> {
        let count = |place: usize| self.counts.get(place).copied().unwrap_or_default();
        let known = self.names.known.len();
        let mut late: HashMap<&str, usize> = HashMap::new();
        if paths.iter().any(|path| self.known(path).is_none()) {
            late.extend(self.names.late.iter().enumerate().map(|(place, name)| (&**name, known + place)));
        }
        let place = |path: &&str| self.known(path).or_else(|| late.get(path).copied());
        paths.iter().map(|path| place(path).map(count).unwrap_or_default()).collect()
    }

    fn known(&self, path: &str) -> Option<usize> {
        self.names.known.binary_search_by(|name| (**name).cmp(path)).ok()
    }

    /// The rows from `offset` on, at most `limit`, and whether there are more behind them.
    pub fn page(&self, offset: usize, limit: usize) -> (Vec<PageViews>, bool) {
        let end = offset.saturating_add(limit);
        let rows = if end <= TOP.min(self.rows.len()) { &self.rows } else { self.sorted() };
        let page = rows.get(offset..end.min(rows.len())).unwrap_or_default();
        let view = |place: &u32| {
            let counts = *self.counts.get(*place as usize)?;
            Some(PageViews { path: Arc::clone(self.names.get(*place)?), counts })
        };
        (page.iter().filter_map(view).collect(), end < rows.len())
    }

    fn sorted(&self) -> &[u32] {
        self.sorted.get_or_init(|| {
            let order = Order { names: &self.names, counts: &self.counts };
            // With their totals beside them, or every comparison would have to look for two.
            let mut rows: Vec<(u64, u32)> = self.rows.iter().map(|place| (order.total(*place), *place)).collect();
            rows.sort_unstable_by(|one, other| other.0.cmp(&one.0).then_with(|| self.names.compare(one.1, other.1)));
            rows.into_iter().map(|(_, place)| place).collect()
        })
    }

    /// About how much memory it takes, with all that it may yet make.
    pub fn bytes(&self) -> usize {
        let rows = self.rows.len().max(self.sorted.get().map_or(0, Vec::len));
        let name = |name: &Arc<str>| name.len() + 32;
        let late: usize = self.names.late.iter().map(name).sum();
        rows * 2 * size_of::<u32>() + self.counts.len() * size_of::<Counts>() + late + self.names.known.len() * 16
    }
}

/// Keeps the best rows of a stream: one comparison for most rows, and now and then a selection among a few.
struct Top<'a> {
    order: Order<'a>,
    best: Vec<u32>,
    /// Less than this cannot be among the best.
    least: u64,
}

impl<'a> Top<'a> {
    fn new(order: Order<'a>) -> Self {
        Self { order, best: Vec::with_capacity(TOP * 4), least: 0 }
    }

    fn push(&mut self, place: u32, total: u64, others: &mut Vec<u32>) {
        if total < self.least {
            return others.push(place);
        }
        self.best.push(place);
        if self.best.len() == TOP * 4 {
            self.select(others);
        }
    }

    fn select(&mut self, others: &mut Vec<u32>) {
        if self.best.len() > TOP {
            let order = self.order;
            self.best.select_nth_unstable_by(TOP - 1, |one, other| order.compare(*one, *other));
            self.least = self.best.get(TOP - 1).map_or(0, |place| order.total(*place));
            others.extend_from_slice(&self.best[TOP..]);
            self.best.truncate(TOP);
        }
    }

    fn finish(mut self, others: &mut Vec<u32>) -> Vec<u32> {
        self.select(others);
        let order = self.order;
        self.best.sort_unstable_by(|one, other| order.compare(*one, *other));
        self.best.reserve_exact(others.len());
        self.best
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn naive(rows: &[(String, Counts)]) -> Vec<PageViews> {
        let rows = rows.iter().filter(|(_, counts)| counts.total() > 0);
        let mut rows: Vec<_> =
            rows.map(|(path, counts)| PageViews { path: path.as_str().into(), counts: *counts }).collect();
        rows.sort_by(|one, other| other.counts.total().cmp(&one.counts.total()).then(one.path.cmp(&other.path)));
        rows
    }

    fn ranking(rows: &[(String, Counts)], known: usize) -> Ranking {
        let known = known.min(rows.len());
        let names = |rows: &[(String, Counts)]| rows.iter().map(|(path, _)| path.as_str().into()).collect::<Vec<_>>();
        let counts: Vec<Counts> = rows.iter().map(|(_, counts)| *counts).collect();
        Ranking::from_counts(names(&rows[..known]).into(), names(&rows[known..]), counts)
    }

    fn all(ranking: &Ranking, step: usize) -> Vec<PageViews> {
        let mut rows = Vec::new();
        loop {
            let (mut page, more) = ranking.page(rows.len(), step);
            assert!(page.len() == step || !more);
            rows.append(&mut page);
            if !more {
                return rows;
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn every_page_is_as_a_full_sort_has_it(
            counts in prop::collection::vec((0..6u64, 0..3u64), 0..3000), known in 0..3000usize, step in 1..300usize,
        ) {
            let (known, mut rows) = (known.min(counts.len()), Vec::new());
            for (place, (human, ai)) in counts.iter().enumerate() {
                // The late ones stand between the known ones.
                let path = if place < known { format!("/{place:05}") } else { format!("/{:05}x", counts.len() - place) };
                rows.push((path, Counts { human: *human, ai: *ai }));
            }
            let expected = naive(&rows);
            let ranking = ranking(&rows, known);
            prop_assert_eq!(ranking.page(0, step).0, &expected[..step.min(expected.len())]);
            prop_assert_eq!(all(&ranking, step), &expected[..]);
            prop_assert_eq!(ranking.totals().human, rows.iter().map(|(_, counts)| counts.human).sum::<u64>());
            let wanted: Vec<&str> = rows.iter().map(|(path, _)| path.as_str()).chain(["/nowhere"]).collect();
            let counts: Vec<Counts> = rows.iter().map(|(_, counts)| *counts).chain([Counts::default()]).collect();
            prop_assert_eq!((ranking.counts_of(&wanted), ranking.len()), (counts.clone(), expected.len()));
            let written = Ranking::from_rows(ranking.totals(), expected.clone());
            prop_assert_eq!((written.counts_of(&wanted), written.len()), (counts, expected.len()));
            prop_assert_eq!(all(&written, step), expected);
        }
    }

    #[test]
    fn what_is_behind_the_end_is_empty() {
        let ranking = ranking(&[("/a".into(), Counts { human: 1, ai: 0 })], 1);
        assert_eq!(ranking.page(1, 50), (Vec::new(), false));
        assert_eq!(ranking.page(usize::MAX, usize::MAX), (Vec::new(), false));
        assert_eq!(ranking.page(0, 0), (Vec::new(), true));
    }
}
