use std::time::Duration;

use copydesk_desk::runner::{Engine, Failure, Task};
use copydesk_domain::{Clock, Outcome, SystemClock, random_fraction};
use copydesk_store::Finish;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::json;

use super::Journal;

/// The model of jobs that are run by a [`RecordingEngine`].
pub const MODEL: &str = "recording";

/// Does nothing for a while, and leaves a trail: in the journal what it did, in the job's steps what was accepted.
pub struct RecordingEngine {
    pub journal: Journal,
    /// The least time it takes.
    pub shortest: Duration,
    /// The most time it takes, but for one attempt in twenty, which takes
    pub longest: Duration,
    /// this long; longer than a lease, if leases are to be kept alive.
    pub seldom: Duration,
}

impl RecordingEngine {
    fn length(&self) -> Duration {
        if random_fraction() < 0.05 {
            return self.seldom;
        }
        self.shortest + (self.longest - self.shortest).mul_f64(random_fraction())
    }
}

impl Engine for RecordingEngine {
    fn model(&self) -> &str {
        MODEL
    }

    fn run<'a>(&'a self, task: Task<'a>) -> BoxFuture<'a, Result<Finish, Failure>> {
        async move {
            let attempt = task.attempt();
            // A claim is the last change of a job before it gets here.
            let entry = self.journal.begin(&task.job.id, attempt, task.job.updated_at, SystemClock.now());
            let half = self.length() / 2;
            task.step("reading", json!({ "attempt": attempt })).await?;
            tokio::time::sleep(half).await;
            task.step("writing", json!({ "attempt": attempt })).await?;
            tokio::time::sleep(half).await;
            entry.end();
            Ok(Finish::new(Outcome::NoChanges, ended_by(attempt), task.last_message()))
        }
        .boxed()
    }
}

/// The message of a job that this attempt has ended, so that the event of the end tells whose it is.
pub(super) fn ended_by(attempt: i64) -> String {
    format!("{ENDED_BY}{attempt}")
}

/// The attempt that left this message.
pub(super) fn who_ended(message: &str) -> Option<i64> {
    message.strip_prefix(ENDED_BY)?.parse().ok()
}

const ENDED_BY: &str = "Ended by attempt ";
