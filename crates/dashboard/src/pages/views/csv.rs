//! Tables for spreadsheets (RFC 4180).

use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE, HeaderName, HeaderValue};
use axum::response::{IntoResponse, Response};
use copydesk_views::store::{Counts, Loss};

/// The header that says why figures are not to be relied on, as the interface has it.
const INCOMPLETE: HeaderName = HeaderName::from_static("views-incomplete");

/// Rows of a name and its views, below a header.
pub(super) fn table<'a>(name: &str, rows: impl Iterator<Item = (&'a str, Counts)>) -> String {
    let mut table = format!("{name},people,ai,together\r\n");
    for (name, counts) in rows {
        table.push_str(&cell(name));
        table.push_str(&format!(",{},{},{}\r\n", counts.human, counts.ai, counts.total()));
    }
    table
}

/// A cell that stays in its column, and that no spreadsheet takes for a formula.
fn cell(text: &str) -> String {
    let guarded = match text.chars().next() {
        Some('=' | '+' | '-' | '@' | '\t' | '\r') => format!("'{text}"),
        _ => text.to_owned(),
    };
    if guarded.contains([',', '"', '\r', '\n']) { format!("\"{}\"", guarded.replace('"', "\"\"")) } else { guarded }
}

/// The table as a file of that name, with what is missing from it said.
pub(super) fn file(name: &str, table: String, losses: &[Loss]) -> Response {
    let mut response = table.into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/csv; charset=utf-8; header=present"));
    if let Ok(value) = HeaderValue::from_str(&format!("attachment; filename=\"{name}.csv\"")) {
        headers.insert(CONTENT_DISPOSITION, value);
    }
    for sentence in losses.iter().take(5).filter_map(|loss| HeaderValue::from_str(&loss.sentence()).ok()) {
        headers.append(INCOMPLETE, sentence);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cell_is_a_formula_or_leaves_its_column() {
        for (text, wanted) in [
            ("/a", "/a"),
            ("=1+1", "'=1+1"),
            ("+1", "'+1"),
            ("-1", "'-1"),
            ("@x", "'@x"),
            ("\tx", "'\tx"),
            ("=a,\"b\"", "\"'=a,\"\"b\"\"\""),
            ("a\nb", "\"a\nb\""),
            ("a=b", "a=b"),
            ("", ""),
        ] {
            assert_eq!(cell(text), wanted);
        }
        let counts = Counts { human: 3, ai: 4 };
        assert_eq!(table("page", [("/a", counts)].into_iter()), "page,people,ai,together\r\n/a,3,4,7\r\n");
    }
}
