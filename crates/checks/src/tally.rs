//! How much of what there is was judged, and why the rest was not.

use std::collections::BTreeMap;

use copydesk_domain::NotJudged;
use serde::Serialize;

use crate::Check;
use crate::link::{Answer, Judgement};
use crate::page::LinkKind;

/// How many of something were judged.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Count {
    pub judged: u64,
    /// How many were not, by the reason.
    #[serde(rename = "notJudged")]
    pub not_judged: BTreeMap<String, u64>,
}

impl Count {
    /// All of so many were judged.
    pub(crate) fn of(number: usize) -> Self {
        Self { judged: number as u64, not_judged: BTreeMap::new() }
    }

    /// What was not judged, the most frequent reason first.
    pub fn reasons(&self) -> Vec<NotJudged> {
        let mut reasons: Vec<NotJudged> =
            self.not_judged.iter().map(|(reason, count)| NotJudged { reason: reason.clone(), count: *count }).collect();
        reasons.sort_by_key(|reason| std::cmp::Reverse(reason.count));
        reasons
    }

    pub(crate) fn add(&mut self, answer: &Answer) {
        match answer {
            Ok(()) => self.judged += 1,
            Err(reason) => *self.not_judged.entry(reason.0.clone()).or_default() += 1,
        }
    }

    fn join(&mut self, other: Self) {
        self.judged += other.judged;
        for (reason, count) in other.not_judged {
            *self.not_judged.entry(reason).or_default() += count;
        }
    }

    /// How many were not judged, whatever the reason.
    pub fn left(&self) -> u64 {
        self.not_judged.values().sum()
    }
}

/// What was judged, by kind.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    pub links: Count,
    pub anchors: Count,
    pub images: Count,
    pub snippets: Count,
    /// The entries of navigation files.
    pub navigation: Count,
    pub redirects: Count,
}

impl Tally {
    pub(crate) fn add(&mut self, kind: LinkKind, judgement: &Judgement) {
        let targets = match kind {
            LinkKind::Page => &mut self.links,
            LinkKind::Image => &mut self.images,
            LinkKind::Snippet => &mut self.snippets,
        };
        judgement.target.iter().for_each(|answer| targets.add(answer));
        judgement.anchor.iter().for_each(|answer| self.anchors.add(answer));
    }

    pub(crate) fn join(&mut self, other: Self) {
        self.links.join(other.links);
        self.anchors.join(other.anchors);
        self.images.join(other.images);
        self.snippets.join(other.snippets);
        self.navigation.join(other.navigation);
        self.redirects.join(other.redirects);
    }

    /// How many of all kinds were not judged, by the reason.
    pub(crate) fn not_judged(&self) -> BTreeMap<String, u64> {
        let mut all = Count::default();
        self.kinds().into_iter().for_each(|(_, count)| all.join(count.clone()));
        all.not_judged
    }

    /// The kinds by the names that users see.
    pub fn kinds(&self) -> [(&'static str, &Count); 6] {
        [
            ("links", &self.links),
            ("anchors", &self.anchors),
            ("images", &self.images),
            ("snippets", &self.snippets),
            ("navigation entries", &self.navigation),
            ("redirects", &self.redirects),
        ]
    }

    /// What was judged by a check that counts.
    pub(crate) fn of(&self, check: Check) -> Option<&Count> {
        match check {
            Check::Links => Some(&self.links),
            Check::Anchors => Some(&self.anchors),
            Check::Images => Some(&self.images),
            Check::Snippets => Some(&self.snippets),
            Check::Navigation => Some(&self.navigation),
            Check::Redirects => Some(&self.redirects),
            _ => None,
        }
    }
}
