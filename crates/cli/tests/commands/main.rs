//! The program as its users meet it: the real binary, its output and its exit codes.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops at the first surprise")]

mod budgets;
mod checking;
mod classification;
mod configuration;
mod credential_keys;
mod credentials;
mod damage;
mod deleting;
mod doctor;
mod installing;
mod jobs;
mod leaks;
mod logging;
mod main_branch;
mod mcp;
mod moving;
mod page_views;
mod people;
mod projects_and_keys;
mod remote;
mod restoring;
mod serving;
mod shared_views;
mod sources;
mod support;
mod terminal;
mod traces;
mod webhooks;
