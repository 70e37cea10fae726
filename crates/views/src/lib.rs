//! Page views: which page was asked for, by whom, where that is kept and what it adds up to.
//!
//! One page view: a [`Hit`] (from a script, a server, a log) → its page ([`page`]) → who asked ([`classify`]) → a
//! durable [`Batch`] → counters ([`store`]). Nothing here knows of HTTP servers or of jobs.

mod batch;
mod bucket;
mod class;
pub mod classify;
mod client;
pub mod collect;
mod crowd;
mod hash;
mod hit;
pub mod intake;
pub mod logs;
pub mod page;
pub mod store;

pub use batch::{Appended, Batch, CountedLines, Followed, Mark, Stretch, View, id_digest};
pub use bucket::Bucket;
pub use class::{Class, CountsAs, Evidence, Verdict};
pub use client::{Channel, Client, Facts, Network};
pub use crowd::{Crowd, CrowdBounds, TooMany};
pub use hit::{BotSignature, Hit};
