//! Copydesk over HTTP, and the runner that works on its jobs.
//!
//! A request goes route → [`auth`] (who asks, for which project) → parsed into domain types → one call of the
//! store → a view struct. What can go wrong on the way is a [`problem::Problem`].

pub mod api;
mod app;
mod auth;
mod body;
pub mod credentials;
pub mod docs_job;
mod edge;
mod hex;
mod large_bodies;
mod metrics;
mod pages;
mod problem;
pub mod runner;
mod serve;
mod upkeep;
pub mod views;
pub mod webhooks;

pub use app::{App, Limits, Settings};
pub use metrics::Metrics;
pub use serve::{Served, serve};
pub use upkeep::keep_up;
