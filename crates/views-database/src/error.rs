//! What the database says, as a view store says it.

use copydesk_views::store::{ViewsError, moving};

/// A question was ended because it took too long.
const CANCELLED: &str = "57014";
/// Two waited for each other, and one of them gave way.
const DEADLOCK: &str = "40P01";

/// The page views move elsewhere, or have moved; see `gate`.
pub(crate) const GUARDED: &str = "CD001";

pub(crate) type Result<T, E = Fault> = std::result::Result<T, E>;

/// Why something was not done.
#[derive(Debug)]
pub(crate) enum Fault {
    Sql(sqlx::Error),
    Views(ViewsError),
    /// ClickHouse does not answer; another of its servers may.
    Away(String),
}

impl Fault {
    /// Whether the same may well work if it is done again at once.
    pub(crate) fn is_passing(&self) -> bool {
        matches!(self, Self::Sql(sqlx::Error::Database(it)) if it.code().as_deref() == Some(DEADLOCK))
    }

    pub(crate) fn is_away(&self) -> bool {
        matches!(self, Self::Away(_))
    }

    /// Nothing was kept, or there is no answer now.
    pub(crate) fn unavailable(why: impl Into<String>) -> Self {
        Self::Views(ViewsError::Unavailable(why.into()))
    }

    /// What is in the database is not what this program writes there.
    pub(crate) fn unreadable(what: &str, error: impl std::fmt::Display) -> Self {
        Self::Views(ViewsError::Damaged(format!("{what} in the database cannot be understood: {error}")))
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Sql(error) => error.fmt(f),
            Self::Views(error) => error.fmt(f),
            Self::Away(why) => f.write_str(why),
        }
    }
}

impl From<sqlx::Error> for Fault {
    fn from(error: sqlx::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<ViewsError> for Fault {
    fn from(error: ViewsError) -> Self {
        Self::Views(error)
    }
}

impl From<Fault> for ViewsError {
    fn from(fault: Fault) -> Self {
        let error = match fault {
            Fault::Views(error) => return error,
            Fault::Away(why) => return Self::Unavailable(why),
            Fault::Sql(error) => error,
        };
        if let sqlx::Error::Database(it) = &error
            && it.code().as_deref() == Some(GUARDED)
        {
            return moving::closed();
        }
        Self::Unavailable(match &error {
            sqlx::Error::Database(it) if it.code().as_deref() == Some(CANCELLED) => {
                "the question about page views took the database too long".to_owned()
            }
            sqlx::Error::Database(it) => format!("the database refused: {}", it.message()),
            sqlx::Error::PoolTimedOut => "the database is busy, or cannot be reached".to_owned(),
            sqlx::Error::PoolClosed => "the page views are closed".to_owned(),
            // Nothing of the address is in it, which may hold a password.
            error => format!("the database cannot be reached: {error}"),
        })
    }
}
