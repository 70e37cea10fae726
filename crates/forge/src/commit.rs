use std::fmt;
use std::str::FromStr;

use copydesk_domain::Timestamp;
use gix_hash::ObjectId;
use serde::{Deserialize, Serialize};

/// The id of a commit: 40 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CommitId(pub(crate) ObjectId);

/// What a commit says about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitInfo {
    /// The id of its tree, in hexadecimal.
    pub tree: String,
    /// The commits it builds upon.
    pub parents: Vec<CommitId>,
    pub message: String,
    /// When it was written, to the second.
    pub author_time: Timestamp,
}

/// A text that is no id of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a commit is named by 40 hexadecimal digits")]
pub struct MalformedCommitId;

impl FromStr for CommitId {
    type Err = MalformedCommitId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.len() != 40 {
            return Err(MalformedCommitId);
        }
        ObjectId::from_hex(text.as_bytes()).map(Self).map_err(|_| MalformedCommitId)
    }
}

impl TryFrom<String> for CommitId {
    type Error = MalformedCommitId;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<CommitId> for String {
    fn from(id: CommitId) -> Self {
        id.to_string()
    }
}

impl fmt::Display for CommitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for CommitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_forty_digits() {
        let text = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
        assert_eq!(text.parse::<CommitId>().unwrap().to_string(), text);
        for bad in ["", "4b825dc", &text.replace('4', "g"), &format!("{text}00"), "main"] {
            assert!(bad.parse::<CommitId>().is_err(), "{bad:?}");
        }
    }
}
