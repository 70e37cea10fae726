//! The changed files of a round as they are kept in the store.

use copydesk_forge::FileChange;
use serde::{Deserialize, Serialize};

use crate::runner::Failure;

/// A file as it is after a change. Only text is ever changed.
#[derive(Serialize, Deserialize)]
struct Kept {
    path: String,
    text: Option<String>,
}

pub(super) fn to_bytes(changes: &[FileChange]) -> Result<Vec<u8>, Failure> {
    let keep = |change: &FileChange| {
        let text = change.content.clone().map(String::from_utf8).transpose();
        text.map(|text| Kept { path: change.path.clone(), text })
    };
    let kept = changes.iter().map(keep).collect::<Result<Vec<_>, _>>();
    let kept = kept.map_err(|_| Failure::Fatal("The change holds a file that is not text.".to_owned()))?;
    serde_json::to_vec(&kept).map_err(|error| Failure::Retry(format!("the change cannot be kept: {error}")))
}

pub(super) fn from_bytes(bytes: &[u8]) -> Result<Vec<FileChange>, Failure> {
    let kept: Vec<Kept> = serde_json::from_slice(bytes)
        .map_err(|error| Failure::Fatal(format!("The change that was kept cannot be read: {error}.")))?;
    let change = |kept: Kept| FileChange { path: kept.path, content: kept.text.map(String::into_bytes) };
    Ok(kept.into_iter().map(change).collect())
}
