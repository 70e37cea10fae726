//! An open segment: what is read of it, when, and for how long it is kept in memory.

use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use copydesk_views::{Bucket, Client};

use super::cells::{BucketReader, Cells};
use super::codec::Input;
use super::dictionary::{self, Pairs};
use super::format::{Footer, Section, Source};
use super::index::{Index, Parts};
use super::values::Values;
use super::{Info, SegmentError, Sums};

/// States that are kept: those asked about last. A question needs two, and questions repeat.
const KEPT: usize = 16;
/// Bytes that they take at the most, but for the two of the last question.
const KEPT_BYTES: usize = 64 * 1024 * 1024;

/// An open segment. What was read of it is kept as long as it lives; to open it again costs next to nothing.
#[derive(Debug)]
pub(crate) struct Segment {
    source: Source,
    footer: Footer,
    loaded: Mutex<Loaded>,
    /// Quarter hours whose cells could not be read, if it was opened to save what can be saved.
    lost: Option<Mutex<BTreeSet<Bucket>>>,
}

/// What has been read so far.
#[derive(Debug, Default)]
struct Loaded {
    paths: Part<Vec<Arc<str>>>,
    clients: Part<Vec<Arc<Client>>>,
    pairs: Part<Pairs>,
    index: Part<Index>,
    /// By position, the one used last at the end.
    states: [VecDeque<(u32, Arc<Values>)>; 2],
}

/// Something that is in memory or not, and the bytes it takes there.
#[derive(Debug)]
struct Part<T>(Option<(Arc<T>, usize)>);

impl<T> Default for Part<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> Part<T> {
    fn get(&self) -> Option<Arc<T>> {
        self.0.as_ref().map(|(part, _)| Arc::clone(part))
    }

    fn memory(&self) -> usize {
        self.0.as_ref().map_or(0, |(_, memory)| *memory)
    }
}

impl Segment {
    /// Opens a segment. Only its header and footer are read.
    pub(crate) fn open(file: &Path) -> Result<Self, SegmentError> {
        let (source, footer) = Source::open(file)?;
        Ok(Self { source, footer, loaded: Mutex::default(), lost: None })
    }

    /// Opens a damaged segment to merge what is left of it: cells that cannot be read are passed over, see [`Self::lost`].
    pub(crate) fn open_damaged(file: &Path) -> Result<Self, SegmentError> {
        let (source, footer) = Source::open_damaged(file)?;
        Ok(Self { source, footer, loaded: Mutex::default(), lost: Some(Mutex::default()) })
    }

    /// The quarter hours that were passed over, as ranges.
    pub(crate) fn lost(&self) -> Vec<Range<Bucket>> {
        let mut ranges: Vec<Range<Bucket>> = Vec::new();
        let lost = self.lost.as_ref().map(|lost| lost.lock().unwrap_or_else(PoisonError::into_inner).clone());
        for bucket in lost.unwrap_or_default() {
            let next = Bucket(bucket.0.saturating_add(1));
            match ranges.last_mut().filter(|last| last.end == bucket) {
                Some(last) => last.end = next,
                None => ranges.push(bucket..next),
            }
        }
        ranges
    }

    pub(super) fn is_damaged(&self) -> bool {
        self.lost.is_some()
    }

    pub(crate) fn info(&self) -> &Info {
        &self.footer.info
    }

    /// Its paths, sorted by bytes.
    pub(crate) fn paths(&self) -> Result<Arc<Vec<Arc<str>>>, SegmentError> {
        self.part(
            |loaded| &mut loaded.paths,
            || self.decoded(Section::Paths, |bytes| dictionary::decode_paths(bytes, self.footer.info.paths)),
            |paths| paths.iter().map(|path| path.len() + 40).sum(),
        )
    }

    pub(crate) fn clients(&self) -> Result<Arc<Vec<Arc<Client>>>, SegmentError> {
        self.part(
            |loaded| &mut loaded.clients,
            || self.decoded(Section::Clients, |bytes| dictionary::decode_clients(bytes, self.footer.info.clients)),
            |clients| clients.len() * (size_of::<Client>() + 120),
        )
    }

    /// Which client read which path, by their places; what the cells count.
    pub(crate) fn pairs(&self) -> Result<Arc<Pairs>, SegmentError> {
        let Footer { people, machines, ref info, .. } = self.footer;
        let decode = |bytes: &[u8]| Pairs::decode(bytes, people, machines, info.paths, info.clients);
        self.part(|loaded| &mut loaded.pairs, || self.decoded(Section::Pairs, decode), |pairs| size_of_val(pairs.all()))
    }

    /// Views of each client, all time.
    pub(crate) fn client_totals(&self) -> Result<Vec<u64>, SegmentError> {
        self.decoded(Section::Totals, |bytes| {
            let mut input = Input(bytes);
            (0..self.footer.info.clients).map(|_| input.varint()).collect()
        })
    }

