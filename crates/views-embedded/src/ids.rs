//! Files of ids that were seen, so that a second delivery is known for days without keeping all ids in memory.
//!
//! A file is a header, the ids in order in blocks, the first id of every block, and a Bloom filter. Only the last two
//! are kept in memory: an id that is new costs no read, one that was seen costs one block. Where a file is damaged, the ids of
//! the damaged blocks are forgotten: that may count a view twice, and refusing views instead would lose them.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use super::disk::is_lasting;

const MAGIC: &[u8; 8] = b"cdids001";
const HEADER: usize = 40;
const ENTRY: usize = 20;
const BLOCK: usize = 200;
const BLOCK_BYTES: usize = BLOCK * ENTRY + 4;
const BITS_EACH: u64 = 10;
const PROBES: u64 = 7;

/// An id and when it arrived, in seconds since 1970.
pub(super) type Seen = (u128, u32);

/// Writes ids that come in order; `most` is how many there may be. Synced when it returns.
pub(super) fn write(path: &Path, most: usize, ids: impl Iterator<Item = io::Result<Seen>>) -> io::Result<Written> {
    let mut out = BufWriter::new(File::create(path)?);
    out.write_all(&[0; HEADER])?;
    let mut filter = Filter::for_ids(most);
    let (mut block, mut fences) = (Vec::with_capacity(BLOCK_BYTES), Vec::new());
    let mut written = Written::default();
    for seen in ids {
        let (id, arrived) = seen?;
        if block.is_empty() {
            fences.push(id);
        }
        block.extend_from_slice(&id.to_le_bytes());
        block.extend_from_slice(&arrived.to_le_bytes());
        filter.add(id);
        written.count += 1;
        written.newest = written.newest.max(arrived);
        if block.len() == BLOCK * ENTRY {
            end_block(&mut out, &mut block)?;
        }
    }
    if !block.is_empty() {
        end_block(&mut out, &mut block)?;
    }
    let mut index: Vec<u8> = fences.iter().flat_map(|id| id.to_le_bytes()).collect();
    index.extend(filter.words.iter().flat_map(|word| word.to_le_bytes()));
    out.write_all(&index)?;
    let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    let mut header = [0; HEADER];
    header[..8].copy_from_slice(MAGIC);
    header[8..16].copy_from_slice(&written.count.to_le_bytes());
    header[16..24].copy_from_slice(&(filter.words.len() as u64).to_le_bytes());
    header[24..28].copy_from_slice(&written.newest.to_le_bytes());
    header[28..32].copy_from_slice(&crc32fast::hash(&index).to_le_bytes());
    let sum = crc32fast::hash(&header[..36]);
    header[36..].copy_from_slice(&sum.to_le_bytes());
    file.write_all_at(&header, 0)?;
    file.sync_all()?;
    written.bytes = file.metadata()?.len();
    Ok(written)
}

