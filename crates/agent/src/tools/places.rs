//! Which repository a call is about: that of the documentation, or a code source, which is only read.

use copydesk_forge::Workspace;

use super::{ToolAnswer, Unable};
use crate::sources::CodeSources;

/// The files that a path is about.
pub(super) fn files<'a>(
    docs: &'a Workspace,
    sources: &'a CodeSources,
    path: Option<&str>,
) -> Result<&'a Workspace, Unable> {
    sources.files(docs, path).map_err(Unable::Told)
}

/// The answer of a tool that was given no folder, with a word about the code sources that it has not looked at.
pub(super) fn with_note(answer: ToolAnswer, sources: &CodeSources, folder: Option<&str>, what: &str) -> ToolAnswer {
    let is_all = folder.is_none_or(|folder| ["", "."].contains(&folder.trim().trim_end_matches('/')));
    if sources.is_empty() || !is_all {
        return answer;
    }
    answer.map(|text| format!("{}\n({what}: {})", text.trim_end_matches('\n'), sources.prefixes()))
}
