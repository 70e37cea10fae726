//! What the store promises. Each promise is written once and tried on SQLite and on PostgreSQL.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should stop at once")]

/// Makes a test of each behaviour on each database: `queue::sqlite::two_workers_never_hold_one_job`.
macro_rules! behaviours {
    ($threads:expr; $($name:ident),* $(,)?) => {
        behaviours!(sqlite, Sqlite, $threads; $($name),*);
        behaviours!(postgres, Postgres, $threads; $($name),*);
    };
    ($module:ident, $backend:ident, $threads:expr; $($name:ident),*) => {
        mod $module {
            $(#[test]
            fn $name() {
                crate::desk::run(copydesk_testbase::Backend::$backend, $threads, super::$name);
            })*
        }
    };
    ($($name:ident),* $(,)?) => { behaviours!(4; $($name),*); };
}

mod admission;
mod asks;
mod changes;
mod concurrency;
mod connections;
mod control;
mod deliveries;
mod desk;
mod dormancy;
mod events;
mod fencing;
mod find;
mod health;
mod identities;
mod jobs;
mod keys;
mod lease;
mod limits;
mod migrations;
mod model;
mod outbox;
mod people;
mod pooler;
mod projects;
mod pull_state;
mod pulls;
mod queue;
mod random;
mod raw;
mod retention;
mod rounds;
mod secrets;
mod sources;
mod upkeep;
mod webhooks;
