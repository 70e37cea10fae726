//! Request bodies: bounded, JSON, every mistake named.

use std::convert::Infallible;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequest, Request};
use axum::http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use tokio::time::Instant;

use crate::app::App;
use crate::bodies::{NoRoom, Share, Whose};
use crate::connections::{Line, Phase};
use crate::problem::Problem;

/// The most a request body may have.
pub(crate) const MAX_BODY: usize = 1024 * 1024;

/// How much of a body that is too large is read and thrown away, so that the client, still sending, gets to see
/// the answer instead of a broken connection.
const DRAINED: usize = 8 * 1024 * 1024;

/// How much of what a client sent is repeated to it in an error.
const SHOWN: usize = 200;

/// How long a sender may take before it is asked how fast it is.
const GRACE: Duration = Duration::from_secs(5);

/// A body that was not read yet.
pub(crate) struct RequestBody {
    body: Body,
    line: Option<Arc<Line>>,
}

impl<S: Sync> FromRequest<S> for RequestBody {
    type Rejection = Infallible;

    async fn from_request(request: Request, _: &S) -> Result<Self, Infallible> {
        let line = request.extensions().get::<Arc<Line>>().cloned();
        Ok(Self { body: request.into_body(), line })
    }
}

impl RequestBody {
    /// Whether it is known to have no more bytes than that.
    pub(crate) fn has_at_most(&self, bytes: u64) -> bool {
        hyper::body::Body::size_hint(&self.body).upper().is_some_and(|most| most <= bytes)
    }
}

/// A body that was read, and its share of the memory.
pub(crate) struct BodyBytes {
    bytes: Bytes,
    _share: Share,
}

impl BodyBytes {
    /// Other bytes, with a share that was taken for them.
    pub(crate) fn new(bytes: Bytes, share: Share) -> Self {
        share.is_whole(bytes.len());
        Self { bytes, _share: share }
    }
}

impl Deref for BodyBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Reads the whole body of a JSON request of somebody who is known.
pub(crate) async fn read(app: &App, headers: &HeaderMap, body: RequestBody) -> Result<BodyBytes, Problem> {
    check_type(headers)?;
    bounded(app, headers, body, Whose::Known, MAX_BODY, "1 MiB").await
}

/// Reads the whole body of a request, of whatever type; `words` say how much `limit` is.
pub(crate) async fn bounded(
    app: &App,
    headers: &HeaderMap,
    RequestBody { body, line }: RequestBody,
    whose: Whose,
    limit: usize,
    words: &str,
) -> Result<BodyBytes, Problem> {
    let drained = DRAINED.max(limit.saturating_mul(2));
    let announced = headers.get(CONTENT_LENGTH).and_then(|it| it.to_str().ok()?.parse::<u64>().ok());
    if announced.is_some_and(|bytes| bytes > drained as u64) {
        return Err(too_large(words));
    }
    if let Some(line) = line.as_ref().filter(|_| whose == Whose::Stranger) {
        line.enter(Phase::StrangersBody);
    }
    let mut reading = Reading { body, share: app.bodies().share(whose), collected: BytesMut::new(), seen: 0 };
    let read = reading.read(app.bodies().rate(), limit, drained).await;
    if let Some(line) = line {
        line.enter(Phase::Busy);
    }
    read?;
    let Reading { share, collected, seen, .. } = reading;
    if seen > limit { Err(too_large(words)) } else { Ok(BodyBytes::new(collected.freeze(), share)) }
}

struct Reading {
    body: Body,
    share: Share,
    collected: BytesMut,
    seen: usize,
}

impl Reading {
    async fn read(&mut self, rate: u32, limit: usize, drained: usize) -> Result<(), Problem> {
        let started = Instant::now();
        while self.seen <= drained {
            let due = started + GRACE + Duration::from_secs_f64(self.seen as f64 / f64::from(rate));
            let frame = tokio::select! {
                biased;
                frame = tokio::time::timeout_at(due, self.body.frame()) => frame.map_err(|_| too_slow())?,
                () = self.share.gives_way() => return Err(no_room()),
            };
            let Some(frame) = frame else { break };
            let broken = |_| Problem::new(StatusCode::BAD_REQUEST, "incomplete_body", "The request body ended early.");
            let Ok(data) = frame.map_err(broken)?.into_data() else { continue };
            self.seen += data.len();
            if self.seen <= limit {
                self.keep(&data, limit).await?;
            }
        }
        Ok(())
    }

    async fn keep(&mut self, data: &[u8], limit: usize) -> Result<(), Problem> {
        let (needed, there) = (self.collected.len() + data.len(), self.collected.capacity());
        if needed > there {
            let more = needed.max(there.saturating_mul(2).min(limit)) - there;
            self.share.grow(more).await.map_err(|NoRoom| no_room())?;
            self.collected.reserve(there + more - self.collected.len());
        }
        self.share.came(data.len());
        self.collected.extend_from_slice(data);
        Ok(())
    }
}

