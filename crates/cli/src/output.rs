use std::io::{BufRead, IsTerminal, Write};
use std::process::ExitCode;

use copydesk_domain::visible;
use serde_json::{Value, json};

use crate::config::Config;
use crate::failure::Failure;
use crate::terminal::{self, Style, cut, styled, width};

/// Prints a line to standard output; a reader that has gone away (`| head`) is no error.
pub(crate) fn line(text: &str) {
    let _ = try_line(text);
}

/// Prints a line that must not get lost.
pub(crate) fn try_line(text: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{text}")?;
    out.flush()
}

/// Prints text as it is; a reader that has gone away is no error.
pub(crate) fn raw(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes());
    let _ = out.flush();
}

/// Text from elsewhere, fit for a terminal: no control characters, so nothing can act on it.
pub(crate) fn printable(text: &str) -> String {
    visible(text).chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// `1 line`, `2 lines`.
pub(crate) fn counted(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// A size as people read it: `1.4 MB`.
pub(crate) fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "kB", "MB", "GB", "TB"];
    let mut size = bytes as f64;
    let mut unit = 0;
    while size >= 1000.0 && unit + 1 < UNITS.len() {
        size /= 1000.0;
        unit += 1;
    }
    if unit == 0 { format!("{bytes} B") } else { format!("{size:.1} {}", UNITS[unit]) }
}

/// Asks at a terminal; elsewhere nobody could answer, so the answer is empty.
pub(crate) fn asked(question: &str) -> std::io::Result<String> {
    let mut answer = String::new();
    if std::io::stdin().is_terminal() {
        eprint!("{question}");
        std::io::stderr().flush()?;
        std::io::stdin().lock().read_line(&mut answer)?;
    }
    Ok(answer)
}

pub(crate) fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_else(|_| value.to_string())
}

/// Prints `value` as JSON.
pub(crate) fn json(value: &Value) -> Result<ExitCode, Failure> {
    line(&pretty(value));
    Ok(ExitCode::SUCCESS)
}

/// The narrowest that a column of a table is cut to.
const NARROWEST: usize = 12;

/// Prints rows under headings, each column as wide as it must be. On a terminal that is too narrow, long cells are cut,
/// but no ids and addresses, which somebody may want to copy; if that is not enough, the last cell of each row gets a
/// line of its own.
pub(crate) fn table(headings: &[&str], rows: &[Vec<String>]) {
    for text in table_lines(headings, rows, terminal::columns()) {
        line(&text);
    }
}

fn table_lines(headings: &[&str], rows: &[Vec<String>], columns: Option<usize>) -> Vec<String> {
    let cells = |column: usize| rows.iter().filter_map(move |row| row.get(column));
    let widest = |column: usize| cells(column).map(|cell| width(cell)).chain([width(headings[column])]).max();
    let mut widths: Vec<usize> = (0..headings.len()).map(|column| widest(column).unwrap_or(0)).collect();
    let mut is_broken = false;
    if let Some(columns) = columns {
        let whole = |column: usize| is_whole(headings[column]) || cells(column).any(|cell| cell.contains("://"));
        let whole: Vec<bool> = (0..headings.len()).map(whole).collect();
        let natural = widths.clone();
        is_broken = !shrink(&mut widths, &whole, columns) && headings.len() > 1;
        if is_broken {
            // The last column has a line of its own, so the others have its room.
            widths = natural;
            let others = widths.len() - 1;
            shrink(&mut widths[..others], &whole[..others], columns);
        }
    }
    let laid_out = |cells: &[String], style: &dyn Fn(usize, &str) -> Option<Style>| {
        let cells = cells.iter().zip(&widths).enumerate().map(|(column, (cell, wide))| {
            let shown = if columns.is_some() { cut(cell, *wide) } else { cell.clone() };
            let rest = " ".repeat(wide.saturating_sub(width(&shown)));
            let shown = style(column, cell).map_or_else(|| shown.clone(), |style| styled(&shown, style));
            (shown, rest)
        });
        let mut cells: Vec<(String, String)> = cells.collect();
        // Nothing follows it, so it need not be filled up.
        let last = cells.pop().map(|(shown, _)| shown).unwrap_or_default();
        let first = cells.iter().map(|(shown, rest)| format!("{shown}{rest}  ")).collect::<String>();
        if is_broken {
            format!("{}\n    {last}", first.trim_end())
        } else {
            format!("{first}{last}").trim_end().to_owned()
        }
    };
    let heading: Vec<String> = headings.iter().map(|heading| heading.to_uppercase()).collect();
    let is_state = |column: usize| matches!(headings[column], "status" | "state" | "outcome");
    let mut lines = vec![laid_out(&heading, &|_, _| Some(Style::Bold))];
    lines.extend(
        rows.iter().map(|row| {
            laid_out(row, &|column, cell| if is_state(column) { terminal::state_style(cell) } else { None })
        }),
    );
    lines
}

/// Whether the cells below a heading are of no use in part.
fn is_whole(heading: &str) -> bool {
    matches!(heading, "id" | "key" | "job" | "status" | "state" | "outcome" | "e-mail")
}

