//! What a model can do: each tool is a function of the workspace, the code sources at the commits that the round has
//! recorded, and its input. It sees nothing else, so it does the same again when a round is done again after a crash. Errors are sentences for the model; every answer is bounded.

mod change;
mod edit;
mod list;
mod moving;
mod past;
mod places;
mod range;
mod read;
mod refusal;
mod replace;
mod schema;
mod search;
mod select;
mod session;
#[cfg(test)]
mod source_tests;
#[cfg(test)]
mod tests;
mod undo;

use std::io;
use std::sync::LazyLock;

use copydesk_checks::Scope;
use copydesk_domain::TRACE_TARGET;
use copydesk_forge::{Refusal, Workspace};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::review::Review;
use crate::said::{Call, Ran};
use crate::sources::CodeSources;
use crate::text::{head, short};
pub(crate) use past::{HISTORY, answered, question};
pub(crate) use range::{SOURCE_DIFF, range_answered, range_question};
pub(crate) use session::{FINISH, LONGEST_SUMMARY, list_findings, plan_items, read_finish};

/// The most bytes of a tool's answer.
const LONGEST_ANSWER: usize = 30_000;

/// What a model is told about a tool.
#[derive(Debug, Clone)]
pub(crate) struct Definition {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) schema: Value,
}

/// Why a tool does not do something.
#[derive(Debug)]
pub(crate) enum Unable {
    /// A sentence for the model.
    Told(String),
    /// The repository cannot be read; no fault of the model.
    Unreadable(io::Error),
}

impl From<Refusal> for Unable {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Refused(sentence) => Self::Told(sentence),
            Refusal::Unreadable(error) => Self::Unreadable(error),
        }
    }
}

impl From<io::Error> for Unable {
    fn from(error: io::Error) -> Self {
        Self::Unreadable(error)
    }
}

fn told<T>(sentence: impl Into<String>) -> Result<T, Unable> {
    Err(Unable::Told(sentence.into()))
}

/// What the model is told.
type ToolAnswer = Result<String, Unable>;

/// All tools, in the order in which a model is told about them.
pub(crate) fn definitions(has_sources: bool) -> Vec<Definition> {
    let mut all = vec![
        list::ListFiles::definition(),
        search::Search::definition(),
        read::ReadFile::definition(),
        read::ReadFiles::definition(),
        edit::EditFile::definition(),
        replace::ReplaceInFiles::definition(),
        change::WriteFile::definition(),
        moving::MoveFile::definition(),
        moving::DeleteFile::definition(),
        undo::RestoreFile::definition(),
        undo::ShowDiff::definition(),
        past::History::definition(),
        session::CheckDocs::definition(),
        session::Plan::definition(),
        session::Finish::definition(),
    ];
    // Last, so that the rest is cached alike.
    all.extend(has_sources.then(range::SourceDiff::definition));
    all
}

/// The tools that change nothing: however many of them run at once, each says what it would say alone. `check_docs` is not
/// among them because it keeps every processor busy by itself.
const LOOKING: [&str; 6] = [
    list::ListFiles::TOOL,
    search::Search::TOOL,
    read::ReadFile::TOOL,
    read::ReadFiles::TOOL,
    undo::ShowDiff::TOOL,
    HISTORY,
];

/// The span of a call. What a model calls that is no tool may be any text of anybody, and is not named.
pub(crate) fn span(call: &Call) -> tracing::Span {
    static NAMES: LazyLock<Vec<&'static str>> =
        LazyLock::new(|| definitions(true).iter().map(|tool| tool.name).collect());
    if !tracing::enabled!(target: TRACE_TARGET, tracing::Level::INFO) {
        return tracing::Span::none();
    }
    let name = NAMES.iter().find(|name| **name == call.name).copied().unwrap_or("unknown");
    tracing::info_span!(target: TRACE_TARGET, "tool call", copydesk.tool = name)
}

/// Whether a call may run beside others like it.
pub(crate) fn only_looks(call: &Call) -> bool {
    LOOKING.contains(&call.name.as_str())
}

/// Runs a call. An error means that the repository cannot be read.
pub(crate) fn run(
    workspace: &mut Workspace,
    sources: &CodeSources,
    call: &Call,
    scope: &Scope,
    review: &dyn Review,
) -> io::Result<Ran> {
    if let Some(why) = refusal::refusal(call, sources) {
        return Ok(Ran { text: format!("Error: {why}"), ok: false, valid: true });
    }
    let most = scope.max_files;
    let done = match call.name.as_str() {
        _ if only_looks(call) => return look(workspace, sources, call),
        edit::EditFile::TOOL => with(call, |input| edit::run(workspace, input, most)),
        replace::ReplaceInFiles::TOOL => with(call, |input| replace::run(workspace, &input, most)),
        change::WriteFile::TOOL => with(call, |input| change::write(workspace, input, most)),
        moving::MoveFile::TOOL => with(call, |input| moving::rename(workspace, &input, scope, review)),
        moving::DeleteFile::TOOL => with(call, |input| moving::delete(workspace, &input, most, review)),
        undo::RestoreFile::TOOL => with(call, |input| undo::restore(workspace, &input)),
        session::CheckDocs::TOOL => with(call, |input| session::check(workspace, &input, review)),
        session::Plan::TOOL => with(call, |input| session::plan(&input)),
        _ => Err(unknown(&call.name)),
    };
    outcome(call, done)
}

