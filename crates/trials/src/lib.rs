//! The programs that measure Copydesk and kill it while it works. Nothing here is part of the product.
#![allow(clippy::panic, clippy::unwrap_used, reason = "a trial that cannot be set up should stop at once")]

mod args;
pub mod bench;
mod clickhouse;
mod connection;
mod figures;
pub mod load;
mod process;
mod product;
mod seeded;
pub mod torture;
