use copydesk_domain::Timestamp;
use serde::{Deserialize, Serialize};

use crate::Bucket;

/// Something that a store has lost, or is not sure of: its answers are not to be had as if nothing were missing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Loss {
    /// Whose it was; none if it may be anybody's.
    pub project: Option<String>,
    pub of: Lost,
    /// The file that is damaged, below the folder of the store.
    pub file: String,
    /// What happened, in a sentence.
    pub what: String,
    /// When it was found.
    pub found: Timestamp,
    /// The first quarter hour that may be concerned.
    pub from: Bucket,
    /// The first one that is not.
    pub to: Bucket,
    /// How many views are missing, if that is known.
    pub views: Option<u64>,
}

/// What a store has lost, and how often its notes of losses have changed since it was opened: one that was taken back between
/// two looks shows in that.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Losses {
    pub noted: u64,
    pub list: Vec<Loss>,
}

/// What was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Lost {
    /// Views may be missing from what is counted.
    Views,
    /// What was told before may be counted again if it is told again.
    Ids,
}

impl Loss {
    /// Whether an answer about this range is not to be relied on.
    pub fn concerns(&self, project: &str, from: Bucket, to: Bucket) -> bool {
        self.project.as_deref().is_none_or(|own| own == project) && self.from < to && from < self.to
    }

    /// The sentence, with the range and the number of views.
    pub fn sentence(&self) -> String {
        let mut sentence = self.what.clone();
        if self.from > Bucket::MIN || self.to < Bucket::MAX {
            let day = |bucket: Bucket| bucket.begins().to_string();
            sentence.push_str(&match (self.from, self.to) {
                (Bucket::MIN, to) => format!("; before {}", day(to)),
                (from, Bucket::MAX) => format!("; from {} on", day(from)),
                (from, to) => format!("; from {} until {}", day(from), day(to)),
            });
        }
        if let Some(views) = self.views {
            sentence.push_str(&format!("; {views} views"));
        }
        sentence
    }
}
