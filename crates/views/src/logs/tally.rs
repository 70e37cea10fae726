use std::collections::BTreeMap;

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use crate::intake::{Left, Refusal};
use crate::{Class, CountsAs, Evidence, Verdict};

/// What became of the lines of a log, to the line: all of them are in exactly one of the other figures.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    pub lines: u64,
    /// Views by class, in the order of [`Class::ALL`], without those under `spoofed`.
    pub classes: [u64; Class::ALL.len()],
    /// Views by what only claims to be an agent.
    pub spoofed: u64,
    /// Requests for what is no page.
    pub assets: u64,
    /// Answers other than 200 and 304.
    pub errors: u64,
    pub methods: u64,
    pub prefetch: u64,
    /// For a host that was not asked about.
    pub other_hosts: u64,
    /// Lines that cannot be right, by the reason.
    pub refused: BTreeMap<&'static str, u64>,
    /// Lines that were counted before: by an earlier import, or by their id.
    pub duplicates: u64,
    /// Lines that could not be read.
    pub unparsable: u64,
    /// Empty lines and remarks.
    pub blank: u64,
}

/// The reason for which a view is refused that is older than what the project keeps.
pub const NOT_KEPT: &str = "older_than_kept";

/// Under which figure of a tally a view is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Figure(u8);

impl Figure {
    const SPOOFED: Self = Self(Class::ALL.len() as u8);

    pub(super) fn of(verdict: &Verdict) -> Self {
        if verdict.evidence == Evidence::Spoofed { Self::SPOOFED } else { Self(verdict.class as u8) }
    }
}

impl Tally {
    pub fn human(&self) -> u64 {
        self.of(CountsAs::Human)
    }

    pub fn ai(&self) -> u64 {
        self.of(CountsAs::Ai)
    }

    /// All that were counted as views, of whatever kind.
    pub fn views(&self) -> u64 {
        self.classes.iter().sum::<u64>() + self.spoofed
    }

    /// All figures but the lines, added: equal to the lines, or something is wrong.
    pub fn accounted(&self) -> u64 {
        self.views()
            + self.assets
            + self.errors
            + self.methods
            + self.prefetch
            + self.other_hosts
            + self.refused.values().sum::<u64>()
            + self.duplicates
            + self.unparsable
            + self.blank
    }

    /// Each figure with its name, as people read it; those of views first. Only what there is, but always human and AI.
    pub fn figures(&self) -> Vec<(String, u64)> {
        let views = Class::ALL.into_iter().zip(self.classes).map(|(class, count)| (class.as_str().to_owned(), count));
        let rest = [
            ("spoofed", self.spoofed),
            ("assets", self.assets),
            // Moved pages are among them, which are no errors.
            ("other statuses", self.errors),
            ("other methods", self.methods),
            ("prefetch", self.prefetch),
            ("other hosts", self.other_hosts),
        ];
        let refused = self.refused.iter().map(|(reason, count)| (format!("refused: {reason}"), *count));
        let last = [("duplicates", self.duplicates), ("unparsable", self.unparsable), ("blank", self.blank)];
        let named = |(name, count): (&str, u64)| (name.to_owned(), count);
        let all = views.chain(rest.map(named)).chain(refused).chain(last.map(named));
        all.filter(|(name, count)| *count > 0 || name == "human").collect()
    }

    pub fn add(&mut self, other: &Self) {
        let Self { lines, classes, spoofed, assets, errors, methods, prefetch, other_hosts, .. } = other;
        self.lines += lines;
        self.classes.iter_mut().zip(classes).for_each(|(sum, count)| *sum += count);
        self.spoofed += spoofed;
        self.assets += assets;
        self.errors += errors;
        self.methods += methods;
        self.prefetch += prefetch;
        self.other_hosts += other_hosts;
        for (reason, count) in &other.refused {
            *self.refused.entry(reason).or_default() += count;
        }
        self.duplicates += other.duplicates;
        self.unparsable += other.unparsable;
        self.blank += other.blank;
    }

