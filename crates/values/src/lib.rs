//! Reads what configuration files say: YAML, TOML, JSON, and what is constant in JavaScript and TypeScript, all into one
//! kind of value that knows where it stands. Nothing is run. What only running a script would tell is a value of its
//! own, with the reason, so that one such key does not hide the others.

mod json;
mod script;
mod toml;
mod value;
mod yaml;

pub use json::{json, quoted};
pub use script::{Modules, Statement, exports, is_expression, is_harmless, script, statements, texts};
pub use toml::toml;
pub use value::{Fault, Key, Kind, List, Map, Unknown, Value, What};
pub use yaml::{Characters, yaml};

/// Nothing that people write is nested deeper.
const DEEPEST: usize = 100;
/// More values than these are not read from one file, however they are multiplied.
const MOST_VALUES: usize = 1_000_000;
