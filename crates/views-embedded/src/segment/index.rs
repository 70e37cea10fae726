//! The directories of a segment: where the cells of each bucket are, the site's figures before it, and where the
//! checkpoints are.

use copydesk_views::Bucket;

use super::codec::{Input, put_varint};
use super::format::{Columns, Footer, Span};
use super::{COLUMNS, Sums};

/// Cells of people, and of machines.
pub(super) const PEOPLE: usize = 0;
/// See [`PEOPLE`].
pub(super) const MACHINES: usize = 1;
/// Checkpoints of paths in columns, and of machines' pairs.
pub(super) const BY_PATH: usize = 0;
/// See [`BY_PATH`].
pub(super) const BY_MACHINE: usize = 1;

/// A few buckets' cells that are read together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Group {
    /// The position of the bucket after its last.
    pub(super) end: u32,
    pub(super) span: Span,
}

/// A table of cumulative figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Checkpoint {
    /// It has everything before the bucket of this position.
    pub(super) position: u32,
    /// Where it is; the checksum is that of its head.
    pub(super) span: Span,
}

/// The bucket table while it is made.
#[derive(Default)]
pub(super) struct BucketWriter {
    bytes: Vec<u8>,
    next: u32,
    pub(super) count: u32,
}

impl BucketWriter {
    /// The next bucket: how long its cells are, of people and of machines, and the site's figures in it.
    pub(super) fn push(&mut self, bucket: Bucket, lengths: [usize; 2], sums: &Sums, columns: Columns) {
        put_varint(&mut self.bytes, u64::from(bucket.0 - self.next));
        self.next = bucket.0 + 1;
        lengths.iter().for_each(|&length| put_varint(&mut self.bytes, length as u64));
        columns.iter().for_each(|column| put_varint(&mut self.bytes, sums[column]));
        self.count += 1;
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

pub(super) fn encode_groups(groups: &[Group]) -> Vec<u8> {
    let mut out = Vec::new();
    groups.iter().for_each(|group| put_reference(&mut out, group.end, group.span));
    out
}

pub(super) fn encode_checkpoints(checkpoints: &[Checkpoint]) -> Vec<u8> {
    let mut out = Vec::new();
    checkpoints.iter().for_each(|checkpoint| put_reference(&mut out, checkpoint.position, checkpoint.span));
    out
}

fn put_reference(out: &mut Vec<u8>, position: u32, span: Span) {
    put_varint(out, u64::from(position));
    put_varint(out, span.offset);
    put_varint(out, span.length);
    out.extend_from_slice(&span.checksum.to_le_bytes());
}

fn references(bytes: &[u8]) -> Option<Vec<(u32, Span)>> {
    let mut input = Input(bytes);
    let mut found = Vec::new();
    while !input.is_empty() {
        let position = input.varint32()?;
        found.push((position, Span { offset: input.varint()?, length: input.varint()?, checksum: input.u32()? }));
    }
    found.is_sorted_by(|a, b| a.0 < b.0).then_some(found)
}

/// The bytes of the sections that make an index.
pub(super) struct Parts {
    pub(super) buckets: Vec<u8>,
    pub(super) groups: [Vec<u8>; 2],
    pub(super) checkpoints: [Vec<u8>; 2],
}

/// The directories in memory. A position is the place of a bucket among those that have cells; "before" the position
/// after the last is everything.
#[derive(Debug)]
pub(super) struct Index {
    buckets: Vec<u32>,
    /// Where the cells of each bucket end, counted from the first of all, of people and machines.
    ends: [Vec<u64>; 2],
    /// The site's figures up to and with each bucket, as many for each as there are columns.
    sums: Vec<u64>,
    columns: Columns,
    groups: [Vec<Group>; 2],
    checkpoints: [Vec<Checkpoint>; 2],
}

impl Index {
    pub(super) fn decode(parts: &Parts, footer: &Footer) -> Option<Self> {
        let mut index = Self::decode_buckets(&parts.buckets, footer)?;
        for kind in [PEOPLE, MACHINES] {
            let groups = references(&parts.groups[kind])?;
            index.groups[kind] = groups.into_iter().map(|(end, span)| Group { end, span }).collect();
            index.groups_are_sound(kind).then_some(())?;
        }
        for kind in [BY_PATH, BY_MACHINE] {
            let checkpoints = references(&parts.checkpoints[kind])?;
            index.checkpoints[kind] =
                checkpoints.into_iter().map(|(position, span)| Checkpoint { position, span }).collect();
            let last = index.checkpoints[kind].last().map_or(0, |checkpoint| checkpoint.position);
            (last as usize <= index.buckets.len()).then_some(())?;
        }
        Some(index)
    }

    fn decode_buckets(bytes: &[u8], footer: &Footer) -> Option<Self> {
        let (count, columns) = (footer.buckets as usize, footer.columns());
        if count > bytes.len() {
            return None;
        }
        let mut index = Self {
            buckets: Vec::with_capacity(count),
            ends: [Vec::with_capacity(count), Vec::with_capacity(count)],
            sums: Vec::with_capacity(count * columns.count()),
            columns,
            groups: Default::default(),
            checkpoints: Default::default(),
        };
        let mut input = Input(bytes);
        let (mut next, mut ends, mut sums) = (0_u32, [0_u64; 2], [0_u64; COLUMNS]);
        for _ in 0..count {
            let bucket = next.checked_add(input.varint32()?)?;
            next = bucket.checked_add(1)?;
            index.buckets.push(bucket);
            for kind in [PEOPLE, MACHINES] {
                ends[kind] = ends[kind].checked_add(input.varint()?)?;
                index.ends[kind].push(ends[kind]);
            }
            for sum in &mut sums[..columns.count()] {
                *sum = sum.checked_add(input.varint()?)?;
                index.sums.push(*sum);
            }
        }
        input.is_empty().then_some(index)
    }

    /// Whether the groups hold all cells, no more and no less.
    fn groups_are_sound(&self, kind: usize) -> bool {
        let mut begin = 0;
        let exact = self.groups[kind].iter().all(|group| {
            let end = self.end(kind, group.end);
            let exact = end.checked_sub(begin) == Some(group.span.length);
            begin = end;
            exact && group.end as usize <= self.buckets.len()
        });
        exact && begin == self.end(kind, self.len())
    }

    /// How many buckets have cells.
    pub(super) fn len(&self) -> u32 {
        self.buckets.len() as u32
    }

    /// The position of the first bucket that is not before `bucket`.
    pub(super) fn position(&self, bucket: Bucket) -> u32 {
        self.buckets.partition_point(|&other| other < bucket.0) as u32
    }

    pub(super) fn bucket(&self, position: u32) -> Option<Bucket> {
        self.buckets.get(position as usize).copied().map(Bucket)
    }

    /// Where the cells before a position end.
    pub(super) fn end(&self, kind: usize, position: u32) -> u64 {
        let ends = &self.ends[kind];
        (position as usize).min(ends.len()).checked_sub(1).and_then(|last| ends.get(last)).copied().unwrap_or(0)
    }

    /// The site's figures before a position.
    pub(super) fn sums(&self, position: u32) -> Sums {
        let mut sums = Sums::default();
        let width = self.columns.count();
        if let Some(last) = (position as usize).min(self.buckets.len()).checked_sub(1) {
            for (place, column) in self.columns.iter().enumerate() {
                sums[column] = self.sums.get(last * width + place).copied().unwrap_or(0);
            }
        }
        sums
    }

    /// The group that has the bucket of a position, and the position it begins with.
    pub(super) fn group(&self, kind: usize, position: u32) -> Option<(u32, Group)> {
        let groups = &self.groups[kind];
        let place = groups.partition_point(|group| group.end <= position);
        let begin = place.checked_sub(1).and_then(|before| groups.get(before)).map_or(0, |group| group.end);
        groups.get(place).map(|&group| (begin, group))
    }

    pub(super) fn checkpoints(&self, kind: usize) -> &[Checkpoint] {
        &self.checkpoints[kind]
    }

    /// The nearest checkpoint that is not after a position.
    pub(super) fn checkpoint(&self, kind: usize, position: u32) -> Option<Checkpoint> {
        let checkpoints = &self.checkpoints[kind];
        let after = checkpoints.partition_point(|checkpoint| checkpoint.position <= position);
        after.checked_sub(1).and_then(|last| checkpoints.get(last)).copied()
    }

    pub(super) fn memory(&self) -> usize {
        let buckets = self.buckets.len() * (4 + 8 + 8 + 8 * self.columns.count());
        let groups: usize = self.groups.iter().map(|groups| size_of_val(groups.as_slice())).sum();
        let checkpoints: usize = self.checkpoints.iter().map(|list| size_of_val(list.as_slice())).sum();
        buckets + groups + checkpoints
    }
}
