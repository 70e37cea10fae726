use std::io;
use std::ops::Range;

use gix_object::Kind as ObjectKind;
use imara_diff::{Algorithm, Diff, Hunk, InternedInput};

use super::{Content, DiffKind, FileSummary, Load, Pair, Side, rename};
use crate::objects::id_of;

/// How many lines are shown around a change.
const CONTEXT: u32 = 3;

/// One file of a difference: its text and how many lines were added and removed.
pub(super) fn file(pair: &Pair, load: Load) -> io::Result<(Vec<u8>, FileSummary)> {
    let old_path = pair.old_path.as_deref().unwrap_or(&pair.path);
    let read = |side: &Option<Side>| match side {
        Some(side) => side.content.bytes(load),
        None => Ok(Some(Vec::new())),
    };
    let (old, new) = (read(&pair.old)?, read(&pair.new)?);
    let mut text = format!("diff --git {} {}\n", quoted("a/", old_path), quoted("b/", &pair.path)).into_bytes();
    let kind = header(&mut text, pair, old_path, (old.as_deref(), new.as_deref()))?;
    let mut summary =
        FileSummary { path: pair.path.clone(), old_path: pair.old_path.clone(), added: 0, removed: 0, kind };
    let names = (
        if pair.old.is_some() { quoted("a/", old_path) } else { "/dev/null".to_owned() },
        if pair.new.is_some() { quoted("b/", &pair.path) } else { "/dev/null".to_owned() },
    );
    match (old, new) {
        (Some(old), Some(new)) if !is_binary(&old) && !is_binary(&new) => {
            (summary.added, summary.removed) = lines(&mut text, &names, &old, &new);
        }
        (old, new) if old.is_none() || old != new => {
            text.extend_from_slice(format!("Binary files {} and {} differ\n", names.0, names.1).as_bytes());
        }
        _ => {}
    }
    Ok((text, summary))
}

/// What is different between two states of a file that are at hand, without its modes and ids.
pub(super) fn texts(pair: &Pair) -> String {
    let old_path = pair.old_path.as_deref().unwrap_or(&pair.path);
    let name = |side: &Option<Side>, prefix, path| match side {
        Some(_) => quoted(prefix, path),
        None => "/dev/null".to_owned(),
    };
    let mut text = Vec::new();
    if pair.old_path.is_some() {
        let moved = format!("rename from {}\nrename to {}\n", quoted("", old_path), quoted("", &pair.path));
        text.extend_from_slice(moved.as_bytes());
    }
    let names = (name(&pair.old, "a/", old_path), name(&pair.new, "b/", &pair.path));
    let bytes = |side: &'_ Option<Side>| match side {
        Some(Side { content: Content::Bytes(bytes), .. }) => bytes.clone(),
        _ => Vec::new(),
    };
    lines(&mut text, &names, &bytes(&pair.old), &bytes(&pair.new));
    String::from_utf8_lossy(&text).into_owned()
}

/// The lines between `diff --git` and the content: modes, renames, ids.
fn header(
    text: &mut Vec<u8>,
    pair: &Pair,
    old_path: &str,
    (old, new): (Option<&[u8]>, Option<&[u8]>),
) -> io::Result<DiffKind> {
    let mut add = |line: String| text.extend_from_slice(format!("{line}\n").as_bytes());
    let mut common_mode = String::new();
    let kind = match (&pair.old, &pair.new) {
        (None, Some(new)) => {
            add(format!("new file mode {:06o}", new.mode));
            DiffKind::Added
        }
        (Some(old), None) => {
            add(format!("deleted file mode {:06o}", old.mode));
            DiffKind::Deleted
        }
        (Some(a), Some(b)) => {
            if a.mode == b.mode {
                common_mode = format!(" {:06o}", a.mode);
            } else {
                add(format!("old mode {:06o}", a.mode));
                add(format!("new mode {:06o}", b.mode));
            }
            if pair.old_path.is_some() {
                add(format!("similarity index {}%", rename::percent(old.unwrap_or_default(), new.unwrap_or_default())));
                add(format!("rename from {}", quoted("", old_path)));
                add(format!("rename to {}", quoted("", &pair.path)));
                DiffKind::Renamed
            } else {
                DiffKind::Changed
            }
        }
        (None, None) => DiffKind::Changed,
    };
    let (old, new) = (short_id(pair.old.as_ref(), old)?, short_id(pair.new.as_ref(), new)?);
    if old != new {
        add(format!("index {old}..{new}{common_mode}"));
    }
    Ok(kind)
}

