//! The dashboard over HTTP, as a browser without scripts sees it. Each behaviour is tried on SQLite and on PostgreSQL.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should stop at once")]

/// Makes a test of each behaviour on each database.
macro_rules! behaviours {
    ($($name:ident),* $(,)?) => {
        behaviours!(sqlite, Sqlite; $($name),*);
        behaviours!(postgres, Postgres; $($name),*);
    };
    ($module:ident, $backend:ident; $($name:ident),*) => {
        mod $module {
            $(#[test]
            fn $name() {
                crate::stage::run(copydesk_testkit::Backend::$backend, super::$name);
            })*
        }
    };
}

mod access;
mod browser;
mod changes;
mod find;
mod jobs;
mod keys;
mod new;
mod oidc;
mod overview;
mod people;
mod proxy;
mod pulls;
mod server;
mod settings;
mod site_pages;
mod stage;
mod views;
