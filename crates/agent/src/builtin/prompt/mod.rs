//! Recognises chores in a prompt. What is not recognised fails the whole prompt: nothing is guessed.

mod clauses;
mod new_page;
mod places;
mod reader;
#[cfg(test)]
mod tests;
mod token;

use super::chore::Chore;
use super::words::clip;
use places::Takes;
use reader::Reader;
use token::Token;

/// More chores than anybody writes down in one prompt.
const MOST_CHORES: usize = 100;

/// A prompt that is not a list of chores.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NotUnderstood {
    /// From where on it is not understood; bounded.
    pub(crate) part: String,
    /// What would make it clear, if that is known.
    pub(crate) hint: Option<String>,
}

impl NotUnderstood {
    /// The sentence for the user.
    pub(crate) fn sentence(&self) -> String {
        let hint = self.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
        let part = if self.part.is_empty() { "the prompt".to_owned() } else { format!("“{}”", self.part) };
        format!(
            "The builtin engine does not understand {part}{hint}, so nothing was changed; it knows these chores: replace \
             \"one term\" with \"another\", fix typos, repair broken links and anchors, fill in missing front matter, \
             fix heading levels, and add a page \"Title\" at a path, each for all pages or `in` some files, folders or \
             globs; for anything else configure a model with `[model]` in copydesk.toml."
        )
    }
}

/// The chores of a prompt, in order; at least one.
pub(crate) fn chores(prompt: &str) -> Result<Vec<Chore>, NotUnderstood> {
    let mut reader = Reader::new(prompt);
    let mut chores = Vec::new();
    loop {
        reader.skip_courtesies();
        if reader.peek() == Token::End {
            break;
        }
        chores.extend(sentence(&mut reader)?);
        if chores.len() > MOST_CHORES {
            return Err(reader.refuse(Some("at most 100 chores at once")));
        }
    }
    if chores.is_empty() { Err(reader.refuse(None)) } else { Ok(chores) }
}

/// A chore, and whether the prompt says where it is to be done; none if that does not matter.
struct Found {
    chore: Chore,
    placed: Option<bool>,
}

/// Chores up to the end of a sentence or line. “Fix typos and replace "a" with "b" in docs/x” may mean two things, so
/// that either all chores of a sentence say where, or none does. “In docs/x, …” holds for all of them.
fn sentence(reader: &mut Reader<'_>) -> Result<Vec<Chore>, NotUnderstood> {
    let start = reader.mark();
    let lead = places::details(reader, Takes::Places)?;
    if lead.placed {
        reader.take(Token::Comma);
        reader.skip_courtesies_in_line();
    } else {
        reader.back_to(start);
    }
    let mut found = clauses::clause(reader)?;
    loop {
        reader.skip_trailing_courtesies();
        match reader.peek() {
            Token::End | Token::Stop | Token::Line => break,
            _ if reader.joined() => {
                reader.skip_courtesies_in_line();
                found.extend(clauses::clause(reader)?);
            }
            _ if reader.follows("then") => break,
            _ => return Err(reader.refuse(None)),
        }
    }
    let mut placed = found.iter().filter_map(|one| one.placed);
    let first = placed.next();
    let differ = placed.any(|one| Some(one) != first);
    if differ || (lead.placed && found.iter().any(|one| one.placed != Some(false))) {
        reader.back_to(start);
        return Err(reader.refuse(Some("say for each chore where, or write one sentence for each")));
    }
    let place = |one: Found| if lead.placed { clauses::placed_in(one.chore, lead.scope.clone()) } else { one.chore };
    Ok(found.into_iter().map(place).collect())
}

/// The part of a prompt that is quoted back.
fn quoted_back(rest: &str) -> String {
    let line = rest.lines().next().unwrap_or_default();
    clip(line.trim(), 80)
}
