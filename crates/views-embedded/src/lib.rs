//! The view store that needs no server: a log for what has just arrived, segments for all the rest.
//!
//! One batch: [`writer`] finds out which of its views are new, writes it to the log ([`wal`], [`record`]), syncs, counts it
//! in the project's table ([`table`]) and answers. [`flush`] turns tables into segments ([`segment`]), [`merge`] makes few
//! segments of many. A project's [`manifest`] says which files count and how much of the log is in them; everything that
//! changes more than the table happens by replacing it. [`answers`] adds segments and tables up. [`sharing`] lets all
//! processes of a machine use one store.

mod answers;
mod backup;
pub mod bulk;
mod changes;
mod crowd;
mod disk;
mod embedded;
mod expiry;
mod files;
mod flush;
mod gate;
mod ids;
mod lines;
mod machines;
mod manifest;
mod merge;
mod notes;
mod overview;
mod project;
mod questions;
mod record;
mod recovery;
mod repair;
mod rewrite;
#[cfg(test)]
mod samples;
mod segment;
mod shared;
mod sharing;
mod table;
#[cfg(test)]
mod tests;
pub mod transfer;
mod twice;
mod verify;
mod view_store;
mod wal;
mod writer;

pub use embedded::{Embedded, OpenError, Options};
pub use sharing::SharedStore;
