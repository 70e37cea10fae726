//! Copydesk over HTTP, and nothing else: what can be done is in `copydesk_desk`.
//!
//! A request goes route → [`auth`] (who asks, for which project) → parsed into domain types → one call of the
//! desk or the store → a view struct. What can go wrong on the way is a [`problem::Problem`].

pub mod api;
mod app;
mod auth;
mod body;
mod edge;
mod large_bodies;
mod pages;
mod problem;
mod serve;

pub use app::{App, Limits};
pub use serve::{Served, serve};
