//! What the log keeps of a batch: its views with their pages and readers written once each.

use std::collections::HashMap;
use std::sync::Arc;

use copydesk_views::{Batch, Bucket, Client, Mark, Stretch, View};

/// The longest record. What was read as longer is no record.
pub(super) const MAX_BYTES: usize = 256 * 1024 * 1024;
/// The kinds of payload: a batch, and one with lines of a log.
const BATCH: u8 = 1;
const BATCH_WITH_LINES: u8 = 2;

/// A batch with its pages and readers numbered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) project: Arc<str>,
    /// When it arrived, in seconds since 1970.
    pub(super) arrived: u32,
    pub(super) paths: Vec<Arc<str>>,
    pub(super) clients: Vec<Arc<Client>>,
    pub(super) views: Vec<EntryView>,
    pub(super) mark: Option<Mark>,
    pub(super) lines: Vec<Stretch>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EntryView {
    pub(super) bucket: Bucket,
    /// Place in the entry's paths.
    pub(super) path: u32,
    /// Place in the entry's clients.
    pub(super) client: u32,
    pub(super) count: u32,
    pub(super) id: Option<u128>,
}

impl Entry {
    /// Numbers the pages and readers of a batch.
    pub(super) fn new(batch: Batch, arrived: u32) -> Self {
        let mut paths = Numbered::default();
        let mut clients = Numbered::default();
        let mut views = Vec::with_capacity(batch.views.len());
        for View { bucket, path, client, count, id } in batch.views {
            let (path, client) = (paths.number(path), clients.number(client));
            views.push(EntryView { bucket, path, client, count, id });
        }
        let project = batch.project.into();
        Self { project, arrived, paths: paths.list, clients: clients.list, views, mark: batch.mark, lines: batch.lines }
    }

    /// The batch that it was.
    pub(super) fn into_batch(self) -> Batch {
        let Self { project, paths, clients, views, mark, lines, .. } = self;
        let view = |EntryView { bucket, path, client, count, id }: EntryView| {
            let (path, client) = (Arc::clone(&paths[path as usize]), Arc::clone(&clients[client as usize]));
            View { bucket, path, client, count, id }
        };
        Batch { project: (*project).to_owned(), views: views.into_iter().map(view).collect(), mark, lines }
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(64 + self.views.len() * 8 + self.paths.len() * 40 + self.clients.len() * 300);
        out.push(if self.lines.is_empty() { BATCH } else { BATCH_WITH_LINES });
        number(&mut out, u64::from(self.arrived));
        bytes(&mut out, self.project.as_bytes());
        match &self.mark {
            Some(mark) => bytes(&mut out, &json(mark)),
            None => number(&mut out, 0),
        }
        if !self.lines.is_empty() {
            number(&mut out, self.lines.len() as u64);
            self.lines.iter().for_each(|stretch| put_stretch(&mut out, stretch));
        }
        number(&mut out, self.paths.len() as u64);
        self.paths.iter().for_each(|path| bytes(&mut out, path.as_bytes()));
        number(&mut out, self.clients.len() as u64);
        self.clients.iter().for_each(|client| bytes(&mut out, &json(&**client)));
        number(&mut out, self.views.len() as u64);
        let mut before = 0;
        for view in &self.views {
            number(&mut out, zigzag(i64::from(view.bucket.0) - before));
            before = i64::from(view.bucket.0);
            number(&mut out, u64::from(view.path));
            number(&mut out, u64::from(view.client));
            number(&mut out, u64::from(view.count) << 1 | u64::from(view.id.is_some()));
            if let Some(id) = view.id {
                out.extend_from_slice(&id.to_le_bytes());
            }
        }
        out
    }

    /// From bytes; none if they are no entry.
    pub(super) fn decode(from: &[u8]) -> Option<Self> {
        let mut from = Reader(from);
        let with_lines = match from.take(1)? {
            [BATCH] => false,
            [BATCH_WITH_LINES] => true,
            _ => return None,
        };
        let arrived = u32::try_from(from.number()?).ok()?;
        let project = from.text()?.into();
        let mark = match from.bytes()? {
            [] => None,
            json => Some(serde_json::from_slice(json).ok()?),
        };
        let lines = if with_lines { from.list(Reader::stretch)? } else { Vec::new() };
        let paths = from.list(|from| Some(Arc::from(from.text()?)))?;
        let clients = from.list(|from| serde_json::from_slice(from.bytes()?).ok().map(Arc::new))?;
        let mut before = 0;
        let views = from.list(|from| {
            let bucket = i64::checked_add(before, unzigzag(from.number()?))?;
            before = bucket;
            let (path, client) = (from.below(paths.len())?, from.below(clients.len())?);
            let count = from.number()?;
            let id = if count & 1 == 1 { Some(from.id()?) } else { None };
            let bucket = Bucket(u32::try_from(bucket).ok()?);
            Some(EntryView { bucket, path, client, count: u32::try_from(count >> 1).ok()?, id })
        })?;
        from.0.is_empty().then_some(Self { project, arrived, paths, clients, views, mark, lines })
    }
}

