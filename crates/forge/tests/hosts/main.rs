//! The clients of code hosts against small servers that follow a script.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should stop at once")]

mod abilities;
mod app;
mod kinds;
mod opening;
mod patience;
mod redirects;
mod server;
mod tls;