fn end_block(out: &mut impl Write, block: &mut Vec<u8>) -> io::Result<()> {
    let sum = crc32fast::hash(block);
    block.extend_from_slice(&sum.to_le_bytes());
    out.write_all(block)?;
    block.clear();
    Ok(())
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Written {
    pub(super) count: u64,
    pub(super) newest: u32,
    pub(super) bytes: u64,
}

/// What was written to a file, by its header; none if that is damaged.
pub(super) fn written(path: &Path) -> io::Result<Option<Written>> {
    let file = File::open(path)?;
    let mut header = [0; HEADER];
    match file.read_exact_at(&mut header, 0) {
        Err(error) if is_lasting(&error) => return Ok(None),
        read => read?,
    }
    let newest = header[24..].first_chunk().map_or(0, |newest| u32::from_le_bytes(*newest));
    let count = header[8..].first_chunk().map_or(0, |count| u64::from_le_bytes(*count));
    let is_right = header.starts_with(MAGIC) && crc32fast::hash(&header[..36]).to_le_bytes() == header[36..];
    Ok(is_right.then_some(Written { count, newest, bytes: file.metadata()?.len() }))
}

/// A file of ids, open to be asked.
#[derive(Debug)]
pub(super) struct IdFile {
    /// None if it is gone.
    file: Option<File>,
    count: u64,
    /// The first id of every block; those of a damaged one are not known.
    fences: Vec<u128>,
    filter: Filter,
    /// Something of it could not be read.
    damaged: AtomicBool,
}

impl IdFile {
    /// Opens a file that was written with so many ids.
    pub(super) fn open(path: &Path, count: u64) -> io::Result<Self> {
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if is_lasting(&error) => {
                let filter = Filter { words: Vec::new() };
                return Ok(Self { file: None, count: 0, fences: Vec::new(), filter, damaged: true.into() });
            }
            Err(error) => return Err(error),
        };
        match Self::read_index(&file, path) {
            Ok((known, fences, filter)) if known == count => {
                Ok(Self { file: Some(file), count, fences, filter, damaged: false.into() })
            }
            Err(error) if !is_lasting(&error) => Err(error),
            _ => Self::indexed_anew(file, count),
        }
    }

    /// Makes the index from the blocks, as far as they can be read.
    fn indexed_anew(file: File, count: u64) -> io::Result<Self> {
        let most = file.metadata()?.len() / ENTRY as u64;
        let count = count.min(most);
        let filter = Filter::for_ids(usize::try_from(count).unwrap_or(0));
        let mut ids = Self { file: Some(file), count, fences: Vec::new(), filter, damaged: true.into() };
        let mut next = 0;
        for which in 0..usize::try_from(count.div_ceil(BLOCK as u64)).unwrap_or(0) {
            let block = ids.block(which)?;
            block.iter().for_each(|(id, _)| ids.filter.add(*id));
            // One that cannot be read begins behind the one before it, as far as anybody can tell.
            ids.fences.push(block.first().map_or(next, |(id, _)| *id));
            next = block.last().map_or(next, |(id, _)| id.saturating_add(1));
        }
        Ok(ids)
    }

    fn read_index(file: &File, path: &Path) -> io::Result<(u64, Vec<u128>, Filter)> {
        let damaged = || damaged(path);
        let mut header = [0; HEADER];
        file.read_exact_at(&mut header, 0)?;
        if !header.starts_with(MAGIC) || crc32fast::hash(&header[..36]).to_le_bytes() != header[36..] {
            return Err(damaged());
        }
        let field = |at: usize| header[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let (count, words) = (field(8), field(16));
        let blocks = count.div_ceil(BLOCK as u64);
        let entries = count.checked_mul(ENTRY as u64).and_then(|bytes| bytes.checked_add(blocks * 4));
        let begin = entries.and_then(|bytes| bytes.checked_add(HEADER as u64)).ok_or_else(damaged)?;
        let bytes = words.checked_mul(8).and_then(|words| words.checked_add(blocks * 16)).ok_or_else(damaged)?;
        if begin.checked_add(bytes) != Some(file.metadata()?.len()) {
            return Err(damaged());
        }
        let mut index = vec![0; usize::try_from(bytes).map_err(|_| damaged())?];
        file.read_exact_at(&mut index, begin)?;
        if crc32fast::hash(&index).to_le_bytes() != header[28..32] {
            return Err(damaged());
        }
        let (fences, words) = index.split_at(usize::try_from(blocks * 16).map_err(|_| damaged())?);
        let fences = fences.as_chunks().0.iter().map(|bytes| u128::from_le_bytes(*bytes)).collect();
        let words = words.as_chunks().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect();
        Ok((count, fences, Filter { words }))
    }

    /// Whether something of it could not be read so far.
    pub(super) fn is_damaged(&self) -> bool {
        self.damaged.load(Ordering::Relaxed)
    }

    /// When an id arrived.
    pub(super) fn find(&self, id: u128) -> io::Result<Option<u32>> {
        if !self.filter.may_have(id) {
            return Ok(None);
        }
        let Some(block) = self.fences.partition_point(|fence| *fence <= id).checked_sub(1) else { return Ok(None) };
        let block = self.block(block)?;
        let found = block.binary_search_by_key(&id, |(id, _)| *id);
        Ok(found.ok().and_then(|place| block.get(place)).map(|(_, arrived)| *arrived))
    }

    /// The ids of a block; none if it is damaged.
    fn block(&self, which: usize) -> io::Result<Vec<Seen>> {
        let Some(file) = &self.file else { return Ok(Vec::new()) };
        let entries = self.count.saturating_sub((which * BLOCK) as u64).min(BLOCK as u64) as usize;
        let mut bytes = vec![0; entries * ENTRY + 4];
        let read = file.read_exact_at(&mut bytes, (HEADER + which * BLOCK_BYTES) as u64);
        let (entries, sum) = bytes.split_at(entries * ENTRY);
        let is_right = crc32fast::hash(entries).to_le_bytes() == sum;
        match read {
            Ok(()) if is_right => {}
            Err(error) if !is_lasting(&error) => return Err(error),
            _ => {
                self.damaged.store(true, Ordering::Relaxed);
                return Ok(Vec::new());
            }
        }
        let entry = |bytes: &[u8; ENTRY]| {
            let id = bytes.first_chunk().map_or(0, |id| u128::from_le_bytes(*id));
            (id, bytes.last_chunk().map_or(0, |arrived| u32::from_le_bytes(*arrived)))
        };
        Ok(entries.as_chunks().0.iter().map(entry).collect())
    }

    /// All that can be read, in order.
    pub(super) fn all(&self) -> impl Iterator<Item = io::Result<Seen>> + '_ {
        (0..self.fences.len()).flat_map(|block| match self.block(block) {
            Ok(block) => block.into_iter().map(Ok).collect(),
            Err(error) => vec![Err(error)],
        })
    }

    pub(super) fn memory(&self) -> usize {
        self.fences.len() * 16 + self.filter.words.len() * 8
    }
}

fn damaged(path: &Path) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{} is damaged", path.display()))
}

