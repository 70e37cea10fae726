use copydesk_forge::PastQuestion;

use super::schema::tool_input;
use super::{LONGEST_ANSWER, bounded, input};
use crate::said::{Call, Ran};
use crate::sources::CodeSources;

/// The tool that looks into the history; whoever has that runs it.
pub(crate) const HISTORY: &str = History::TOOL;

tool_input! {
    /// Shows the newest 60 commits of the repository, or of a code source: id, date, author and subject; or with
    /// `commit`, what that one changed.
    History as "history" {
        /// Only commits that touched this file or folder; `@NAME/src` in a code source.
        path: Option<String>,
        /// Only commits that brought this text in or took it out.
        text: Option<String>,
        commit: Option<String>,
    }
}

/// What a call asks, and of which code source if it is one; or what the model is told if it does not fit.
pub(crate) fn question(call: &Call, sources: &CodeSources) -> Result<(Option<String>, PastQuestion), Ran> {
    let asked: History = input(HISTORY, &call.arguments).map_err(|text| Ran { text, ok: false, valid: false })?;
    let given = |text: Option<String>| text.map(|it| it.trim().to_owned()).filter(|it| !it.is_empty());
    let text = asked.text.filter(|text| !text.is_empty());
    if text.as_ref().is_some_and(|text| text.len() > 500 || text.contains('\0')) {
        let text = "Error: the text must have at most 500 bytes and no NUL".to_owned();
        return Err(Ran { text, ok: false, valid: true });
    }
    let (path, commit) = (given(asked.path), given(asked.commit));
    let Some((source, rest)) = path.as_deref().and_then(|path| sources.at(path)) else {
        return Ok((None, PastQuestion { path, text, commit }));
    };
    let unread = |why: String| Ran { text: format!("Error: {why}"), ok: false, valid: true };
    source.files().map_err(unread)?;
    let path = given(Some(rest.to_owned()));
    Ok((Some(source.about.name.clone()), PastQuestion { path, text, commit }))
}

/// What the model is told.
pub(crate) fn answered(answer: Result<String, String>) -> Ran {
    match answer {
        Ok(text) if text.trim().is_empty() => Ran { text: "No commits.".to_owned(), ok: true, valid: true },
        Ok(text) => Ran { text: bounded(text, LONGEST_ANSWER), ok: true, valid: true },
        Err(why) => Ran { text: bounded(format!("Error: {why}"), LONGEST_ANSWER), ok: false, valid: true },
    }
}
