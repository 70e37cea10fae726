//! A job's steps, as a list or as they happen.

use std::convert::Infallible;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::ACCEPT;
use axum::response::sse::{Event as SseEvent, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use copydesk_desk::jobs::{StillAllowed, Watch};
use copydesk_domain::Timestamp;
use copydesk_store::Event;
use futures_util::Stream;
use serde::Serialize;
use tokio::sync::OwnedSemaphorePermit;
use utoipa::ToSchema;

use crate::app::App;
use crate::auth::Reader;
use crate::problem::Problem;

/// Something that happened to a job
#[derive(Serialize, ToSchema)]
#[schema(as = JobEvent)]
pub(crate) struct EventView {
    /// Counts up from 1 in each job.
    id: u32,
    /// What happened: `created`, `message`, `claimed`, `cancelling`, `retrying`, `waiting` (for a code host that is away),
    /// `released`, `completed`, `failed`, `archived`, `link_revoked`; the steps of a documentation job `prepared`,
    /// `source_unread` (a code source that could not be fetched: `source`, `reason`), `edited`, `committed`, `pushed`, `taken_back` (the branch, since no pull
    /// request could be opened from it), `opened`; and on the way
    /// `model_call`, `model_failed` (a call that did not work: `reason`, `tries`, `nextInSeconds`), `tool_call`, `plan`, `repairing`, `chore`, and `resumed` where a worker goes on from recorded answers of the
    /// model (`replayedAnswers`, and the `tokensSaved` that are not paid for twice); `pull_request` when its state is another.
    /// There may be more.
    r#type: String,
    /// When.
    #[schema(value_type = String, format = DateTime)]
    at: Timestamp,
    /// More about it.
    #[schema(value_type = Object)]
    data: serde_json::Value,
}

/// A job's events so far
#[derive(Serialize, ToSchema)]
#[schema(as = JobEvents)]
pub(crate) struct EventList {
    events: Vec<EventView>,
}

/// An event as the stream carries it
#[derive(ToSchema)]
#[schema(as = StreamedJobEvent)]
#[allow(dead_code, reason = "describes what axum's Sse writes")]
pub(crate) struct StreamedEvent {
    /// The id of the event, for `Last-Event-ID`.
    id: String,
    /// What happened, as in the list.
    event: String,
    /// The event as in the list, as JSON.
    data: String,
}

impl From<Event> for EventView {
    fn from(event: Event) -> Self {
        Self { id: event.number, r#type: event.kind, at: event.created_at, data: event.data }
    }
}

/// Follow a job's steps
///
/// A stream of server-sent events that ends after the job's terminal state. With `Accept: application/json`, the list
/// so far (up to 1,000 after `Last-Event-ID`).
#[utoipa::path(get, path = "/v2/agent/{projectId}/job/{id}/events", tag = "Agent jobs", operation_id = "jobEvents",
    params(("projectId" = String, Path, description = "The project"), ("id" = String, Path, description = "The job"),
        ("Last-Event-ID" = Option<u64>, Header, description = "Only events after the one with this id")),
    responses((status = 200, description = "The events", content(
        (EventList = "application/json"), (StreamedEvent = "text/event-stream")))))]
pub(crate) async fn job_events(
    State(app): State<App>,
    Reader(caller): Reader,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let after = last_event_id(&headers)?;
    let (jobs, project_id, job_id) = (&app.desk().jobs, &caller.project.id, caller.job_id()?);
    if wants_json(&headers) {
        let events = jobs.events(project_id, job_id, after).await?.into_iter().map(EventView::from).collect();
        return Ok(Json(EventList { events }).into_response());
    }
    let watch = jobs.watch(project_id, job_id, after, caller.still_allowed(&app)).await?;
    let busy = || Problem::unavailable("Too many streams of events are open; try again, or ask for the list.");
    let slot = app.stream_slot().ok_or_else(busy)?;
    Ok(Sse::new(stream(watch, slot)).keep_alive(KeepAlive::new().interval(Duration::from_secs(15))).into_response())
}

fn last_event_id(headers: &HeaderMap) -> Result<u32, Problem> {
    let Some(value) = headers.get("last-event-id") else { return Ok(0) };
    let text = value.to_str().unwrap_or_default();
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let wrong = || Problem::invalid("Last-Event-ID", "must be the id of an event of this job");
    let id = text.parse::<i64>().ok().filter(|_| digits).ok_or_else(wrong)?;
    // No job has that many events; after the last of them comes nothing.
    Ok(u32::try_from(id).unwrap_or(u32::MAX))
}

/// Only a client that names JSON and not the stream gets JSON.
fn wants_json(headers: &HeaderMap) -> bool {
    let accept = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()).collect::<Vec<_>>().join(",");
    accept.contains("application/json") && !accept.contains("text/event-stream")
}

/// What is watched, holding its slot among the streams until it ends.
fn stream(
    watch: Watch<impl StillAllowed>,
    slot: OwnedSemaphorePermit,
) -> impl Stream<Item = Result<SseEvent, Infallible>> {
    futures_util::stream::unfold((watch, slot), |(mut watch, slot)| async move {
        let view = EventView::from(watch.next().await?);
        let sent = SseEvent::default().id(view.id.to_string()).event(view.r#type.as_str());
        // The view holds nothing that cannot be JSON.
        Some((Ok(sent.json_data(&view).unwrap_or_default()), (watch, slot)))
    })
}