    fn of(&self, figure: CountsAs) -> u64 {
        let classes = Class::ALL.into_iter().zip(self.classes);
        classes.filter(|(class, _)| class.counts_as() == figure).map(|(_, count)| count).sum()
    }

    fn figure(&mut self, figure: Figure) -> &mut u64 {
        match self.classes.get_mut(usize::from(figure.0)) {
            Some(class) => class,
            None => &mut self.spoofed,
        }
    }

    pub(super) fn count(&mut self, figure: Figure) {
        *self.figure(figure) += 1;
    }

    pub(super) fn count_left(&mut self, left: Left) {
        match left {
            Left::Asset => self.assets += 1,
            Left::Status => self.errors += 1,
            Left::Method => self.methods += 1,
            Left::Prefetch => self.prefetch += 1,
        }
    }

    pub(super) fn refuse(&mut self, refusal: Refusal) {
        *self.refused.entry(refusal.as_str()).or_default() += 1;
    }

    pub(super) fn refuse_old(&mut self) {
        *self.refused.entry(NOT_KEPT).or_default() += 1;
    }

    /// Views that turned out to have been counted before.
    pub(super) fn was_there(&mut self, figure: Figure, count: u64) {
        let views = self.figure(figure);
        *views = views.saturating_sub(count);
        self.duplicates += count;
    }

    /// Views that turned out to be older than what is kept.
    pub(super) fn was_too_old(&mut self, figure: Figure, count: u64) {
        let views = self.figure(figure);
        *views = views.saturating_sub(count);
        *self.refused.entry(NOT_KEPT).or_default() += count;
    }
}

impl Serialize for Tally {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let classes: BTreeMap<&str, u64> =
            Class::ALL.into_iter().zip(self.classes).map(|(class, count)| (class.as_str(), count)).collect();
        let mut map = serializer.serialize_map(None)?;
        for (name, figure) in [("lines", self.lines), ("human", self.human()), ("ai", self.ai())] {
            map.serialize_entry(name, &figure)?;
        }
        map.serialize_entry("classes", &classes)?;
        for (name, figure) in [
            ("spoofed", self.spoofed),
            ("assets", self.assets),
            ("errors", self.errors),
            ("otherMethods", self.methods),
            ("prefetch", self.prefetch),
            ("otherHosts", self.other_hosts),
        ] {
            map.serialize_entry(name, &figure)?;
        }
        map.serialize_entry("refused", &self.refused)?;
        for (name, figure) in [("duplicates", self.duplicates), ("unparsable", self.unparsable), ("blank", self.blank)]
        {
            map.serialize_entry(name, &figure)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(class: Class, evidence: Evidence) -> Verdict {
        Verdict { class, agent: None, evidence, rule: String::new() }
    }

    #[test]
    fn every_class_has_a_place_of_its_own() {
        let mut tally = Tally::default();
        for class in Class::ALL {
            tally.count(Figure::of(&verdict(class, Evidence::Token)));
        }
        tally.count(Figure::of(&verdict(Class::Assistant, Evidence::Spoofed)));
        assert_eq!(tally.classes, [1; 12]);
        assert_eq!((tally.human(), tally.ai(), tally.spoofed, tally.views()), (1, 3, 1, 13));
    }

    #[test]
    fn views_that_were_there_move_to_the_duplicates() {
        let mut tally = Tally { lines: 3, ..Tally::default() };
        let place = Figure::of(&verdict(Class::Human, Evidence::Browser));
        (0..3).for_each(|_| tally.count(place));
        tally.was_there(place, 1);
        tally.was_too_old(place, 1);
        assert_eq!((tally.human(), tally.duplicates, tally.accounted()), (1, 1, 3));
        assert_eq!(tally.refused[NOT_KEPT], 1);
    }
}
