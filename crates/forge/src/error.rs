use std::io;

/// Why something with git or a code host did not work, said so that a user can act on it. Holds no credential.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ForgeError {
    /// What kind of trouble it is.
    pub trouble: Trouble,
    /// One sentence for the user.
    pub message: String,
}

/// Kinds of trouble.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// It may work later: unreachable, timed out, busy, disk full.
    Passing,
    /// It will not work until somebody changes something.
    Lasting,
    /// The branch is not where it was expected: somebody else has pushed.
    Moved,
}

impl ForgeError {
    /// It may work later.
    pub fn passing(message: impl Into<String>) -> Self {
        Self { trouble: Trouble::Passing, message: message.into() }
    }

    /// It will not work until somebody changes something.
    pub fn lasting(message: impl Into<String>) -> Self {
        Self { trouble: Trouble::Lasting, message: message.into() }
    }

    /// The branch is not where it was expected.
    pub fn moved(message: impl Into<String>) -> Self {
        Self { trouble: Trouble::Moved, message: message.into() }
    }

    /// The mirror cannot be read or written. What the operating system says may hold paths; our own words do not.
    pub(crate) fn from_io(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::passing("the disk is full"),
            io::ErrorKind::Other | io::ErrorKind::FileTooLarge => Self::passing(error.to_string()),
            kind => Self::passing(format!("the mirror of the repository cannot be used: {kind}")),
        }
    }
}
