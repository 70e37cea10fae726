//! The harness of the tests: the server in this process, and fakes of everything outside. Nothing here is part of the
//! product.
#![allow(clippy::panic, clippy::unwrap_used, reason = "a test that cannot be set up should stop at once")]

mod app;
mod client;
mod conformance;
mod editor;
mod gate;
pub mod hosts;
pub mod model;
mod project;
pub mod provider;
mod receiver;
mod seen;
mod views;
mod wire;

pub use app::{Setup, TestApp, forge};
pub use client::{Answer, Call, Client, EventStream, StreamedEvent};
pub use conformance::Description;
pub use copydesk_testbase::{
    Backend, GitEntry, GitRepo, Lock, ManualClock, PATIENCE, TestClickHouse, TestDatabase, eventually,
};
pub use editor::{EditorGate, TestEditor};
pub use gate::{GateEngine, Held};
pub use project::{ProjectClient, TestKey};
pub use receiver::{Received, Receiver, Reply};
pub use seen::{Who, see};
pub use views::TestViews;
pub use wire::Wire;
