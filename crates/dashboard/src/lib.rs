//! The dashboard: pages for people, on the same calls of `desk` as the interface.
//!
//! A page is a row of the table in [`pages`] (its address and who may see it, which [`access`] sees to), a handler that
//! makes one call of `desk` or `store`, a struct, and a template. Nothing here knows SQL or git.

mod access;
mod assets;
mod chart;
mod dash;
mod diff;
mod errors;
mod escape;
mod form;
mod markdown;
mod once;
mod pages;
mod respond;
mod same_origin;
mod shell;
mod streams;
mod who;
mod words;

pub use access::{Needs, Row};
pub use dash::{Dash, Settings};
pub use pages::{router, rows};
