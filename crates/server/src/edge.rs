//! What happens to every request, whatever it is for: an id, a time limit, a net under panics, a line in the log.

use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use axum::extract::{FromRequestParts, MatchedPath, Request, State};
use axum::http::header::{CACHE_CONTROL, CONNECTION, CONTENT_TYPE, HeaderName, HeaderValue, X_CONTENT_TYPE_OPTIONS};
use axum::http::request::Parts;
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use copydesk_domain::{TRACE_TARGET, TraceContext, new_id};
use futures_util::FutureExt;
use tracing::{Instrument, Level, Span};

use crate::operation::Operation;
use crate::problem::{Cause, Problem};

/// Addresses whose next part is a way in.
const SECRET: [&str; 2] = ["/pull/", "/join/"];
static REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Filled in once it is known whose key was used; the access log reads it when the answer is there.
#[derive(Clone, Default)]
pub(crate) struct Who(Arc<OnceLock<String>>);

impl Who {
    pub(crate) fn set(&self, key_id: &str) {
        // Set once a request.
        let _ = self.0.set(key_id.to_owned());
    }
}

pub(crate) async fn guard(State(process): State<Operation>, mut request: Request, next: Next) -> Response {
    let started = Instant::now();
    let id = request_id(&request).unwrap_or_else(|| fresh_id(&process));
    let method = method_label(request.method());
    let route = request.extensions().get::<MatchedPath>().cloned();
    let path = shown_path(request.uri().path());
    let who = Who::default();
    request.extensions_mut().insert(who.clone());
    if let Ok(id) = HeaderValue::from_str(&id) {
        // Pages that say what went wrong name it.
        request.headers_mut().insert(REQUEST_ID.clone(), id);
    }

    let (span, trace) = request_span(&request, method, route.as_ref());
    if let Some(trace) = trace {
        request.extensions_mut().insert(trace);
    }
    let mut response = answer(&process, request, next).instrument(span.clone()).await;
    let is_page = response.headers().get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"text/html"));
    if response.status() == StatusCode::INTERNAL_SERVER_ERROR && !is_page {
        response = with_request_id(response, &id);
    }
    finish_headers(&process, &mut response, &id);

    let took = started.elapsed();
    let status = response.status().as_u16();
    span.record("http.response.status_code", status);
    span.record("failed", status >= 500);
    drop(span);
    let route = route.as_ref().map_or("unmatched", MatchedPath::as_str);
    process.metrics().request(method, route, status, took);
    let cause = response.extensions().get::<Cause>().map(|cause| cause.0.as_str());
    let key = who.0.get().map(String::as_str);
    let ms = took.as_micros() as f64 / 1000.0;
    if status >= 500 {
        tracing::error!(target: "copydesk::access", method, path, status, ms, request_id = id, key, cause, "request");
    } else {
        tracing::info!(target: "copydesk::access", method, path, status, ms, request_id = id, key, cause, "request");
    }
    response
}

/// The span of a request and where it belongs, below the client's if that says so. Nothing if no traces are wanted, here or
/// by the client.
fn request_span(request: &Request, method: &str, route: Option<&MatchedPath>) -> (Span, Option<TraceContext>) {
    if !tracing::enabled!(target: TRACE_TARGET, Level::INFO) {
        return (Span::none(), None);
    }
    let header = request.headers().get("traceparent").and_then(|value| value.to_str().ok());
    let parent = header.and_then(TraceContext::parse);
    let here = parent.map_or_else(TraceContext::begin, TraceContext::child);
    if !here.is_sampled {
        return (Span::none(), Some(here));
    }
    let route = route.map_or("unmatched", MatchedPath::as_str);
    let span = tracing::info_span!(
        target: TRACE_TARGET,
        "request",
        trace_id = here.trace_id(),
        span_id = here.span_id(),
        parent_id = parent.map(TraceContext::span_id).unwrap_or_default(),
        kind = "server",
        http.request.method = method,
        http.route = route,
        http.response.status_code = tracing::field::Empty,
        failed = tracing::field::Empty,
    );
    (span, Some(here))
}

/// The time limit of a request, in its extensions.
#[derive(Clone, Default)]
pub(crate) struct TimeLimit {
    is_lifted: Arc<AtomicBool>,
}

