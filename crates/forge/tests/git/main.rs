//! Forge against the real git program, in temporary folders and without anybody's configuration.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should stop at once")]

mod commit;
mod diff;
mod hardening;
mod merge;
mod mirror;
mod push;
mod sandbox;
mod sharing;
mod sources;
mod ssh;
mod upkeep;
