use copydesk_forge::{ForgeError, Trouble};

use crate::runner::Failure;

impl From<ForgeError> for Failure {
    fn from(error: ForgeError) -> Self {
        match error.trouble {
            Trouble::Passing => Self::Retry(error.message),
            Trouble::Lasting | Trouble::Moved => Self::Fatal(error.message),
        }
    }
}

/// A repository that cannot be read now may be readable later.
impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::Retry(format!("the repository cannot be read: {error}"))
    }
}
