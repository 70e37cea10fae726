use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use copydesk_agent::{Notebook, RecordedAnswer, Stopped};
use copydesk_domain::Message;
use copydesk_store::{Lease, LeaseError, NewEvent, Store, StoreError};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio::sync::Notify;

use crate::metrics::Metrics;
use crate::runner::Failure;

/// How long an event may wait for the next write to take it along.
const LINGER: Duration = Duration::from_millis(100);
/// So many events do not wait any longer.
const MANY: usize = 50;

/// An editor's notebook over the store. Progress is written in the background or along with the next answer, so that
/// telling costs the editor nothing.
pub(super) struct JobNotebook<'a> {
    store: &'a Store,
    lease: &'a Lease,
    metrics: &'a Metrics,
    told: Mutex<Vec<NewEvent>>,
    tell: Notify,
    why: Mutex<Option<Failure>>,
}

impl<'a> JobNotebook<'a> {
    pub(super) fn new(store: &'a Store, lease: &'a Lease, metrics: &'a Metrics) -> Self {
        Self { store, lease, metrics, told: Mutex::new(Vec::new()), tell: Notify::new(), why: Mutex::new(None) }
    }

    /// Why the editor was stopped.
    pub(super) fn why_stopped(&self) -> Failure {
        let why = self.why.lock().unwrap_or_else(PoisonError::into_inner).take();
        why.unwrap_or_else(|| Failure::Retry("the editor stopped for no reason".to_owned()))
    }

    /// What was told and is not written yet; the caller writes it.
    pub(super) fn take_told(&self) -> Vec<NewEvent> {
        std::mem::take(&mut *self.told.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Writes what is told, until the job is no longer to be worked on.
    pub(super) async fn keep_writing(&self) -> Failure {
        loop {
            self.tell.notified().await;
            tokio::time::sleep(LINGER).await;
            if self.write_down().await.is_err() {
                return self.why_stopped();
            }
        }
    }

    async fn write_down(&self) -> Result<(), Stopped> {
        let told = self.take_told();
        if told.is_empty() {
            return Ok(());
        }
        self.settle(self.store.advance(self.lease, None, told).await)
    }

    fn settle<T>(&self, done: Result<T, impl Into<LeaseError>>) -> Result<T, Stopped> {
        done.map_err(|error| {
            *self.why.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.into().into());
            Stopped
        })
    }
}

impl Notebook for JobNotebook<'_> {
    fn job_id(&self) -> &str {
        self.lease.job_id.as_str()
    }

    fn answers(&self) -> BoxFuture<'_, Result<Vec<RecordedAnswer>, Stopped>> {
        async move {
            let kept = self.settle(self.store.answers(&self.lease.job_id).await)?;
            let read = |kept: copydesk_store::Answer| {
                let said = serde_json::from_slice(&kept.said);
                said.map(|said| {
                    let copydesk_store::Answer { round, seen_through, usage, .. } = kept;
                    RecordedAnswer { round, seen_through, said, usage }
                })
            };
            let answers: Result<Vec<_>, _> = kept.into_iter().map(read).collect();
            let unreadable = |error| StoreError::Unreadable(format!("an answer: {error}"));
            self.settle(answers.map_err(unreadable))
        }
        .boxed()
    }

    fn record_answer<'a>(&'a self, answer: &'a RecordedAnswer) -> BoxFuture<'a, Result<(), Stopped>> {
        async move {
            let kept = copydesk_store::Answer {
                round: answer.round,
                seen_through: answer.seen_through,
                said: answer.said.to_string().into_bytes(),
                usage: answer.usage.clone(),
            };
            self.settle(self.store.record_answer(self.lease, kept, self.take_told()).await)?;
            self.metrics.model_answered(&answer.usage);
            Ok(())
        }
        .boxed()
    }

    fn tell<'a>(&'a self, kind: &'static str, data: Value) -> BoxFuture<'a, Result<(), Stopped>> {
        if kind == "model_failed" {
            self.metrics.model_failed();
        }
        async move {
            let waiting = {
                let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
                told.push(NewEvent::new(kind, data));
                told.len()
            };
            self.tell.notify_one();
            if waiting >= MANY { self.write_down().await } else { Ok(()) }
        }
        .boxed()
    }

    fn messages_after(&self, after: u32) -> BoxFuture<'_, Result<Vec<Message>, Stopped>> {
        async move {
            let mut messages = self.settle(self.store.messages(&self.lease.job_id).await)?;
            messages.retain(|message| message.number > after);
            Ok(messages)
        }
        .boxed()
    }
}
