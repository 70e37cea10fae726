//! Everything Copydesk remembers: projects, keys, jobs, their queue, idempotency, the outbox, sealed secrets.
//!
//! All SQL is here. It is written once, against the small [`conn::Conn`] trait, and runs on SQLite and on
//! PostgreSQL alike; where the two differ, a method of that trait stands between.

mod admission;
mod answers;
mod conn;
mod error;
mod events;
mod hub;
mod jobs;
mod keys;
mod lease;
mod migrate;
mod outbox;
mod postgres;
mod projects;
mod pull_state;
mod pulls;
mod queue;
mod rounds;
mod secrets;
mod sqlite;
mod upkeep;
mod vault;
mod webhooks;

use std::path::PathBuf;
use std::sync::Arc;

use copydesk_domain::{Clock, Timestamp};
use futures_util::future::BoxFuture;

pub use admission::{Admission, Idempotency};
pub use answers::Answer;
pub use error::StoreError;
pub use events::Event;
pub use hub::{Change, Changes};
pub use jobs::{JobFilter, NewJob};
pub use keys::{Access, NewKey};
pub use lease::{Claimed, Finish, Finished, Lease, LeaseLost, Pulse, Retry};
pub use outbox::{FannedOut, OutboxEntry};
pub use projects::{NewProject, ProjectChange};
pub use pulls::{LocalPull, NewPull, Permit, Publishing};
pub use queue::{QueueDepth, QueueTerms};
pub use rounds::{Edit, Merged, NewEvent, Round, Step, Verdict};
pub use secrets::{Rotated, SecretName, SecretRecord};
pub use upkeep::Reaped;
pub use vault::{Held, MAX_SECRET_BYTES, Vault, VaultError};
pub use webhooks::{
    Added, After, Attempt, Backlog, Blame, DeliveryFilter, DueDelivery, DueEndpoint, NewEndpoint, WebhookDelivery,
    WebhookEndpoint,
};

use conn::{Conn, Result};

/// Where the database is.
#[derive(Clone)]
pub enum DatabaseAddress {
    /// A file.
    Sqlite(PathBuf),
    /// A `postgres://` address, which may hold a password.
    Postgres {
        /// The address.
        address: String,
        /// How many connections the process may hold.
        connections: u32,
    },
}

/// The database, shared by everything in the process.
#[derive(Clone)]
pub struct Store {
    backend: Arc<Backend>,
    hub: hub::Hub,
    clock: Arc<dyn Clock>,
}

enum Backend {
    Sqlite(sqlite::Sqlite),
    Postgres(postgres::Postgres),
}

impl Store {
    /// Connects. The schema is not looked at; see [`Store::migrate`] and [`Store::check_schema`].
    pub async fn open(address: &DatabaseAddress, clock: Arc<dyn Clock>) -> Result<Self> {
        let hub = hub::Hub::new();
        let backend = match address {
            DatabaseAddress::Sqlite(path) => Backend::Sqlite(sqlite::Sqlite::open(path, hub.clone(), clock.clone())?),
            DatabaseAddress::Postgres { address, connections } => {
                Backend::Postgres(postgres::Postgres::open(address, *connections, hub.clone(), clock.clone()).await?)
            }
        };
        Ok(Self { backend: Arc::new(backend), hub, clock })
    }

    /// Brings the schema up to date and says which versions were added.
    pub async fn migrate(&self) -> Result<Vec<i64>> {
        let now = self.now();
        // Looked at first, so that a start beside a running server needs no write lock.
        if self.check_schema().await.is_ok() {
            return Ok(Vec::new());
        }
        self.write(move |c| Box::pin(migrate::migrate(c, now))).await
    }

    /// An error unless the schema is the one that this program needs.
    pub async fn check_schema(&self) -> Result<()> {
        self.read(|c| Box::pin(migrate::check(c))).await
    }

    /// Whether the database answers and takes writes. Nothing is written.
    pub async fn ping(&self) -> Result<()> {
        self.write(|c| Box::pin(migrate::check_writable(c))).await
    }

    /// Copies the database into a file that must not exist yet, as it is at one moment, while it is in use. False if
    /// it is a server's, which has tools of its own for that.
    pub async fn backup(&self, file: &std::path::Path) -> Result<bool> {
        let Backend::Sqlite(sqlite) = &*self.backend else { return Ok(false) };
        let (from, to) = (sqlite.path().to_owned(), file.to_owned());
        let copied = tokio::task::spawn_blocking(move || sqlite::copy(&from, &to)).await;
        copied.map_err(|error| StoreError::Refused(error.to_string()))?.map(|()| true)
    }

    /// Listens for changes from now on.
    pub fn changes(&self) -> Changes {
        self.hub.subscribe()
    }

    /// The present instant, by the store's clock.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// One transaction. When it is done its changes are on disk, and those who wait have been told.
    async fn write<T, F>(&self, script: F) -> Result<T>
    where
        T: Send + 'static,
        F: for<'c> FnOnce(&'c mut dyn Conn) -> BoxFuture<'c, Result<T>> + Send + 'static,
    {
        match &*self.backend {
            Backend::Sqlite(sqlite) => sqlite.write(script).await,
            Backend::Postgres(postgres) => postgres.write(script).await,
        }
    }

    async fn read<T, F>(&self, script: F) -> Result<T>
    where
        F: for<'c> FnOnce(&'c mut dyn Conn) -> BoxFuture<'c, Result<T>> + Send,
    {
        match &*self.backend {
            Backend::Sqlite(sqlite) => sqlite.read(script),
            Backend::Postgres(postgres) => postgres.read(script).await,
        }
    }
}
