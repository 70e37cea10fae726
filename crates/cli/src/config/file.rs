//! Settings from `copydesk.toml`.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::given::Given;
use super::load::{EVERYTHING, Loader};
use super::origin::Origin;
use super::settings::{is_section, position};
use super::sources::Sources;

const DEFAULT_FILE: &str = "copydesk.toml";
const FILE_VARIABLE: &str = "COPYDESK_CONFIG";

/// Reads the configuration file, if there is one.
pub(super) fn read(loader: &mut Loader, sources: &Sources) {
    let (path, named_by) = locate(sources);
    let problem = match std::fs::read(sources.working_dir.join(&path)) {
        Ok(bytes) => return decode(loader, &path, bytes),
        Err(error) if error.kind() == ErrorKind::NotFound && named_by.is_none() => return,
        _ if path.as_os_str().is_empty() => "has no name".to_owned(),
        Err(error) if error.kind() == ErrorKind::NotFound => "does not exist".to_owned(),
        Err(error) => format!("cannot be read: {error}"),
    };
    let named_by = named_by.map(|origin| format!(" ({origin})")).unwrap_or_default();
    let line = format!("the configuration file \"{}\" {problem}{named_by}", path.display());
    loader.error_line(EVERYTHING, line);
}

/// The path as it was given, and what gave it.
fn locate(sources: &Sources) -> (PathBuf, Option<Origin>) {
    if let Some(path) = &sources.config_file {
        return (path.clone(), Some(Origin::Flag("--config")));
    }
    let variable = sources.environment.iter().rfind(|(name, _)| name == FILE_VARIABLE);
    match variable {
        Some((_, path)) => (PathBuf::from(path), Some(Origin::Environment(FILE_VARIABLE.to_owned()))),
        None => (PathBuf::from(DEFAULT_FILE), None),
    }
}

fn decode(loader: &mut Loader, path: &Path, bytes: Vec<u8>) {
    match String::from_utf8(bytes) {
        Ok(text) => parse(loader, path, &text),
        Err(error) => {
            let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            syntax_error(loader, path, line_after(valid), "the file is not valid UTF-8");
        }
    }
}

fn parse(loader: &mut Loader, path: &Path, text: &str) {
    let line = |offset: usize| line_after(text.as_bytes().get(..offset).unwrap_or_default());
    let (table, errors) = DeTable::parse_recoverable(text);
    if errors.is_empty() {
        let mut found = Vec::new();
        collect(table.get_ref(), "", &mut found);
        // The table is sorted by name; errors should follow the file.
        found.sort_by_key(|entry| entry.offset);
        for Entry { key, offset, value } in found {
            let origin =
                |item: Option<usize>| Origin::File { path: path.to_owned(), line: line(item.unwrap_or(offset)) };
            loader.set_key(&key, Given::Toml(value), &origin);
        }
        return;
    }
    let mut errors: Vec<_> =
        errors.iter().map(|error| (line(error.span().unwrap_or_default().start), error.message())).collect();
    errors.sort_by_key(|(line, _)| *line);
    // Further mistakes of a line mostly follow from the first.
    errors.dedup_by_key(|(line, _)| *line);
    for (line, message) in errors {
        syntax_error(loader, path, line, message);
    }
}

/// The parser's messages hold no text of the file.
fn syntax_error(loader: &mut Loader, path: &Path, line: usize, message: &str) {
    loader.error_line(EVERYTHING, format!("{} line {line}: {message}", path.display()));
}

/// A key with its value, below all tables that are not values themselves.
struct Entry<'a> {
    key: String,
    offset: usize,
    value: &'a DeValue<'a>,
}

fn collect<'a>(table: &'a DeTable<'a>, section: &str, found: &mut Vec<Entry<'a>>) {
    for (name, value) in table {
        let part = written_key(name.get_ref());
        let key = if section.is_empty() { part } else { format!("{section}.{part}") };
        match value.get_ref() {
            // A setting written as a table is one wrong value, not unknown keys.
            DeValue::Table(inner) if position(&key).is_none() && !inner.is_empty() => collect(inner, &key, found),
            DeValue::Table(_) if is_section(&key) => {}
            value => found.push(Entry { key, offset: Spanned::span(name).start, value }),
        }
    }
}

/// One part of a key as it must be written, so that a quoted `"a.b"` is never
/// taken for `b` in the section `a`.
pub(super) fn written_key(part: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !part.is_empty() && part.chars().all(bare) { part.to_owned() } else { format!("{part:?}") }
}

/// Line, from 1, of what follows these bytes.
fn line_after(bytes: &[u8]) -> usize {
    1 + bytes.iter().filter(|byte| **byte == b'\n').count()
}