fn too_slow() -> Problem {
    Problem::new(StatusCode::REQUEST_TIMEOUT, "body_too_slow", "The request body arrived too slowly.")
}

pub(crate) fn no_room() -> Problem {
    Problem::unavailable("Too many requests with large bodies are under way; nothing of this one was kept.")
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
    let what = |prefix: &str| message.starts_with(prefix);
    if what("unknown field") {
        // The path ends with the field itself.
        let name = name_in(&message);
        let above = path.strip_suffix(name).unwrap_or_default().trim_end_matches('.');
        Problem::invalid(&below(above, name), "is not a field of this request")
    } else if what("missing field") {
        Problem::invalid(&below(&path, name_in(&message)), "is missing")
    } else if what("duplicate field") {
        Problem::invalid(&below(&path, name_in(&message)), "is given twice")
    } else if path == "." {
        not_an_object()
    } else {
        Problem::invalid(&path, wrong_type(&message))
    }
}

/// serde says «invalid type: boolean `true`, expected a string at line 1 column 20».
fn wrong_type(message: &str) -> String {
    let message = message.rsplit_once(" at line ").map_or(message, |(message, _)| message);
    let parts = message.strip_prefix("invalid type: ").and_then(|rest| rest.rsplit_once(", expected "));
    // What was given is quoted in it, and may be long.
    let shown = |text: &str| text.chars().take(SHOWN).collect::<String>();
    match parts {
        Some((given, wanted)) => {
            let given = if given == "sequence" {
                "a list"
            } else if given == "map" {
                "an object"
            } else {
                given
            };
            format!("has the wrong type: must be {}, not {}", shown(wanted), shown(given))
        }
        None => format!("has the wrong type: {}", shown(message)),
    }
}

/// Reads a part of a request that is an object, or null. By itself serde would also take a list of the fields' values.
pub(crate) fn object<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    Ok(Option::<Object<T>>::deserialize(deserializer)?.map(|Object(value)| value))
}

struct Object<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Only<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Only<T> {
            type Value = Object<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(Object)
            }
        }
        deserializer.deserialize_map(Only(PhantomData))
    }
}

fn not_an_object() -> Problem {
    Problem::new(StatusCode::BAD_REQUEST, "invalid_request", "The request body must be a JSON object.")
}

/// serde says «unknown field `x`, expected …» and «missing field `x`»; an unknown one may be anything at all.
fn name_in(message: &str) -> &str {
    let after = message.split_once('`').map_or("", |(_, after)| after);
    let end = after.rfind("`, expected").or_else(|| after.find('`')).unwrap_or(after.len());
    &after[..end]
}

/// The field of that name below another; `.` and nothing are the body itself.
fn below(above: &str, name: &str) -> String {
    let plain = |c: char| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c };
    let name = if name.is_empty() { r#""""# } else { name };
    let whole = if matches!(above, "" | ".") { name.to_owned() } else { format!("{above}.{name}") };
    whole.chars().take(SHOWN).map(plain).collect()
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
        #[allow(dead_code)]
        #[serde(default, deserialize_with = "object")]
        range: Option<Range>,
    }

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Range {
        #[allow(dead_code)]
        from: String,
    }

    fn said(body: &str) -> String {
        let problem = parse::<Form>(body.as_bytes()).unwrap_err();
        format!("{problem:?}")
    }

    #[test]
    fn every_mistake_names_its_field() {
        assert!(said(r#"{"prompt":"x","colour":1}"#).contains("The colour is not a field"));
        assert!(said("{}").contains("The prompt is missing"));
        assert!(
            said(r#"{"prompt":"x","draft":"yes"}"#)
                .contains("The draft has the wrong type: must be a boolean, not string")
        );
        assert!(said(r#"{"prompt":"x","prompt":"y"}"#).contains("The prompt is given twice"));
        assert!(said("[]").contains("must be a JSON object"));
        assert!(said(r#"["x",true]"#).contains("must be a JSON object"));
        assert!(said(r#"{"prompt":"x","a`, expected b":1}"#).contains("The a`, expected b is not a field"));
        let nested = |range: &str| said(&format!(r#"{{"prompt":"x","range":{range}}}"#));
        assert!(nested("{}").contains("The range.from is missing"), "{}", nested("{}"));
        assert!(nested(r#"{"from":"a","to":1}"#).contains("The range.to is not a field"));
        assert!(nested(r#"{"from":"a","from":"b"}"#).contains("The range.from is given twice"));
        assert!(nested(r#"{"from":1}"#).contains("The range.from has the wrong type: must be a string, not integer"));
        assert!(nested(r#"["a"]"#).contains("The range has the wrong type: must be an object, not a list"));
        assert!(parse::<Form>(br#"{"prompt":"x","range":null}"#).is_ok());
        assert!(parse::<Form>(br#"{"prompt":"x","range":{"from":"a"}}"#).is_ok());
        assert!(said("{").contains("not valid JSON"));
        assert!(said(r#"{"prompt":"x"} {}"#).contains("not valid JSON"));
    }
}
