//! The same rows for spreadsheets (RFC 4180).

use std::fmt::Write;

use axum::http::HeaderValue;
use axum::http::header::GetAll;
use copydesk_views::store::PageViews;

/// The media type, with the header line announced.
pub(super) const TYPE: &str = "text/csv; charset=utf-8; header=present";

/// Whether CSV is preferred to JSON.
pub(super) fn wanted(accept: GetAll<'_, HeaderValue>) -> bool {
    let text = accept.iter().filter_map(|value| value.to_str().ok()).collect::<Vec<_>>().join(",");
    let (mut csv, mut json) = (0.0, None);
    for part in text.split(',') {
        let mut parameters = part.split(';').map(str::trim);
        let kind = parameters.next().unwrap_or_default().to_ascii_lowercase();
        let weight = parameters.find_map(|it| it.strip_prefix("q=")?.trim().parse::<f32>().ok()).unwrap_or(1.0);
        match kind.as_str() {
            "text/csv" => csv = weight,
            "application/json" | "application/*" => json = Some(weight),
            _ => {}
        }
    }
    csv > 0.0 && csv > json.unwrap_or(0.0)
}

/// The rows with a header.
pub(super) fn table(pages: &[PageViews]) -> String {
    let mut table = String::from("path,human,ai,total\r\n");
    for page in pages {
        let counts = page.counts;
        field(&mut table, &page.path);
        let _ = write!(table, ",{},{},{}\r\n", counts.human, counts.ai, counts.total());
    }
    table
}

fn field(table: &mut String, text: &str) {
    if text.contains([',', '"', '\r', '\n']) {
        let _ = write!(table, "\"{}\"", text.replace('"', "\"\""));
    } else {
        table.push_str(text);
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderMap;
    use axum::http::header::ACCEPT;
    use copydesk_views::store::Counts;

    use super::*;

    #[test]
    fn csv_is_for_those_who_ask_for_it() {
        let asks = |text: &str| {
            let headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_str(text).unwrap())]);
            wanted(headers.get_all(ACCEPT))
        };
        assert!(asks("text/csv") && asks("text/csv, */*;q=0.1") && asks("application/json;q=0.5, text/csv"));
        assert!(
            !asks("*/*") && !asks("application/json, text/csv;q=0.9") && !asks("text/csv;q=0") && !asks("text/html")
        );
        assert!(!wanted(HeaderMap::new().get_all(ACCEPT)));
    }

    #[test]
    fn commas_in_paths_stay_in_their_column() {
        let page = PageViews { path: "/a,b".into(), counts: Counts { human: 3, ai: 4 } };
        assert_eq!(table(&[page]), "path,human,ai,total\r\n\"/a,b\",3,4,7\r\n");
    }
}
