//! What was counted before a bucket, from the nearest checkpoint and the cells after it; and ranges as the difference
//! of two such states.

use std::ops::Range;
use std::sync::Arc;

use copydesk_views::Bucket;

use super::cells::Blocks;
use super::dictionary::bases;
use super::format::{Columns, Span};
use super::index::{BY_MACHINE, BY_PATH, Checkpoint, Index, MACHINES, PEOPLE};
use super::packed::{self, CHUNK, HEAD, Value};
use super::reader::Segment;
use super::values::Values;
use super::{COLUMNS, SegmentError, Sums};

/// Takes the views of each path, a column at a time and in the order of the paths. It is called from where the figures
/// are, so that they are added up without a copy.
pub(crate) trait Gather {
    fn column(&mut self, column: usize, views: impl Iterator<Item = u64>);
}

/// Hands over the figures of each column that is wanted: those of a state less those of an earlier one.
fn hand_over(columns: Columns, paths: usize, later: &Values, earlier: Option<&Values>, into: &mut Wanted<impl Gather>) {
    for (place, column) in columns.iter().enumerate().filter(|(_, column)| into.columns[*column]) {
        let places = place * paths..(place + 1) * paths;
        match (later, earlier) {
            (Values::Narrow(later), Some(Values::Narrow(earlier))) => {
                let pairs = later[places.clone()].iter().zip(&earlier[places]);
                into.gather.column(column, pairs.map(|(later, earlier)| u64::from(later.wrapping_sub(*earlier))));
            }
            (Values::Wide(later), Some(Values::Wide(earlier))) => {
                let pairs = later[places.clone()].iter().zip(&earlier[places]);
                into.gather.column(column, pairs.map(|(later, earlier)| later.wrapping_sub(*earlier)));
            }
            (Values::Narrow(later), _) => {
                into.gather.column(column, later[places].iter().map(|views| u64::from(*views)))
            }
            (Values::Wide(later), _) => into.gather.column(column, later[places].iter().copied()),
        }
    }
}

struct Wanted<'a, G> {
    columns: [bool; COLUMNS],
    gather: &'a mut G,
}

impl Segment {
    /// Views of each path from a bucket on and before another, in the columns that are wanted. A column in which there is
    /// nothing may be left out.
    pub(crate) fn between(
        &self,
        from: Bucket,
        to: Bucket,
        wanted: [bool; COLUMNS],
        gather: &mut impl Gather,
    ) -> Result<(), SegmentError> {
        let index = self.index()?;
        let (from, to) = (index.position(from), index.position(to));
        if from >= to {
            return Ok(());
        }
        let (columns, paths) = (self.footer().columns(), self.footer().info.paths as usize);
        let mut into = Wanted { columns: wanted, gather };
        let bytes: u64 = [PEOPLE, MACHINES].map(|kind| index.end(kind, to) - index.end(kind, from)).iter().sum();
        if from == 0 {
            hand_over(columns, paths, &*self.state(&index, to)?, None, &mut into);
        } else if bytes <= paths as u64 {
            // So few cells that they are counted sooner than two states are made.
            let mut values = Values::zero(self.footer().wide, columns.count() * paths);
            self.replay(&index, &mut values, from..to)?;
            hand_over(columns, paths, &values, None, &mut into);
        } else {
            hand_over(columns, paths, &*self.state(&index, to)?, Some(&*self.state(&index, from)?), &mut into);
        }
        Ok(())
    }

    /// Views of a path before each of these buckets. They ascend, or it takes longer.
    pub(crate) fn path_before_each(&self, path: &str, edges: &[Bucket]) -> Result<Vec<Sums>, SegmentError> {
        let paths = self.paths()?;
        let Ok(path) = paths.binary_search_by(|other| other.as_bytes().cmp(path.as_bytes())) else {
            return Ok(vec![Sums::default(); edges.len()]);
        };
        let index = self.index()?;
        let mut walk = PathWalk::new(self, &index, path as u32)?;
        edges.iter().map(|&edge| walk.before(index.position(edge))).collect()
    }

