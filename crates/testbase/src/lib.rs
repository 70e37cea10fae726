//! What the tests of the lowest crates share: a clock, repositories, databases. Nothing here is part of the product.
//! Must not see more than the store, so that a test of the store compiles no server.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot be set up should stop at once"
)]

mod clickhouse;
mod clock;
#[cfg(feature = "databases")]
mod database;
#[cfg(feature = "views")]
pub mod exact;
mod git;

pub use clickhouse::TestClickHouse;
pub use clock::ManualClock;
#[cfg(feature = "databases")]
pub use database::{Backend, Lock, PostgresServer, ServerEnd, TestDatabase, relay};
pub use git::{GitEntry, GitRepo};

/// How long a test waits for something that must happen before it fails; long, because a machine may be busy with
/// others.
pub const PATIENCE: std::time::Duration = std::time::Duration::from_secs(60);

/// Looks until `look` finds something, and fails when that takes too long.
pub async fn eventually<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let deadline = tokio::time::Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(tokio::time::Instant::now() < deadline, "waited in vain until {what}");
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
}
