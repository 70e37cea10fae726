//! Request bodies: bounded, JSON, every mistake named.

use axum::body::Body;
use axum::http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use serde::de::{DeserializeOwned, IgnoredAny};

use crate::problem::Problem;

/// The most a request body may have.
pub(crate) const MAX_BODY: usize = 1024 * 1024;

/// How much of a body that is too large is read and thrown away, so that the client, still sending, gets to see
/// the answer instead of a broken connection.
const DRAINED: usize = 8 * 1024 * 1024;

/// How much of what a client sent is repeated to it in an error.
const SHOWN: usize = 200;

/// Reads the whole body of a JSON request.
pub(crate) async fn read(headers: &HeaderMap, body: Body) -> Result<Bytes, Problem> {
    check_type(headers)?;
    bounded(headers, body, MAX_BODY, "1 MiB").await
}

/// Reads the whole body of a request, of whatever type; `words` say how much `limit` is.
pub(crate) async fn bounded(headers: &HeaderMap, body: Body, limit: usize, words: &str) -> Result<Bytes, Problem> {
    let drained = DRAINED.max(limit.saturating_mul(2));
    let announced = headers.get(CONTENT_LENGTH).and_then(|it| it.to_str().ok()?.parse::<u64>().ok());
    if announced.is_some_and(|bytes| bytes > drained as u64) {
        return Err(too_large(words));
    }
    let mut body = body;
    let mut collected = BytesMut::new();
    let mut seen = 0;
    while let Some(frame) = body.frame().await {
        let broken = |_| Problem::new(StatusCode::BAD_REQUEST, "incomplete_body", "The request body broke off.");
        let Ok(data) = frame.map_err(broken)?.into_data() else { continue };
        seen += data.len();
        if seen <= limit {
            collected.extend_from_slice(&data);
        } else if seen > drained {
            break;
        }
    }
    if seen > limit { Err(too_large(words)) } else { Ok(collected.freeze()) }
}

pub(crate) fn too_large(words: &str) -> Problem {
    let error = format!("The request body has more than {words}.");
    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", error)
}

/// The type of a body in small letters, without its parameters.
pub(crate) fn essence(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(CONTENT_TYPE)?.to_str().ok()?.split(';').next()?;
    Some(value.trim().to_ascii_lowercase())
}

pub(crate) fn unsupported(error: impl Into<String>) -> Problem {
    Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", error)
}

fn check_type(headers: &HeaderMap) -> Result<(), Problem> {
    if essence(headers).as_deref() != Some("application/json") {
        return Err(unsupported("The request body must be sent as `Content-Type: application/json`."));
    }
    match headers.get(CONTENT_ENCODING).map(|value| value.as_bytes().to_ascii_lowercase()) {
        None => Ok(()),
        Some(encoding) if encoding == b"identity" => Ok(()),
        Some(_) => Err(unsupported("The request body must be sent without a Content-Encoding.")),
    }
}

/// Reads a JSON object into `T`, which refuses unknown fields.
pub(crate) fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let error = format!("The request body is not valid UTF-8 (at byte {}).", error.valid_up_to());
        Problem::new(StatusCode::BAD_REQUEST, "invalid_utf8", error)
    })?;
    // Asked first, because serde would also take a list of the fields' values for a struct.
    if !text.trim_ascii_start().starts_with('{') {
        return Err(match serde_json::from_str::<IgnoredAny>(text) {
            Ok(_) => not_an_object(),
            Err(error) => explain(".".to_owned(), error),
        });
    }
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let parsed = serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        let path = error.path().to_string();
        explain(path, error.into_inner())
    })?;
    deserializer.end().map_err(|error| explain(".".to_owned(), error))?;
    Ok(parsed)
}

fn explain(path: String, error: serde_json::Error) -> Problem {
    let message = error.to_string();
    if !error.is_data() {
        return Problem::new(
            StatusCode::BAD_REQUEST,
            "invalid_json",
            format!("The request body is not valid JSON: {message}."),
        );
    }
    let quoted = field_in(&message);
    let what = |prefix: &str| message.starts_with(prefix);
    if what("unknown field") {
        Problem::invalid(&quoted, "is not a field of this request")
    } else if what("missing field") {
        Problem::invalid(&quoted, "is missing")
    } else if what("duplicate field") {
        Problem::invalid(&quoted, "is given twice")
    } else if path == "." {
        not_an_object()
    } else {
        // What was given is quoted in it, and may be long.
        let message: String = message.split(" at line ").next().unwrap_or_default().chars().take(SHOWN).collect();
        Problem::invalid(&path, format!("has the wrong type: {message}"))
    }
}

fn not_an_object() -> Problem {
    Problem::new(StatusCode::BAD_REQUEST, "invalid_request", "The request body must be a JSON object.")
}

/// serde says «unknown field `x`, expected …» and «missing field `x`»; an unknown one may be anything at all.
fn field_in(message: &str) -> String {
    let after = message.split_once('`').map_or("", |(_, after)| after);
    let end = after.rfind("`, expected").or_else(|| after.find('`')).unwrap_or(after.len());
    let plain = |c: char| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c };
    let name: String = after[..end].chars().take(SHOWN).map(plain).collect();
    if name.is_empty() { r#""""#.to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Form {
        #[allow(dead_code)]
        prompt: String,
        #[allow(dead_code)]
        draft: Option<bool>,
    }

    fn said(body: &str) -> String {
        let problem = parse::<Form>(body.as_bytes()).unwrap_err();
        format!("{problem:?}")
    }

    #[test]
    fn every_mistake_names_its_field() {
        assert!(said(r#"{"prompt":"x","colour":1}"#).contains("The colour is not a field"));
        assert!(said("{}").contains("The prompt is missing"));
        assert!(said(r#"{"prompt":"x","draft":"yes"}"#).contains("The draft has the wrong type"));
        assert!(said(r#"{"prompt":"x","prompt":"y"}"#).contains("The prompt is given twice"));
        assert!(said("[]").contains("must be a JSON object"));
        assert!(said(r#"["x",true]"#).contains("must be a JSON object"));
        assert!(said(r#"{"prompt":"x","a`, expected b":1}"#).contains("The a`, expected b is not a field"));
        assert!(said("{").contains("not valid JSON"));
        assert!(said(r#"{"prompt":"x"} {}"#).contains("not valid JSON"));
    }
}
