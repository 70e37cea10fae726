//! What `scripts/bench` prints: how fast the server answers, beside a route that does nothing; how fast it starts and
//! how much memory it takes.

mod api;
mod generator;
mod start;

pub use api::{ApiOptions, bench_api};
pub use start::{StartOptions, bench_start};