    /// Path, client and views of machines from a bucket on and before another, in the order of paths; each pair once.
    pub(crate) fn machines_between(&self, from: Bucket, to: Bucket) -> Result<Vec<(u32, u32, u64)>, SegmentError> {
        let index = self.index()?;
        let (from, to) = (index.position(from), index.position(to));
        let machines = self.footer().machines;
        if from >= to || machines == 0 {
            return Ok(Vec::new());
        }
        let pairs = self.pairs()?;
        let views = if index.end(MACHINES, to) - index.end(MACHINES, from) <= u64::from(machines) {
            self.count_machines(&index, from..to)?
        } else {
            let earlier = if from == 0 { None } else { Some(self.machines_state(&index, from)?) };
            let counts = self.machines_state(&index, to)?.less(earlier.as_deref(), 0..machines as usize);
            counts.into_iter().enumerate().filter(|&(_, count)| count > 0).map(|(at, n)| (at as u32, n)).collect()
        };
        let views = views.into_iter().filter_map(|(place, count)| {
            pairs.machines().get(place as usize).map(|&(path, client)| (path, client, count))
        });
        Ok(views.collect())
    }

    /// Views of some machines before each of these buckets, which ascend: added up in one of two sums, which `sums` says for
    /// each client.
    pub(crate) fn machines_before_each(
        &self,
        sums: &[Option<usize>],
        edges: &[Bucket],
    ) -> Result<Vec<[u64; 2]>, SegmentError> {
        let (index, pairs) = (self.index()?, self.pairs()?);
        let sum_of = |&(_, client): &(u32, u32)| sums.get(client as usize).copied().flatten();
        let sums: Vec<Option<usize>> = pairs.machines().iter().map(sum_of).collect();
        if sums.iter().all(Option::is_none) {
            return Ok(vec![[0; 2]; edges.len()]);
        }
        let mut blocks = Blocks::new(self.source(), &index, MACHINES);
        let (mut so_far, mut reached) = ([0_u64; 2], 0);
        let mut before = Vec::with_capacity(edges.len());
        for edge in edges {
            let position = index.position(*edge);
            if let Some(checkpoint) = index.checkpoint(BY_MACHINE, position)
                && checkpoint.position > reached
            {
                let values = match self.kept(BY_MACHINE, checkpoint.position) {
                    Some(kept) => kept,
                    None => Arc::new(self.read_checkpoint(checkpoint, self.table_size(BY_MACHINE))?),
                };
                so_far = [0; 2];
                for (place, sum) in sums.iter().enumerate() {
                    if let Some(sum) = sum {
                        so_far[*sum] = so_far[*sum].wrapping_add(values.get(place));
                    }
                }
                reached = checkpoint.position;
            }
            blocks.each(reached..position, |place, count| {
                if let Some(Some(sum)) = sums.get(place as usize) {
                    so_far[*sum] = so_far[*sum].wrapping_add(count);
                }
            })?;
            reached = position;
            before.push(so_far);
        }
        Ok(before)
    }

