//! Makes a segment from cells that come in order, in memory that does not depend on how many come.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use copydesk_views::{Bucket, Client};

use super::codec::put_cell;
use super::dictionary::{self, Pairs};
use super::format::{Columns, FOOTER, Footer, HEADER, Section, Span};
use super::index::{self, BY_MACHINE, BY_PATH, BucketWriter, Checkpoint, Group, MACHINES, PEOPLE};
use super::{Info, Sums, column, packed};

/// Cells are read and checked in groups of about this many bytes.
const GROUP: usize = 32 * 1024;
/// A checkpoint is not worth its bytes after fewer cells than this.
const FEW: u64 = 512;
/// At the edge of a day a checkpoint stands after one cell for this many paths…
const PATHS_A_CELL: u64 = 2;
/// … and anywhere after this many cells a path.
const CELLS_A_PATH: u64 = 6;

/// Makes a segment. The file appears in its place when it is finished; without that nothing is left of it.
pub struct Builder {
    output: Output,
    clients: Vec<Arc<Client>>,
    paths: u32,
    pairs: Pairs,
    places: Vec<u32>,
    columns: Columns,
    bases: Vec<usize>,
    footer_sections: Vec<(Section, Span)>,
    streams: [Stream; 2],
    buckets: BucketWriter,
    tables: [Growing; 2],
    totals: Vec<u64>,
    sums: Sums,
    first: Option<Bucket>,
    bucket: Bucket,
    pending: Option<(u32, u64)>,
    cells: u64,
    views: u64,
}

/// Cells of people or of machines on their way to the file.
#[derive(Default)]
struct Stream {
    group: Vec<u8>,
    /// Where the current bucket begins in the group.
    begin: usize,
    /// See [`put_cell`].
    next: u32,
    groups: Vec<Group>,
}

/// Cumulative figures, and the checkpoints made of them.
struct Growing {
    rows: usize,
    values: Vec<u64>,
    /// Cells since the last checkpoint.
    cells: u64,
    checkpoints: Vec<Checkpoint>,
}

impl Growing {
    fn new(rows: usize, columns: usize) -> Self {
        Self { rows, values: vec![0; rows * columns], cells: 0, checkpoints: Vec::new() }
    }
}

impl Builder {
    /// Begins a segment with these paths, clients, and pairs of a path's and a client's place. All are sorted and
    /// distinct. They should be those that occur, no more: whatever is named here is in the segment.
    pub fn create(
        file: &Path,
        paths: Vec<Arc<str>>,
        clients: Vec<Arc<Client>>,
        pairs: Vec<(u32, u32)>,
    ) -> io::Result<Self> {
        check_words(&paths, &clients, &pairs)?;
        let mut columns = Columns::default();
        let mut is_used = vec![false; clients.len()];
        pairs.iter().for_each(|&(_, client)| is_used[client as usize] = true);
        let used = clients.iter().zip(&is_used).filter(|&(_, &used)| used);
        used.filter_map(|(client, _)| column(client)).for_each(|column| columns.insert(column));
        let (pairs, places) = Pairs::arrange(&pairs, &clients);

        let mut output = Output::create(file)?;
        let mut footer_sections = Vec::new();
        let sections = [
            (Section::Paths, dictionary::encode_paths(&paths)),
            (Section::Clients, dictionary::encode_clients(&clients)?),
            (Section::Pairs, pairs.encode()),
        ];
        for (section, bytes) in sections {
            footer_sections.push((section, output.put(&bytes)?));
        }
        Ok(Self {
            output,
            paths: paths.len() as u32,
            columns,
            bases: dictionary::bases(&clients, columns, paths.len()),
            footer_sections,
            streams: Default::default(),
            buckets: BucketWriter::default(),
            tables: [Growing::new(paths.len(), columns.count()), Growing::new(pairs.machines().len(), 1)],
            totals: vec![0; clients.len()],
            sums: Sums::default(),
            first: None,
            bucket: Bucket::MIN,
            pending: None,
            cells: 0,
            views: 0,
            clients,
            pairs,
            places,
        })
    }

