//! The first sentence of a page, without markup.

use std::ops::Range;

use copydesk_checks::page::Page;

use super::boxes::{boxes, is_boxed};

/// How long a description may be, in characters: search engines show no more.
const LONGEST: usize = 160;

/// A description is at the beginning of a page, or nowhere.
const MOST_PARAGRAPHS: usize = 50;

/// The first sentence of the first paragraph, cut to size; none if the page has no paragraph.
pub(crate) fn first_sentence(page: &Page, text: &str) -> Option<String> {
    let boxes = boxes(page, text);
    let mut at = page.front_matter.as_ref().map_or(0, |it| it.range.end);
    for _ in 0..MOST_PARAGRAPHS {
        let paragraph = next_paragraph(text, at)?;
        at = paragraph.end;
        // Text may follow a heading without a blank line.
        if let Some(heading) = page.headings.iter().find(|it| it.range.contains(&paragraph.start)) {
            at = heading.range.end.max(paragraph.start + 1);
            continue;
        }
        if is_boxed(&boxes, paragraph.start + 1)
            || !is_running_text(page, text, &paragraph)
            || is_no_description(page, text, &paragraph)
        {
            continue;
        }
        let words = shown(page, text, &paragraph);
        let sentence = cut(sentence_of(&words));
        // One that announces a list or a listing says nothing without it.
        if !is_label(&sentence) && !sentence.ends_with(':') {
            return Some(sentence);
        }
    }
    None
}

/// Lines up to a blank one.
fn next_paragraph(text: &str, from: usize) -> Option<Range<usize>> {
    let rest = text.get(from..)?;
    let start = from + (rest.len() - rest.trim_start_matches(['\n', '\r', ' ', '\t', '\u{feff}']).len());
    let mut end = start;
    for line in text.get(start..)?.split_inclusive('\n') {
        if line.trim().is_empty() {
            break;
        }
        end += line.len();
    }
    (end > start).then_some(start..end)
}

/// Whether a paragraph is text that runs on: no heading, list, table, quotation, code, tag or image.
fn is_running_text(page: &Page, text: &str, paragraph: &Range<usize>) -> bool {
    let overlaps = |range: &Range<usize>| range.start < paragraph.end && paragraph.start < range.end;
    let prose_first =
        page.prose.iter().chain(&page.code).filter(|range| overlaps(range)).map(|range| range.start).min();
    let Some(first) = prose_first else {
        return false;
    };
    // Only marks of emphasis or of a link may stand before the first word.
    let before = text.get(paragraph.start..first.max(paragraph.start)).unwrap_or_default();
    let opening = before.chars().all(|c| matches!(c, '*' | '_' | '[' | '`' | '~' | '\\'));
    let line = text[paragraph.clone()].trim_start();
    let special = [":::", "!!!", "|", "import ", "export ", "```", "~~~"].iter().any(|mark| line.starts_with(mark));
    let block_code = page.code.iter().any(|range| overlaps(range) && text[range.clone()].contains('\n'));
    let headed = page.headings.iter().any(|heading| overlaps(&heading.range));
    opening && !special && !block_code && !headed
}

/// Whether a paragraph is there for something else than to say what the page is about: badges, links to other pages, what a
/// template or a generator fills in, a note.
fn is_no_description(page: &Page, text: &str, paragraph: &Range<usize>) -> bool {
    const STARTS: [&str; 12] = ["{", "[[", "[toc]", "..", "--8<--", "<!--", "@", "$$", "(", "\\", "[^", "%"];
    const NOTES: [&str; 9] =
        ["note", "tip", "warning", "caution", "important", "info", "danger", "deprecated", "experimental"];
    let written = text[paragraph.clone()].trim();
    let lower = written.to_lowercase();
    let first = lower.trim_start_matches(['*', '_', '[', '!']);
    let is_note = NOTES.iter().any(|note| {
        first
            .strip_prefix(note)
            .is_some_and(|rest| rest.trim_start_matches(['*', '_', ']']).starts_with([':', '!', '.']))
    });
    let inside = |range: &&Range<usize>| range.start >= paragraph.start && range.end <= paragraph.end;
    let words: usize = page.prose.iter().filter(inside).map(|range| range.len()).sum();
    // Most of it is addresses and marks rather than words.
    let is_markup = words * 2 < written.len() && page.code.iter().filter(inside).count() == 0;
    let has_image = written.contains("![") || lower.contains("<img") || lower.contains("badge");
    is_note || is_markup || has_image || written.contains(" | ") || STARTS.iter().any(|start| lower.starts_with(start))
}

/// Whether a text is a label rather than a sentence: a date, a version, who wrote it, or a few words without an end.
fn is_label(sentence: &str) -> bool {
    const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    const ABOUT: [&str; 10] =
        ["published", "updated", "posted", "written", "created", "modified", "edited", "released", "date", "version"];
    let lower = sentence.to_lowercase();
    let words: Vec<&str> = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let number = |word: &&&str| word.starts_with(|c: char| c.is_ascii_digit());
    let month = |word: &&&str| MONTHS.iter().any(|month| word.starts_with(month)) && word.len() <= 9;
    let numbers = words.iter().filter(number).count();
    let dated = numbers > 0 && words.iter().filter(|word| number(word) || month(word)).count() * 3 >= words.len();
    let about = words.iter().take(3).any(|word| ABOUT.contains(word)) && (numbers > 0 || words.len() < 5);
    let letters = lower.chars().filter(|c| c.is_alphabetic()).count();
    let by = words.first() == Some(&"by") && words.len() < 6;
    letters < 2 || dated || about || by
}

