/// What is said to whoever writes to a place that is being left, or was. It is part of a statement, so it has no quotes.
pub(crate) const NOTHING_IS_WRITTEN: &str =
    "Copydesk is moving to another database, or has moved: nothing is written here any more";
/// The code that PostgreSQL says it with.
pub(crate) const GUARDED: &str = "CD001";

/// What can go wrong between the program and its database.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// Nobody answers, or the disk does not; trying again later may help.
    #[error("the database cannot be reached: {0}")]
    Unreachable(String),
    /// The database was migrated by a newer program.
    #[error(
        "this database was written by a newer Copydesk: its schema is version {found}, this program knows up to {known}; \
         run the newer program, or restore a backup made before the upgrade"
    )]
    Newer {
        /// The schema version of the database.
        found: i64,
        /// The newest version this program knows.
        known: i64,
    },
    /// Tables are missing or old.
    #[error(
        "this database has schema version {found} and the program needs {known}; run `copydesk migrate` or `copydesk serve`"
    )]
    Older {
        /// The schema version of the database.
        found: i64,
        /// The version this program needs.
        known: i64,
    },
    /// A documentation site that is another project's.
    #[error("the domain {0} belongs to another project")]
    DomainTaken(String),
    /// The address names no kind of database that Copydesk knows.
    #[error("{0}")]
    BadAddress(String),
    /// Nothing goes out of this copy.
    #[error("{0}")]
    Dormant(String),
    /// Everything moves to another database, or has moved there.
    #[error("{0}")]
    Moved(String),
    /// The database refused a statement.
    #[error("the database refused: {0}")]
    Refused(String),
    /// A row does not hold what the program wrote.
    #[error("the database holds something unreadable: {0}")]
    Unreadable(String),
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode::{CannotOpen, DatabaseBusy, DatabaseLocked, DiskFull, ReadOnly, SystemIoFailure};
        // What a guard says; see `guard`.
        if let rusqlite::Error::SqliteFailure(_, Some(said)) = &error
            && said == NOTHING_IS_WRITTEN
        {
            return Self::Moved(said.clone());
        }
        match error.sqlite_error_code() {
            Some(CannotOpen | DatabaseBusy | DatabaseLocked | DiskFull | ReadOnly | SystemIoFailure) => {
                Self::Unreachable(error.to_string())
            }
            _ => Self::Refused(error.to_string()),
        }
    }
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        match &error {
            sqlx::Error::Database(refused) => {
                let code = refused.code().unwrap_or_default();
                if code == GUARDED {
                    return Self::Moved(NOTHING_IS_WRITTEN.to_owned());
                }
                // 08 connection, 53 out of resources, 57P shut down or starting, 28/3D wrong user or database, 25006
                // read-only (a failover), 40 and 55P03 lost to another transaction, 57014 cancelled.
                if ["08", "53", "57P", "28", "3D", "25006", "40", "55P03", "57014"]
                    .iter()
                    .any(|class| code.starts_with(class))
                {
                    Self::Unreachable(refused.message().to_owned())
                } else {
                    Self::Refused(refused.message().to_owned())
                }
            }
            sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_) | sqlx::Error::ColumnNotFound(_) => {
                Self::Unreadable(error.to_string())
            }
            _ => Self::Unreachable(error.to_string()),
        }
    }
}
