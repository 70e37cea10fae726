//! Small files that everything depends on hold their text twice, so that no single damage costs it.

/// A text twice, each time behind a line with its checksum and its length.
pub(super) fn encode(format: &str, body: &[u8]) -> Vec<u8> {
    let mut one = format!("{format} {:08x} {}\n", crc32fast::hash(body), body.len()).into_bytes();
    one.extend_from_slice(body);
    one.push(b'\n');
    one.repeat(2)
}

/// What a file holds twice.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Text<'a> {
    pub(super) body: &'a [u8],
    /// Both are as they were written.
    pub(super) is_whole: bool,
}

/// The text of a file's bytes; none if it is damaged in both places.
pub(super) fn decode<'a>(format: &str, bytes: &'a [u8]) -> Option<Text<'a>> {
    let (first, second) = bytes.split_at(bytes.len() / 2);
    match (one(format, first), one(format, second)) {
        (Some(body), Some(_)) => Some(Text { body, is_whole: true }),
        // A file that was cut is not in two halves, but begins as it did.
        (one_of_both, other) => {
            one_of_both.or(other).or_else(|| one(format, bytes)).map(|body| Text { body, is_whole: false })
        }
    }
}

fn one<'a>(format: &str, bytes: &'a [u8]) -> Option<&'a [u8]> {
    let line = bytes.iter().take(100).position(|byte| *byte == b'\n')?;
    let (head, rest) = (std::str::from_utf8(&bytes[..line]).ok()?, &bytes[line + 1..]);
    let (sum, length) = head.strip_prefix(format)?.strip_prefix(' ')?.split_once(' ')?;
    let body = rest.get(..length.parse().ok()?)?;
    (sum == format!("{:08x}", crc32fast::hash(body))).then_some(body)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn one_flipped_bit_costs_nothing_and_is_seen(body: Vec<u8>, at: prop::sample::Index, bit in 0..8u8) {
            let whole = encode("test 1", &body);
            prop_assert_eq!(decode("test 1", &whole), Some(Text { body: &body, is_whole: true }));
            let mut flipped = whole.clone();
            flipped[at.index(whole.len())] ^= 1 << bit;
            let text = decode("test 1", &flipped).expect("the other is whole");
            prop_assert_eq!(text.body, &body[..]);
            // The line feed behind each is of no account.
            let feeds = [whole.len() / 2 - 1, whole.len() - 1];
            prop_assert!(!text.is_whole || feeds.contains(&at.index(whole.len())));
        }

        #[test]
        fn a_cut_or_foreign_file_is_the_text_or_nothing(body: Vec<u8>, cut: prop::sample::Index, foreign: Vec<u8>) {
            let whole = encode("test 1", &body);
            let cut = &whole[..cut.index(whole.len())];
            prop_assert!(decode("test 1", cut).is_none_or(|text| text.body == &body[..] && !text.is_whole));
            prop_assert_eq!(decode("test 1", &foreign), None);
            prop_assert_eq!(decode("test 2", &whole), None);
        }
    }
}
