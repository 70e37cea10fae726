//! Every answer of a view store, held against a list of events that is looked through for every question. The same for every
//! way to keep views.

mod model;
mod play;
mod strategy;

use proptest::prelude::ProptestConfig;

pub use play::{Keeper, play};
pub use strategy::{Step, steps};

/// A few cases, unless more are asked for with `PROPTEST_CASES`.
pub fn config(cases: u32) -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(cases);
    ProptestConfig { cases, max_shrink_iters: 300, failure_persistence: None, ..ProptestConfig::default() }
}