/// Makes the widest columns narrower until all fit; false if they do not.
fn shrink(widths: &mut [usize], whole: &[bool], columns: usize) -> bool {
    loop {
        let all = widths.iter().sum::<usize>() + 2 * widths.len().saturating_sub(1);
        if all <= columns {
            return true;
        }
        let candidates = (0..widths.len()).filter(|column| !whole[*column] && widths[*column] > NARROWEST);
        let Some(widest) = candidates.max_by_key(|column| widths[*column]) else { return false };
        widths[widest] = (widths[widest] - 1).max(NARROWEST);
    }
}

/// Prints a label and what it stands for, in two columns; what has several lines keeps them.
pub(crate) fn field(label: &str, value: &str, label_width: usize) {
    for text in field_lines(label, value, label_width) {
        line(&text);
    }
}

fn field_lines(label: &str, value: &str, label_width: usize) -> Vec<String> {
    let shown = |text: &str| match (label, terminal::state_style(text)) {
        ("status" | "state" | "outcome", Some(style)) => styled(text, style),
        _ => text.to_owned(),
    };
    let space = " ".repeat(label_width.saturating_sub(width(label)));
    let mut lines = value.lines();
    let first = format!("{}{space} {}", styled(label, Style::Bold), shown(lines.next().unwrap_or_default()));
    let more = lines.map(|text| format!("{:label_width$} {text}", ""));
    [first].into_iter().chain(more).map(|text| text.trim_end().to_owned()).collect()
}

/// Text of several lines from elsewhere, fit for a terminal.
pub(crate) fn printable_lines(text: &str) -> String {
    text.lines().map(printable).collect::<Vec<_>>().join("\n")
}

/// Prints a diff: a program gets it as it is; on a terminal nothing of it may act.
pub(crate) fn diff(diff: &str, indent: &str) {
    // Not by its columns: a terminal need not know how many it has.
    if !std::io::stdout().is_terminal() && !terminal::has_color() && indent.is_empty() {
        return raw(diff);
    }
    for text in diff.lines().map(printable) {
        let shown = terminal::diff_style(&text).map_or_else(|| text.clone(), |style| styled(&text, style));
        line(&format!("{indent}{shown}"));
    }
}

/// Prints the configuration in force.
pub(crate) fn config(config: &Config, as_json: bool) -> Result<ExitCode, Failure> {
    if !as_json {
        line(config.to_text().trim_end());
        return Ok(ExitCode::SUCCESS);
    }
    let entries = config.entries();
    let entries = entries
        .iter()
        .map(|entry| json!({ "key": entry.key, "value": entry.shown_value, "origin": entry.origin.to_string() }));
    json(&Value::from(entries.collect::<Vec<_>>()))
}

/// What is allowed and may still be a mistake.
pub(crate) fn note(notes: &[String]) {
    notes.iter().for_each(|note| eprintln!("copydesk: note: {note}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(rows: &[&[&str]]) -> Vec<Vec<String>> {
        rows.iter().map(|row| row.iter().map(|cell| (*cell).to_owned()).collect()).collect()
    }

    #[test]
    fn columns_are_aligned_by_what_is_seen() {
        let lines = table_lines(&["id", "name"], &rows(&[&["a", "日本"], &["long-id", "x"]]), None);
        assert_eq!(lines, ["ID       NAME", "a        日本", "long-id  x"]);
    }

    #[test]
    fn a_narrow_terminal_cuts_long_cells_but_no_ids() {
        let id = "0".repeat(20);
        let lines = table_lines(&["id", "name"], &rows(&[&[&id, "A name that is far too long"]]), Some(40));
        assert_eq!(lines[1], format!("{id}  A name that is fa…"));
        let lines = table_lines(&["id", "name"], &rows(&[&[&id, "A name that is far too long"]]), None);
        assert!(lines[1].ends_with("too long"), "a pipe gets everything: {lines:?}");
    }

    #[test]
    fn what_does_not_fit_at_all_gets_a_line_of_its_own() {
        let id = "0".repeat(20);
        let lines =
            table_lines(&["id", "pull request"], &rows(&[&[&id, "https://example.com/acme/docs/pull/7"]]), Some(40));
        assert_eq!(lines[1], format!("{id}\n    https://example.com/acme/docs/pull/7"));
    }

    #[test]
    fn what_gets_a_line_of_its_own_leaves_its_room_to_the_others() {
        let cells = ["0123456789", "2026-01-02T03:04:05Z", "https://example.com/acme/docs/pull/7"];
        let lines = table_lines(&["id", "created", "pull request"], &rows(&[&cells]), Some(40));
        assert_eq!(lines[1], format!("{}  {}\n    {}", cells[0], cells[1], cells[2]));
        let lines = table_lines(&["id", "created", "pull request"], &rows(&[&cells]), Some(28));
        assert_eq!(lines[1], format!("{}  2026-01-02T03:0…\n    {}", cells[0], cells[2]), "and no more than that");
    }

    #[test]
    fn a_value_of_several_lines_keeps_them() {
        assert_eq!(field_lines("message", "One.\n\nTwo.", 9), ["message   One.", "", "          Two."]);
        assert_eq!(field_lines("message", "", 9), ["message"]);
    }
}
