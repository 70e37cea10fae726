//! Logs of web servers: their formats, reading them once, and following them.

mod blocks;
mod cloudfront;
mod common;
mod counter;
mod follow;
mod format;
mod head;
mod import;
mod json;
mod known;
mod ledger;
mod line;
mod open;
mod options;
mod order;
mod reader;
mod report;
mod resume;
mod run;
mod siblings;
mod tail;
mod tally;
mod template;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod text;
mod time;
mod workers;

pub use follow::{Follow, Polled};
pub use format::{Format, Parser};
pub use import::import;
pub use line::LogLine;
pub use open::Source;
pub use options::{Cancel, Options};
pub use report::{FileReport, FollowError, Progress, Report, Sample, State};
pub use tally::{NOT_KEPT, Tally};
pub use template::{Template, TemplateError};
