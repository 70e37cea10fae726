use copydesk_agent::seated;
use copydesk_forge::{CommitId, ForgeError, ForgeErrorKind};

use crate::runner::Failure;

/// Runs something that reads and writes files where it holds nobody up: heartbeats must go on meanwhile.
pub(super) async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let done = seated(|_| work()).await;
    done.unwrap_or_else(|_| Err(Failure::Retry("the work on the repository crashed".to_owned())))
}

pub(super) fn commit_id(text: &str) -> Result<CommitId, Failure> {
    text.parse().map_err(|_| Failure::Fatal(format!("{text:?} is not the id of a commit.")))
}

impl From<ForgeError> for Failure {
    fn from(error: ForgeError) -> Self {
        match error.kind {
            ForgeErrorKind::Passing => Self::Retry(error.message),
            ForgeErrorKind::Away => Self::Away(error.message),
            ForgeErrorKind::Lasting | ForgeErrorKind::Moved => Self::Fatal(error.message),
        }
    }
}

/// A repository that cannot be read now may be readable later.
impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::Retry(format!("the repository cannot be read: {error}"))
    }
}
