//! From what a collector sends to hits: events of servers, Plausible's events, log drains. Text in, requests out; nothing
//! here knows of HTTP, of keys or of signatures.
//!
//! A body is unpacked ([`unpack`]), cut into its items ([`items`]), and every item is read by itself, so that one bad item
//! costs nobody else anything.

pub mod cloudflare;
mod event;
mod item;
mod items;
mod netlify;
mod packed;
pub mod plausible;
mod text;
mod vercel;

pub use event::server_event;
pub use item::{Item, Mistake};
pub use items::{BodyError, Form, items};
pub use netlify::netlify_line;
pub use packed::{Packing, UnpackError, unpack};
pub use vercel::vercel_line;

#[cfg(test)]
mod properties;