    /// The site's views before a bucket.
    pub(crate) fn site_before(&self, to: Bucket) -> Result<Sums, SegmentError> {
        let index = self.index()?;
        Ok(index.sums(index.position(to)))
    }

    /// All cells by bucket and pair; a pair is a place in [`Self::pairs`].
    pub(crate) fn cells(
        &self,
    ) -> Result<impl Iterator<Item = Result<(Bucket, u32, u64), SegmentError>> + '_, SegmentError> {
        Ok(Cells::new(self.buckets_from(Bucket::MIN)?))
    }

    /// The cells of each bucket, from the first on that is not before `from`.
    pub(super) fn buckets_from(&self, from: Bucket) -> Result<BucketReader<'_>, SegmentError> {
        Ok(BucketReader::new(&self.source, &self.footer, &self.index()?, from, self.lost.as_ref()))
    }

    /// About how many bytes of memory it takes now.
    pub(crate) fn memory(&self) -> usize {
        let loaded = self.loaded();
        let words = loaded.paths.memory() + loaded.clients.memory() + loaded.pairs.memory();
        let states = loaded.states.iter().flatten().map(|(_, values)| values.memory()).sum::<usize>();
        size_of::<Self>() + words + loaded.index.memory() + states
    }

    pub(super) fn source(&self) -> &Source {
        &self.source
    }

    pub(super) fn footer(&self) -> &Footer {
        &self.footer
    }

    pub(super) fn index(&self) -> Result<Arc<Index>, SegmentError> {
        self.part(|loaded| &mut loaded.index, || self.read_index(), Index::memory)
    }

    fn read_index(&self) -> Result<Index, SegmentError> {
        let checkpoints = |section| match self.section(section) {
            // They are made anew from the cells.
            Err(SegmentError::Damaged { .. }) if self.is_damaged() => Ok(Vec::new()),
            read => read,
        };
        let parts = Parts {
            buckets: self.section(Section::Buckets)?,
            groups: [self.section(Section::PeopleGroups)?, self.section(Section::MachineGroups)?],
            checkpoints: [checkpoints(Section::Checkpoints)?, checkpoints(Section::MachineCheckpoints)?],
        };
        Index::decode(&parts, &self.footer).ok_or_else(|| self.unreadable(Section::Buckets))
    }

    /// The state before a position, if it is kept.
    pub(super) fn kept(&self, kind: usize, position: u32) -> Option<Arc<Values>> {
        let states = &mut self.loaded().states[kind];
        let place = states.iter().position(|(other, _)| *other == position)?;
        let state = states.remove(place)?;
        states.push_back(state);
        states.back().map(|(_, values)| Arc::clone(values))
    }

    /// Keeps a state for the next question.
    pub(super) fn keep(&self, kind: usize, position: u32, values: &Arc<Values>) {
        let states = &mut self.loaded().states[kind];
        states.retain(|(other, _)| *other != position);
        states.push_back((position, Arc::clone(values)));
        let mut bytes: usize = states.iter().map(|(_, values)| values.memory()).sum();
        while states.len() > KEPT || (states.len() > 2 && bytes > KEPT_BYTES) {
            let Some((_, values)) = states.pop_front() else { break };
            bytes -= values.memory();
        }
    }

    /// What is in a slot; it is read if need be.
    fn part<T>(
        &self,
        slot: impl Fn(&mut Loaded) -> &mut Part<T>,
        read: impl FnOnce() -> Result<T, SegmentError>,
        weigh: impl FnOnce(&T) -> usize,
    ) -> Result<Arc<T>, SegmentError> {
        if let Some(part) = slot(&mut self.loaded()).get() {
            return Ok(part);
        }
        // Not under the lock: two may read the same at once, but nobody waits for the disk.
        let part = read()?;
        let memory = weigh(&part);
        let part = Arc::new(part);
        *slot(&mut self.loaded()) = Part(Some((Arc::clone(&part), memory)));
        Ok(part)
    }

    fn decoded<T>(&self, section: Section, decode: impl FnOnce(&[u8]) -> Option<T>) -> Result<T, SegmentError> {
        decode(&self.section(section)?).ok_or_else(|| self.unreadable(section))
    }

    fn section(&self, section: Section) -> Result<Vec<u8>, SegmentError> {
        let span = self.footer.section(section);
        self.source.span(span, &format!("its section {section:?} is not readable"))
    }

    fn unreadable(&self, section: Section) -> SegmentError {
        self.source.damaged(&format!("its section {section:?} makes no sense"))
    }

    fn loaded(&self) -> MutexGuard<'_, Loaded> {
        // Every change under the lock is complete in itself.
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
