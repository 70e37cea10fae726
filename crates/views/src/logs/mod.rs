//! Logs of web servers: their formats, reading them once, and following them.

mod cloudfront;
mod common;
mod entry;
mod format;
mod json;
mod template;
mod text;
mod time;

pub use entry::{Entry, Line};
pub use format::{Format, Parser};
pub use template::{Template, TemplateError};
