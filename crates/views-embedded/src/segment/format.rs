//! How a segment's file is laid out: a header, cells and checkpoints as they came, dictionaries and directories, and a
//! footer of fixed length that says where those are. The footer is there twice, so that one damage does not cost it; files of
//! earlier versions have it once.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use copydesk_views::Bucket;

use super::codec::Input;
use super::{COLUMNS, Info, SegmentError};
use crate::disk::is_lasting;

/// Begins a file. The number is that of the format.
pub(super) const HEADER: &[u8; 16] = b"copydesk-views-1";
pub(super) const FOOTER: usize = 64 + SECTIONS * 20 + 4;
const SECTIONS: usize = Section::ALL.len();

/// What there is one of in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Section {
    Paths,
    Clients,
    Pairs,
    /// Views of each client.
    Totals,
    Buckets,
    PeopleGroups,
    MachineGroups,
    Checkpoints,
    MachineCheckpoints,
}

impl Section {
    const ALL: [Self; 9] = [
        Self::Paths,
        Self::Clients,
        Self::Pairs,
        Self::Totals,
        Self::Buckets,
        Self::PeopleGroups,
        Self::MachineGroups,
        Self::Checkpoints,
        Self::MachineCheckpoints,
    ];
}

/// A piece of a file and its checksum.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) offset: u64,
    pub(super) length: u64,
    pub(super) checksum: u32,
}

/// What is known of a segment as soon as it is open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Footer {
    /// Its `bytes` are not in the file, but are those of the file.
    pub(super) info: Info,
    /// How many quarter hours have views.
    pub(super) buckets: u32,
    /// How many pairs are of people.
    pub(super) people: u32,
    /// How many are of machines.
    pub(super) machines: u32,
    /// Which columns there are, a bit each.
    pub(super) columns: u32,
    /// Whether a figure needs more than 32 bits.
    pub(super) wide: bool,
    sections: [Span; SECTIONS],
}

impl Footer {
    pub(super) fn new(info: Info, buckets: u32, people: u32, machines: u32, columns: Columns, wide: bool) -> Self {
        Self { info, buckets, people, machines, columns: columns.0, wide, sections: [Span::default(); SECTIONS] }
    }

    pub(super) fn section(&self, section: Section) -> Span {
        self.sections[section as usize]
    }

    pub(super) fn sections(&self) -> impl Iterator<Item = Span> {
        self.sections.into_iter()
    }

    pub(super) fn set(&mut self, section: Section, span: Span) {
        self.sections[section as usize] = span;
    }

    pub(super) fn columns(&self) -> Columns {
        Columns(self.columns)
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let info = &self.info;
        let mut out = Vec::with_capacity(FOOTER);
        for value in [info.cells, info.views] {
            out.extend_from_slice(&value.to_le_bytes());
        }
        let small = [info.first.0, info.last.0, info.paths, info.clients, self.buckets, self.people, self.machines];
        for value in small.into_iter().chain([self.columns, u32::from(self.wide), 0, 0, 0]) {
            out.extend_from_slice(&value.to_le_bytes());
        }
        for span in self.sections {
            out.extend_from_slice(&span.offset.to_le_bytes());
            out.extend_from_slice(&span.length.to_le_bytes());
            out.extend_from_slice(&span.checksum.to_le_bytes());
        }
        out.extend_from_slice(&crc32fast::hash(&out).to_le_bytes());
        out
    }

    /// Reads it; `bytes` is the length of the file.
    pub(super) fn from_bytes(footer: &[u8; FOOTER], bytes: u64) -> Option<Self> {
        let (content, checksum) = footer.split_last_chunk()?;
        if crc32fast::hash(content) != u32::from_le_bytes(*checksum) {
            return None;
        }
        let mut input = Input(content);
        let (cells, views) = (input.u64()?, input.u64()?);
        let (first, last) = (Bucket(input.u32()?), Bucket(input.u32()?));
        let (paths, clients) = (input.u32()?, input.u32()?);
        let info = Info { first, last, cells, views, bytes, paths, clients };
        let (buckets, people, machines) = (input.u32()?, input.u32()?, input.u32()?);
        let (columns, wide) = (input.u32()?, input.u32()? != 0);
        input.take(12)?;
        let mut sections = [Span::default(); SECTIONS];
        for span in &mut sections {
            *span = Span { offset: input.u64()?, length: input.u64()?, checksum: input.u32()? };
        }
        let footer = Self { info, buckets, people, machines, columns, wide, sections };
        footer.is_sound().then_some(footer)
    }

