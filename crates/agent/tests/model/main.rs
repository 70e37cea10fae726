//! The engine `model` against a local server that answers as it is told.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should stop at once")]

mod bulk;
mod desk;
mod failures;
mod looking;
mod loops;
mod replay;
mod requests;
mod stub;
mod trial;
