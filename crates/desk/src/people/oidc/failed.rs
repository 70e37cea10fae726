/// Why a sign-in through a provider came to nothing, in words for whoever wanted to sign in.
#[derive(Debug, thiserror::Error)]
pub enum Failed {
    #[error(
        "This sign-in was begun in another browser or more than ten minutes ago, or it is over already. Begin it again."
    )]
    Stale,
    /// The provider said no.
    #[error("{0}")]
    Declined(&'static str),
    #[error(
        "{name} cannot be reached at the moment: {cause}. So nobody is signed in through it. Try again in a moment."
    )]
    Away { name: String, cause: String },
    #[error(
        "{name} answered with something that Copydesk does not accept, so nobody was signed in. The log of the server says \
         what it was."
    )]
    Unfit { name: String, cause: String },
    #[error("Too many people sign in at the moment. Try again in a few seconds.")]
    Busy,
    #[error("Copydesk cannot begin a sign-in at the moment. The log of the server says why.")]
    Broken(String),
}

impl Failed {
    /// What the log says of it; nothing that is not worth a line.
    pub(super) fn cause(&self) -> Option<&str> {
        match self {
            Self::Away { cause, .. } | Self::Unfit { cause, .. } | Self::Broken(cause) => Some(cause),
            Self::Stale | Self::Declined(_) | Self::Busy => None,
        }
    }
}
