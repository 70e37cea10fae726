//! What is said to requests that no route ever sees, because they cannot be read or there is no place for them: the same
//! shape as every other error, with a request id, in the log and in the figures.

use std::time::Duration;

use axum::http::StatusCode;
use copydesk_domain::new_id;

use crate::operation::Operation;
use crate::problem::ErrorBody;

/// What the HTTP library answers by itself: a head, no body, and it closes the connection. The date stands in between.
const BEFORE_DATE: [(StatusCode, &str); 3] = [
    (StatusCode::BAD_REQUEST, "HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\ndate: "),
    (StatusCode::URI_TOO_LONG, "HTTP/1.1 414 URI Too Long\r\nconnection: close\r\ncontent-length: 0\r\ndate: "),
    (
        StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
        "HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\ndate: ",
    ),
];
/// Bytes of a date.
const DATE: usize = "Sun, 06 Nov 1994 08:49:37 GMT".len();
const AFTER_DATE: &str = "\r\n\r\n";

/// The library's own answer at the end of `bytes`: its status, and where it begins. Every answer of ours has a request id,
/// and no body of ours ends in an empty line.
pub(crate) fn canned(bytes: &[u8]) -> Option<(StatusCode, usize)> {
    let dated = bytes.strip_suffix(AFTER_DATE.as_bytes())?;
    let before = dated.get(..dated.len().checked_sub(DATE)?)?;
    let (status, text) = BEFORE_DATE.iter().find(|(_, text)| before.ends_with(text.as_bytes()))?;
    Some((*status, before.len() - text.len()))
}

/// Makes such answers.
pub(crate) struct OwnAnswers(Operation);

impl OwnAnswers {
    pub(crate) fn new(operation: Operation) -> Self {
        Self(operation)
    }

    /// What to say in the place of the library's answer. `is_line`: the first line is what is too long.
    pub(crate) fn instead_of(&self, status: StatusCode, is_line: bool) -> Vec<u8> {
        if status == StatusCode::BAD_REQUEST {
            return self.made(status, "unreadable_request", "This is not a request of HTTP/1.1.");
        }
        if is_line || status == StatusCode::URI_TOO_LONG {
            let error = "The address of the request is too long.";
            return self.made(StatusCode::URI_TOO_LONG, "address_too_long", error);
        }
        self.made(status, "head_too_large", "The head of the request is too large, or has too many fields.")
    }

    /// For somebody who has all the connections that one address may have.
    pub(crate) fn too_many_connections(&self) -> Vec<u8> {
        let error = "This address has too many connections open; use or close those it has.";
        self.made(StatusCode::TOO_MANY_REQUESTS, "too_many_connections", error)
    }

    fn made(&self, status: StatusCode, code: &'static str, error: &str) -> Vec<u8> {
        let id = new_id(self.0.store().now());
        self.0.metrics().request("other", "unreadable", status.as_u16(), Duration::ZERO);
        tracing::info!(target: "copydesk::access", status = status.as_u16(), request_id = id, cause = code, "request");
        let body = serde_json::to_string(&ErrorBody::new(code, error)).unwrap_or_default();
        let reason = status.canonical_reason().unwrap_or_default();
        let wait = if status == StatusCode::TOO_MANY_REQUESTS { "retry-after: 1\r\n" } else { "" };
        format!(
            "HTTP/1.1 {} {reason}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nx-request-id: {id}\r\n\
             {wait}x-content-type-options: nosniff\r\ncache-control: no-store\r\nconnection: close\r\n\r\n{body}",
            status.as_u16(),
            body.len()
        )
        .into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CANNED: &str = "HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\
                          date: Sun, 06 Nov 1994 08:49:37 GMT\r\n\r\n";

    #[test]
    fn the_librarys_answer_is_found_alone_and_behind_one_of_ours() {
        let status = StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE;
        assert_eq!(canned(CANNED.as_bytes()), Some((status, 0)));
        let ours = "HTTP/1.1 200 OK\r\nx-request-id: 1\r\ncontent-length: 2\r\n\r\n{}";
        assert_eq!(canned(format!("{ours}{CANNED}").as_bytes()), Some((status, ours.len())));
        assert_eq!(canned(ours.as_bytes()), None);
        assert_eq!(canned(format!("{CANNED}{ours}").as_bytes()), None);
        assert_eq!(canned(b""), None);
        assert_eq!(canned(AFTER_DATE.as_bytes()), None);
    }
}