    /// Counts `count` views of a pair, by its place. Buckets ascend, and within one the pairs; the same again adds up.
    pub fn push(&mut self, bucket: Bucket, pair: u32, count: u64) -> io::Result<()> {
        if bucket == Bucket::MAX || pair as usize >= self.places.len() {
            return Err(refused("a cell is out of reach"));
        }
        if count == 0 {
            return Ok(());
        }
        match self.pending {
            Some((last, so_far)) if bucket == self.bucket && pair == last => {
                self.pending = Some((pair, so_far.checked_add(count).ok_or_else(too_many)?));
                return Ok(());
            }
            Some((last, _)) if bucket < self.bucket || (bucket == self.bucket && pair < last) => {
                return Err(refused("cells are not in order"));
            }
            _ => {}
        }
        self.settle()?;
        if self.first.is_none() {
            self.first = Some(bucket);
            self.bucket = bucket;
        } else if bucket > self.bucket {
            self.end_bucket(Some(bucket))?;
            self.bucket = bucket;
        }
        self.pending = Some((pair, count));
        Ok(())
    }

    /// Writes what is left, and brings the file to disk and to its place.
    pub fn finish(mut self) -> io::Result<Info> {
        let Some(first) = self.first else { return Err(refused("there are no cells")) };
        self.settle()?;
        self.end_bucket(None)?;
        for kind in [PEOPLE, MACHINES] {
            self.end_group(kind)?;
        }
        let info = Info {
            first,
            last: self.bucket,
            cells: self.cells,
            views: self.views,
            bytes: 0,
            paths: self.paths,
            clients: self.clients.len() as u32,
        };
        let wide = self.tables.iter().flat_map(|table| &table.values).any(|&value| value > u64::from(u32::MAX));
        let people = self.pairs.people();
        let machines = self.pairs.machines().len() as u32;
        let mut footer = Footer::new(info, self.buckets.count, people, machines, self.columns, wide);
        self.put_directories()?;
        self.footer_sections.iter().for_each(|&(section, span)| footer.set(section, span));
        let bytes = self.output.finish(&footer.to_bytes())?;
        Ok(Info { bytes, ..footer.info })
    }

    fn put_directories(&mut self) -> io::Result<()> {
        let mut totals = Vec::new();
        self.totals.iter().for_each(|&total| super::codec::put_varint(&mut totals, total));
        let sections = [
            (Section::Totals, totals),
            (Section::Buckets, std::mem::take(&mut self.buckets).into_bytes()),
            (Section::PeopleGroups, index::encode_groups(&self.streams[PEOPLE].groups)),
            (Section::MachineGroups, index::encode_groups(&self.streams[MACHINES].groups)),
            (Section::Checkpoints, index::encode_checkpoints(&self.tables[BY_PATH].checkpoints)),
            (Section::MachineCheckpoints, index::encode_checkpoints(&self.tables[BY_MACHINE].checkpoints)),
        ];
        for (section, bytes) in sections {
            self.footer_sections.push((section, self.output.put(&bytes)?));
        }
        Ok(())
    }

    /// Writes the cell that is complete now, and counts it everywhere.
    fn settle(&mut self) -> io::Result<()> {
        let Some((pair, count)) = self.pending.take() else { return Ok(()) };
        let place = self.places[pair as usize];
        let (path, client) = self.pairs.all()[place as usize];
        // Every other figure is a part of this one, so that none can run over.
        self.views = self.views.checked_add(count).ok_or_else(too_many)?;
        self.cells += 1;
        self.totals[client as usize] += count;
        if let Some(value) = self.tables[BY_PATH].values.get_mut(self.bases[client as usize] + path as usize) {
            *value += count;
        }
        if let Some(column) = column(&self.clients[client as usize]) {
            self.sums[column] += count;
        }
        self.tables[BY_PATH].cells += 1;
        let (kind, place) = match place.checked_sub(self.pairs.people()) {
            Some(machine) => {
                self.tables[BY_MACHINE].values[machine as usize] += count;
                self.tables[BY_MACHINE].cells += 1;
                (MACHINES, machine)
            }
            None => (PEOPLE, place),
        };
        let stream = &mut self.streams[kind];
        put_cell(&mut stream.group, &mut stream.next, place, count);
        Ok(())
    }

