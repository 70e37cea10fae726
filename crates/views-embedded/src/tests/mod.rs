mod bad_disk;
mod basics;
mod crowds;
mod faults;
mod faulty;
mod flips;
mod forgetting;
mod many;
mod model;
mod races;
mod recovery;
mod repair;
mod steps;

use std::path::Path;
use std::sync::Arc;

use copydesk_views::store::{Question, Ranking, Source, Sources, ViewStore, ViewsError};
use copydesk_views::{Appended, Batch, Bucket, View, id_digest};

use super::embedded::{Embedded, Options, block_on};
use super::samples::{ManualClock, client};

pub(super) const BOTH: Sources = Sources { people: Source::Both, machines: Source::Both };

/// Options that make everything happen early.
pub(super) fn small(clock: &Arc<ManualClock>) -> Options {
    Options { memory_table_bytes: 64 * 1024, wal_bytes: 64 * 1024, ..Options::new(clock.clone()) }
}

pub(super) fn open(folder: &Path) -> Arc<Embedded> {
    Embedded::open(folder, Options::new(ManualClock::new())).unwrap()
}

pub(super) fn view(bucket: u32, path: &str, who: usize, id: Option<&str>) -> View {
    View { bucket: Bucket(bucket), path: path.into(), client: client(who), count: 1, id: id.map(id_digest) }
}

pub(super) fn batch(project: &str, views: Vec<View>) -> Batch {
    Batch { project: project.into(), views, ..Batch::default() }
}

pub(super) fn always(sources: Sources) -> Question {
    Question { from: Bucket::MIN, to: Bucket::MAX, sources }
}

/// All rows: path, human, AI.
pub(super) fn rows(ranking: &Ranking) -> Vec<(String, u64, u64)> {
    let (rows, more) = ranking.page(0, usize::MAX);
    assert!(!more);
    rows.into_iter().map(|row| (row.path.to_string(), row.counts.human, row.counts.ai)).collect()
}

/// The calls that tests make most, for a thread that may wait.
impl Embedded {
    pub(crate) fn append_now(&self, batch: Batch) -> Result<Appended, ViewsError> {
        block_on(self.append(batch))
    }

    pub(crate) fn ranking_now(&self, project: &str, question: Question) -> Result<Arc<Ranking>, ViewsError> {
        block_on(self.ranking(project, question))
    }

    pub(crate) fn backup_now(&self, target: &Path) -> Result<(), ViewsError> {
        block_on(self.backup(target))
    }
}
