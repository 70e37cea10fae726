//! Events that servers send.

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use copydesk_desk::views::Site;
use copydesk_views::BotSignature;
use copydesk_views::collect::{items, server_event};
use serde::Deserialize;
use utoipa::ToSchema;

use super::batch::{Batch, EventsTaken, no_items};
use super::packed::{self, Bound};
use crate::app::App;
use crate::auth::Writer;
use crate::bodies::Whose;
use crate::body::{self, RequestBody};
use crate::edge::TimeLimit;
use crate::problem::{ErrorBody, Problem};

const BOUND: Bound = Bound(8 * 1024 * 1024, "8 MiB");
const MOST: usize = 10_000;
const TYPES: [&str; 4] = ["application/json", "application/x-ndjson", "application/ndjson", "application/jsonl"];

/// A request that the site's server has answered
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[allow(dead_code, reason = "describes what copydesk_views reads")]
pub(crate) struct ServerEvent {
    /// What was asked for: a path, with or without a query. This or `url` is needed.
    #[schema(example = "/guides/install?utm_source=x")]
    path: Option<String>,
    /// The whole address instead of a path.
    url: Option<String>,
    /// The `User-Agent` header; none counts as an HTTP library.
    user_agent: Option<String>,
    /// When: RFC 3339, or seconds or milliseconds since 1970; now, if not given. The future and what is before the year
    /// 2000 is refused.
    #[schema(value_type = Option<Instant>)]
    timestamp: Option<String>,
    /// An id of your own, 1 to 255 bytes: an event that comes again with the same id within 48 hours is not counted again.
    id: Option<String>,
    /// The `Accept` header, which tells whether Markdown was asked for.
    accept: Option<String>,
    /// The reader's address. It is held against the addresses that operators of agents publish, and never kept.
    ip: Option<String>,
    /// The status of the answer; 200, if not given. Only 200 and 304 count.
    status: Option<u16>,
    /// The method; GET, if not given. Only GET counts.
    method: Option<String>,
    /// The `Host` header: what was asked for its page. The host of `url`, if not given.
    #[schema(example = "docs.example.com")]
    authority: Option<String>,
    /// The `Signature` header of an agent that signs its requests (Web Bot Auth). It counts once, for one of the project's
    /// domains, and with an event that is told of within an hour; else it is as if it were not there.
    signature: Option<String>,
    /// The `Signature-Input` header.
    signature_input: Option<String>,
    /// The `Signature-Agent` header.
    signature_agent: Option<String>,
    /// The `Referer` header. Taken, not kept.
    referrer: Option<String>,
}

/// RFC 3339, or seconds or milliseconds since 1970
#[derive(Deserialize, ToSchema)]
#[schema(as = EventInstant)]
#[serde(untagged)]
#[allow(dead_code, reason = "describes what copydesk_views reads")]
pub(crate) enum Instant {
    Text(String),
    Number(f64),
}

/// One event or a list of them
#[derive(Deserialize, ToSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "describes what copydesk_views reads")]
pub(crate) enum ServerEvents {
    One(Box<ServerEvent>),
    List(Vec<ServerEvent>),
}

/// Send page views from a server
///
/// One event, a list, or lines with one event each (NDJSON); 10,000 events and 8 MiB at the most, packed with gzip or zstd
/// if you like. Every event is judged by itself: the good ones of a batch are kept, the bad ones are named. When the
/// answer comes, they are on disk. A batch that is sent again is not counted again if its events have an `id`.
///
/// Who cannot write quotes into JSON (nginx) may send one event and the headers of its signature as headers:
/// `X-Copydesk-Signature`, `X-Copydesk-Signature-Input`, `X-Copydesk-Signature-Agent` and `X-Copydesk-Authority`.
///
/// These requests do not count towards the limit of analytics requests.
#[utoipa::path(post, path = "/v1/analytics/{projectId}/events", tag = "Page views", operation_id = "sendEvents",
    params(("projectId" = String, Path, description = "The project"),
        ("Content-Encoding" = Option<String>, Header, description = "`gzip`, `zstd` or `identity`"),
        ("X-Copydesk-Signature" = Option<String>, Header, description = "`signature` of the only event"),
        ("X-Copydesk-Signature-Input" = Option<String>, Header, description = "`signatureInput` of the only event"),
        ("X-Copydesk-Signature-Agent" = Option<String>, Header, description = "`signatureAgent` of the only event"),
        ("X-Copydesk-Authority" = Option<String>, Header, description = "`authority` of the only event")),
    request_body(content((ServerEvents = "application/json"),
        (String = "application/x-ndjson", example = "{\"path\":\"/\",\"userAgent\":\"Mozilla/5.0\",\"id\":\"1\"}\n"))),
    responses((status = 200, description = "What happened to the events", body = EventsTaken),
        (status = 400, description = "The body cannot be read, has too many events, or not one of its events is right", body = ErrorBody),
        (status = 413, description = "The body has more than 8 MiB", body = ErrorBody),
        (status = 415, description = "The body is neither JSON nor lines of JSON, or packed in another way", body = ErrorBody),
        (status = 503, description = "Nothing was kept; send it again after `Retry-After` seconds", body = ErrorBody)))]
pub(crate) async fn send_events(
    State(app): State<App>,
    Writer(caller): Writer,
    limit: TimeLimit,
    headers: HeaderMap,
    body: RequestBody,
) -> Result<Json<EventsTaken>, Problem> {
    if !body::essence(&headers).is_some_and(|essence| TYPES.contains(&essence.as_str())) {
        let error = "The request body must be sent as `Content-Type: application/json` or `application/x-ndjson`.";
        return Err(body::unsupported(error));
    }
    let bytes = packed::raw(&app, &headers, body, Whose::Known, BOUND).await?;
    let _place = app.large_bodies().place_for(bytes.len(), packed::is_packed(&headers, &bytes)).await;
    let bytes = packed::plain(&app, &headers, bytes, Whose::Known, BOUND).await?;
    let now = app.store().now();
    let events = items(&bytes, packed::form(&headers), MOST).map_err(no_items)?;
    let mut batch = Batch::read(events, |item| server_event(item, now)).await;
    if let Some(signature) = signature(&headers) {
        batch = batch.signed(signature)?;
    }
    let events = batch.len();
    let site = Site::new(caller.project.id, caller.project.views.domains);
    batch.only(&site).keep(&app, &limit, &site.project).await?.unless_all_wrong(events).map(Json)
}

/// The signature of the request that the event is about, where its sender has put it into headers.
fn signature(headers: &HeaderMap) -> Option<BotSignature<'_>> {
    let text = |name: &str| headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()));
    BotSignature::told(
        text("x-copydesk-signature"),
        text("x-copydesk-signature-input"),
        text("x-copydesk-signature-agent"),
        text("x-copydesk-authority"),
    )
}
