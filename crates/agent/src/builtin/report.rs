//! What a chore says about itself, file by file, and bounded.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::chore::Chore;
use super::words::clip;
use crate::text::counted;

const MOST_CHANGED: usize = 50;
const MOST_LEFT: usize = 30;
const MOST_IN_EVENT: usize = 20;

/// What a chore did and what it left.
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// The first files that were changed, and how.
    changed: Vec<(String, String)>,
    changed_files: BTreeSet<String>,
    /// How many places were changed in all of these files.
    places: usize,
    left: Vec<(String, String)>,
    left_places: usize,
    looked_at: usize,
    sentence: Option<String>,
}

impl Report {
    /// A file was changed in so many places.
    pub(crate) fn note_change(&mut self, path: &str, places: usize, how: impl Into<String>) {
        self.places += places;
        let how = clip(&how.into(), 300);
        if self.changed_files.insert(path.to_owned()) {
            if self.changed.len() < MOST_CHANGED {
                self.changed.push((path.to_owned(), how));
            }
        } else if let Some((_, before)) = self.changed.iter_mut().find(|(known, _)| known == path) {
            *before = clip(&format!("{before}, {how}"), 400);
        }
    }

    pub(crate) fn note_left(&mut self, path: &str, why: impl Into<String>) {
        self.left_places += 1;
        if self.left.len() < MOST_LEFT {
            self.left.push((path.to_owned(), clip(&why.into(), 300)));
        }
    }

    pub(crate) fn looked_at(&mut self, pages: usize) {
        self.looked_at = pages;
    }

    /// Says what was done, or why nothing was, in place of the sentence made from the counts.
    pub(crate) fn say(&mut self, sentence: impl Into<String>) {
        self.sentence = Some(sentence.into());
    }

    pub(crate) fn has_changes(&self) -> bool {
        !self.changed_files.is_empty()
    }

    /// The part of the summary about this chore, in Markdown.
    pub(crate) fn summary(&self, chore: &Chore) -> String {
        let mut text = self.sentence.clone().unwrap_or_else(|| self.counts(chore));
        if !self.changed.is_empty() {
            text.push('\n');
            list(&mut text, &self.changed, self.changed_files.len() - self.changed.len());
        }
        if !self.left.is_empty() {
            text.push_str("\n\nLeft as it was:\n");
            list(&mut text, &self.left, self.left_places - self.left.len());
        }
        text
    }

    fn counts(&self, chore: &Chore) -> String {
        let title = chore.title();
        if self.changed_files.is_empty() {
            let found = if self.left_places == 0 { "nothing to do" } else { "nothing was changed" };
            return format!("{title}: {found} in {}.", counted(self.looked_at, "page"));
        }
        format!("{title}: {} in {}.", counted(self.places, "place"), counted(self.changed_files.len(), "file"))
    }

    /// What the event about this chore says.
    pub(crate) fn event(&self, chore: &Chore) -> Value {
        let files: Vec<&str> = self.changed.iter().take(MOST_IN_EVENT).map(|(path, _)| path.as_str()).collect();
        json!({
            "chore": chore.name(),
            "title": chore.title(),
            "files": files,
            "filesChanged": self.changed_files.len(),
            "places": self.places,
            "left": self.left_places,
        })
    }
}

fn list(text: &mut String, entries: &[(String, String)], more: usize) {
    for (path, what) in entries {
        text.push_str(&format!("\n- {}: {what}", code(path)));
    }
    if more > 0 {
        text.push_str(&format!("\n- and {more} more"));
    }
}

/// Text from the repository or a prompt as inline code, so that nothing in it is markup.
pub(crate) fn code(text: &str) -> String {
    format!("`{}`", clip(text, 200).replace('`', "'"))
}

#[cfg(test)]
mod tests {
    use super::super::chore::Scope;
    use super::*;

    #[test]
    fn the_summary_is_bounded_and_counts_what_it_does_not_name() {
        let mut report = Report::default();
        for number in 0..70 {
            report.note_change(
                &format!("docs/{number}.md"),
                2,
                if number == 0 { "2 words".to_owned() } else { "x".repeat(1000) },
            );
            report.note_left(&format!("docs/{number}.md"), "x".repeat(1000));
        }
        report.note_change("docs/0.md", 0, "and more");
        let summary = report.summary(&Chore::Typos(Scope::default()));
        assert!(
            summary.starts_with("Fix typos: 140 places in 70 files.\n\n- `docs/0.md`: 2 words, and more\n"),
            "{summary}"
        );
        assert!(summary.contains("\n- and 20 more\n") && summary.ends_with("\n- and 40 more"), "{summary}");
        assert!(summary.len() < 40_000);
        let event = report.event(&Chore::Typos(Scope::default()));
        assert_eq!((event["filesChanged"].as_u64(), event["files"].as_array().map(Vec::len)), (Some(70), Some(20)));
    }

    #[test]
    fn names_of_files_are_no_markup() {
        assert_eq!(code("a`b\n@x"), "`a'b @x`");
    }
}
