//! Reads cells, bucket by bucket.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use copydesk_views::Bucket;

use super::SegmentError;
use super::codec::Input;
use super::format::{Footer, Source};
use super::index::{Index, MACHINES, PEOPLE};

/// Reads the cells of people or of machines. It keeps the group that it read last, because the next bucket is mostly in
/// the same.
pub(super) struct Blocks<'a> {
    source: &'a Source,
    index: Arc<Index>,
    kind: usize,
    group: Vec<u8>,
    /// The positions that the group has.
    positions: Range<u32>,
}

impl<'a> Blocks<'a> {
    pub(super) fn new(source: &'a Source, index: &Arc<Index>, kind: usize) -> Self {
        Self { source, index: Arc::clone(index), kind, group: Vec::new(), positions: 0..0 }
    }

    /// The bytes of the cells of the bucket of a position.
    pub(super) fn block(&mut self, position: u32) -> Result<Input<'_>, SegmentError> {
        let (begin, end) = (self.index.end(self.kind, position), self.index.end(self.kind, position + 1));
        if begin == end {
            return Ok(Input(&[]));
        }
        if !self.positions.contains(&position) {
            let missing = || self.source.damaged("a bucket has no cells");
            let (first, group) = self.index.group(self.kind, position).ok_or_else(missing)?;
            self.group = self.source.span(group.span, "cells are not readable")?;
            self.positions = first..group.end;
        }
        let base = self.index.end(self.kind, self.positions.start);
        let bytes = self.group.get((begin - base) as usize..(end - base) as usize);
        bytes.map(Input).ok_or_else(|| self.source.damaged("cells are cut off"))
    }

    /// Gives `each` the place and the count of every cell in the buckets of these positions.
    #[inline]
    pub(super) fn each(&mut self, positions: Range<u32>, mut each: impl FnMut(u32, u64)) -> Result<(), SegmentError> {
        for position in positions {
            let mut block = self.block(position)?;
            let mut next = 0;
            while !block.is_empty() {
                let Some((place, count)) = block.cell(&mut next) else {
                    return Err(self.source.damaged("a cell is not readable"));
                };
                each(place, count);
            }
        }
        Ok(())
    }
}

/// All cells of a segment, a bucket at a time.
pub(super) struct BucketReader<'a> {
    people: u32,
    pairs: u32,
    blocks: [Blocks<'a>; 2],
    next: u32,
    /// Where to note buckets that cannot be read; without it they are an error.
    lost: Option<&'a Mutex<BTreeSet<Bucket>>>,
}

impl<'a> BucketReader<'a> {
    /// Reads from the first bucket on that is not before `from`.
    pub(super) fn new(
        source: &'a Source,
        footer: &Footer,
        index: &Arc<Index>,
        from: Bucket,
        lost: Option<&'a Mutex<BTreeSet<Bucket>>>,
    ) -> Self {
        Self {
            lost,
            people: footer.people,
            pairs: footer.people + footer.machines,
            blocks: [PEOPLE, MACHINES].map(|kind| Blocks::new(source, index, kind)),
            next: index.position(from),
        }
    }

    /// The bucket that [`Self::read`] reads next.
    pub(super) fn bucket(&self) -> Option<Bucket> {
        self.blocks[PEOPLE].index.bucket(self.next)
    }

    /// Appends the cells of the next bucket, in the order of their pairs.
    pub(super) fn read(&mut self, cells: &mut Vec<(u32, u64)>) -> Result<(), SegmentError> {
        let (begin, bucket) = (cells.len(), self.bucket());
        let read = self.read_next(cells);
        self.next += 1;
        match (read, self.lost, bucket) {
            (Err(SegmentError::Damaged { .. }), Some(lost), Some(bucket)) => {
                cells.truncate(begin);
                lost.lock().unwrap_or_else(PoisonError::into_inner).insert(bucket);
                Ok(())
            }
            (read, ..) => read,
        }
    }

    fn read_next(&mut self, cells: &mut Vec<(u32, u64)>) -> Result<(), SegmentError> {
        let position = self.next;
        for (kind, base, end) in [(PEOPLE, 0, self.people), (MACHINES, self.people, self.pairs)] {
            let begin = cells.len();
            self.blocks[kind].each(position..position + 1, |place, count| {
                // Places ascend, so that a sum that does not fit shows in the last.
                cells.push((base.saturating_add(place), count));
            })?;
            if cells[begin..].last().is_some_and(|&(pair, _)| pair >= end) {
                return Err(self.blocks[kind].source.damaged("a cell is of nobody"));
            }
        }
        Ok(())
    }
}

/// All cells of a segment, one by one.
pub(super) struct Cells<'a> {
    reader: BucketReader<'a>,
    bucket: Bucket,
    cells: Vec<(u32, u64)>,
    next: usize,
    failed: bool,
}

impl<'a> Cells<'a> {
    pub(super) fn new(reader: BucketReader<'a>) -> Self {
        Self { reader, bucket: Bucket::MIN, cells: Vec::new(), next: 0, failed: false }
    }
}

impl Iterator for Cells<'_> {
    type Item = Result<(Bucket, u32, u64), SegmentError>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.next == self.cells.len() {
            if self.failed {
                return None;
            }
            self.bucket = self.reader.bucket()?;
            self.cells.clear();
            self.next = 0;
            if let Err(error) = self.reader.read(&mut self.cells) {
                self.cells.clear();
                self.failed = true;
                return Some(Err(error));
            }
        }
        let (pair, count) = self.cells[self.next];
        self.next += 1;
        Some(Ok((self.bucket, pair, count)))
    }
}
