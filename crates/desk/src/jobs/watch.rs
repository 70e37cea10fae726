use std::collections::VecDeque;
use std::time::Duration;

use copydesk_boxed::boxed;
use copydesk_domain::{JobId, ProjectId, Status};
use copydesk_store::{Change, Changes, Event, Store, StoreError};

use super::EVENTS;
use crate::stop::Stop;

/// How long it is trusted that one will be told; wake-ups may be lost.
const LOOK_AGAIN: Duration = Duration::from_secs(2);

/// Whether whoever watches may still do so: they watch for so long that a key may be revoked or a session end meanwhile.
pub trait StillAllowed: Send + Sync {
    fn still_allowed(&self) -> impl Future<Output = Result<bool, StoreError>> + Send;
}

/// Reads a job's events as they appear.
pub struct Watch<A> {
    store: Store,
    stop: Stop,
    project_id: ProjectId,
    job_id: JobId,
    after: u32,
    changes: Changes,
    allowed: A,
    ready: VecDeque<Event>,
}

#[boxed]
impl<A: StillAllowed> Watch<A> {
    pub(super) fn new(
        store: Store,
        stop: Stop,
        project_id: &ProjectId,
        job_id: &JobId,
        after: u32,
        changes: Changes,
        allowed: A,
    ) -> Self {
        let (project_id, job_id, ready) = (project_id.clone(), job_id.clone(), VecDeque::new());
        Self { store, stop, project_id, job_id, after, changes, allowed, ready }
    }

    /// All that has happened since; none when there will be no more, or the process stops.
    pub async fn more(&mut self) -> Option<Vec<Event>> {
        let first = self.next().await?;
        let mut events = vec![first];
        events.extend(self.ready.drain(..));
        self.after = events.last().map_or(self.after, |event| event.number);
        Some(events)
    }

    /// The next event; none when there will be no more, or the process stops.
    pub async fn next(&mut self) -> Option<Event> {
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
                () = self.stop.asked() => return None,
            }
        }
    }

    /// Fetches what is new. True if there is nothing and there will be nothing, or it is no longer for the watcher.
    async fn look(&mut self) -> Result<bool, StoreError> {
        // The status first: an event that follows it is then found by the next look at the latest.
        let job = self.store.job(&self.project_id, &self.job_id).await?;
        let over = job.is_none_or(|job| job.status != Status::Active);
        self.ready = self.store.events(&self.job_id, self.after, EVENTS).await?.into();
        // Last: what was read while it was allowed may be sent.
        if !self.allowed.still_allowed().await? {
            self.ready.clear();
            return Ok(true);
        }
        Ok(over && self.ready.is_empty())
    }
}
