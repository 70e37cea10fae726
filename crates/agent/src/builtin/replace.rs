//! Replaces a term in what people read, and follows anchors that change with it.

use std::ops::Range;

use copydesk_checks::page::{Field, Page, parse};

use super::chore::{Code, Replace};
use super::desk::{Desk, Trouble};
use super::edits::Edits;
use super::follow::{Renamed, follow};
use super::report::Report;
use super::scalar;
use super::scope::pages_of;
use super::terms::Term;
use super::words::counted;

/// The fields of front matter that readers see.
const SEEN: [&str; 2] = ["title", "description"];

/// Does it.
pub(crate) fn run(chore: &Replace, desk: &mut Desk) -> Result<Report, Trouble> {
    let mut report = Report::default();
    let pages = pages_of(&chore.scope, desk)?;
    let term = Term::new(&chore.old, &chore.new, chore.ignore_case, chore.inside_words);
    let mut renamed = Vec::new();
    report.looked_at(pages.len());
    for path in &pages {
        let Some(text) = desk.text(path, &mut report)?.filter(|text| term.may_be_in(text)) else {
            continue;
        };
        renamed.extend(one_page(path, &text, chore, &term, desk, &mut report)?);
    }
    follow(&renamed, desk, &mut report)?;
    Ok(report)
}

/// Replaces the term in one page; gives the anchors that change.
fn one_page(
    path: &str,
    text: &str,
    chore: &Replace,
    term: &Term,
    desk: &mut Desk,
    report: &mut Report,
) -> Result<Vec<Renamed>, Trouble> {
    let page = parse(path, text);
    let mut edits = Edits::default();
    if chore.code != Code::Only {
        for found in term.in_prose(&page, text) {
            edits.replace(found.range, found.new);
        }
        fields(&page, text, term, &mut edits);
    }
    if chore.code != Code::Not {
        for found in page.code.iter().flat_map(|range| term.in_part(text, range)) {
            edits.replace(found.range, found.new);
        }
    }
    let left = left_over(&page, text, term, &edits);
    if !left.is_empty() {
        report.leave(path, left);
    }
    if edits.is_empty() {
        return Ok(Vec::new());
    }
    let places = edits.len();
    let new_text = edits.apply(text);
    let new_page = parse(path, &new_text);
    if shape(&new_page) != shape(&page) {
        report.leave(path, format!("{}, where the new term would be read as markup", counted(places, "place")));
        return Ok(Vec::new());
    }
    if !desk.write(path, new_text, report)? {
        return Ok(Vec::new());
    }
    report.change(path, places, counted(places, "place"));
    Ok(Renamed::between(path, &page, &new_page))
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
                for found in term.in_part(text, &field.range) {
                    edits.replace(found.range, found.new);
                }
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
    for found in term.in_part(text, &(0..text.len())).iter().filter(|found| !inside(&changed, &found.range)) {
        *(if inside(&page.code, &found.range) { &mut in_code } else { &mut elsewhere }) += 1;
    }
    let parts = [(in_code, "in code"), (elsewhere, "in addresses, tags or fields")];
    let said = parts.iter().filter(|(count, _)| *count > 0);
    said.map(|(count, place)| format!("{} {place}", counted(*count, "place"))).collect::<Vec<_>>().join(", ")
}
