//! The contract through HTTP. Each behaviour is written once and tried on SQLite and on PostgreSQL; the client holds
//! every answer against the server's own description, so a test only says what is special about its own.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should stop at once")]

/// Makes a test of each behaviour on each database: `errors::postgres::wrong_method_names_the_allowed_ones`.
macro_rules! behaviours {
    ($threads:expr; $($name:ident),* $(,)?) => {
        behaviours!(sqlite, Sqlite, $threads; $($name),*);
        behaviours!(postgres, Postgres, $threads; $($name),*);
    };
    ($module:ident, $backend:ident, $threads:expr; $($name:ident),*) => {
        mod $module {
            $(#[test]
            fn $name() {
                crate::stage::run(copydesk_testkit::Backend::$backend, $threads, super::$name);
            })*
        }
    };
    ($($name:ident),* $(,)?) => { behaviours!(2; $($name),*); };
}

mod admin;
mod auth;
mod budgets;
mod cancel_archive;
mod collect;
mod create;
mod credentials;
mod docs_jobs;
mod errors;
mod events;
mod failures;
mod hosts;
mod idempotency;
mod limits;
mod log;
mod mcp;
mod message;
mod model_jobs;
mod operation;
mod page_views;
mod read_and_list;
mod requests;
mod retention;
mod running;
mod sockets;
mod sources;
mod stage;
mod stopping;
mod stories;
mod webhooks;
