//! Everything Copydesk remembers: projects, keys, jobs, their queue, idempotency, the outbox, sealed secrets.
//!
//! All SQL is here. It is written once, against the small [`conn::Conn`] trait, and runs on SQLite and on
//! PostgreSQL alike; where the two differ, a method of that trait stands between.

mod admission;
mod announce;
mod answers;
mod asks;
mod browsers;
mod changes;
mod conn;
mod connections;
mod control;
mod create;
mod database;
mod deeds;
mod dormancy;
mod ending;
mod error;
mod events;
mod find;
mod finish;
mod first_views;
mod guard;
mod health;
mod hub;
mod identities;
mod invitations;
mod jobs;
mod keys;
mod lanes;
mod lease;
mod marks;
mod migrate;
mod moving;
mod outbox;
mod people;
mod postgres;
mod projects;
mod pull_state;
mod pulls;
mod queue;
mod relocate;
mod retention;
mod rounds;
mod rows;
mod secrets;
mod sessions;
mod snapshot;
mod sources;
mod sqlite;
mod upkeep;
mod vault;
mod waiting;
mod webhooks;
mod words;

pub use admission::{Admission, Idempotency};
pub use answers::Answer;
pub use asks::{AskState, Asked, Grant};
pub use changes::Changes;
pub use control::CancelError;
pub use create::NewJob;
pub use database::{DatabaseAddress, Store};
pub use deeds::DeedFilter;
pub use dormancy::Dormancy;
pub use error::StoreError;
pub use events::{Course, Event, NewEvent};
pub use finish::{Finish, Finished, Retry};
pub use first_views::ViewsSoFar;
pub use health::{Health, PageHealth};
pub use hub::Change;
pub use identities::{Identity, Introduction, Recognised};
pub use invitations::{Entrance, Guest, Invitation, NewInvitation, Taken};
pub use jobs::{Brief, JobFilter, PullFilter};
pub use keys::{Access, NewKey};
pub use lease::{Beat, Lease, LeaseError, LeaseLost};
pub use moving::{MoveHold, MoveNote, MoveState};
pub use outbox::{FannedOut, OutboxEntry};
pub use people::{Indispensable, NewUser};
pub use projects::{NewProject, ProjectChange};
pub use pulls::{LocalPull, Merging, NewPull, Permit, Publishing, Revoking};
pub use queue::{Claimed, QueueDepth, QueueState, QueueTerms};
pub use relocate::{Copied, compare_rows, copy_rows};
pub use rounds::{Change as JobChange, Edit, Merged, Round, Step, Verdict};
pub use secrets::{Rotated, SecretName, SecretRecord};
pub use sessions::{NewSession, Session, Visit};
pub use snapshot::{Snapshot, look_at_snapshot};
pub use sources::{NamedCommit, NewSource, RangeAt, RoundSources, SourceAdded, SourceAt, SourceState};
pub use upkeep::Reaped;
pub use vault::{Held, MAX_SECRET_BYTES, Vault, VaultError};
pub use webhooks::{
    Added, After, Attempt, Backlog, Blame, DeliveryFilter, DueDelivery, DueEndpoint, NewEndpoint, WebhookDelivery,
    WebhookEndpoint,
};
