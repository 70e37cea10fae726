use copydesk_forge::{Range, is_kept_back};

use super::schema::tool_input;
use super::select::not_shown;
use super::{LONGEST_ANSWER, bounded, input};
use crate::range_text::{commits, one_file, told};
use crate::said::{Call, Ran};
use crate::sources::{CodeSources, RangeQuestion};

/// The tool that compares two commits of a code source; whoever has its history runs it.
pub(crate) const SOURCE_DIFF: &str = SourceDiff::TOOL;

/// The most bytes about the commits that changed one file.
const LONGEST_COMMITS: usize = 3_000;

tool_input! {
    /// Shows what leads from one commit of a code source to another: commits, pull requests, and the difference. Where
    /// that is too much, the largest files are left out: name one with `path`.
    SourceDiff as "source_diff" {
        /// The name of the code source.
        source: String,
        /// The earlier commit: a tag or an id. By default that which the request is about.
        from: Option<String>,
        /// The later commit. By default that which the request is about, or the one that the source is read at.
        to: Option<String>,
        /// Only this file or folder of the source.
        path: Option<String>,
        /// The first line of the difference to show, if `path` is a file.
        from_line: Option<u32>,
    }
}

/// What a call asks, and from which line on it wants to be answered; or what the model is told if it does not fit.
pub(crate) fn range_question(call: &Call, sources: &CodeSources) -> Result<(RangeQuestion, Option<u32>), Ran> {
    let asked: SourceDiff =
        input(SOURCE_DIFF, &call.arguments).map_err(|text| Ran { text, ok: false, valid: false })?;
    let wrong = |text: String| Ran { text: bounded(format!("Error: {text}"), LONGEST_ANSWER), ok: false, valid: true };
    let Some(source) = sources.named(&asked.source) else {
        let has = match sources.is_empty() {
            true => "this project has none".to_owned(),
            false => format!("there are {}", sources.prefixes()),
        };
        let name = crate::text::short(&asked.source, 60);
        return Err(wrong(format!("there is no code source {name:?}; {has}")));
    };
    source.files().map_err(wrong)?;
    let given = |text: Option<String>| text.map(|it| it.trim().to_owned()).filter(|it| !it.is_empty());
    let path = given(asked.path).map(|path| match sources.at(&path) {
        Some((there, rest)) if there.about.name == source.about.name => rest.to_owned(),
        _ => path.trim_start_matches("./").trim_matches('/').to_owned(),
    });
    if let Some(path) = path.as_deref().filter(|path| is_kept_back(path)) {
        return Err(wrong(not_shown(path)));
    }
    let question = RangeQuestion {
        source: source.about.name.clone(),
        from: given(asked.from),
        to: given(asked.to),
        path: path.filter(|path| !path.is_empty() && path != "."),
    };
    Ok((question, asked.from_line))
}

/// What the model is told.
pub(crate) fn range_answered(answer: Result<Range, String>, asked: &RangeQuestion, from_line: Option<u32>) -> Ran {
    let room = LONGEST_ANSWER - 1_000;
    let text = match (answer, &asked.path) {
        (Err(why), _) => {
            return Ran { text: bounded(format!("Error: {why}"), LONGEST_ANSWER), ok: false, valid: true };
        }
        (Ok(range), Some(path)) if range.files.is_empty() && range.truncated => format!(
            "Nothing was seen to be different in {path:?}, but more files differ than are looked at: it cannot be told whether \
             that is all. Ask for a shorter range."
        ),
        (Ok(range), Some(path)) if range.files.is_empty() => format!("Nothing is different in {path:?}."),
        (Ok(range), Some(_)) if range.files.len() == 1 => {
            let by = if from_line.is_none() { commits(&range, LONGEST_COMMITS) } else { String::new() };
            by + &one_file(&range.files[0], from_line.map_or(1, |line| line as usize), room - LONGEST_COMMITS)
        }
        (Ok(range), _) => told(&range, room),
    };
    Ran { text: bounded(text, LONGEST_ANSWER), ok: true, valid: true }
}
