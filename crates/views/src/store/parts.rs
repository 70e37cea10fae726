//! A question cut where the channel to count from changes.

use copydesk_domain::{Source, Sources};

use super::{Counts, Question};
use crate::{Bucket, Channel, Client, CountsAs};

/// Human and AI, each by script and by server.
pub const COLUMNS: usize = 4;

/// A figure for each column.
pub type Sums = [u64; COLUMNS];

/// Which column a client counts in: human by script, human by server, AI by script, AI by server. None for others.
pub fn column(client: &Client) -> Option<usize> {
    let kind = match client.verdict.counts_as() {
        CountsAs::Human => 0,
        CountsAs::Ai => 2,
        CountsAs::Other => return None,
    };
    Some(kind + usize::from(client.facts.channel == Channel::Server))
}

/// A piece of a range in which the same columns count. See [`column`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    pub from: Bucket,
    pub to: Bucket,
    pub columns: [bool; COLUMNS],
}

/// Where the channel to count from changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Switches {
    pub floor: Bucket,
    pub script_since: Option<Bucket>,
    pub server_since: Option<Bucket>,
}

impl Switches {
    /// Cuts a question into pieces. None of them is empty.
    pub fn parts(&self, question: Question) -> Vec<Part> {
        let from = question.from.max(self.floor);
        let mut edges = vec![from, question.to];
        edges.extend([self.script_since, self.server_since].into_iter().flatten());
        edges.retain(|edge| *edge >= from && *edge <= question.to);
        edges.sort_unstable();
        edges.dedup();
        let part = |edges: &[Bucket]| match *edges {
            [from, to] => Some(Part { from, to, columns: self.columns(from, question.sources) }),
            _ => None,
        };
        let mut parts: Vec<Part> = edges.windows(2).filter_map(part).collect();
        parts.dedup_by(|next, part| {
            let same = part.columns == next.columns;
            if same {
                part.to = next.to;
            }
            same
        });
        parts
    }

    /// The parts of each stretch between two edges, and every point at which one begins or ends.
    pub fn cut(&self, edges: &[Bucket], sources: Sources) -> (Vec<Vec<Part>>, Vec<Bucket>) {
        let question = |pair: &[Bucket]| match *pair {
            [from, to] => self.parts(Question { from, to, sources }),
            _ => Vec::new(),
        };
        let parts: Vec<Vec<Part>> = edges.windows(2).map(question).collect();
        let mut points: Vec<Bucket> = parts.iter().flatten().flat_map(|part| [part.from, part.to]).collect();
        points.sort_unstable();
        points.dedup();
        (parts, points)
    }

    /// The columns that count in a quarter hour.
    fn columns(&self, at: Bucket, sources: Sources) -> [bool; COLUMNS] {
        let began = |since: Option<Bucket>| since.is_some_and(|since| since <= at);
        let (by_script, by_server) = match sources.people {
            Source::Auto => (began(self.script_since), !began(self.script_since)),
            source => fixed(source),
        };
        let (ai_by_script, ai_by_server) = match sources.machines {
            Source::Auto => (!began(self.server_since), began(self.server_since)),
            source => fixed(source),
        };
        [by_script, by_server, ai_by_script, ai_by_server]
    }
}

fn fixed(source: Source) -> (bool, bool) {
    (source != Source::Server, source != Source::Script)
}

impl Part {
    /// Adds what counts of `sums`.
    pub fn count(&self, counts: &mut Counts, sums: &Sums) {
        for (column, sum) in sums.iter().enumerate().filter(|(column, _)| self.columns[*column]) {
            *figure(counts, column) += sum;
        }
    }
}

/// The figure that a column is part of.
pub fn figure(counts: &mut Counts, column: usize) -> &mut u64 {
    if column < 2 { &mut counts.human } else { &mut counts.ai }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn source() -> impl Strategy<Value = Source> {
        prop_oneof![Just(Source::Auto), Just(Source::Script), Just(Source::Server), Just(Source::Both)]
    }

    proptest! {
        #[test]
        fn every_quarter_hour_is_in_one_piece_with_its_columns(
            range in (0..50u32, 0..50u32), floor in 0..50u32, script in prop::option::of(0..50u32),
            server in prop::option::of(0..50u32), people in source(), machines in source(),
        ) {
            let switches = Switches {
                floor: Bucket(floor), script_since: script.map(Bucket), server_since: server.map(Bucket),
            };
            let question = Question { from: Bucket(range.0), to: Bucket(range.1), sources: Sources { people, machines } };
            let parts = switches.parts(question);
            prop_assert!(parts.len() <= 3);
            for at in 0..60 {
                let asked = at >= range.0.max(floor) && at < range.1;
                let found: Vec<_> = parts.iter().filter(|part| part.from.0 <= at && at < part.to.0).collect();
                prop_assert_eq!(found.len(), usize::from(asked));
                let has = |since: Option<u32>| since.is_some_and(|since| since <= at);
                for part in found {
                    let [human_script, human_server, ai_script, ai_server] = part.columns;
                    prop_assert_eq!(human_script, match people { Source::Auto => has(script), source => source != Source::Server });
                    prop_assert_eq!(human_server, match people { Source::Auto => !has(script), source => source != Source::Script });
                    prop_assert_eq!(ai_script, match machines { Source::Auto => !has(server), source => source != Source::Server });
                    prop_assert_eq!(ai_server, match machines { Source::Auto => has(server), source => source != Source::Script });
                }
            }
        }
    }
}
