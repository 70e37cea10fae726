//! A range of time as months, days and quarter hours, some of which are taken away again.

use copydesk_views::Bucket;

use crate::calendar::{first_day, month_of};

const A_DAY: i32 = Bucket::A_DAY as i32;
/// Reading a month takes about as long as reading so many of its days: most pages are read every day.
const MONTH_IN_DAYS: i32 = 2;

/// By what views are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Period {
    Quarter,
    Day,
    Month,
}

impl Period {
    /// What it is called in the tables.
    pub(crate) fn column(self) -> &'static str {
        match self {
            Self::Quarter => "quarter",
            Self::Day => "day",
            Self::Month => "month",
        }
    }

    /// Where pages are counted.
    pub(crate) fn pages(self) -> &'static str {
        match self {
            Self::Quarter => "views_cells",
            Self::Day => "views_days",
            Self::Month => "views_months",
        }
    }

    /// Where it is counted what machines read.
    pub(crate) fn machines(self) -> &'static str {
        match self {
            Self::Quarter => "views_cells",
            Self::Day => "views_machine_days",
            Self::Month => "views_machine_months",
        }
    }
}

/// Periods that follow each other, to be added or taken away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub(crate) period: Period,
    pub(crate) from: i32,
    pub(crate) to: i32,
    pub(crate) adds: bool,
}

/// The quarter hour as the tables have it; what is out of their reach is their end.
pub(crate) fn quarter(bucket: Bucket) -> i32 {
    i32::try_from(bucket.0).unwrap_or(i32::MAX)
}

/// The stretches that a range is made of. What begins before `whole` may be there only in part, and is not relied on.
pub(crate) fn cover(from: Bucket, to: Bucket, whole: Bucket) -> Vec<Stretch> {
    let (from, to, whole) = (quarter(from), quarter(to), quarter(whole));
    let mut found = Vec::new();
    if from >= to {
        return found;
    }
    // Where nearer to the beginning of the day than to its end: the whole day, less what is before.
    let (early, late) = (from - from % A_DAY, from - from % A_DAY + if from % A_DAY == 0 { 0 } else { A_DAY });
    let begins_early = from > early && from - early < late.saturating_sub(from) && early >= whole && to >= late;
    let first = if begins_early { early / A_DAY } else { late / A_DAY };
    let (before, after) = (to - to % A_DAY, (to - to % A_DAY).saturating_add(A_DAY));
    let ends_late = to > before && after - to < to - before && before >= whole && from <= before && after > to;
    let last = if ends_late { after / A_DAY } else { before / A_DAY };
    if first >= last {
        push(&mut found, Period::Quarter, from, to, true);
        return found;
    }
    if begins_early {
        push(&mut found, Period::Quarter, early, from, false);
    } else {
        push(&mut found, Period::Quarter, from, late, true);
    }
    days(first, last, whole, &mut found);
    if ends_late {
        push(&mut found, Period::Quarter, to, after, false);
    } else {
        push(&mut found, Period::Quarter, before, to, true);
    }
    found
}

/// Whole days as months and days.
fn days(first: i32, last: i32, whole: i32, found: &mut Vec<Stretch>) {
    let month = month_of(first);
    let (early, late) = (first_day(month), first_day(month + 1));
    let late = if first == early { first } else { late };
    let is_whole = |day: i32| i64::from(day) * i64::from(A_DAY) >= i64::from(whole);
    let begins_early = first > early && first - early + MONTH_IN_DAYS < late - first && is_whole(early) && late <= last;
    let from = if begins_early || first == early { month } else { month + 1 };
    let end = month_of(last);
    let (before, after) = (first_day(end), first_day(end + 1));
    let ends_late =
        last > before && after - last + MONTH_IN_DAYS < last - before && is_whole(before) && first <= before;
    let to = if ends_late { end + 1 } else { end };
    if from >= to {
        return push(found, Period::Day, first, last, true);
    }
    if begins_early {
        push(found, Period::Day, early, first, false);
    } else {
        push(found, Period::Day, first, first_day(from), true);
    }
    push(found, Period::Month, from, to, true);
    if ends_late {
        push(found, Period::Day, last, after, false);
    } else {
        push(found, Period::Day, before.max(first), last, true);
    }
}

fn push(found: &mut Vec<Stretch>, period: Period, from: i32, to: i32, adds: bool) {
    if from < to {
        found.push(Stretch { period, from, to, adds });
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    /// How often each quarter hour is counted.
    fn counted(found: &[Stretch]) -> BTreeMap<i32, i32> {
        let mut counted = BTreeMap::new();
        for stretch in found {
            let (from, to) = match stretch.period {
                Period::Quarter => (stretch.from, stretch.to),
                Period::Day => (stretch.from * A_DAY, stretch.to * A_DAY),
                Period::Month => (first_day(stretch.from) * A_DAY, first_day(stretch.to) * A_DAY),
            };
            for quarter in from..to {
                *counted.entry(quarter).or_default() += if stretch.adds { 1 } else { -1 };
            }
        }
        counted.retain(|_, times| *times != 0);
        counted
    }

    proptest! {
        #[test]
        fn every_quarter_hour_of_a_range_counts_once(
            from in 1_900_000..1_912_000u32, length in prop_oneof![0..300u32, 0..9000u32], below in 0..9000u32,
        ) {
            let whole = from.saturating_sub(below);
            let found = cover(Bucket(from), Bucket(from + length), Bucket(whole));
            let expected: BTreeMap<i32, i32> = (from as i32..(from + length) as i32).map(|at| (at, 1)).collect();
            prop_assert_eq!(counted(&found), expected, "{:?}", found);
            prop_assert!(found.len() <= 5, "{:?}", found);
            // What is taken away, and what it is taken from, is whole.
            for stretch in found.iter().filter(|stretch| !stretch.adds) {
                let begins = match stretch.period {
                    Period::Quarter => stretch.from - stretch.from % A_DAY,
                    Period::Day => first_day(month_of(stretch.from)) * A_DAY,
                    Period::Month => -1,
                };
                prop_assert!(begins >= whole as i32, "{:?}", stretch);
            }
        }
    }

    #[test]
    fn all_time_is_not_much() {
        assert!(cover(Bucket::MIN, Bucket::MAX, Bucket::MIN).len() <= 5);
    }
}
