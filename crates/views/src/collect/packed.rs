//! Bodies that come compressed. What they unpack to is bounded, not what they claim.

use std::io::Read;

use flate2::read::MultiGzDecoder;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packing {
    /// `gzip`
    Gzip,
    /// `zstd`
    Zstd,
}

/// Why a body could not be unpacked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UnpackError {
    /// It unpacks to more than is taken.
    #[error("it unpacks to too much")]
    TooLarge,
    /// It is not what it says, or breaks off.
    #[error("it cannot be unpacked")]
    Damaged,
}

/// A zstd frame may ask for a window of gigabytes to unpack a few bytes; this is what it gets: 8 MiB.
const WINDOW: u32 = 23;

impl Packing {
    /// What a `Content-Encoding` names: none for `identity`, an error for one that is not known.
    pub fn named(encoding: &str) -> Option<Option<Self>> {
        match encoding.trim().to_ascii_lowercase().as_str() {
            "" | "identity" => Some(None),
            "gzip" | "x-gzip" => Some(Some(Self::Gzip)),
            "zstd" => Some(Some(Self::Zstd)),
            _ => None,
        }
    }

    /// How bytes look that nobody has put a name to. Neither beginning is that of JSON.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [0x1f, 0x8b, ..] => Some(Self::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Self::Zstd),
            _ => None,
        }
    }
}

/// Unpacks a body of at most `limit` bytes.
pub fn unpack(packing: Packing, bytes: &[u8], limit: usize) -> Result<Vec<u8>, UnpackError> {
    match packing {
        Packing::Gzip => read(MultiGzDecoder::new(bytes), limit),
        Packing::Zstd => {
            let mut decoder = zstd::stream::read::Decoder::with_buffer(bytes).map_err(|_| UnpackError::Damaged)?;
            decoder.window_log_max(WINDOW).map_err(|_| UnpackError::Damaged)?;
            read(decoder, limit)
        }
    }
}

fn read(from: impl Read, limit: usize) -> Result<Vec<u8>, UnpackError> {
    let mut unpacked = Vec::new();
    let bound = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    from.take(bound).read_to_end(&mut unpacked).map_err(|_| UnpackError::Damaged)?;
    if unpacked.len() > limit { Err(UnpackError::TooLarge) } else { Ok(unpacked) }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(bytes).unwrap();
        packer.finish().unwrap()
    }

    #[test]
    fn bodies_unpack_up_to_the_limit() {
        let bytes = vec![b'x'; 1000];
        for (packing, packed) in [(Packing::Gzip, gzip(&bytes)), (Packing::Zstd, zstd::encode_all(&*bytes, 1).unwrap())]
        {
            assert_eq!(Packing::of(&packed), Some(packing));
            assert_eq!(unpack(packing, &packed, 1000).unwrap(), bytes);
            assert_eq!(unpack(packing, &packed, 999), Err(UnpackError::TooLarge));
            assert_eq!(unpack(packing, &packed[..packed.len() / 2], 1000), Err(UnpackError::Damaged));
            assert_eq!(unpack(packing, b"nonsense", 1000), Err(UnpackError::Damaged));
        }
        let twice = [gzip(b"a"), gzip(b"b")].concat();
        assert_eq!(unpack(Packing::Gzip, &twice, 10).unwrap(), b"ab");
    }

    #[test]
    fn encodings_by_name() {
        assert_eq!(Packing::named(" GZIP"), Some(Some(Packing::Gzip)));
        assert_eq!(Packing::named("identity"), Some(None));
        assert_eq!(Packing::named("br"), None);
        assert_eq!(Packing::named("gzip, gzip"), None);
    }
}
