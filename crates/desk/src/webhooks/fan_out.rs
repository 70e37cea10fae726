//! From the outbox to deliveries.

use copydesk_domain::{EventKind, Job, ProjectId, Timestamp};
use copydesk_store::{OutboxEntry, Store, StoreError};
use serde::Serialize;
use serde_json::json;

use crate::job_view::JobView;

/// Events dealt with in one transaction.
const AT_ONCE: u32 = 50;

/// Turns everything that is in the outbox into deliveries.
pub(super) async fn fan_out(store: &Store) -> Result<(), StoreError> {
    loop {
        let done = store.fan_out(AT_ONCE, body).await?;
        if done.entries + done.postponed < AT_ONCE {
            return Ok(());
        }
    }
}

/// What a receiver gets.
#[derive(Serialize)]
struct Body<'a> {
    r#type: EventKind,
    timestamp: Timestamp,
    data: Data<'a>,
}

#[derive(Serialize)]
#[serde(untagged, rename_all_fields = "camelCase")]
enum Data<'a> {
    Job(Box<JobView<'a>>),
    Project { project_id: &'a ProjectId },
}

/// The job is shown as it is now, which may be later than the event.
fn body(entry: &OutboxEntry, job: Option<&Job>) -> String {
    let data = match job {
        Some(job) if entry.kind.is_of_pull() => Data::Job(Box::new(JobView::with_pull(job))),
        Some(job) => Data::Job(Box::new(JobView::from(job))),
        None => Data::Project { project_id: &entry.project_id },
    };
    let body = Body { r#type: entry.kind, timestamp: entry.created_at, data };
    // The view holds only strings, numbers and JSON values, none of which can fail to serialize.
    serde_json::to_string(&body).unwrap_or_default()
}

pub(super) fn test_body(webhook_id: &str, now: Timestamp) -> String {
    json!({ "type": EventKind::TEST, "timestamp": now, "data": { "webhookId": webhook_id } }).to_string()
}
