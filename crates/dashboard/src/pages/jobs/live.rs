//! A job as it goes on: the steps as they happen, as the page shows them.

use std::convert::Infallible;
use std::time::Duration;

use askama::Template;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, HeaderMap, HeaderValue};
use axum::response::IntoResponse;
use axum::response::sse::{Event as Sent, KeepAlive, Sse};
use copydesk_desk::jobs::{StillAllowed, Watch};
use copydesk_desk::people::People;
use copydesk_domain::{JobId, ProjectId, Status};
use copydesk_store::StoreError;
use futures_util::Stream;

use super::show::{Facts, Parts, Steps, before};
use super::step::Before;
use super::{JobView, cost_limit, oops};
use crate::dash::Dash;
use crate::respond::{Oops, Reply};
use crate::streams::Slot;
use crate::who::InProject;

#[derive(serde::Deserialize)]
pub(super) struct Wanted {
    #[serde(default)]
    after: String,
}

/// Somebody who is signed in, for as long as they are and have a place in the project.
struct Stays {
    people: People,
    session_id: String,
    project_id: ProjectId,
}

impl StillAllowed for Stays {
    async fn still_allowed(&self) -> Result<bool, StoreError> {
        self.people.stays(&self.session_id, &self.project_id).await
    }
}

pub(super) async fn stream(
    State(dash): State<Dash>,
    who: InProject,
    Path((_, id)): Path<(String, String)>,
    Query(wanted): Query<Wanted>,
    headers: HeaderMap,
) -> Reply {
    // A browser that goes on by itself says from where, and asks with the address of the first time.
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok()).and_then(|id| id.parse().ok());
    let (after, job_id) = (last.or(wanted.after.parse().ok()).unwrap_or(0), JobId::from(id.as_str()));
    let session = who.asks.visit.as_ref().map(|visit| visit.session.id.clone()).ok_or(Oops::NotFound)?;
    let people = dash.desk().people.clone();
    let stays = Stays { people, session_id: session, project_id: who.project.id.clone() };
    let watch = dash.desk().jobs.watch(&who.project.id, &job_id, after, stays).await.map_err(oops)?;
    let busy = || Oops::refused(StatusCode::SERVICE_UNAVAILABLE, "Too many pages are watched at the moment.");
    let slot = dash.streams().take().ok_or_else(busy)?;
    let before = before(&dash, &job_id, after, Vec::new()).await?;
    let live = Live { dash, who, job_id, watch, before, last: after, is_over: false, _slot: slot };
    let sent = Sse::new(live.sent()).keep_alive(KeepAlive::new().interval(Duration::from_secs(15)));
    let mut response = sent.into_response();
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

struct Live {
    dash: Dash,
    who: InProject,
    job_id: JobId,
    watch: Watch<Stays>,
    before: Before,
    last: u32,
    is_over: bool,
    _slot: Slot,
}

impl Live {
    fn sent(self) -> impl Stream<Item = Result<Sent, Infallible>> {
        use futures_util::StreamExt;
        let batches = futures_util::stream::unfold(self, |mut live| async move {
            let batch = live.next().await?;
            Some((futures_util::stream::iter(batch.into_iter().map(Ok)), live))
        });
        batches.flatten()
    }

    /// What is sent next; none when there is nothing more.
    async fn next(&mut self) -> Option<Vec<Sent>> {
        if self.is_over {
            return None;
        }
        let Some(events) = self.watch.more().await else {
            self.is_over = true;
            return Some(self.ended().await);
        };
        self.last = events.last().map_or(self.last, |event| event.number);
        if events.iter().any(|event| event.kind == "message") {
            self.before.prompts = self.dash.desk().store.messages(&self.job_id).await.unwrap_or_default();
        }
        let steps = Steps { steps: self.before.steps(events) };
        let mut sent = vec![self.event("step", &steps)];
        sent.extend(self.parts().await.map(|parts| self.event("part", &parts)));
        Some(sent)
    }

    /// The end, if it is one: a session that ended or a process that stops does not end the job.
    async fn ended(&self) -> Vec<Sent> {
        let job = self.dash.desk().store.job(&self.who.project.id, &self.job_id).await;
        let is_over = matches!(job, Ok(Some(job)) if job.status != Status::Active);
        match self.parts().await {
            // A browser passes over an event without data.
            Some(parts) if is_over => vec![self.event("part", &parts), Sent::default().event("end").data("over")],
            _ => Vec::new(),
        }
    }

    async fn parts(&self) -> Option<Parts> {
        // Without asking the code host: that takes its time.
        let store = &self.dash.desk().store;
        let job = store.job(&self.who.project.id, &self.job_id).await.ok()??;
        let briefs = store.briefs(std::slice::from_ref(&self.job_id)).await.ok()?;
        let course = store.course(&self.job_id).await.ok()?;
        let limit = cost_limit(&self.dash, &self.who, &job.model, job.max_cost);
        let it = JobView::of(&self.who, job, briefs.first(), "");
        Some(Parts { it, facts: Facts::new(&course, limit) })
    }

    fn event(&self, kind: &str, template: &impl Template) -> Sent {
        let html = template.render().unwrap_or_default();
        // A carriage return would end a line of the stream.
        Sent::default().id(self.last.to_string()).event(kind).data(html.replace('\r', ""))
    }
}
