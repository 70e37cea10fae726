use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{Bucket, Client};

/// One view, or several that do not differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    pub bucket: Bucket,
    /// The page, in its one form; see [`crate::page`].
    pub path: Arc<str>,
    pub client: Arc<Client>,
    /// How many; at least 1.
    pub count: u32,
    /// The digest of the sender's id; only for a count of 1.
    pub id: Option<u128>,
}

/// Views of one project that become durable together, or not at all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Batch {
    pub project: String,
    pub views: Vec<View>,
    /// How far a log has been read with this batch; kept with the views, so that a log is never read twice.
    pub mark: Option<Mark>,
    /// The lines of the log that were read with this batch, so that they are known in whatever copy they come again.
    pub lines: Vec<Stretch>,
}

/// Lines of a log that follow each other, each by its print: a short digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stretch {
    /// Which log it is, as in its [`Mark`].
    pub log: String,
    /// How many lines of the log are before them.
    pub first: u64,
    #[serde(with = "packed")]
    pub prints: Vec<u16>,
}

impl Stretch {
    /// How far back the stretch is looked for that another one goes on.
    const LOOKED_AT: usize = 64;

    /// The line behind the last one.
    pub fn end(&self) -> u64 {
        self.first + self.prints.len() as u64
    }

    /// Adds it to others; where it goes on where one of them ends, it is one with that.
    pub fn join(self, all: &mut Vec<Self>) {
        let mut last = all.iter_mut().rev().take(Self::LOOKED_AT);
        match last.find(|it| it.log == self.log && it.end() == self.first) {
            Some(before) => before.prints.extend(self.prints),
            None => all.push(self),
        }
    }
}

/// Prints as text, which is shorter than a list of numbers.
mod packed {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD_NO_PAD;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(prints: &[u16], serializer: S) -> Result<S::Ok, S::Error> {
        let bytes: Vec<u8> = prints.iter().flat_map(|print| print.to_le_bytes()).collect();
        serializer.serialize_str(&STANDARD_NO_PAD.encode(bytes))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u16>, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bytes = STANDARD_NO_PAD.decode(text).map_err(D::Error::custom)?;
        Ok(bytes.as_chunks().0.iter().map(|bytes| u16::from_le_bytes(*bytes)).collect())
    }
}

/// What a store knows of the lines that were counted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountedLines {
    /// In the order in which they were counted.
    pub stretches: Vec<Stretch>,
    /// Some of it could not be read: what is missing may be counted again if a copy of it comes.
    pub damaged: bool,
}

/// How far a log has been read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Mark {
    /// Which log it is: made from how it begins. Several logs may begin alike.
    pub log: String,
    pub bytes: u64,
    pub lines: u64,
    /// Digest of all those bytes.
    pub digest: String,
    /// The mark that this one moves on, if it does not begin a log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<String>,
    /// Who follows a log wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub followed: Option<Followed>,
}

/// Where a log is followed, and since when what is written there has not been looked at.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Followed {
    /// The place, as a name that no log has.
    pub place: String,
    /// Files that were last written before this hold nothing new: nanoseconds since 1970, by the clock of the files.
    pub since: i64,
}

/// What became of a batch that is now on disk.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Appended {
    pub counted: u64,
    /// Places in the batch of those that were there before, by their id. In order.
    pub duplicates: Vec<u32>,
}

pub fn id_digest(id: &str) -> u128 {
    xxhash_rust::xxh3::xxh3_128(id.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_go_on_are_one_stretch() {
        let mut all = Vec::new();
        for (log, first, lines) in [("a", 0, 3), ("a", 10, 2), ("a", 3, 4), ("b", 7, 1)] {
            Stretch { log: log.to_owned(), first, prints: vec![7; lines] }.join(&mut all);
        }
        assert_eq!(all.iter().map(|it| (it.first, it.prints.len())).collect::<Vec<_>>(), [(0, 7), (10, 2), (7, 1)]);
    }
}
