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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    pub project: String,
    pub views: Vec<View>,
    /// How far a log has been read with this batch; kept with the views, so that a log is never read twice.
    pub mark: Option<Mark>,
}

/// How far a log has been read.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
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