/// Numbers what is the same by its address: cheap, and what is there twice is only written twice.
struct Numbered<T: ?Sized> {
    list: Vec<Arc<T>>,
    places: HashMap<*const u8, u32>,
    last: (*const u8, u32),
}

impl<T: ?Sized> Default for Numbered<T> {
    fn default() -> Self {
        Self { list: Vec::new(), places: HashMap::new(), last: (std::ptr::null(), 0) }
    }
}

impl<T: ?Sized> Numbered<T> {
    fn number(&mut self, item: Arc<T>) -> u32 {
        let address = Arc::as_ptr(&item).cast::<u8>();
        if self.last.0 != address {
            let next = u32::try_from(self.list.len()).unwrap_or(u32::MAX);
            let place = *self.places.entry(address).or_insert(next);
            if place == next {
                self.list.push(item);
            }
            self.last = (address, place);
        }
        self.last.1
    }
}

fn json(value: &impl serde::Serialize) -> Vec<u8> {
    // Marks and clients are strings and numbers in structs, which JSON can always hold.
    serde_json::to_vec(value).unwrap_or_default()
}

fn number(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn bytes(out: &mut Vec<u8>, value: &[u8]) {
    number(out, value.len() as u64);
    out.extend_from_slice(value);
}

/// Writes lines of a log as [`stretches`] reads them.
pub(super) fn put_stretch(out: &mut Vec<u8>, stretch: &Stretch) {
    bytes(out, stretch.log.as_bytes());
    number(out, stretch.first);
    number(out, stretch.prints.len() as u64 * 2);
    stretch.prints.iter().for_each(|print| out.extend_from_slice(&print.to_le_bytes()));
}

/// Lines of logs from bytes that hold nothing else; none if they do not.
pub(super) fn stretches(from: &[u8]) -> Option<Vec<Stretch>> {
    let (mut from, mut all) = (Reader(from), Vec::new());
    while !from.0.is_empty() {
        all.push(from.stretch()?);
    }
    Some(all)
}

fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let &[byte] = self.take(1)? else { return None };
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let count = usize::try_from(self.number()?).ok()?;
        self.take(count)
    }

    fn text(&mut self) -> Option<&'a str> {
        std::str::from_utf8(self.bytes()?).ok()
    }

    fn id(&mut self) -> Option<u128> {
        Some(u128::from_le_bytes(self.take(16)?.try_into().ok()?))
    }

    fn stretch(&mut self) -> Option<Stretch> {
        let (log, first) = (self.text()?.to_owned(), self.number()?);
        let (prints, rest) = self.bytes()?.as_chunks();
        let prints: Vec<u16> = prints.iter().map(|bytes| u16::from_le_bytes(*bytes)).collect();
        first.checked_add(prints.len() as u64)?;
        rest.is_empty().then_some(Stretch { log, first, prints })
    }

    fn below(&mut self, end: usize) -> Option<u32> {
        let value = u32::try_from(self.number()?).ok()?;
        ((value as usize) < end).then_some(value)
    }

    fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = usize::try_from(self.number()?).ok()?;
        // Each has at least a byte, so that a false count asks for no memory.
        let mut list = Vec::with_capacity(count.min(self.0.len()));
        for _ in 0..count {
            list.push(item(self)?);
        }
        Some(list)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::samples::{client, mark};

    fn view() -> impl Strategy<Value = View> {
        (any::<u32>(), 0..4u8, 0..4u8, any::<u32>(), any::<Option<u128>>()).prop_map(
            |(bucket, path, who, count, id)| {
                let path = format!("/{path}").into();
                View { bucket: Bucket(bucket), path, client: client(usize::from(who)), count, id }
            },
        )
    }

    proptest! {
        #[test]
        fn a_batch_comes_back_from_its_bytes(views in prop::collection::vec(view(), 0..20), marked: bool, prints: Vec<u16>, arrived: u32) {
            let mark = marked.then(|| mark("a", "b", None));
            let lines = if prints.is_empty() { Vec::new() } else { vec![Stretch { log: "a".into(), first: 7, prints }] };
            let batch = Batch { project: "p".into(), views, mark, lines };
            let entry = Entry::new(batch, arrived);
            prop_assert_eq!(Entry::decode(&entry.encode()), Some(entry));
        }

        #[test]
        fn bytes_that_are_no_batch_do_no_harm(mut bytes in prop::collection::vec(any::<u8>(), 0..100), lines: bool) {
            if let Some(first) = bytes.first_mut() {
                *first = if lines { BATCH_WITH_LINES } else { BATCH };
            }
            let _ = Entry::decode(&bytes);
        }
    }

    #[test]
    fn pages_and_readers_are_written_once() {
        let (path, who): (Arc<str>, _) = ("/a".into(), client(0));
        let view = View { bucket: Bucket(7), path, client: who, count: 1, id: None };
        let entry = Entry::new(Batch { project: "p".into(), views: vec![view; 100], ..Batch::default() }, 0);
        assert_eq!((entry.paths.len(), entry.clients.len(), entry.views.len()), (1, 1, 100));
    }
}