impl TimeLimit {
    /// From here on the request waits for its end, however long that takes: what it is doing can no longer be taken back,
    /// and to say that it was given up could be a lie.
    pub(crate) fn lift(&self) {
        self.is_lifted.store(true, Ordering::Relaxed);
    }
}

impl<S: Sync> FromRequestParts<S> for TimeLimit {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(parts.extensions.get_or_insert_default::<Self>().clone())
    }
}

async fn answer(process: &Operation, mut request: Request, next: Next) -> Response {
    if process.stop().is_asked() {
        return Problem::unavailable("Copydesk is shutting down; try again in a moment.").into_response();
    }
    let limit = request.extensions_mut().get_or_insert_default::<TimeLimit>().clone();
    let mut answer = pin!(AssertUnwindSafe(next.run(request)).catch_unwind());
    let mut answered = tokio::time::timeout(process.request_time(), &mut answer).await;
    if answered.is_err() && limit.is_lifted.load(Ordering::Relaxed) {
        answered = Ok(answer.await);
    }
    match answered {
        Ok(Ok(response)) => response,
        Ok(Err(panic)) => Problem::internal("", panic_text(&*panic)).into_response(),
        Err(_) => {
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, "timed_out", "The request took too long and was stopped.")
                .with_header(axum::http::header::RETRY_AFTER, HeaderValue::from(1))
                .into_response()
        }
    }
}

/// The same error again with the request id in its sentence.
fn with_request_id(response: Response, id: &str) -> Response {
    let cause = response.extensions().get::<Cause>().map(|cause| cause.0.clone());
    Problem::internal(id, cause.unwrap_or_default()).into_response()
}

fn finish_headers(process: &Operation, response: &mut Response, id: &str) {
    let headers = response.headers_mut();
    if let Ok(value) = HeaderValue::from_str(id) {
        headers.insert(REQUEST_ID.clone(), value);
    }
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    if process.stop().is_asked() {
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
}

/// The client's own id if it is well-formed: 1 to 128 letters, digits and `-_.`, and no key.
fn request_id(request: &Request) -> Option<String> {
    let id = request.headers().get(&REQUEST_ID)?.to_str().ok()?;
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
    let well_formed = (1..=128).contains(&id.len()) && id.bytes().all(plain) && redact(id) == id;
    well_formed.then(|| id.to_owned())
}

fn fresh_id(process: &Operation) -> String {
    new_id(process.store().now())
}

fn method_label(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        // Labels must not grow with what clients make up.
        _ => "other",
    }
}

/// A path for the log: decoded, so that nothing hides in it, of bounded length, and without control characters.
fn shown_path(path: &str) -> String {
    let decoded = percent_encoding::percent_decode_str(path).decode_utf8_lossy();
    let decoded = match SECRET.iter().find(|start| decoded.starts_with(**start)) {
        // Whoever has the address of such a page is let in.
        Some(start) => format!("{start}****").into(),
        None => decoded,
    };
    let mut shown: String = redact(&decoded).chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if shown.len() > 512 {
        let cut = (0..=512).rev().find(|at| shown.is_char_boundary(*at)).unwrap_or(0);
        shown.truncate(cut);
    }
    shown
}

/// The text without anything that looks like a key pasted into the wrong place.
fn redact(path: &str) -> String {
    const PREFIX: &str = "copydesk_";
    let mut out = String::new();
    let mut rest = path;
    while let Some(at) = rest.find(PREFIX) {
        let (before, from) = rest.split_at(at + PREFIX.len());
        out.push_str(before);
        let key = from.bytes().take_while(u8::is_ascii_alphanumeric).count();
        out.push_str(if key >= 16 { "****" } else { &from[..key] });
        rest = &from[key..];
    }
    out.push_str(rest);
    out
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("panicked: {}", text.unwrap_or("no message"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_in_paths_do_not_reach_the_log() {
        let key = copydesk_domain::ApiKey::generate();
        for key in [key.reveal().to_owned(), key.reveal().replace('_', "%5F")] {
            assert_eq!(shown_path(&format!("/v2/agent/{key}/job")), "/v2/agent/copydesk_****/job");
        }
        assert_eq!(shown_path("/copydesk_docs/x"), "/copydesk_docs/x");
        assert_eq!(shown_path("/pull/abcdefghijkmnopqrstuvwxyz0123456"), "/pull/****");
        assert_eq!(shown_path("/x%0A%1b"), "/x  ");
        assert!(shown_path(&"ä".repeat(5000)).len() <= 512);
    }
}
