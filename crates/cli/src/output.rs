use std::io::{BufRead, IsTerminal, Write};
use std::process::ExitCode;

use copydesk_domain::visible;
use serde_json::{Value, json};

use crate::config::Config;
use crate::failure::Failure;

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

/// Prints rows under headings, each column as wide as it must be.
pub(crate) fn table(headings: &[&str], rows: &[Vec<String>]) {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
        cells.chain([headings[column].len()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..headings.len()).map(width).collect();
    let print = |cells: &[String]| {
        let padded: Vec<String> = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        line(padded.join("  ").trim_end());
    };
    print(&headings.iter().map(|heading| heading.to_uppercase()).collect::<Vec<_>>());
    rows.iter().for_each(|row| print(row));
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