    /// Views of machines' pairs in these buckets, from their cells alone.
    fn count_machines(&self, index: &Arc<Index>, positions: Range<u32>) -> Result<Vec<(u32, u64)>, SegmentError> {
        let mut cells: Vec<(u32, u64)> = Vec::new();
        Blocks::new(self.source(), index, MACHINES).each(positions, |place, count| cells.push((place, count)))?;
        cells.sort_unstable_by_key(|cell| cell.0);
        cells.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            kept.1 = if same { kept.1.wrapping_add(next.1) } else { kept.1 };
            same
        });
        Ok(cells)
    }

    /// The state of paths before a position.
    fn state(&self, index: &Arc<Index>, position: u32) -> Result<Arc<Values>, SegmentError> {
        self.state_of(BY_PATH, index, position, |values, positions| self.replay(index, values, positions))
    }

    /// The state of machines' pairs before a position.
    fn machines_state(&self, index: &Arc<Index>, position: u32) -> Result<Arc<Values>, SegmentError> {
        self.state_of(BY_MACHINE, index, position, |values, positions| {
            let mut blocks = Blocks::new(self.source(), index, MACHINES);
            match values {
                Values::Narrow(values) => blocks.each(positions, |place, count| add(values, place as usize, count)),
                Values::Wide(values) => blocks.each(positions, |place, count| add(values, place as usize, count)),
            }
        })
    }

    fn state_of(
        &self,
        kind: usize,
        index: &Index,
        position: u32,
        replay: impl FnOnce(&mut Values, Range<u32>) -> Result<(), SegmentError>,
    ) -> Result<Arc<Values>, SegmentError> {
        if let Some(kept) = self.kept(kind, position) {
            return Ok(kept);
        }
        let size = self.table_size(kind);
        let checkpoint = index.checkpoint(kind, position);
        let begin = checkpoint.map_or(0, |checkpoint| checkpoint.position);
        let mut values = match checkpoint {
            Some(checkpoint) => self.read_checkpoint(checkpoint, size)?,
            None => Values::zero(self.footer().wide, size.0 * size.1),
        };
        if begin < position {
            replay(&mut values, begin..position)?;
        }
        let values = Arc::new(values);
        self.keep(kind, position, &values);
        Ok(values)
    }

    /// Rows and columns of the tables of a kind.
    pub(super) fn table_size(&self, kind: usize) -> (usize, usize) {
        let footer = self.footer();
        if kind == BY_PATH {
            (footer.info.paths as usize, footer.columns().count())
        } else {
            (footer.machines as usize, 1)
        }
    }

    pub(super) fn read_checkpoint(
        &self,
        checkpoint: Checkpoint,
        (rows, columns): (usize, usize),
    ) -> Result<Values, SegmentError> {
        let span = checkpoint.span;
        let bytes = self.source().bytes(span.offset, span.length)?;
        let head = bytes.get(..packed::chunks(rows) * HEAD);
        let sound = head.is_some_and(|head| crc32fast::hash(head) == span.checksum);
        let values = if self.footer().wide {
            packed::decode(&bytes, rows, columns).map(Values::Wide)
        } else {
            packed::decode(&bytes, rows, columns).map(Values::Narrow)
        };
        values.filter(|_| sound).ok_or_else(|| self.source().damaged("a checkpoint is not readable"))
    }

    /// Adds the cells of these buckets to a state of paths.
    fn replay(&self, index: &Arc<Index>, values: &mut Values, positions: Range<u32>) -> Result<(), SegmentError> {
        match values {
            Values::Narrow(values) => self.replay_to(index, values, positions),
            Values::Wide(values) => self.replay_to(index, values, positions),
        }
    }

    fn replay_to<V: Value>(
        &self,
        index: &Arc<Index>,
        values: &mut [V],
        positions: Range<u32>,
    ) -> Result<(), SegmentError> {
        let (pairs, clients) = (self.pairs()?, self.clients()?);
        let bases = bases(&clients, self.footer().columns(), self.footer().info.paths as usize);
        for (kind, first) in [(PEOPLE, 0), (MACHINES, pairs.people())] {
            let pairs = &pairs.all()[first as usize..];
            Blocks::new(self.source(), index, kind).each(positions.clone(), |place, count| {
                if let Some(&(path, client)) = pairs.get(place as usize) {
                    // What is in no column has a place beyond all.
                    add(values, bases[client as usize] + path as usize, count);
                }
            })?;
        }
        Ok(())
    }
}

#[inline]
fn add<V: Value>(values: &mut [V], place: usize, count: u64) {
    if let Some(value) = values.get_mut(place) {
        *value = V::of(value.wide().wrapping_add(count));
    }
}

/// Follows one path through a segment, from edge to edge, by what it needs of checkpoints and cells.
struct PathWalk<'a> {
    segment: &'a Segment,
    index: &'a Arc<Index>,
    path: u32,
    /// The column of each of its pairs, and the places of these, of people and of machines.
    pairs: [(Range<u32>, Vec<Option<usize>>); 2],
    blocks: [Blocks<'a>; 2],
    position: u32,
    sums: Sums,
}

