//! Docs checks: text in, findings out. Reads Markdown and MDX with positions, navigation files and front matter; knows
//! which paths a change may touch; compares what it finds with the base, so that only new breakage counts.

mod files;
mod finding;
pub mod page;

pub use files::Files;
pub use finding::{Check, Finding};
