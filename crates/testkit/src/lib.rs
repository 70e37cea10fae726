//! What the tests, benches and torture runs of Copydesk share. Nothing here is part of the product.
#![allow(clippy::panic, clippy::unwrap_used, reason = "a test that cannot be set up should stop at once")]

mod app;
pub mod bench;
mod client;
mod clock;
mod conformance;
mod connection;
mod database;
mod editor;
mod figures;
mod gate;
mod git;
pub mod hosts;
pub mod load;
pub mod model;
mod product;
mod project;
mod receiver;
mod seeded;
mod seen;
mod sql;
pub mod torture;
mod views;
mod wire;

pub use app::{Setup, TestApp, TestKey};
pub use client::{Answer, Call, Client, EventStream, StreamedEvent};
pub use clock::ManualClock;
pub use conformance::Description;
pub use database::{Backend, TestDatabase};
pub use editor::{EditorGate, TestEditor};
pub use gate::{GateEngine, Held};
pub use git::{GitEntry, GitRepo};
pub use project::ProjectClient;
pub use receiver::{Received, Receiver, Reply};
pub use seen::{Who, see};
pub use sql::Lock;
pub use views::TestViews;
pub use wire::Wire;

/// How long a test waits for something that must happen before it fails.
pub const PATIENCE: std::time::Duration = std::time::Duration::from_secs(15);

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