/// What a reader sees of a paragraph, on one line.
fn shown(page: &Page, text: &str, paragraph: &Range<usize>) -> String {
    let inside = |range: &&Range<usize>| range.start >= paragraph.start && range.end <= paragraph.end;
    let mut parts: Vec<(usize, usize, &str)> = Vec::new();
    for range in page.prose.iter().filter(inside) {
        parts.push((range.start, range.end, &text[range.clone()]));
    }
    for range in page.code.iter().filter(inside) {
        parts.push((range.start, range.end, text[range.clone()].trim_matches('`').trim()));
    }
    parts.sort_unstable_by_key(|(start, ..)| *start);
    let mut words = String::new();
    let mut last = paragraph.start;
    for (start, end, part) in parts {
        if text[last..start].contains(['\n', ' ']) {
            words.push(' ');
        }
        words.push_str(part);
        last = end;
    }
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn sentence_of(words: &str) -> &str {
    const SHORT: [&str; 9] = ["e.g.", "i.e.", "etc.", "vs.", "cf.", "no.", "approx.", "incl.", "resp."];
    for (at, mark) in words.match_indices(['.', '!', '?', '。', '！', '？']) {
        let end = at + mark.len();
        let sentence = &words[..end];
        let wide = !mark.is_ascii();
        let last_word = sentence.rsplit([' ', '(']).next().unwrap_or_default().to_ascii_lowercase();
        let next = words[end..].trim_start().chars().next();
        let goes_on = next.is_some_and(|c| c.is_lowercase()) || SHORT.contains(&last_word.as_str());
        if wide || ((words[end..].starts_with(' ') || end == words.len()) && !goes_on) {
            return sentence;
        }
    }
    words
}

/// Cuts at the end of a word.
fn cut(sentence: &str) -> String {
    if sentence.chars().count() <= LONGEST {
        return sentence.to_owned();
    }
    let most = sentence.char_indices().nth(LONGEST - 1).map_or(sentence.len(), |(at, _)| at);
    let head = &sentence[..most];
    let kept = head.rfind(' ').map_or(head, |at| &head[..at]);
    format!("{}…", kept.trim_end_matches([' ', ',', ';', ':', '–', '—', '-']))
}

#[cfg(test)]
mod tests {
    use copydesk_checks::page::parse;
    use proptest::prelude::*;

    use super::*;

    fn of(path: &str, text: &str) -> Option<String> {
        first_sentence(&parse(path, text), text)
    }

    #[test]
    fn the_first_sentence_of_running_text() {
        for (text, wanted) in [
            ("---\na: b\n---\n# A\n\nOne **two**\n[three](x). Four.", "One two three."),
            ("- a\n- b\n\n> quoted\n\n| a |\n| - |\n\n![x](y.png)\n\n```\ncode\n```\n\nWords.", "Words."),
            ("The limits are:\n\n- a\n\nThey hold.", "They hold."),
            ("Use e.g. `curl` v1.2 or wget. Then", "Use e.g. curl v1.2 or wget."),
            ("`curl` is used", "curl is used"),
            ("# A\nText\n\nmore", "Text"),
            ("A\n=\nText", "Text"),
        ] {
            assert_eq!(of("a.md", text).as_deref(), Some(wanted), "{text}");
        }
        assert_eq!(of("a.md", "# A\n"), None);
        assert_eq!(of("a.mdx", "import A from './a.mdx'\n\n<Card>x</Card>\n\nWords.").as_deref(), Some("Words."));
    }

    #[test]
    fn a_date_a_badge_a_component_or_a_note_is_no_description() {
        for before in [
            "May 3, 2024",
            "*2024-05-03*",
            "Last updated: 3 May 2024 by Ada",
            "Published on 3 May 2024.",
            "By Ada Lovelace",
            "[![build](https://x.example/b.svg)](https://x.example) [![docs](https://x.example/d.svg)](https://x.example)",
            "![The logo of it](logo.png)",
            "{{< include \"x\" >}}",
            "{% include x.html %}",
            "[Home](/) | [Docs](/docs)",
            "**Note:** This is old.",
            "Warning: this is old.",
            ":::note\nAn aside.\n:::",
            "<Card>\n\nIn a card.\n\n</Card>",
            "> Somebody said so.",
            "[TOC]",
        ] {
            let text = format!("# A\n\n{before}\n\nWhat it is about.\n");
            assert_eq!(of("a.md", &text).as_deref(), Some("What it is about."), "{before}");
        }
        assert_eq!(
            of("a.mdx", "import A from './a'\n\n<A date=\"2024\" />\n\nWords here.\n").as_deref(),
            Some("Words here.")
        );
    }

    #[test]
    fn only_the_beginning_of_a_page_is_looked_at() {
        let after = |count: usize| of("a.md", &format!("{}Words.", "- a\n\n".repeat(count)));
        assert_eq!((after(MOST_PARAGRAPHS - 1).as_deref(), after(MOST_PARAGRAPHS)), (Some("Words."), None));
    }

    #[test]
    fn a_long_one_is_cut_at_a_word() {
        let long = of("a.md", &"wörd ".repeat(60)).unwrap();
        assert!(long.chars().count() <= LONGEST && long.ends_with("wörd…"), "{long}");
    }

    proptest! {
        #[test]
        fn no_page_makes_it_panic(text in "(\\PC|[\n*_`<>\\[\\]()#|.-]){0,80}") {
            for path in ["a.md", "a.mdx"] {
                let found = of(path, &text);
                prop_assert!(found.is_none_or(|it| it.chars().count() <= LONGEST && !it.contains('\n')));
            }
        }
    }
}
