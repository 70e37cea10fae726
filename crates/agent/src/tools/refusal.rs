//! Calls that would do something else with a code source than read it.

use serde_json::Value;

use super::{list, past, range, read, search};
use crate::said::Call;
use crate::sources::{CodeSources, read_only};

/// The tools that may be given a path of a code source.
const READING: [&str; 6] = [
    list::ListFiles::TOOL,
    search::Search::TOOL,
    read::ReadFile::TOOL,
    read::ReadFiles::TOOL,
    past::HISTORY,
    range::SOURCE_DIFF,
];
/// The arguments of tools that are paths.
const PATHS: [&str; 4] = ["path", "from", "to", "folder"];

/// What the model is told if a call would write into a code source, or do something else there than read.
pub(super) fn refusal(call: &Call, sources: &CodeSources) -> Option<String> {
    if READING.contains(&call.name.as_str()) {
        return None;
    }
    let given = PATHS.iter().filter_map(|name| call.arguments.get(name).and_then(Value::as_str));
    let path = given.into_iter().find(|path| sources.at(path).is_some())?;
    Some(format!(
        "{}. A path of the documentation's own repository that begins so is written with `./` before it",
        read_only(crate::text::head(path, 300))
    ))
}
