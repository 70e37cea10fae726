//! Copydesk over HTTP, and nothing else: what can be done is in `copydesk_desk`.
//!
//! A request goes route → [`auth`] (who asks, for which project) → parsed into domain types → one call of the
//! desk or the store → a view struct. What can go wrong on the way is a [`problem::Problem`].

mod admin;
pub mod api;
mod app;
mod auth;
mod beside;
mod bodies;
mod body;
mod connections;
mod edge;
mod large_bodies;
mod operation;
mod own_answers;
mod problem;
mod serve;
mod signal;

pub use admin::AdminListener;
pub use app::{App, Limits};
pub use beside::Pages;
pub use operation::Operation;
pub use serve::{Served, listener, serve};