    /// Whether it could be true. Everything that is counted takes at least a byte, so that no count can ask for more
    /// memory than the file has bytes, a few times.
    fn is_sound(&self) -> bool {
        let fits = |count: u32, section: Section| u64::from(count) <= self.section(section).length;
        let is_inside = |span: &Span| span.offset.checked_add(span.length).is_some_and(|end| end <= self.info.bytes);
        self.columns < 1 << COLUMNS
            && self.sections.iter().all(is_inside)
            && fits(self.info.paths, Section::Paths)
            && fits(self.info.clients, Section::Clients)
            && fits(self.buckets, Section::Buckets)
            && self.people.checked_add(self.machines).is_some_and(|pairs| fits(pairs, Section::Pairs))
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Columns(u32);

impl Columns {
    pub(super) fn insert(&mut self, column: usize) {
        self.0 |= 1 << column;
    }

    pub(super) fn count(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Those that are there, in order.
    pub(super) fn iter(self) -> impl Iterator<Item = usize> {
        (0..COLUMNS).filter(move |column| self.0 >> column & 1 == 1)
    }

    /// Which of those that are there it is.
    pub(super) fn place(self, column: usize) -> Option<usize> {
        self.iter().position(|other| other == column)
    }
}

/// An open file and its name, for what must be said of it.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) name: PathBuf,
    file: File,
    length: u64,
}

impl Source {
    /// Opens a file and reads what it says of itself.
    pub(super) fn open(name: &Path) -> Result<(Self, Footer), SegmentError> {
        let (source, footer) = Self::open_damaged(name)?;
        let mut header = [0; HEADER.len()];
        source.fill(&mut header, 0)?;
        if header != *HEADER {
            return Err(source.damaged("it does not begin like a segment"));
        }
        Ok((source, footer))
    }

    /// Opens a file that may be damaged, but not in what it says of itself.
    pub(super) fn open_damaged(name: &Path) -> Result<(Self, Footer), SegmentError> {
        let file = File::open(name).map_err(|error| unreadable(name, error))?;
        let length = file.metadata()?.len();
        let source = Self { name: name.to_owned(), file, length };
        let footer = match source.footer(1)? {
            None => source.footer(2)?,
            last => last,
        };
        let footer = footer.ok_or_else(|| source.damaged("its end is not readable"))?;
        Ok((source, footer))
    }

    /// The last footer, or the one before it; none if it is damaged.
    pub(super) fn footer(&self, from_the_end: u64) -> Result<Option<Footer>, SegmentError> {
        let mut footer = [0; FOOTER];
        let Some(begin) = self.length.checked_sub(from_the_end * FOOTER as u64) else { return Ok(None) };
        match self.fill(&mut footer, begin) {
            Err(SegmentError::Damaged { .. }) => Ok(None),
            read => read.map(|()| Footer::from_bytes(&footer, self.length)),
        }
    }

    pub(super) fn damaged(&self, what: &str) -> SegmentError {
        SegmentError::damaged(&self.name, what)
    }

    /// The bytes from `offset` on; they must be inside the file, whatever a directory says.
    pub(super) fn bytes(&self, offset: u64, length: u64) -> Result<Vec<u8>, SegmentError> {
        if offset.checked_add(length).is_none_or(|end| end > self.length) {
            return Err(self.damaged("something should be beyond its end"));
        }
        let mut bytes = vec![0; length as usize];
        self.fill(&mut bytes, offset)?;
        Ok(bytes)
    }

    /// The bytes of a span, if its checksum is right.
    pub(super) fn span(&self, span: Span, what: &str) -> Result<Vec<u8>, SegmentError> {
        let bytes = self.bytes(span.offset, span.length)?;
        if crc32fast::hash(&bytes) != span.checksum {
            return Err(self.damaged(what));
        }
        Ok(bytes)
    }

    fn fill(&self, bytes: &mut [u8], offset: u64) -> Result<(), SegmentError> {
        self.file.read_exact_at(bytes, offset).map_err(|error| unreadable(&self.name, error))
    }
}

/// What an error says of a file.
fn unreadable(file: &Path, error: io::Error) -> SegmentError {
    let what = match error.kind() {
        io::ErrorKind::UnexpectedEof => "it is too short",
        io::ErrorKind::NotFound => "it is not there",
        _ if is_lasting(&error) => "the disk cannot read it",
        _ => return SegmentError::Io(error),
    };
    SegmentError::damaged(file, what)
}
