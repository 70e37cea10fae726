//! `/mcp/{projectId}`: the tools of the Model Context Protocol over HTTP. Each is a request of the interface beside it, made
//! within the process with the caller's own key, so that scopes, limits, the audit log and errors are the same.

use axum::Router;
use axum::body::Body;
use axum::extract::{FromRequest, Request};
use axum::http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::Response;
use bytes::Bytes;
use copydesk_domain::TraceContext;
use copydesk_mcp::{Api, Ask, Desk, Reply, answer, is_long};
use http_body_util::{BodyExt, Full, Limited};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use tower::ServiceExt;

use super::analytics::INCOMPLETE;
use crate::app::App;
use crate::auth::Reader;
use crate::body::{self, RequestBody};
use crate::edge::TimeLimit;
use crate::problem::Problem;

/// More of an answer of the interface is not read.
const LONGEST_ANSWER: usize = 64 * 1024 * 1024;
/// The library's own refusals are a sentence.
const LONGEST_REFUSAL: usize = 64 * 1024;

/// Takes a message of the protocol. `interface` has the routes that tools ask.
pub(super) async fn take(interface: Router, app: App, caller: Reader, request: Request) -> Result<Response, Problem> {
    let Reader(caller) = caller;
    let (parts, body) = request.into_parts();
    let Ok(unread) = RequestBody::from_request(Request::from_parts(parts.clone(), body), &()).await;
    let bytes = body::read(&app, &parts.headers, unread).await?;
    let message: Value = serde_json::from_slice(&bytes).map_err(|error| {
        Problem::new(StatusCode::BAD_REQUEST, "invalid_json", format!("The request body is not valid JSON: {error}."))
    })?;
    if !message.is_object() {
        return Err(no_message());
    }
    let is_long = is_long(&message);
    let busy =
        || Problem::unavailable("Too many calls that wait are open; try again, or look at the job with get_job.");
    // It says itself how long it waits, and holds a place among the streams meanwhile.
    if let Some(limit) = parts.extensions.get::<TimeLimit>().filter(|_| is_long) {
        limit.lift();
    }
    let slot = if is_long { Some(app.stream_slot().ok_or_else(busy)?) } else { None };
    // It was let in with it.
    let key = parts.headers.get(AUTHORIZATION).cloned().ok_or_else(Problem::unauthorized)?;
    let trace = parts.extensions.get::<TraceContext>().copied();
    let inside = Inside { interface, app, key, project: caller.project.id.to_string(), trace };
    let request = Request::from_parts(parts, Full::new(Bytes::copy_from_slice(&bytes)).boxed());
    let answered = answer(Desk::new(inside), request, is_long).await;
    let (parts, body) = answered.into_parts();
    let is_json = parts.headers.get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
    if parts.status.is_success() || is_json {
        // A stream holds its place among the streams until it ends.
        let body = body.map_frame(move |frame| {
            let _ = &slot;
            frame
        });
        return Ok(Response::from_parts(parts, Body::new(body)));
    }
    Err(refusal(parts.status, body).await)
}

/// What the library refuses, in the one shape of every error.
async fn refusal(status: StatusCode, body: copydesk_mcp::Body) -> Problem {
    let said = Limited::new(body, LONGEST_REFUSAL).collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let said = String::from_utf8_lossy(&said).trim().to_owned();
    match status {
        // The type of the body was looked at before: this is about what is in it.
        StatusCode::UNSUPPORTED_MEDIA_TYPE => no_message().with_cause(said),
        StatusCode::FORBIDDEN => Problem::new(status, "forbidden", "Pages in a browser may not use this address."),
        StatusCode::NOT_ACCEPTABLE => {
            let error = "The request must accept both `application/json` and `text/event-stream`.";
            Problem::new(status, "not_acceptable", error)
        }
        status if status.is_client_error() => Problem::new(status, "invalid_request", format!("{said}.")),
        _ => Problem::internal("", said),
    }
}

fn no_message() -> Problem {
    let error = "The request body is not one message of the Model Context Protocol (JSON-RPC 2.0).";
    Problem::new(StatusCode::BAD_REQUEST, "invalid_request", error)
}

/// The interface, asked within the process by whoever has `key`.
struct Inside {
    interface: Router,
    app: App,
    key: HeaderValue,
    project: String,
    /// The trace that the message belongs to, and with it what it leads to.
    trace: Option<TraceContext>,
}

impl Api for Inside {
    async fn ask(&self, ask: Ask) -> Result<Reply, String> {
        // A call that waits outlasts the look that every request begins with.
        if self.app.desk().stop.is_asked() {
            return Err("Copydesk is shutting down; try again in a moment.".to_owned());
        }
        let broken = |_| "The request cannot be made.".to_owned();
        let request = self.request(ask).map_err(broken)?;
        let limit = self.app.limits().request_time;
        let answered = tokio::time::timeout(limit, self.interface.clone().oneshot(request));
        let Ok(response) = answered.await.map_err(|_| "The request took too long and was given up.".to_owned())?;
        let (parts, body) = response.into_parts();
        let too_long = |_| "The answer is too long to be read here.".to_owned();
        let body = Limited::new(body, LONGEST_ANSWER).collect().await.map_err(too_long)?.to_bytes();
        Ok(Reply {
            status: parts.status.as_u16(),
            body: String::from_utf8_lossy(&body).into_owned(),
            incomplete: incomplete(&parts.headers),
        })
    }
}

impl Inside {
    fn request(&self, ask: Ask) -> Result<Request, axum::http::Error> {
        let [version, area] = ask.area.path();
        let mut address = format!("/{version}/{area}/{}", self.project);
        for part in &ask.path {
            address.push('/');
            address.extend(utf8_percent_encode(part, NON_ALPHANUMERIC));
        }
        if !ask.query.is_empty() {
            let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(ask.query).finish();
            address = format!("{address}?{query}");
        }
        let method = if ask.post.is_some() { Method::POST } else { Method::GET };
        let mut request = Request::builder().method(method).uri(address);
        request = request.header(AUTHORIZATION, &self.key).header(ACCEPT, ask.accept);
        if let Some((name, value)) = ask.header {
            request = request.header(name, value);
        }
        if let Some(trace) = self.trace {
            request = request.extension(trace);
        }
        match ask.post {
            Some(body) => request.header(CONTENT_TYPE, "application/json").body(Body::from(body.to_string())),
            None => request.body(Body::empty()),
        }
    }
}

fn incomplete(headers: &HeaderMap) -> Vec<String> {
    headers.get_all(INCOMPLETE).iter().filter_map(|why| Some(why.to_str().ok()?.to_owned())).collect()
}
