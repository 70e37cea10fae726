use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::Hit;

/// What an item of a body turned out to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item<'a> {
    Hit(Hit<'a>),
    /// Something else that such a log also has: a line of a build, of a function's output.
    Other,
    /// Nothing that can be read.
    Wrong(Mistake),
}

/// What is wrong with an item.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{error}")]
pub struct Mistake {
    /// For programs: `invalid_json`, `invalid_event`.
    pub code: &'static str,
    /// For people, without a full stop.
    pub error: String,
}

/// How much of what a client sent is repeated to it.
const SHOWN: usize = 200;

impl Mistake {
    pub(super) fn event(error: impl Into<String>) -> Self {
        Self { code: "invalid_event", error: error.into() }
    }

    /// What serde says, bounded and without its line numbers, which count within the item.
    pub(super) fn json(error: &serde_json::Error) -> Self {
        let code = if error.is_data() { "invalid_event" } else { "invalid_json" };
        let plain = |c: char| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c };
        let text = error.to_string();
        let text = text.rsplit_once(" at line ").map_or(text.as_str(), |(text, _)| text);
        let (found, expected) = match text.rsplit_once(", expected ") {
            Some((found, name)) if name.starts_with("struct ") => (found, ", expected an object"),
            Some((found, "u16")) => (found, ", expected a number from 0 to 65535"),
            _ => (text, ""),
        };
        let error = found.chars().take(SHOWN - expected.len()).map(plain).chain(expected.chars()).collect();
        Self { code, error }
    }
}

/// Reads the fields of an item, which is `what`. serde would also take a list of the fields' values.
pub(super) fn fields<'a, T: Deserialize<'a>>(item: &'a [u8], what: &str) -> Result<T, Mistake> {
    if item.first() == Some(&b'{') {
        return serde_json::from_slice(item).map_err(|error| Mistake::json(&error));
    }
    Err(match serde_json::from_slice::<IgnoredAny>(item) {
        Ok(_) => Mistake::event(format!("{what} is a JSON object")),
        Err(error) => Mistake::json(&error),
    })
}
