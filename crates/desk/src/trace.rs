//! The spans of what belongs to a job, whichever process does it. They hold ids and names, and no words of anybody.

use copydesk_domain::{JobId, TRACE_TARGET};
use copydesk_store::{Claimed, DueDelivery, Store};
use serde_json::Value;
use tracing::{Level, Span};

/// One attempt at a job. None where no traces are wanted.
pub(crate) async fn job_span(store: &Store, claimed: &Claimed) -> Span {
    let Some((trace_id, parent_id)) = place(store, &claimed.job.id).await else { return Span::none() };
    tracing::info_span!(
        target: TRACE_TARGET,
        "job",
        trace_id,
        parent_id,
        kind = "consumer",
        copydesk.job = claimed.job.id.as_str(),
        copydesk.project = claimed.job.project_id.as_str(),
        copydesk.model = claimed.job.model,
        copydesk.attempt = claimed.lease.attempt,
        copydesk.outcome = tracing::field::Empty,
        failed = tracing::field::Empty,
    )
}

/// One try of a delivery. None where no traces are wanted, and for one that is of no job.
pub(crate) async fn delivery_span(store: &Store, due: &DueDelivery) -> Span {
    if !is_on() {
        return Span::none();
    }
    let body: Option<Value> = serde_json::from_str(&due.delivery.payload).ok();
    let Some(id) = body.as_ref().and_then(|body| body["data"]["id"].as_str()) else { return Span::none() };
    let Some((trace_id, parent_id)) = place(store, &JobId::from(id)).await else { return Span::none() };
    tracing::info_span!(
        target: TRACE_TARGET,
        "webhook delivery",
        trace_id,
        parent_id,
        kind = "producer",
        copydesk.webhook = due.delivery.endpoint_id,
        copydesk.event = due.delivery.kind,
        http.response.status_code = tracing::field::Empty,
        failed = tracing::field::Empty,
    )
}

fn is_on() -> bool {
    tracing::enabled!(target: TRACE_TARGET, Level::INFO)
}

/// The trace of a job, and the span that what is done for it is below.
async fn place(store: &Store, job_id: &JobId) -> Option<(String, String)> {
    if !is_on() {
        return None;
    }
    // A database that cannot be asked costs the trace and not the job.
    let trace = store.trace_of(job_id).await.ok().filter(|trace| trace.is_sampled)?;
    Some((trace.trace_id(), trace.span_id()))
}
