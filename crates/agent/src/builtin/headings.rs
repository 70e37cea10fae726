//! Mends heading levels that skip: a heading is at most one level below the one that it belongs to.

use copydesk_checks::page::{Heading, Page, parse};

use super::boxes::{boxes, is_boxed, is_indented};
use super::chore::Scope;
use super::docs::{ChoreFailure, Docs};
use super::scope::pages_of;
use crate::edits::Edits;
use crate::text::counted;

pub(crate) fn run(scope: &Scope, docs: &mut Docs) -> Result<(), ChoreFailure> {
    for path in &pages_of(scope, docs)? {
        let Some(text) = docs.text(path)? else { continue };
        let (edits, fixed_ones) = mend(&parse(path, &text), &text);
        if fixed_ones > 0 {
            docs.report.note_left(path, format!("{} written as a tag", counted(fixed_ones, "heading")));
        }
        let places = edits.len();
        if places > 0 {
            docs.write(path, edits.apply(&text), places, counted(places, "heading"))?;
        }
    }
    Ok(())
}

/// The changes for one page, and how many headings skip but have no `#` to take away.
fn mend(page: &Page, text: &str) -> (Edits, usize) {
    let boxes = boxes(page, text);
    let mut edits = Edits::default();
    let mut tags = 0;
    // The headings that the next one may belong to: as they were, and as they are now.
    let mut above: Vec<(u8, u8)> = Vec::new();
    // What stands in a quotation, an aside, a component or a list has levels of its own.
    let of_page = |heading: &&Heading| {
        let at = heading.range.start;
        !is_indented(text, at) && !is_boxed(&boxes, at)
    };
    for heading in page.headings.iter().filter(of_page) {
        while above.last().is_some_and(|(was, _)| *was >= heading.level) {
            above.pop();
        }
        // A page may start with a heading of the second level: its title is often elsewhere.
        let deepest = above.last().map_or(2, |(_, is)| is + 1);
        let mut level = heading.level.min(deepest);
        match &heading.marker {
            Some(marker) if level < heading.level => edits.replace(marker.clone(), "#".repeat(usize::from(level))),
            Some(_) => {}
            None => {
                tags += usize::from(level < heading.level);
                level = heading.level;
            }
        }
        above.push((heading.level, level));
    }
    (edits, tags)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn mended(text: &str) -> String {
        mend(&parse("a.md", text), text).0.apply(text)
    }

    fn levels(text: &str) -> Vec<u8> {
        parse("a.md", text).headings.iter().map(|heading| heading.level).collect()
    }

    fn with_levels(levels: &[u8]) -> String {
        levels.iter().map(|level| format!("{} A\n\ntext\n\n", "#".repeat(usize::from(*level)))).collect()
    }

    #[test]
    fn what_skips_moves_up_and_takes_along_what_belongs_to_it() {
        for (before, after) in [
            (&[1, 2, 4][..], &[1, 2, 3][..]),
            (&[1, 3, 4, 3, 2], &[1, 2, 3, 2, 2]),
            (&[2, 4, 5, 4, 2, 3], &[2, 3, 4, 3, 2, 3]),
            (&[1, 6, 6, 2], &[1, 2, 2, 2]),
            (&[4, 5, 3, 4], &[2, 3, 2, 3]),
            (&[3, 1], &[2, 1]),
            (&[1, 2, 3, 1, 2], &[1, 2, 3, 1, 2]),
        ] {
            assert_eq!(levels(&mended(&with_levels(before))), after, "{before:?}");
        }
    }

    #[test]
    fn headings_that_are_underlined_or_tags_stay() {
        let text = "A\n=\n\n<h4>B</h4>\n\n###### C ######\n";
        assert_eq!(mended(text), "A\n=\n\n<h4>B</h4>\n\n##### C ######\n");
        assert_eq!(mend(&parse("a.md", text), text).1, 1);
    }

    #[test]
    fn code_is_left_alone() {
        let text = "# A\r\n\r\n```\r\n#### no\r\n```\r\n\r\n### B\r\n";
        assert_eq!(mended(text), text.replace("### B", "## B"));
    }

    #[test]
    fn what_stands_apart_keeps_its_levels() {
        for aside in [
            "> #### Quoted\n",
            ":::note\n\n#### Noted\n\n:::\n",
            "<Card>\n\n#### Boxed\n\n</Card>\n",
            "- item\n\n  #### Listed\n",
            "- #### Listed\n",
        ] {
            let text = format!("# A\n\n{aside}\n### Last\n");
            assert_eq!(mended(&text), text.replace("### Last", "## Last"), "{aside}");
        }
    }

    proptest! {
        #[test]
        fn nothing_skips_afterwards_and_only_marks_change(before in prop::collection::vec(1u8..=6, 0..12)) {
            let text = with_levels(&before);
            let after = mended(&text);
            let found = levels(&after);
            prop_assert_eq!(found.len(), before.len());
            prop_assert!(found.first().is_none_or(|level| *level <= 2));
            prop_assert!(found.windows(2).all(|pair| pair[1] <= pair[0] + 1), "{:?} -> {:?}", before, found);
            prop_assert!(found.iter().zip(&before).all(|(new, old)| new <= old));
            prop_assert_eq!(text.replace('#', ""), after.replace('#', ""));
            prop_assert_eq!(mended(&after), after.clone());
        }
    }
}
