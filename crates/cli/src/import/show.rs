use std::io::IsTerminal;

use copydesk_views::logs::{FileReport, Progress, Report, State, Tally};
use indicatif::{ProgressBar, ProgressStyle};

use crate::output::{self, counted, printable};

/// How far an import is: a bar on a terminal, nothing elsewhere, where the report says it all.
pub(super) struct Bar(Option<ProgressBar>);

impl Bar {
    pub(super) fn new() -> Self {
        Self(std::io::stderr().is_terminal().then(|| ProgressBar::new(0)))
    }

    pub(super) fn tell(&mut self, at: &Progress<'_>) {
        let Some(bar) = &self.0 else { return };
        if bar.length() == Some(0) {
            let template = match at.of_bytes {
                Some(_) => "{bar:30} {percent:>3}% {bytes}/{total_bytes} {binary_bytes_per_sec} {eta} left  {msg}",
                None => "{bytes} {binary_bytes_per_sec}  {msg}",
            };
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style);
            }
            bar.set_length(at.of_bytes.unwrap_or(u64::MAX).max(1));
        }
        bar.set_position(at.bytes);
        let name = printable(at.name);
        let of = if at.files > 1 { format!("{}/{} ", at.file + 1, at.files) } else { String::new() };
        bar.set_message(format!("{}  {of}{name}", counted(at.lines, "line")));
    }

    pub(super) fn end(self) {
        if let Some(bar) = self.0 {
            bar.finish_and_clear();
        }
    }
}

/// Prints what became of every line.
pub(super) fn report(report: &Report, dry_run: bool) {
    report.files.iter().for_each(|log| file(log, dry_run));
    if report.files.len() > 1 {
        output::line(&format!("All {} logs", report.files.len()));
        figures(&report.total);
    }
    if dry_run {
        output::line("Nothing was kept: this was a dry run.");
    }
}

fn file(file: &FileReport, dry_run: bool) {
    let format = file.format.as_ref().map(|format| format!(" ({format})")).unwrap_or_default();
    let state = match &file.error {
        // Of what could not even be begun there is no end.
        Some(error) if file.tally.lines == 0 => format!("could not be read: {}", printable(error)),
        Some(error) => format!("could not be read to its end: {}", printable(error)),
        None if dry_run && matches!(file.state, State::Imported | State::Continued) => {
            format!("would be {}", file.state.as_str())
        }
        None => file.state.as_str().to_owned(),
    };
    output::line(&format!("{}{format}: {state}", printable(&file.name)));
    if file.tally.lines > 0 || file.error.is_none() {
        figures(&file.tally);
    }
    for note in &file.notes {
        output::line(&format!("  {}", printable(note)));
    }
    for sample in &file.unparsable {
        output::line(&format!("  line {} could not be read: {}", sample.line, sample.text));
    }
}

/// The lines, and the figures that add up to them.
fn figures(tally: &Tally) {
    let width = tally.lines.to_string().len();
    output::line(&format!(
        "  {}, {} of them views by people and {} by AI agents",
        counted(tally.lines, "line"),
        tally.human(),
        tally.ai()
    ));
    for (name, count) in tally.figures() {
        // Of the figures only these are things to count.
        let name = match name.as_str() {
            "other statuses" if count == 1 => "other status",
            "assets" | "duplicates" | "other methods" | "other hosts" if count == 1 => name.trim_end_matches('s'),
            name => name,
        };
        output::line(&format!("  {count:>width$} {name}"));
    }
    if tally.accounted() != tally.lines {
        output::line(&format!(
            "  {} missing from these figures: please report this",
            counted(tally.lines.abs_diff(tally.accounted()), "line")
        ));
    }
}
