//! Where a log comes from, and what it is packed in.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub enum Source {
    File(PathBuf),
    Stdin,
    /// Anything else, which can be read only once.
    Reader {
        name: String,
        reader: Box<dyn Read + Send>,
    },
}

impl Source {
    pub fn name(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Stdin => "-".to_owned(),
            Self::Reader { name, .. } => name.clone(),
        }
    }

    /// Its bytes on disk.
    pub(super) fn size(&self) -> Option<u64> {
        match self {
            Self::File(path) => std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file).map(|file| file.len()),
            _ => None,
        }
    }
}

/// A log's bytes, unpacked.
pub(super) type Bytes = Box<dyn Read + Send>;

/// What a last line is that has no end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LastLine {
    /// It is being written: the log may grow.
    Unfinished,
    /// The log cannot grow: a line, if the format shows that nothing of it is missing.
    IfWhole,
    /// A line, because somebody says so.
    Line,
}

/// Opens a source, and says what its last line is; `read` counts its bytes as they are on disk. A reader is taken out of
/// it.
pub(super) fn open(source: &mut Source, read: &Arc<AtomicU64>) -> io::Result<(Bytes, LastLine, Option<File>)> {
    let stream: Bytes = match source {
        Source::File(path) => {
            let (bytes, last_line, file) = open_file(path, read)?;
            return Ok((bytes, last_line, Some(file)));
        }
        Source::Stdin => Box::new(io::stdin()),
        Source::Reader { reader, .. } => std::mem::replace(reader, Box::new(io::empty())),
    };
    Ok((unpacked(Metered::new(stream, read))?.0, LastLine::IfWhole, None))
}

/// The bytes of a file once more from the start, whatever is now at its path.
pub(super) fn reopen(mut file: &File, read: &Arc<AtomicU64>) -> io::Result<Bytes> {
    file.seek(SeekFrom::Start(0))?;
    Ok(unpacked(Metered::new(Box::new(file.try_clone()?), read))?.0)
}

pub(super) fn open_file(path: &std::path::Path, read: &Arc<AtomicU64>) -> io::Result<(Bytes, LastLine, File)> {
    let file = File::open(path)?;
    let same = file.try_clone()?;
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder"));
    }
    let (bytes, packed) = unpacked(Metered::new(Box::new(file), read))?;
    let grows = metadata.is_file() && !packed;
    Ok((bytes, if grows { LastLine::Unfinished } else { LastLine::IfWhole }, same))
}

/// What is packed says so in its first bytes; names are not to be trusted. Says whether it was.
fn unpacked(mut input: Metered) -> io::Result<(Bytes, bool)> {
    let mut magic = Vec::with_capacity(4);
    (&mut input).take(4).read_to_end(&mut magic)?;
    let input = io::Cursor::new(magic.clone()).chain(input);
    let bytes: Bytes = match magic.as_slice() {
        [0x1f, 0x8b, ..] => Box::new(flate2::bufread::MultiGzDecoder::new(BufReader::with_capacity(PACKED, input))),
        // A frame, or one to be skipped: `pzstd` begins with such.
        [0x28, 0xb5, 0x2f, 0xfd] | [0x50..=0x5f, 0x2a, 0x4d, 0x18] => {
            Box::new(zstd::stream::read::Decoder::with_buffer(BufReader::with_capacity(PACKED, input))?)
        }
        _ => return Ok((Box::new(input), false)),
    };
    Ok((bytes, true))
}

/// What is read at once of a packed file.
const PACKED: usize = 256 * 1024;

/// Counts what goes through.
struct Metered {
    inner: Box<dyn Read + Send>,
    read: Arc<AtomicU64>,
}

impl Metered {
    fn new(inner: Box<dyn Read + Send>, read: &Arc<AtomicU64>) -> Self {
        Self { inner, read: Arc::clone(read) }
    }
}

impl Read for Metered {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.inner.read(buffer)?;
        self.read.fetch_add(length as u64, Ordering::Relaxed);
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn read(bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut source = Source::Reader { name: String::new(), reader: Box::new(io::Cursor::new(bytes.to_vec())) };
        let mut text = Vec::new();
        open(&mut source, &Arc::default())?.0.read_to_end(&mut text)?;
        Ok(text)
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn packing_is_told_by_the_bytes() {
        let zstd = |bytes: &[u8]| zstd::encode_all(bytes, 1).unwrap();
        assert_eq!(read(b"plain").unwrap(), b"plain");
        assert_eq!(read(b"").unwrap(), b"");
        assert_eq!(read(b"\x1f").unwrap(), b"\x1f");
        assert_eq!(read(&[gzip(b"one\n"), gzip(b""), gzip(b"two\n")].concat()).unwrap(), b"one\ntwo\n");
        assert_eq!(read(&[zstd(b"one\n"), zstd(b"two\n")].concat()).unwrap(), b"one\ntwo\n");
        let skipped = [0x50, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 9, 9];
        assert_eq!(read(&[&skipped[..], &zstd(b"one\n")].concat()).unwrap(), b"one\n");
    }

    #[test]
    fn what_is_broken_off_is_an_error() {
        let whole = gzip(&[7; 5000]);
        assert!(read(&whole[..whole.len() - 9]).is_err());
    }
}
