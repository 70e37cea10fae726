use std::io;

/// Why something with git or a code host did not work, said so that a user can act on it. Holds no credential.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ForgeError {
    pub kind: ForgeErrorKind,
    /// One sentence for the user.
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForgeErrorKind {
    /// It may work later: busy, disk full, something that broke down in the middle.
    Passing,
    /// The code host is not there, or asks to be left alone for a while: worth waiting for, also for long.
    Away,
    /// It will not work until somebody changes something.
    Lasting,
    /// The branch is not where it was expected: somebody else has pushed.
    Moved,
}

impl ForgeError {
    pub fn passing(message: impl Into<String>) -> Self {
        Self { kind: ForgeErrorKind::Passing, message: message.into() }
    }

    pub fn away(message: impl Into<String>) -> Self {
        Self { kind: ForgeErrorKind::Away, message: message.into() }
    }

    pub fn lasting(message: impl Into<String>) -> Self {
        Self { kind: ForgeErrorKind::Lasting, message: message.into() }
    }

    pub fn moved(message: impl Into<String>) -> Self {
        Self { kind: ForgeErrorKind::Moved, message: message.into() }
    }

    /// Whether it may work later, be it that one has to wait for that.
    pub fn may_pass(&self) -> bool {
        matches!(self.kind, ForgeErrorKind::Passing | ForgeErrorKind::Away)
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

/// Why the workspace does not do something; a sentence for whoever asked, be it a person or a model.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// It is not allowed, or there is no such file.
    #[error("{0}")]
    Refused(String),
    #[error("the repository cannot be read: {0}")]
    Unreadable(#[from] io::Error),
}
