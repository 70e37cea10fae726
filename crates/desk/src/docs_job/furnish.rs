//! What a project wants on its pull requests beside their words: labels, and people who are asked to look at them.

use copydesk_domain::{Job, Project};
use copydesk_forge::Connection;
use copydesk_store::{NewEvent, Permit, Store};
use serde_json::json;

use crate::runner::Failure;

/// What is noted when it was done: what people take off again stays off.
const FURNISHED: &str = "labels and reviewers";

/// Gives a pull request what the project wants on it, once. What cannot be done is told, and keeps no job from its end.
pub(super) async fn furnish(
    store: &Store,
    project: &Project,
    job: &Job,
    connection: &Connection,
    permit: &Permit,
    number: u64,
) -> Result<(), Failure> {
    let (labels, reviewers) = (&project.host.labels, &project.host.reviewers);
    let Some(host) = connection.interface().filter(|_| !labels.is_empty() || !reviewers.is_empty()) else {
        return Ok(());
    };
    if store.words(&job.id).await?.iter().any(|noted| noted == FURNISHED) {
        return Ok(());
    }
    let missed = match host.furnish(number, labels, reviewers).await {
        Ok(missed) => missed,
        // The job is tried again, and finds the pull request.
        Err(error) if error.may_pass() => return Err(error.into()),
        Err(error) => vec![error.message],
    };
    if !missed.is_empty() {
        tracing::info!(job = job.id.as_str(), ?missed, "a pull request lacks labels or reviewers");
        if let Permit::Lease(lease) = permit {
            let told = NewEvent::new("not_furnished", json!({ "reasons": missed }));
            store.advance(lease, None, vec![told]).await?;
        }
    }
    Ok(store.record_words(permit, vec![FURNISHED.to_owned()]).await?)
}