impl<'a> PathWalk<'a> {
    fn new(segment: &'a Segment, index: &'a Arc<Index>, path: u32) -> Result<Self, SegmentError> {
        let (pairs, clients) = (segment.pairs()?, segment.clients()?);
        let columns: Vec<Option<usize>> = clients.iter().map(|client| super::column(client)).collect();
        let [people, machines] = pairs.of_path(path);
        let with_columns = |range: Range<u32>, first: u32| {
            let all = pairs.all().iter().skip((first + range.start) as usize).take(range.len());
            (range, all.map(|&(_, client)| columns[client as usize]).collect())
        };
        Ok(Self {
            segment,
            index,
            path,
            pairs: [with_columns(people, 0), with_columns(machines, pairs.people())],
            blocks: [PEOPLE, MACHINES].map(|kind| Blocks::new(segment.source(), index, kind)),
            position: 0,
            sums: Sums::default(),
        })
    }

    fn before(&mut self, position: u32) -> Result<Sums, SegmentError> {
        if position < self.position {
            (self.position, self.sums) = (0, Sums::default());
        }
        if let Some(checkpoint) = self.index.checkpoint(BY_PATH, position)
            && checkpoint.position > self.position
        {
            self.sums = self.at(checkpoint)?;
            self.position = checkpoint.position;
        }
        for position in self.position..position {
            self.count(PEOPLE, position)?;
            self.count(MACHINES, position)?;
        }
        self.position = position;
        Ok(self.sums)
    }

    fn count(&mut self, kind: usize, position: u32) -> Result<(), SegmentError> {
        let (places, columns) = &self.pairs[kind];
        if places.is_empty() {
            return Ok(());
        }
        let mut block = self.blocks[kind].block(position)?;
        let mut next = 0;
        while !block.is_empty() {
            let Some((place, count)) = block.cell(&mut next) else {
                return Err(self.segment.source().damaged("a cell is not readable"));
            };
            if place >= places.end {
                break;
            }
            if place >= places.start
                && let Some(column) = columns[(place - places.start) as usize]
            {
                self.sums[column] = self.sums[column].wrapping_add(count);
            }
        }
        Ok(())
    }

    /// The path's figures in a checkpoint.
    fn at(&self, checkpoint: Checkpoint) -> Result<Sums, SegmentError> {
        let footer = self.segment.footer();
        let (rows, columns) = (footer.info.paths as usize, footer.columns());
        let row = match self.segment.kept(BY_PATH, checkpoint.position) {
            Some(state) => (0..columns.count()).map(|column| state.get(column * rows + self.path as usize)).collect(),
            None => self.read_row(checkpoint.span, rows, columns.count())?,
        };
        let mut sums = Sums::default();
        columns.iter().zip(row).for_each(|(column, figure)| sums[column] = figure);
        Ok(sums)
    }

    fn read_row(&self, span: Span, rows: usize, columns: usize) -> Result<Vec<u64>, SegmentError> {
        let source = self.segment.source();
        let damaged = || source.damaged("a checkpoint is not readable");
        let (chunk, row) = (self.path as usize / CHUNK, self.path as usize % CHUNK);
        let head_length = (packed::chunks(rows) * HEAD) as u64;
        let head = source.span(Span { length: head_length, ..span }, "a checkpoint is not readable")?;
        let before: usize = packed::heads(&head).take(chunk).map(|(length, _)| length).sum();
        let (length, checksum) = packed::heads(&head).nth(chunk).ok_or_else(damaged)?;
        let offset = span.offset + head_length + before as u64;
        let bytes = source.span(Span { offset, length: length as u64, checksum }, "a checkpoint is not readable")?;
        packed::row(&bytes, rows - chunk * CHUNK, columns, row).ok_or_else(damaged)
    }
}