/// Writes several files as one, without what arrived before `since`.
pub(super) fn merge(inputs: &[&IdFile], since: u32, path: &Path) -> io::Result<Written> {
    let most: u64 = inputs.iter().map(|input| input.count).sum();
    let mut heads: Vec<_> = inputs.iter().map(|input| input.all().peekable()).collect();
    let merged = std::iter::from_fn(|| {
        let mut least: Option<u128> = None;
        for head in &mut heads {
            match head.peek() {
                Some(Ok((id, _))) => least = Some(least.map_or(*id, |least| least.min(*id))),
                Some(Err(_)) => return head.next(),
                None => {}
            }
        }
        let least = least?;
        let mut newest = 0;
        for head in &mut heads {
            if let Some(Ok((_, arrived))) = head.next_if(|seen| matches!(seen, Ok((id, _)) if *id == least)) {
                newest = newest.max(arrived);
            }
        }
        Some(Ok((least, newest)))
    });
    let fresh = merged.filter(|seen| !matches!(seen, Ok((_, arrived)) if *arrived < since));
    write(path, usize::try_from(most).unwrap_or(usize::MAX), fresh)
}

/// A Bloom filter. Ids are digests, so that their own bits serve as hashes.
#[derive(Debug)]
struct Filter {
    words: Vec<u64>,
}

impl Filter {
    fn for_ids(count: usize) -> Self {
        let bits = (count as u64).max(1).saturating_mul(BITS_EACH);
        Self { words: vec![0; usize::try_from(bits.div_ceil(64)).unwrap_or(1)] }
    }

    fn places(&self, id: u128) -> impl Iterator<Item = (usize, u64)> + use<> {
        let bits = self.words.len() as u64 * 64;
        let (first, step) = (id as u64, (id >> 64) as u64 | 1);
        (0..PROBES).map(move |probe| {
            let bit = first.wrapping_add(probe.wrapping_mul(step)) % bits.max(1);
            ((bit / 64) as usize, 1 << (bit % 64))
        })
    }

    fn add(&mut self, id: u128) {
        for (word, bit) in self.places(id) {
            self.words[word] |= bit;
        }
    }

    fn may_have(&self, id: u128) -> bool {
        self.places(id).all(|(word, bit)| self.words.get(word).is_some_and(|it| it & bit != 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use copydesk_views::id_digest;

    fn ids(range: std::ops::Range<u32>) -> Vec<Seen> {
        let mut ids: Vec<Seen> = range.map(|n| (id_digest(&n.to_string()), n)).collect();
        ids.sort_unstable();
        ids
    }

    fn file(folder: &Path, name: &str, ids: &[Seen]) -> IdFile {
        write(&folder.join(name), ids.len(), ids.iter().copied().map(Ok)).unwrap();
        IdFile::open(&folder.join(name), ids.len() as u64).unwrap()
    }

    #[test]
    fn finds_what_is_in_it_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        for count in [0, 1, 199, 200, 201, 5000] {
            let file = file(folder.path(), "a", &ids(0..count));
            assert!((0..count).all(|n| file.find(id_digest(&n.to_string())).unwrap() == Some(n)));
            assert!((count..count + 1000).all(|n| file.find(id_digest(&n.to_string())).unwrap().is_none()));
            assert_eq!(file.all().collect::<io::Result<Vec<_>>>().unwrap(), ids(0..count));
        }
    }

    #[test]
    fn a_merge_keeps_the_newest_and_drops_the_old() {
        let folder = tempfile::tempdir().unwrap();
        let (old, new) = (file(folder.path(), "a", &ids(0..1000)), file(folder.path(), "b", &ids(500..1500)));
        let written = merge(&[&old, &new], 400, &folder.path().join("c")).unwrap();
        assert_eq!((written.count, written.newest), (1100, 1499));
        let merged = IdFile::open(&folder.path().join("c"), 1100).unwrap();
        assert_eq!(merged.all().collect::<io::Result<Vec<_>>>().unwrap(), ids(400..1500));
    }

    #[test]
    fn damage_costs_no_more_than_a_block_and_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let (all, strangers) = (ids(0..500), ids(500..600));
        drop(file(folder.path(), "a", &all));
        let whole = std::fs::read(&path).unwrap();
        for at in (0..whole.len()).step_by(29).chain(0..HEADER) {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x10;
            std::fs::write(&path, &bytes).unwrap();
            let file = IdFile::open(&path, 500).unwrap();
            let left = file.all().collect::<io::Result<Vec<_>>>().unwrap();
            assert!(file.is_damaged(), "a change at {at} went unseen");
            assert!(
                left.len() >= 300 && left.iter().all(|seen| all.binary_search(seen).is_ok()),
                "{} left",
                left.len()
            );
            assert!(left.iter().step_by(9).all(|(id, arrived)| file.find(*id).unwrap() == Some(*arrived)));
            assert!(strangers.iter().all(|(id, _)| file.find(*id).unwrap().is_none()));
        }
        std::fs::write(&path, &whole[..HEADER + BLOCK_BYTES + 9]).unwrap();
        assert_eq!(IdFile::open(&path, 500).unwrap().all().count(), 200);
        std::fs::remove_file(&path).unwrap();
        assert!(IdFile::open(&path, 500).unwrap().is_damaged());
    }
}
