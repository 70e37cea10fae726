//! Forge against the real git program, in temporary folders and without anybody's configuration.

mod commit;
mod diff;
mod hardening;
mod mirror;
mod push;
mod sandbox;
mod sharing;
