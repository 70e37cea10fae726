//! The lines of a file, one below the other or side by side, with the words marked that differ.

use crate::escape::escape_into;
use crate::markdown::words;

use super::parse::{FileDiff, Hunk, Sign};
use super::words::{Weight, compare, readable};

/// Longer lines are not searched for words.
const LONGEST: usize = 4000;

/// A line of a hunk with its numbers, and the line that it became or came from.
struct Row<'d> {
    old: Option<(usize, &'d str)>,
    new: Option<(usize, &'d str)>,
    is_same: bool,
}

/// One line below the other.
pub(super) fn unified(out: &mut String, file: &FileDiff<'_>, ignores_space: bool) {
    table(out, "diff", "<col class=\"l\"><col>", file, ignores_space, |out, rows| {
        for run in rows.chunk_by(|a, b| !a.is_same && !b.is_same) {
            if run.iter().all(|row| row.is_same) {
                for (number, text) in run.iter().filter_map(|row| row.new) {
                    line(out, "", number, text, None);
                }
                continue;
            }
            let marked: Vec<_> = run.iter().map(marked).collect();
            for (row, marked) in run.iter().zip(&marked) {
                if let Some((number, text)) = row.old {
                    line(out, " class=\"d\"", number, text, marked.as_ref().map(|marked| marked.0.as_str()));
                }
            }
            for (row, marked) in run.iter().zip(&marked) {
                if let Some((number, text)) = row.new {
                    line(out, " class=\"i\"", number, text, marked.as_ref().map(|marked| marked.1.as_str()));
                }
            }
        }
    });
}

/// The old on the left, the new on the right.
pub(super) fn side_by_side(out: &mut String, file: &FileDiff<'_>, ignores_space: bool) {
    let columns = "<col class=\"l\"><col><col class=\"l\"><col>";
    table(out, "diff side", columns, file, ignores_space, |out, rows| {
        for row in rows {
            let marked = if row.is_same { None } else { marked(row) };
            out.push_str("<tr>");
            let looks = if row.is_same { ["u", "u"] } else { ["d", "i"] };
            let texts = [marked.as_ref().map(|marked| &marked.0), marked.as_ref().map(|marked| &marked.1)];
            for ((side, look), html) in [row.old, row.new].into_iter().zip(looks).zip(texts) {
                match side {
                    Some((number, text)) => {
                        push(out, &["<td class=\"l\">", &number.to_string(), "<td class=\"", look, "\">"]);
                        content(out, text, html.map(String::as_str));
                    }
                    None => out.push_str("<td class=\"l\"><td class=\"e\">"),
                }
            }
            out.push('\n');
        }
    });
}

fn table(
    out: &mut String,
    class: &str,
    columns: &str,
    file: &FileDiff<'_>,
    ignores_space: bool,
    write: impl Fn(&mut String, &[Row<'_>]),
) {
    push(out, &["<table class=\"", class, "\"><caption class=\"sr\">Lines of "]);
    escape_into(out, file.path());
    push(out, &[": number and text</caption><colgroup>", columns, "</colgroup>\n"]);
    let mut is_empty = true;
    for hunk in &file.hunks {
        let rows = rows(hunk, ignores_space);
        if rows.iter().all(|row| row.is_same) {
            continue;
        }
        is_empty = false;
        let width = columns.matches("<col").count().to_string();
        let first = hunk.new_start.max(1).to_string();
        push(out, &["<tbody><tr class=\"h\"><td colspan=\"", &width, "\">Line ", &first, "\n"]);
        write(out, &rows);
    }
    out.push_str("</table>");
    if is_empty && !file.hunks.is_empty() {
        out.push_str("<p>Only white space is different.</p>");
    }
}

fn line(out: &mut String, class: &str, number: usize, text: &str, html: Option<&str>) {
    push(out, &["<tr", class, "><td class=\"l\">", &number.to_string(), "<td>"]);
    content(out, text, html);
    out.push('\n');
}

fn content(out: &mut String, text: &str, html: Option<&str>) {
    match html {
        Some(html) => out.push_str(html),
        None => escape_into(out, text),
    }
}

fn push(out: &mut String, parts: &[&str]) {
    parts.iter().for_each(|part| out.push_str(part));
}

/// The lines of a hunk in pairs: each line that is gone with the one that came in its place.
fn rows<'d>(hunk: &Hunk<'d>, ignores_space: bool) -> Vec<Row<'d>> {
    let (mut rows, mut old, mut new) = (Vec::with_capacity(hunk.lines.len()), hunk.old_start, hunk.new_start);
    let mut lines = hunk.lines.iter().peekable();
    while let Some(&&(sign, text)) = lines.peek() {
        if sign == Sign::Same {
            rows.push(Row { old: Some((old, text)), new: Some((new, text)), is_same: true });
            (old, new) = (old + 1, new + 1);
            lines.next();
            continue;
        }
        let (mut gone, mut come) = (Vec::new(), Vec::new());
        while let Some(&&(sign, text)) = lines.peek().filter(|(sign, _)| *sign != Sign::Same) {
            match sign {
                Sign::Gone => {
                    gone.push((old, text));
                    old += 1;
                }
                _ => {
                    come.push((new, text));
                    new += 1;
                }
            }
            lines.next();
        }
        pair(&mut rows, &gone, &come, ignores_space);
    }
    rows
}

fn pair<'d>(rows: &mut Vec<Row<'d>>, gone: &[(usize, &'d str)], come: &[(usize, &'d str)], ignores_space: bool) {
    if !ignores_space {
        return pair_in_order(rows, gone, come);
    }
    let bare = |lines: &[(usize, &str)]| -> Vec<String> {
        lines.iter().map(|(_, text)| text.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
    };
    let (before, after) = (bare(gone), bare(come));
    let (mut at, mut there) = (0, 0);
    let ends = (gone.len()..gone.len(), come.len()..come.len());
    for (left, right) in compare(before.iter(), after.iter()).into_iter().chain([ends]) {
        for (old, new) in gone[at..left.start].iter().zip(&come[there..right.start]) {
            rows.push(Row { old: Some(*old), new: Some(*new), is_same: true });
        }
        (at, there) = (left.end, right.end);
        pair_in_order(rows, &gone[left], &come[right]);
    }
}

fn pair_in_order<'d>(rows: &mut Vec<Row<'d>>, gone: &[(usize, &'d str)], come: &[(usize, &'d str)]) {
    for at in 0..gone.len().max(come.len()) {
        rows.push(Row { old: gone.get(at).copied(), new: come.get(at).copied(), is_same: false });
    }
}

