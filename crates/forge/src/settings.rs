use std::path::PathBuf;
use std::time::Duration;

/// How to work with repositories.
#[derive(Debug, Clone)]
pub struct ForgeSettings {
    /// Where the mirrors are kept.
    pub folder: PathBuf,
    /// How long one git command may take.
    pub time_limit: Duration,
    /// Who commits are written by.
    pub author: Signature,
    /// Who commits are made by.
    pub committer: Signature,
}

/// Who a commit is from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    pub name: String,
    pub email: String,
}
