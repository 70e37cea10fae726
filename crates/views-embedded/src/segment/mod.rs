//! A segment: an immutable file of counted views, made to be asked about ranges.
//!
//! What is kept is cells, (bucket, path, client) → count, in the order of their buckets. Between them stand
//! checkpoints: what each path had before a bucket. A range is the difference of two such states, and a state is the
//! nearest earlier checkpoint and a few cells, so that the time of an answer does not depend on the length of its range.
//!
//! Figures are in four columns, see [`column`]; a column in which a segment has nothing is left out of it.
//!
//! ```text
//! Builder::create(file, paths, clients, pairs) -> io::Result<Builder>       all three sorted and distinct
//! Builder::push(&mut self, bucket, pair, count) -> io::Result<()>           ascending
//! Builder::finish(self) -> io::Result<Info>                                 synced and in its place
//! write(file, cells) -> io::Result<Option<Info>>                            cells in any order; none = no cells
//! merge(inputs, floor, relabel, file, stop) -> Result<Option<Info>, SegmentError>
//!
//! Segment::open(file) -> Result<Segment, SegmentError>                      reads header and footer
//! .info() -> &Info
//! .paths() -> Result<Arc<Vec<Arc<str>>>, _>                                 sorted
//! .clients() -> Result<Arc<Vec<Arc<Client>>>, _>                            sorted
//! .pairs() -> Result<Arc<Pairs>, _>                                         pair → (path index, client index)
//! .between(from, to, columns, &mut gather) -> Result<(), _>                  by path, a column at a time
//! .site_before(to) -> Result<Sums, _>
//! .path_before_each(path, &[to]) -> Result<Vec<Sums>, _>                    one walk; give it all edges of a series
//! .machines_between(from, to) -> Result<Vec<(path, client, views)>, _>      clients that do not count as people
//! .machines_before_each(sums, &[to]) -> Result<Vec<[u64; 2]>, _>            some of them, added up; edges ascend
//! .client_totals() -> Result<Vec<u64>, _>                                   by client
//! .cells() -> Result<impl Iterator<Item = Result<(Bucket, pair, count), _>>, _>
//! .memory() -> usize                                                        of what was read; drop it and open it anew
//! .verify() -> Result<(), SegmentError>                                     reads all of it
//!
//! Segment::open_damaged(file) -> Result<Segment, SegmentError>              to merge what is left of it
//! .lost() -> Vec<Range<Bucket>>                                             what was not, after that
//! ```
//!
//! While a file is made it has `.tmp` after its name; what ends so after a crash is rubbish. Whoever makes a segment syncs
//! the folder.

mod builder;
mod cells;
mod codec;
mod dictionary;
mod format;
mod index;
mod merge;
mod packed;
mod reader;
mod states;
#[cfg(test)]
mod tests;
mod values;
mod verify;
mod write;

use std::io;
use std::path::{Path, PathBuf};

pub use builder::Builder;
pub(crate) use merge::merge;
pub(crate) use reader::Segment;
pub(crate) use states::Gather;
pub(crate) use write::write;

use copydesk_views::store::parts::{COLUMNS, Sums, column};
use copydesk_views::{Bucket, Client, CountsAs};

/// Whether a client is among the machines. Their cells are kept apart, so that a question about agents does not read
/// those of people.
fn is_machine(client: &Client) -> bool {
    client.verdict.counts_as() != CountsAs::Human
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Info {
    /// The first quarter hour with a view.
    pub first: Bucket,
    pub last: Bucket,
    pub cells: u64,
    /// How many views, of whatever kind.
    pub views: u64,
    pub bytes: u64,
    pub paths: u32,
    pub clients: u32,
}

/// Why a segment could not be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SegmentError {
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The file is not as it was written.
    #[error("{} is damaged: {what}", file.display())]
    Damaged { file: PathBuf, what: String },
}

impl From<SegmentError> for io::Error {
    fn from(error: SegmentError) -> Self {
        match error {
            SegmentError::Io(error) => error,
            error @ SegmentError::Damaged { .. } => Self::new(io::ErrorKind::InvalidData, error.to_string()),
        }
    }
}

impl SegmentError {
    fn damaged(file: &Path, what: &str) -> Self {
        Self::Damaged { file: file.to_owned(), what: what.to_owned() }
    }
}
