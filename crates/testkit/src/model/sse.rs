//! How an answer is cut up on its way.

use bytes::Bytes;

/// How many characters a model says at a time.
const PIECE: usize = 40;

/// How many bytes go out at a time. No multiple of anything, so that events, lines and characters are cut anywhere, as
/// they are on a network.
const PACKET: usize = 211;

/// A text in the pieces that a stream brings it in.
pub(super) fn pieces(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    characters.chunks(PIECE).map(|piece| piece.iter().collect()).collect()
}

pub(super) fn packets(bytes: Vec<u8>) -> Vec<Bytes> {
    let bytes = Bytes::from(bytes);
    (0..bytes.len()).step_by(PACKET).map(|at| bytes.slice(at..bytes.len().min(at + PACKET))).collect()
}

/// The first `after` bytes, but never so many that the answer would be whole: the last two events are kept back.
pub(super) fn beginning(events: &[String], after: usize) -> Vec<u8> {
    let mut bytes: Vec<u8> = events[..events.len().saturating_sub(2)].concat().into_bytes();
    bytes.truncate(after);
    bytes
}

/// Whole events of at least `after` bytes, if there are so many, for what can only stand between two events.
pub(super) fn whole_events(events: &[String], after: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    for event in &events[..events.len().saturating_sub(2)] {
        if bytes.len() >= after {
            break;
        }
        bytes.extend_from_slice(event.as_bytes());
    }
    bytes
}