fn short_id(side: Option<&Side>, bytes: Option<&[u8]>) -> io::Result<String> {
    let id = match (side.map(|side| &side.content), bytes) {
        (Some(Content::Blob(id)), _) => id.to_string(),
        (Some(Content::Bytes(_)), Some(bytes)) => id_of(ObjectKind::Blob, bytes)?.to_string(),
        _ => "0".repeat(40),
    };
    Ok(id.chars().take(10).collect())
}

/// Whether git would take it for binary: a NUL near the beginning.
fn is_binary(bytes: &[u8]) -> bool {
    bytes.iter().take(8000).any(|byte| *byte == 0)
}

/// Writes the hunks and gives how many lines were added and removed.
fn lines(text: &mut Vec<u8>, names: &(String, String), old: &[u8], new: &[u8]) -> (u32, u32) {
    if old == new {
        return (0, 0);
    }
    // A tab ends a name with a space in it, or `patch` would cut it there.
    let end = |name: &str| if name.contains(' ') && !name.starts_with('"') { "\t" } else { "" };
    let (a, b) = (names.0.as_str(), names.1.as_str());
    text.extend_from_slice(format!("--- {a}{}\n+++ {b}{}\n", end(a), end(b)).as_bytes());
    let input = InternedInput::new(old, new);
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_lines(&input);
    let hunks: Vec<Hunk> = diff.hunks().collect();
    let printer = Printer { input: &input };
    for group in groups(&hunks) {
        printer.group(text, group);
    }
    (diff.count_additions(), diff.count_removals())
}

/// Changes whose context would touch are shown together.
fn groups(hunks: &[Hunk]) -> impl Iterator<Item = &[Hunk]> {
    hunks.chunk_by(|a, b| b.before.start.saturating_sub(a.before.end) <= 2 * CONTEXT)
}

struct Printer<'a> {
    input: &'a InternedInput<&'a [u8]>,
}

impl Printer<'_> {
    fn group(&self, text: &mut Vec<u8>, hunks: &[Hunk]) {
        let (Some(first), Some(last)) = (hunks.first(), hunks.last()) else {
            return;
        };
        let lead = first.before.start.min(CONTEXT);
        let tail = (self.input.before.len() as u32).saturating_sub(last.before.end).min(CONTEXT);
        let before = first.before.start - lead..last.before.end + tail;
        let after = first.after.start - lead..last.after.end + tail;
        text.extend_from_slice(format!("@@ -{} +{} @@\n", position(&before), position(&after)).as_bytes());
        let mut at = before.start;
        for hunk in hunks {
            self.old_lines(text, b' ', at..hunk.before.start);
            self.old_lines(text, b'-', hunk.before.clone());
            for index in hunk.after.clone() {
                self.line(text, b'+', self.input.interner[self.input.after[index as usize]]);
            }
            at = hunk.before.end;
        }
        self.old_lines(text, b' ', at..before.end);
    }

    fn old_lines(&self, text: &mut Vec<u8>, sign: u8, range: Range<u32>) {
        for index in range {
            self.line(text, sign, self.input.interner[self.input.before[index as usize]]);
        }
    }

    fn line(&self, text: &mut Vec<u8>, sign: u8, line: &[u8]) {
        text.push(sign);
        text.extend_from_slice(line);
        if !line.ends_with(b"\n") {
            text.extend_from_slice(b"\n\\ No newline at end of file\n");
        }
    }
}

/// First line and number of lines as git writes them: lines count from 1, but nothing begins after the line above.
fn position(range: &Range<u32>) -> String {
    match range.len() {
        0 => format!("{},0", range.start),
        1 => format!("{}", range.start + 1),
        length => format!("{},{length}", range.start + 1),
    }
}

/// A path as git writes it: in quotes, with escapes, if it holds a quote, a backslash or a control character.
fn quoted(prefix: &str, path: &str) -> String {
    if !path.contains(|c: char| c.is_ascii_control() || matches!(c, '"' | '\\')) {
        return format!("{prefix}{path}");
    }
    let mut text = format!("\"{prefix}");
    for c in path.chars() {
        match c {
            '"' | '\\' => text.extend(['\\', c]),
            '\n' => text.push_str("\\n"),
            '\t' => text.push_str("\\t"),
            c if c.is_ascii_control() => text.push_str(&format!("\\{:03o}", u32::from(c))),
            c => text.push(c),
        }
    }
    text + "\""
}