/// Both lines of a pair as HTML, with the words marked that differ.
fn marked(row: &Row<'_>) -> Option<(String, String)> {
    let ((_, old), (_, new)) = (row.old?, row.new?);
    if old.len().max(new.len()) > LONGEST {
        return None;
    }
    let (old, new) = (words(old), words(new));
    let weigh = |words: &[&str]| -> Vec<Weight> { words.iter().map(|word| Weight::of(word)).collect() };
    let differences = readable(compare(old.iter(), new.iter()), &weigh(&old), &weigh(&new))?;
    let (mut before, mut after) = (vec![false; old.len()], vec![false; new.len()]);
    for (gone, come) in differences {
        before[gone].fill(true);
        after[come].fill(true);
    }
    Some((with_marks(&old, &before, "del"), with_marks(&new, &after, "ins")))
}

fn with_marks(words: &[&str], marks: &[bool], tag: &str) -> String {
    let mut out = String::new();
    let both: Vec<(&str, bool)> = words.iter().copied().zip(marks.iter().copied()).collect();
    for run in both.chunk_by(|a, b| a.1 == b.1) {
        let is_marked = run.first().is_some_and(|(_, is_marked)| *is_marked);
        if is_marked {
            push(&mut out, &["<", tag, ">"]);
        }
        run.iter().for_each(|(word, _)| escape_into(&mut out, word));
        if is_marked {
            push(&mut out, &["</", tag, ">"]);
        }
    }
    out
}
