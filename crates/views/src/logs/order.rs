use std::path::Path;
use std::sync::Arc;

use super::format::{Format, Parser};
use super::head::Head;
use super::line::LogLine;
use super::open::{Source, open_file};

/// Puts the oldest log first, whatever it is called (`access.log`, `access.log.1`, `access.log.2.gz`). What does not
/// tell its time comes last, in the order given.
pub(super) fn oldest_first(sources: Vec<Source>, format: Option<&Format>) -> Vec<Source> {
    if sources.len() < 2 {
        return sources;
    }
    let timed = sources.into_iter().map(|source| (begins(&source, format).unwrap_or(i64::MAX), source));
    let mut timed: Vec<(i64, Source)> = timed.collect();
    timed.sort_by_key(|(at, _)| *at);
    timed.into_iter().map(|(_, source)| source).collect()
}

fn begins(source: &Source, format: Option<&Format>) -> Option<i64> {
    let Source::File(path) = source else { return None };
    let head = head(path)?;
    let format = format.cloned().or_else(|| Format::detect(&head))?;
    let mut parser = Parser::new(&format);
    head.split(|&byte| byte == b'\n').find_map(|line| match parser.parse(line) {
        LogLine::Hit(entry) => Some(entry.at),
        _ => None,
    })
}

fn head(path: &Path) -> Option<Vec<u8>> {
    // A pipe gives its bytes only once.
    if !path.metadata().ok()?.is_file() {
        return None;
    }
    // The beginning of a broken file is good enough.
    Some(Head::of(open_file(path, &Arc::default()).ok()?.0).lines(true))
}
