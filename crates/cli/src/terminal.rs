//! What standard output is: whether it takes colours, and how wide it is. Pipes and files get plain text.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::sync::OnceLock;

use clap::{ColorChoice, ValueEnum};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

static CHOICE: OnceLock<ColorChoice> = OnceLock::new();

/// Keeps what `--color` says, for all that is printed.
pub(crate) fn choose(choice: ColorChoice) {
    let _ = CHOICE.set(choice);
}

/// What `--color` says, looked at before anything is parsed: help and mistakes are printed while parsing.
pub(crate) fn choice_in(arguments: impl Iterator<Item = OsString>) -> ColorChoice {
    let mut arguments = arguments.filter_map(|argument| argument.into_string().ok());
    let mut choice = ColorChoice::Auto;
    while let Some(argument) = arguments.next() {
        let word = match argument.strip_prefix("--color") {
            Some("") => arguments.next(),
            Some(rest) => rest.strip_prefix('=').map(str::to_owned),
            None if argument == "--" => break,
            None => None,
        };
        choice = word.and_then(|word| ColorChoice::from_str(&word, false).ok()).unwrap_or(choice);
    }
    choice
}

/// Whether standard output gets colours.
pub(crate) fn has_color() -> bool {
    static COLOR: OnceLock<bool> = OnceLock::new();
    *COLOR.get_or_init(|| {
        let variable = |name: &str| std::env::var(name).unwrap_or_default();
        let choice = CHOICE.get().copied().unwrap_or(ColorChoice::Auto);
        decide(choice, std::io::stdout().is_terminal(), variable)
    })
}

/// See no-color.org and bixense.com/clicolors.
fn decide(choice: ColorChoice, is_terminal: bool, variable: impl Fn(&str) -> String) -> bool {
    match choice {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto if !variable("NO_COLOR").is_empty() => false,
        ColorChoice::Auto if !matches!(variable("CLICOLOR_FORCE").as_str(), "" | "0") => true,
        ColorChoice::Auto => is_terminal && variable("CLICOLOR") != "0" && variable("TERM") != "dumb",
    }
}

/// The columns of the terminal that standard output is; none for a pipe or a file.
pub(crate) fn columns() -> Option<usize> {
    let out = std::io::stdout();
    if !out.is_terminal() {
        return None;
    }
    let size = rustix::termios::tcgetwinsize(&out).ok()?;
    // A terminal that does not know its size says 0.
    (size.ws_col > 0).then_some(usize::from(size.ws_col))
}

/// A way to print text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Style {
    Bold,
    Dim,
    Red,
    Green,
    Yellow,
    Cyan,
}

/// `text` in this style if standard output gets colours.
pub(crate) fn styled(text: &str, style: Style) -> String {
    if has_color() && !text.is_empty() { paint(text, style) } else { text.to_owned() }
}

fn paint(text: &str, style: Style) -> String {
    let code = match style {
        Style::Bold => 1,
        Style::Dim => 2,
        Style::Red => 31,
        Style::Green => 32,
        Style::Yellow => 33,
        Style::Cyan => 36,
    };
    format!("\x1b[{code}m{text}\x1b[0m")
}

/// How the state of a job, a webhook, a delivery or a request looks.
pub(crate) fn state_style(word: &str) -> Option<Style> {
    match word {
        "completed" | "pr_created" | "changes_ready" | "delivered" | "yes" => Some(Style::Green),
        "active" | "waiting" | "?" => Some(Style::Cyan),
        "failed" | "error" | "blocked" | "checks_failed" | "timed_out" | "failing" | "given up" | "NO" => {
            Some(Style::Red)
        }
        "paused" | "cancelled" | "no_changes" => Some(Style::Yellow),
        "archived" | "-" => Some(Style::Dim),
        _ => None,
    }
}

/// How a line of a diff looks.
pub(crate) fn diff_style(line: &str) -> Option<Style> {
    match line.as_bytes() {
        [b'd', b'i', b'f', b'f', b' ', ..] | [b'+', b'+', b'+', b' ', ..] | [b'-', b'-', b'-', b' ', ..] => {
            Some(Style::Bold)
        }
        [b'@', b'@', ..] => Some(Style::Cyan),
        [b'+', ..] => Some(Style::Green),
        [b'-', ..] => Some(Style::Red),
        _ => None,
    }
}

/// How many columns `text` takes.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// As much of `text` as fits, with an ellipsis if that is not all.
pub(crate) fn cut(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut left = columns.saturating_sub(1);
    let fits = |c: &char| {
        let wide = c.width().unwrap_or(0);
        let fits = wide <= left;
        left = left.saturating_sub(wide);
        fits
    };
    let mut kept: String = text.chars().take_while(fits).collect();
    kept.push('…');
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decided(choice: ColorChoice, is_terminal: bool, variables: &[(&str, &str)]) -> bool {
        let value = |name: &str| variables.iter().find(|(it, _)| *it == name).map_or("", |(_, value)| value).to_owned();
        decide(choice, is_terminal, value)
    }

    #[test]
    fn colours_follow_the_flag_then_the_variables_then_the_terminal() {
        use ColorChoice::{Always, Auto, Never};
        for (choice, is_terminal, variables, wanted) in [
            (Auto, true, &[][..], true),
            (Auto, false, &[], false),
            (Auto, true, &[("NO_COLOR", "1")], false),
            (Auto, true, &[("NO_COLOR", "")], true),
            (Auto, true, &[("TERM", "dumb")], false),
            (Auto, true, &[("CLICOLOR", "0")], false),
            (Auto, false, &[("CLICOLOR_FORCE", "1")], true),
            (Auto, false, &[("CLICOLOR_FORCE", "0")], false),
            (Auto, true, &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], false),
            (Always, false, &[("NO_COLOR", "1")], true),
            (Never, true, &[("CLICOLOR_FORCE", "1")], false),
        ] {
            assert_eq!(decided(choice, is_terminal, variables), wanted, "{choice:?} {is_terminal} {variables:?}");
        }
    }

    #[test]
    fn the_flag_is_found_wherever_it_stands() {
        let found = |line: &str| choice_in(line.split(' ').map(OsString::from));
        assert_eq!(found("copydesk --color never --help"), ColorChoice::Never);
        assert_eq!(found("copydesk job list --color=always"), ColorChoice::Always);
        assert_eq!(found("copydesk job list --color=purple"), ColorChoice::Auto);
        assert_eq!(found("copydesk job create -- --color=always"), ColorChoice::Auto);
    }

    #[test]
    fn text_is_cut_by_columns_and_not_by_bytes() {
        assert_eq!(cut("short", 5), "short");
        assert_eq!(cut("too long", 5), "too …");
        assert_eq!(cut("日本語です", 6), "日本…");
    }

    #[test]
    fn the_lines_of_a_diff_are_told_apart() {
        for (line, style) in [
            ("diff --git a/x b/x", Some(Style::Bold)),
            ("+++ b/x", Some(Style::Bold)),
            ("@@ -1 +1 @@", Some(Style::Cyan)),
            ("+new", Some(Style::Green)),
            ("-old", Some(Style::Red)),
            (" same", None),
            ("", None),
        ] {
            assert_eq!(diff_style(line), style, "{line}");
        }
    }
}
