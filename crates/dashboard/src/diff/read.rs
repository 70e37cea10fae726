//! A page of documentation as it reads, with what is new and what is gone marked in it.

use std::collections::HashMap;

use crate::markdown::{Html, Mark, Part, Token, is_whole, page, render};
use crate::words::many;

use super::words::{Weight, compare, readable};

/// How many parts are shown around a change.
const AROUND: usize = 1;
/// Pages that are longer than this are shown as lines.
const LONGEST: usize = 512 * 1024;
/// So many parts are compared with each other to find out which became which.
const MOST_PAIRS: usize = 400;

/// What is shown of both pages: a part of one of them, or of both.
enum Shown<'p> {
    Same(&'p Part),
    Gone(&'p Part),
    New(&'p Part),
    Changed(&'p Part, &'p Part),
}

/// The page; none if it is too long, or nothing that can be read has changed.
pub(super) fn read(old: &str, new: &str) -> Option<String> {
    if old.len().max(new.len()) > LONGEST {
        return None;
    }
    let (before, after) = (page(old), page(new));
    let source = |text: &str, parts: &[Part]| -> Vec<String> {
        parts.iter().map(|part| text[part.range.clone()].trim().to_owned()).collect()
    };
    let (old_sources, new_sources) = (source(old, &before), source(new, &after));
    let (mut all, mut at) = (Vec::new(), 0);
    for (gone, come) in compare(old_sources.iter(), new_sources.iter()) {
        all.extend(before[at..gone.start].iter().map(Shown::Same));
        at = gone.end;
        pair(&mut all, &before[gone], &after[come]);
    }
    all.extend(before[at..].iter().map(Shown::Same));
    if all.iter().all(|shown| matches!(shown, Shown::Same(_))) {
        return None;
    }
    let mut out = Html::new();
    out.text.push_str("<div class=\"read text\">");
    write(&mut out, &all);
    out.text.push_str("</div>");
    Some(out.text)
}

/// Which part became which.
fn pair<'p>(all: &mut Vec<Shown<'p>>, gone: &'p [Part], come: &'p [Part]) {
    let mut next = 0;
    for old in gone {
        let room = MOST_PAIRS / gone.len().max(1) + 1;
        let found = come[next..].iter().take(room).position(|new| is_same_kind(old, new) && has_common_words(old, new));
        match found {
            Some(further) => {
                all.extend(come[next..next + further].iter().map(Shown::New));
                all.push(Shown::Changed(old, &come[next + further]));
                next += further + 1;
            }
            None => all.push(Shown::Gone(old)),
        }
    }
    all.extend(come[next..].iter().map(Shown::New));
}

fn is_same_kind(old: &Part, new: &Part) -> bool {
    match (old.tokens.first(), new.tokens.first()) {
        (Some(Token::Open(old)), Some(Token::Open(new))) => std::mem::discriminant(old) == std::mem::discriminant(new),
        _ => false,
    }
}

/// A quick look at whether it is worth comparing two parts.
fn has_common_words(old: &Part, new: &Part) -> bool {
    let mut counts: HashMap<&Token, i32> = HashMap::new();
    old.tokens.iter().for_each(|token| *counts.entry(token).or_default() += 1);
    let mut common = 0;
    for token in &new.tokens {
        if let Some(left) = counts.get_mut(token).filter(|left| **left > 0) {
            *left -= 1;
            common += 1;
        }
    }
    5 * common >= 2 * old.tokens.len().max(new.tokens.len())
}

fn write(out: &mut Html, all: &[Shown<'_>]) {
    let is_near = |at: usize| {
        let near = at.saturating_sub(AROUND)..=(at + AROUND).min(all.len() - 1);
        all[near].iter().any(|shown| !matches!(shown, Shown::Same(_)))
    };
    let mut skipped = 0_usize;
    for (at, shown) in all.iter().enumerate() {
        if !is_near(at) {
            skipped += 1;
            continue;
        }
        gap(out, std::mem::take(&mut skipped));
        match shown {
            Shown::Same(part) => whole(out, part, Mark::Same),
            Shown::Gone(part) => whole(out, part, Mark::Gone),
            Shown::New(part) => whole(out, part, Mark::New),
            Shown::Changed(old, new) => changed(out, old, new),
        }
    }
    gap(out, skipped);
}

fn gap(out: &mut Html, skipped: usize) {
    if skipped > 0 {
        out.text.push_str("<p class=\"gap\">");
        out.text.push_str(&many(skipped, "unchanged part", "unchanged parts"));
        out.text.push_str("</p>");
    }
}

fn whole(out: &mut Html, part: &Part, mark: Mark) {
    let (open, close) = match mark {
        Mark::Same => ("", ""),
        Mark::Gone => ("<div class=\"gone\">", "</div>"),
        Mark::New => ("<div class=\"new\">", "</div>"),
    };
    out.text.push_str(open);
    render(out, part.tokens.iter().map(|token| (mark, token)));
    out.text.push_str(close);
}

/// One part with what differs marked in it; both, if they have too little in common or do not fit into each other.
fn changed(out: &mut Html, old: &Part, new: &Part) {
    match merged(old, new) {
        Some(merged) => render(out, merged.into_iter()),
        None => {
            whole(out, old, Mark::Gone);
            whole(out, new, Mark::New);
        }
    }
}

fn merged<'p>(old: &'p Part, new: &'p Part) -> Option<Vec<(Mark, &'p Token)>> {
    let differences = compare(old.tokens.iter(), new.tokens.iter());
    let weigh = |part: &Part| -> Vec<Weight> { part.tokens.iter().map(weight).collect() };
    let differences = readable(differences, &weigh(old), &weigh(new))?;
    let mut merged = Vec::with_capacity(old.tokens.len() + new.tokens.len());
    let mut at = 0;
    for (gone, come) in differences {
        merged.extend(old.tokens[at..gone.start].iter().map(|token| (Mark::Same, token)));
        merged.extend(old.tokens[gone.clone()].iter().map(|token| (Mark::Gone, token)));
        merged.extend(new.tokens[come].iter().map(|token| (Mark::New, token)));
        at = gone.end;
    }
    merged.extend(old.tokens[at..].iter().map(|token| (Mark::Same, token)));
    is_whole(merged.iter().map(|(_, token)| *token)).then_some(merged)
}

fn weight(token: &Token) -> Weight {
    match token {
        Token::Word(word, _) => Weight::of(word),
        _ => Weight::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_marked_where_they_changed() {
        let html = read("# A\n\nSign in to Acme Cloud now.\n", "# A\n\nSign in to **Acme Sky** now.\n").unwrap();
        assert!(html.contains("Sign in to <del>Acme Cloud</del><ins><strong>Acme Sky</strong></ins> now."), "{html}");
        assert!(html.contains("<h3>A</h3>"), "{html}");
    }

    #[test]
    fn a_new_item_of_a_list_is_an_item() {
        let html = read("- one thing\n- two things\n", "- one thing\n- another\n- two things\n").unwrap();
        assert!(html.contains("<li><ins>another</ins></li>"), "{html}");
        assert_eq!(html.matches("<li>").count(), 3);
    }

    #[test]
    fn another_kind_of_part_is_shown_beside_the_old_one() {
        let html = read("Some words here.\n", "## Some words here.\n").unwrap();
        assert!(html.contains("<div class=\"gone\"><p><del>Some words here.</del></p>"), "{html}");
        assert!(html.contains("<div class=\"new\"><h3><ins>Some words here.</ins></h3>"), "{html}");
    }

    #[test]
    fn where_a_link_leads_is_shown_only_when_it_changes() {
        let html = read("See [it](/a) and [that](/b).\n", "See [it](/c) and [that](/b).\n").unwrap();
        assert!(html.contains("it<del> <small>(/a)</small></del><ins> <small>(/c)</small></ins>"), "{html}");
        assert!(!html.contains("/b"), "{html}");
    }

    #[test]
    fn what_is_far_from_a_change_is_left_out() {
        let old: String = (0..20).map(|n| format!("Part {n} of the page.\n\n")).collect();
        let html = read(&old, &old.replace("Part 10 of", "Part ten of")).unwrap();
        assert!(html.contains("9 unchanged parts") && html.contains("Part 11 of") && !html.contains("Part 12"));
        assert_eq!(read(&old, &old), None);
    }

    #[test]
    fn what_is_not_text_stays_as_it_is() {
        let html = read("<Card a=\"1\">\n\n```\nx = 1\n```\n", "<Card a=\"2\">\n\n```\nx = 2\n```\n").unwrap();
        assert!(html.contains("&#60;Card a=&#34;<del>1</del><ins>2</ins>&#34;&#62;"), "{html}");
        assert!(html.contains("<code>x = <del>1</del><ins>2</ins>"), "{html}");
    }
}
