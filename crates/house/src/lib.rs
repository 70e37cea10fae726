//! How the code is laid out, held against the code: modules of a crate form no circle, and a crate imports only from the
//! floors below it. The tests of this crate are all that it is for.
//!
//! A module and its own parts are one thing: an arrow between a module and what is inside it, in either direction, is
//! allowed. Every other arrow counts for the two siblings that it leads out of and into, so that `a::x` using `b::y` is
//! an arrow from `a` to `b`. Among the parts of any one module the arrows must form no circle.
//!
//! Names are followed through `use` to where they are defined, so that nothing is hidden by a re-export. What cannot be
//! seen without types is a method called on a value whose type was named elsewhere.
#![allow(clippy::panic, clippy::unwrap_used, reason = "what cannot be read must fail the test at once")]

mod arrows;
mod circles;
mod floors;
mod names;
mod source;

pub use circles::circles;
pub use floors::broken_floors;
