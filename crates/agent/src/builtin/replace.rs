//! Replaces a term in what people read, and follows anchors that change with it.

use std::ops::Range;

use copydesk_checks::page::{Field, Page, parse};

use super::boxes::is_quoted;
use super::chore::{Code, Replace};
use super::docs::{ChoreFailure, Docs};
use super::follow::{Renamed, follow};
use super::scalar;
use super::scope::pages_of;
use super::terms::{Term, is_whole_address, names_address};
use crate::edits::Edits;
use crate::text::counted;

/// The fields of front matter that readers see.
const SEEN: [&str; 2] = ["title", "description"];

pub(crate) fn run(chore: &Replace, docs: &mut Docs) -> Result<(), ChoreFailure> {
    let term = Term::new(&chore.old, &chore.new, chore.ignore_case, chore.inside_words);
    let mut renamed = Vec::new();
    for path in &pages_of(&chore.scope, docs)? {
        if let Some(text) = docs.text(path)?.filter(|text| term.may_be_in(text)) {
            renamed.extend(one_page(path, &text, chore, &term, docs)?);
        }
    }
    follow(&renamed, docs)
}

/// Replaces the term in one page; gives the anchors that change.
fn one_page(
    path: &str,
    text: &str,
    chore: &Replace,
    term: &Term,
    docs: &mut Docs,
) -> Result<Vec<Renamed>, ChoreFailure> {
    let page = parse(path, text);
    let mut edits = Edits::default();
    if names_address(&chore.old) {
        edits.replace_all(addresses(&page, text, term, chore.code));
    } else {
        if chore.code != Code::Only {
            // The words of others stay theirs.
            let found = term.in_prose(&page, text).into_iter();
            edits.replace_all(found.filter(|(range, _)| !is_quoted(text, range.start)));
            fields(&page, text, term, &mut edits);
        }
        if chore.code != Code::Not {
            edits.replace_all(page.code.iter().flat_map(|range| term.in_part(text, range)));
        }
    }
    let left = left_over(&page, text, term, &edits);
    if !left.is_empty() {
        docs.report.note_left(path, left);
    }
    let places = edits.len();
    if places == 0 {
        return Ok(Vec::new());
    }
    let counted = counted(places, "place");
    let new_text = edits.apply(text);
    let new_page = parse(path, &new_text);
    if shape(&new_page) != shape(&page) {
        docs.report.note_left(path, format!("{counted}, where the new term would be read as markup"));
        return Ok(Vec::new());
    }
    let is_written = docs.write(path, new_text, places, counted)?;
    Ok(if is_written { Renamed::between(path, &page, &new_page) } else { Vec::new() })
}

/// Where an address stands that is asked for: in links, in tags, in fields and in the text, and in code if that is meant.
fn addresses(page: &Page, text: &str, term: &Term, code: Code) -> Vec<(Range<usize>, String)> {
    let in_code = |at: usize| {
        let after = page.code.partition_point(|range| range.start <= at);
        page.code[..after].last().is_some_and(|range| at < range.end)
    };
    let is_meant = |found: &Range<usize>| match code {
        Code::Not => !in_code(found.start),
        Code::Too => true,
        Code::Only => in_code(found.start),
    };
    let found = term.in_part(text, &(0..text.len())).into_iter();
    found.filter(|(range, _)| is_whole_address(text, range) && is_meant(range)).collect()
}

/// Replaces the term in the fields that readers see.
fn fields(page: &Page, text: &str, term: &Term, edits: &mut Edits) {
    for field in seen_fields(page) {
        let (Some(value), Some(before)) = (&field.value, text.get(field.range.clone())) else {
            continue;
        };
        let (new, count) = term.replaced(value);
        if count == 0 {
            continue;
        }
        match scalar::like(before, &new, is_toml(page, text)) {
            Some(written) => edits.replace(field.range.clone(), written),
            // Text of several lines holds no marks that would have to be escaped, unless it is in quotes.
            None if before.starts_with(['|', '>']) => {
                edits.replace_all(term.in_part(text, &field.range));
            }
            None => {}
        }
    }
}

fn seen_fields(page: &Page) -> impl Iterator<Item = &Field> {
    let fields = page.front_matter.iter().flat_map(|front_matter| &front_matter.fields);
    fields.filter(|field| SEEN.contains(&field.name.as_str()))
}

/// Whether the front matter is TOML rather than YAML.
pub(crate) fn is_toml(page: &Page, text: &str) -> bool {
    page.front_matter
        .as_ref()
        .and_then(|it| text.get(it.range.clone()))
        .is_some_and(|it| it.trim_start().starts_with("+++"))
}

/// What makes up a page besides its words; a new term must not change it.
fn shape(page: &Page) -> (usize, usize, usize, usize, usize) {
    let fields = page.front_matter.as_ref().map_or(0, |front_matter| front_matter.fields.len());
    (page.headings.len(), page.links.len(), page.code.len(), page.problems.len(), fields)
}

/// How often the term stands where it is left, and where that is.
fn left_over(page: &Page, text: &str, term: &Term, edits: &Edits) -> String {
    let inside = |ranges: &[Range<usize>], at: &Range<usize>| {
        let after = ranges.partition_point(|range| range.start <= at.start);
        after.checked_sub(1).and_then(|last| ranges.get(last)).is_some_and(|range| at.end <= range.end)
    };
    let changed = edits.ranges();
    let (mut in_code, mut elsewhere) = (0, 0);
    for (found, _) in term.in_part(text, &(0..text.len())).iter().filter(|(found, _)| !inside(&changed, found)) {
        *(if inside(&page.code, found) { &mut in_code } else { &mut elsewhere }) += 1;
    }
    let parts = [(in_code, "in code"), (elsewhere, "in addresses, tags, fields or quotations")];
    let said = parts.iter().filter(|(count, _)| *count > 0);
    said.map(|(count, place)| format!("{} {place}", counted(*count, "place"))).collect::<Vec<_>>().join(", ")
}
