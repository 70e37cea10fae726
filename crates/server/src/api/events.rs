//! A job's steps, as a list or as they happen.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::ACCEPT;
use axum::response::sse::{KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use copydesk_domain::{JobId, Status, Timestamp};
use copydesk_store::{Change, Changes, Event, StoreError};
use futures_util::Stream;
use serde::Serialize;
use tokio::sync::OwnedSemaphorePermit;
use utoipa::ToSchema;

use crate::app::App;
use crate::auth::Reader;
use crate::problem::Problem;

/// How many events are read at a time, and the most that a list holds.
const PAGE: u32 = 1000;
/// How long a stream trusts that it will be told; wake-ups may be lost.
const LOOK_AGAIN: Duration = Duration::from_secs(2);

/// Something that happened to a job
#[derive(Serialize, ToSchema)]
#[schema(as = JobEvent)]
pub(crate) struct EventView {
    /// Counts up from 1 in each job.
    id: u32,
    /// What happened: `created`, `message`, `claimed`, `cancelling`, `retrying`, `released`, `completed`, `failed`,
    /// `archived`; the steps of a documentation job `prepared`, `edited`, `committed`, `pushed`, `opened`; and on the way
    /// `model_call`, `tool_call`, `plan`, `repairing`, `chore`. There may be more.
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
        ("Last-Event-ID" = Option<u64>, Header, description = "Only what came after the event of this id")),
    responses((status = 200, description = "The events", content(
        (EventList = "application/json"), (StreamedEvent = "text/event-stream")))))]
pub(crate) async fn job_events(
    State(app): State<App>,
    Reader(caller): Reader,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let after = last_event_id(&headers)?;
    let job_id = caller.job_id()?.clone();
    // Before the first look, so that nothing can happen unseen between the two.
    let changes = app.store().changes();
    let project_id = caller.project.id;
    app.store().job(&project_id, &job_id).await?.ok_or_else(Problem::job_not_found)?;
    if wants_json(&headers) {
        let events = app.store().events(&job_id, after, PAGE).await?.into_iter().map(EventView::from).collect();
        return Ok(Json(EventList { events }).into_response());
    }
    let busy = || Problem::unavailable("Too many streams of events are open; try again, or ask for the list.");
    let slot = app.stream_slot().ok_or_else(busy)?;
    let digest = caller.digest;
    let follower = Follower { app, digest, project_id, job_id, after, changes, ready: VecDeque::new(), _slot: slot };
    Ok(Sse::new(follower.into_stream()).keep_alive(KeepAlive::new().interval(Duration::from_secs(15))).into_response())
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

/// Reads a job's events as they appear.
struct Follower {
    app: App,
    digest: String,
    project_id: String,
    job_id: JobId,
    after: u32,
    changes: Changes,
    ready: VecDeque<Event>,
    _slot: OwnedSemaphorePermit,
}

impl Follower {
    fn into_stream(self) -> impl Stream<Item = Result<axum::response::sse::Event, Infallible>> {
        futures_util::stream::unfold(self, |mut follower| async move {
            let event = follower.next().await?;
            let view = EventView::from(event);
            let sent = axum::response::sse::Event::default().id(view.id.to_string()).event(view.r#type.as_str());
            // The view holds nothing that cannot be JSON.
            let sent = sent.json_data(&view).unwrap_or_default();
            Some((Ok(sent), follower))
        })
    }

    /// The next event; none when there will be no more, or the server stops.
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                self.after = event.number;
                return Some(event);
            }
            match self.look().await {
                Ok(true) => return None,
                Ok(false) if !self.ready.is_empty() => continue,
                Ok(false) => {}
                Err(error) => tracing::warn!(%error, "cannot read a job's events; trying again"),
            }
            let job_id = &self.job_id;
            let told = self.changes.wait_for(|change| matches!(change, Change::Job(id) if id == job_id));
            tokio::select! {
                () = told => {}
                () = tokio::time::sleep(LOOK_AGAIN) => {}
                () = self.app.desk().stop.asked() => return None,
            }
        }
    }

    /// Fetches what is new. True if there is nothing and there will be nothing, or the key is no longer good.
    async fn look(&mut self) -> Result<bool, StoreError> {
        // The status first: an event that follows it is then found by the next look at the latest.
        let job = self.app.store().job(&self.project_id, &self.job_id).await?;
        let over = job.is_none_or(|job| job.status != Status::Active);
        self.ready = self.app.store().events(&self.job_id, self.after, PAGE).await?.into();
        // The key last: what was read while it was good may be sent.
        let access = self.app.store().access(self.digest.clone(), self.project_id.clone()).await?;
        if !access.is_some_and(|access| access.key.is_valid_at(self.app.store().now())) {
            self.ready.clear();
            return Ok(true);
        }
        Ok(over && self.ready.is_empty())
    }
}
