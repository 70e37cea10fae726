//! What a change changes, as HTML: as the pages read, line by line, or side by side.

mod lines;
mod parse;
mod read;
mod words;

use askama::filters::Safe;

pub(crate) use parse::{FileDiff, FileKind, parse};

/// So many lines are shown at once; files behind them are fetched when somebody opens them.
const FIRST_LINES: usize = 1000;

/// How a change is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum View {
    /// As the pages read.
    #[default]
    Read,
    Unified,
    Side,
}

impl View {
    pub(crate) const ALL: [(Self, &'static str); 3] =
        [(Self::Read, "Read"), (Self::Unified, "Unified"), (Self::Side, "Side by side")];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Unified => "unified",
            Self::Side => "side",
        }
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().map(|(view, _)| view).find(|view| view.as_str() == text)
    }
}

/// How a change is looked at, in all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Look {
    pub(crate) view: View,
    pub(crate) ignores_space: bool,
}

impl Look {
    /// As the end of an address.
    pub(crate) fn query(self) -> String {
        format!("?view={}{}", self.view.as_str(), if self.ignores_space { "&space=ignore" } else { "" })
    }

    pub(crate) fn with(self, view: &View) -> Self {
        Self { view: *view, ..self }
    }

    pub(crate) fn other_space(self) -> Self {
        Self { ignores_space: !self.ignores_space, ..self }
    }
}

/// Whether a file is read as a page, so that both sides of it are wanted whole.
pub(crate) fn is_read(file: &FileDiff<'_>, look: Look) -> bool {
    let is_markdown = [".md", ".mdx"].iter().any(|end| file.path().to_ascii_lowercase().ends_with(end));
    look.view == View::Read && is_markdown
}

/// Which files are shown at once, by their place.
pub(crate) fn opened(files: &[FileDiff<'_>]) -> Vec<bool> {
    let mut lines = 0_usize;
    let fits = |file: &FileDiff<'_>| {
        lines += file.lines();
        lines <= FIRST_LINES
    };
    files.iter().map(fits).collect()
}

/// The old and the new text of a file, if they are known.
pub(crate) type BothSides<'s> = Option<(&'s str, &'s str)>;

/// What is shown of a file.
pub(crate) fn body(file: &FileDiff<'_>, look: Look, sides: BothSides<'_>) -> Safe<String> {
    let mut out = String::with_capacity(256 + 100 * file.lines());
    if is_read(file, look)
        && let Some(html) = sides.and_then(|(old, new)| read::read(old, new))
    {
        return Safe(html);
    }
    match look.view {
        View::Side => lines::side_by_side(&mut out, file, look.ignores_space),
        View::Read | View::Unified => lines::unified(&mut out, file, look.ignores_space),
    }
    Safe(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &str = "diff --git a/a.yml b/a.yml\n--- a/a.yml\n+++ b/a.yml\n@@ -1,4 +1,4 @@\n same\n-Sign in to Acme Cloud now <b>\n\
        -all other\n+Sign in to Acme Sky now <b>\n+not at all the like of it, is it\n  last\n";

    fn shown(diff: &str, look: Look) -> String {
        body(&parse(diff)[0], look, None).0
    }

    #[test]
    fn words_are_marked_inside_lines_that_have_something_in_common() {
        let html = shown(DIFF, Look { view: View::Unified, ..Look::default() });
        assert!(
            html.contains("<tr class=\"d\"><td class=\"l\">2<td>Sign in to Acme <del>Cloud</del> now &#60;b&#62;"),
            "{html}"
        );
        assert!(
            html.contains("<tr class=\"i\"><td class=\"l\">2<td>Sign in to Acme <ins>Sky</ins> now &#60;b&#62;"),
            "{html}"
        );
        assert!(html.contains("<td>all other\n") && html.contains("<td>not at all the like of it, is it\n"), "{html}");
        let gone = html.find("all other").unwrap();
        assert!(html.find("Acme <ins>").unwrap() > gone, "what is gone comes first");
    }

    #[test]
    fn side_by_side_has_both_in_a_row() {
        let html = shown(DIFF, Look { view: View::Side, ..Look::default() });
        let row = html.lines().find(|line| line.contains("<del>Cloud</del>")).unwrap();
        assert!(row.contains("<td class=\"d\">") && row.contains("<td class=\"i\">") && row.contains("<ins>Sky</ins>"));
    }

    #[test]
    fn white_space_can_be_left_out() {
        let diff = "diff --git a/a b/a\n@@ -1,2 +1,2 @@\n-one  two\n-three\n+one two\n+four\n";
        let look = Look { view: View::Unified, ignores_space: true };
        let html = shown(diff, look);
        assert!(
            html.contains("<tr><td class=\"l\">1<td>one two")
                && html.contains("class=\"d\"><td class=\"l\">2<td>three"),
            "{html}"
        );
        let html = shown("diff --git a/a b/a\n@@ -1 +1 @@\n-a  b\n+a b\n", look);
        assert!(html.contains("Only white space is different."), "{html}");
    }

    #[test]
    fn the_first_thousand_lines_are_open() {
        let file = |name: usize, lines: usize| {
            format!("diff --git a/{name} b/{name}\n@@ -1,0 +1,{lines} @@\n{}", "+x\n".repeat(lines))
        };
        let diff: String = [600, 300, 200, 10].iter().enumerate().map(|(name, lines)| file(name, *lines)).collect();
        assert_eq!(opened(&parse(&diff)), [true, true, false, false]);
    }
}