    /// Closes the current bucket; `following` is the next one that has cells, none after the last.
    fn end_bucket(&mut self, following: Option<Bucket>) -> io::Result<()> {
        let lengths = [PEOPLE, MACHINES].map(|kind| self.streams[kind].group.len() - self.streams[kind].begin);
        self.buckets.push(self.bucket, lengths, &self.sums, self.columns);
        self.sums = Sums::default();
        for kind in [PEOPLE, MACHINES] {
            let stream = &mut self.streams[kind];
            (stream.begin, stream.next) = (stream.group.len(), 0);
            if stream.group.len() >= GROUP {
                self.end_group(kind)?;
            }
        }
        if self.is_worth_a_checkpoint(following) {
            self.put_checkpoint(BY_PATH)?;
        }
        let machines = &self.tables[BY_MACHINE];
        if machines.rows > 0 && (following.is_none() || machines.cells >= (machines.rows as u64).max(8 * FEW)) {
            self.put_checkpoint(BY_MACHINE)?;
        }
        Ok(())
    }

    fn is_worth_a_checkpoint(&self, following: Option<Bucket>) -> bool {
        let Some(following) = following else { return true };
        let (cells, paths) = (self.tables[BY_PATH].cells, u64::from(self.paths));
        let another_day = following.0 / Bucket::A_DAY > self.bucket.0 / Bucket::A_DAY;
        cells >= FEW && (cells >= paths * CELLS_A_PATH || another_day && cells >= paths / PATHS_A_CELL)
    }

    fn put_checkpoint(&mut self, kind: usize) -> io::Result<()> {
        let table = &mut self.tables[kind];
        let bytes = packed::encode(&table.values, table.rows);
        let head = packed::chunks(table.rows) * packed::HEAD;
        let span = Span { checksum: crc32fast::hash(&bytes[..head]), ..self.output.put(&bytes)? };
        table.checkpoints.push(Checkpoint { position: self.buckets.count, span });
        table.cells = 0;
        Ok(())
    }

    fn end_group(&mut self, kind: usize) -> io::Result<()> {
        let stream = &mut self.streams[kind];
        if stream.group.is_empty() {
            return Ok(());
        }
        let span = self.output.put(&stream.group)?;
        stream.groups.push(Group { end: self.buckets.count, span });
        stream.group.clear();
        stream.begin = 0;
        Ok(())
    }
}

fn check_words(paths: &[Arc<str>], clients: &[Arc<Client>], pairs: &[(u32, u32)]) -> io::Result<()> {
    let reach = |count: usize| u32::try_from(count).is_ok_and(|count| count < u32::MAX);
    if !reach(paths.len()) || !reach(clients.len()) || !reach(pairs.len()) {
        return Err(refused("too many words"));
    }
    let in_order = paths.is_sorted_by(|a, b| a < b) && clients.is_sorted_by(|a, b| a < b);
    if !in_order || !pairs.is_sorted_by(|a, b| a < b) {
        return Err(refused("words are not in order"));
    }
    if pairs.iter().any(|&(path, client)| path as usize >= paths.len() || client as usize >= clients.len()) {
        return Err(refused("a pair is of something that is not there"));
    }
    Ok(())
}

fn refused(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why)
}

fn too_many() -> io::Error {
    refused("too many views")
}

struct Output {
    file: PathBuf,
    temporary: PathBuf,
    writer: BufWriter<File>,
    length: u64,
    done: bool,
}

impl Output {
    fn create(file: &Path) -> io::Result<Self> {
        let mut temporary = file.as_os_str().to_owned();
        temporary.push(".tmp");
        let temporary = PathBuf::from(temporary);
        let writer = BufWriter::with_capacity(256 * 1024, File::create(&temporary)?);
        let mut output = Self { file: file.to_owned(), temporary, writer, length: 0, done: false };
        output.put(HEADER)?;
        Ok(output)
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<Span> {
        self.writer.write_all(bytes)?;
        let span = Span { offset: self.length, length: bytes.len() as u64, checksum: crc32fast::hash(bytes) };
        self.length += span.length;
        Ok(span)
    }

    /// Ends the file; answers its length.
    fn finish(&mut self, footer: &[u8]) -> io::Result<u64> {
        debug_assert_eq!(footer.len(), FOOTER);
        self.put(footer)?;
        self.put(footer)?;
        self.writer.flush()?;
        self.writer.get_ref().sync_all()?;
        fs::rename(&self.temporary, &self.file)?;
        self.done = true;
        Ok(self.length)
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if !self.done {
            // Nobody is left to hear of it; what ends in `.tmp` is rubbish anyway.
            let _ = fs::remove_file(&self.temporary);
        }
    }
}