/// Runs one of those.
pub(crate) fn look(workspace: &Workspace, sources: &CodeSources, call: &Call) -> io::Result<Ran> {
    if let Some(why) = refusal::refusal(call, sources) {
        return Ok(Ran { text: format!("Error: {why}"), ok: false, valid: true });
    }
    let done = match call.name.as_str() {
        list::ListFiles::TOOL => with(call, |input: list::ListFiles| {
            let folder = input.folder.as_deref();
            let listed = list::run(places::files(workspace, sources, folder)?, &input);
            places::with_note(listed, sources, folder, "code sources, which can be listed too")
        }),
        search::Search::TOOL => with(call, |input: search::Search| {
            let folder = input.folder.as_deref();
            let found = search::run(places::files(workspace, sources, folder)?, &input);
            places::with_note(found, sources, folder, "not searched: the code sources; name one as `folder`")
        }),
        read::ReadFile::TOOL => {
            with(call, |input: read::ReadFile| read::run(places::files(workspace, sources, Some(&input.path))?, &input))
        }
        read::ReadFiles::TOOL => with(call, |input| read::several(workspace, sources, &input)),
        undo::ShowDiff::TOOL => with(call, |input| undo::diff(workspace, &input)),
        _ => Err(unknown(&call.name)),
    };
    outcome(call, done)
}

/// What the model is told of a call.
fn outcome(call: &Call, done: Result<ToolAnswer, String>) -> io::Result<Ran> {
    let is_reading = [read::ReadFile::TOOL, read::ReadFiles::TOOL].contains(&call.name.as_str());
    let longest = if is_reading { read::LONGEST_ANSWER } else { LONGEST_ANSWER };
    match done {
        Err(text) => Ok(Ran { text: bounded(text, longest), ok: false, valid: false }),
        Ok(Ok(text)) => Ok(Ran { text: bounded(text, longest), ok: true, valid: true }),
        Ok(Err(Unable::Told(text))) => {
            Ok(Ran { text: bounded(format!("Error: {text}"), longest), ok: false, valid: true })
        }
        Ok(Err(Unable::Unreadable(error))) => Err(error),
    }
}

/// Reads the input of a tool and runs it; says what is wrong with the input if it does not fit.
fn with<T: DeserializeOwned>(call: &Call, run: impl FnOnce(T) -> ToolAnswer) -> Result<ToolAnswer, String> {
    input(&call.name, &call.arguments).map(run)
}

fn input<T: DeserializeOwned>(name: &str, arguments: &Value) -> Result<T, String> {
    match arguments {
        Value::Object(_) => T::deserialize(arguments).map_err(|error| {
            format!("Error: the arguments of `{name}` do not fit: {}.", short(&error.to_string(), 300))
        }),
        Value::Null => T::deserialize(json!({})).map_err(|error| {
            format!("Error: the arguments of `{name}` do not fit: {}.", short(&error.to_string(), 300))
        }),
        Value::String(raw) => {
            Err(format!("Error: the arguments of `{name}` are not a JSON object. They begin with: {}", short(raw, 200)))
        }
        _ => Err(format!("Error: the arguments of `{name}` are not a JSON object.")),
    }
}

fn unknown(name: &str) -> String {
    let names: Vec<&str> = definitions(true).iter().map(|definition| definition.name).collect();
    format!("Error: there is no tool `{}`. The tools are: {}.", short(name, 60), names.join(", "))
}

fn bounded(text: String, most: usize) -> String {
    if text.len() <= most { text } else { format!("{}\n(cut off here: too long)", head(&text, most)) }
}

/// A folder as the workspace wants it: no `./`, no slash at the end, empty for everything.
fn folder_of(text: Option<&str>) -> Result<String, Unable> {
    let text = text.unwrap_or_default().trim();
    let parts: Vec<&str> = text.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    if parts.contains(&"..") || text.len() > 1024 || text.contains('\0') {
        return told(format!("{:?} leaves the repository", short(text, 200)));
    }
    Ok(parts.join("/"))
}

/// Matches paths by a glob. One without a slash is about names, wherever they are.
fn glob_of(pattern: &str) -> Result<globset::GlobMatcher, Unable> {
    let pattern = pattern.trim().trim_start_matches("./").trim_start_matches('/');
    if pattern.len() > 500 {
        return told("the pattern has more than 500 bytes");
    }
    let whole = if pattern.contains('/') { pattern.to_owned() } else { format!("**/{pattern}") };
    globset::GlobBuilder::new(&whole)
        .literal_separator(true)
        .build()
        .map(|glob| glob.compile_matcher())
        .map_err(|error| Unable::Told(format!("{:?} is not a glob: {}", short(pattern, 100), error.kind())))
}
