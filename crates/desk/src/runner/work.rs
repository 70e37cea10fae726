//! One job, from its claim to whatever becomes of it.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use copydesk_domain::{Job, Message, Outcome, Timestamp, random_fraction};
use copydesk_store::{Claimed, Finish, Finished, Lease, LeaseError, LeaseLost, Retry};
use futures_util::FutureExt;

use super::{Engine, Failure, Runner, STORE_PAUSE, Task, as_sentence};

/// Why the work on a job stopped.
enum WorkEnd {
    Done(Finish),
    Failed(Failure),
    OutOfTime,
    Stopping,
}

pub(super) async fn run(runner: &Runner, engine: &dyn Engine, claimed: Claimed) {
    let Claimed { lease, mut job, mut messages, deadline_at, .. } = claimed;
    let left = deadline_at.since(runner.store.now());
    let deadline = tokio::time::Instant::now() + left;
    let mut is_new = true;
    loop {
        let task =
            Task { job: &job, messages: &messages, lease: &lease, store: &runner.store, metrics: &runner.metrics };
        let last = (task.last_message(), messages.last().map_or(job.created_at, |last| last.created_at));
        let end = attend(runner, engine, task, (&lease, is_new), deadline).await;
        is_new = false;
        let settled = settle(runner, &job, &lease, end, last).await;
        match settled {
            Settled::Over => return,
            Settled::NewMessages => match look_again(runner, &job).await {
                Some(now) => (job, messages) = now,
                None => return,
            },
        }
    }
}

/// Drives the engine until it is done or has to be dropped.
async fn attend(
    runner: &Runner,
    engine: &dyn Engine,
    task: Task<'_>,
    (lease, is_new): (&Lease, bool),
    deadline: tokio::time::Instant,
) -> WorkEnd {
    // Inside of a block, so that an engine which breaks down before its first await is caught as well.
    let work = AssertUnwindSafe(async { engine.run(task).await }).catch_unwind();
    tokio::select! {
        result = work => match result {
            Ok(Ok(finish)) => WorkEnd::Done(finish),
            Ok(Err(failure)) => WorkEnd::Failed(failure),
            Err(_) => WorkEnd::Failed(Failure::Retry("the engine crashed".to_owned())),
        },
        lost = runner.keeper.hold(lease, runner.terms.lease, is_new) => WorkEnd::Failed(Failure::Lost(lost)),
        () = tokio::time::sleep_until(deadline) => WorkEnd::OutOfTime,
        () = grace(runner) => WorkEnd::Stopping,
    }
}

/// Ends when the process has been stopping for so long that jobs are handed back.
async fn grace(runner: &Runner) {
    runner.stop.asked().await;
    tokio::time::sleep(runner.stop.time_for_work()).await;
}

enum Settled {
    /// The job is no longer ours.
    Over,
    /// It still is: a prompt came in that the engine had not seen.
    NewMessages,
}

/// Writes down what became of the job.
async fn settle(
    runner: &Runner,
    job: &Job,
    lease: &Lease,
    end: WorkEnd,
    (last_message, asked_at): (u32, Timestamp),
) -> Settled {
    let quotes = matches!(end, WorkEnd::Failed(Failure::Refused(_)));
    let finish = match end {
        WorkEnd::Done(finish) => finish,
        WorkEnd::Failed(Failure::Fatal(message) | Failure::Refused(message)) => {
            Finish::new(Outcome::Error, as_sentence(&message), last_message)
        }
        WorkEnd::OutOfTime => {
            Finish::new(Outcome::TimedOut, "The job took longer than the project allows.", last_message)
        }
        // The store turns this into the end of a cancelled job.
        WorkEnd::Failed(Failure::Lost(LeaseLost::Cancelled)) => {
            Finish::new(Outcome::Cancelled, "The job was cancelled.", last_message)
        }
        WorkEnd::Failed(Failure::Lost(LeaseLost::Lost)) => {
            tracing::warn!(job = lease.job_id.as_str(), attempt = lease.attempt, "lost the lease; letting go");
            runner.metrics.lease_lost();
            return Settled::Over;
        }
        WorkEnd::Failed(Failure::Retry(reason)) => return retry(runner, job, lease, &reason).await,
        // Whoever does not want to wait tries as often as with anything else.
        WorkEnd::Failed(Failure::Away(reason)) if runner.terms.host_wait.is_zero() => {
            return retry(runner, job, lease, &reason).await;
        }
        WorkEnd::Failed(Failure::Away(reason)) => {
            tracing::warn!(
                job = lease.job_id.as_str(),
                attempt = lease.attempt,
                reason,
                "the code host is away; waiting"
            );
            let (patience, jitter) = (runner.terms.host_wait, random_fraction());
            let reason = as_sentence(&reason);
            retry_while_away(runner, || runner.store.wait_for_host(lease, &reason, patience, jitter)).await;
            return Settled::Over;
        }
        WorkEnd::Stopping => {
            tracing::info!(job = lease.job_id.as_str(), "handing the job back");
            retry_while_away(runner, || runner.store.release(lease)).await;
            return Settled::Over;
        }
    };
    let outcome = finish.outcome;
    let span = tracing::Span::current();
    span.record("copydesk.outcome", outcome.as_str());
    span.record("failed", matches!(outcome, Outcome::Error | Outcome::TimedOut));
    match retry_while_away(runner, || runner.store.finish(lease, finish.clone())).await {
        Some(Ok(Finished::NewMessages)) => Settled::NewMessages,
        Some(Ok(Finished::Ended)) => {
            match outcome {
                Outcome::PrCreated | Outcome::ChangesReady | Outcome::NoChanges | Outcome::Cancelled => {
                    let (job, attempt) = (lease.job_id.as_str(), lease.attempt);
                    tracing::info!(job, attempt, outcome = outcome.as_str(), "job ended");
                }
                Outcome::Blocked | Outcome::TimedOut | Outcome::ChecksFailed | Outcome::Error => {
                    // What somebody asked for, and what the agent says to them, is for them and not for the log.
                    let reason = match (outcome, &finish.message) {
                        (Outcome::ChecksFailed, _) => "the docs checks found something; the job says what",
                        (Outcome::Error | Outcome::TimedOut, Some(message)) if !quotes => message,
                        _ => "what the prompt asks for cannot be done; the job says why",
                    };
                    warn_failed(job, outcome, reason);
                }
            }
            runner.metrics.finished(outcome, runner.store.now().since(asked_at));
            Settled::Over
        }
        Some(Ok(Finished::Cancelled)) => {
            tracing::info!(job = lease.job_id.as_str(), attempt = lease.attempt, outcome = "cancelled", "job ended");
            runner.metrics.finished(Outcome::Cancelled, runner.store.now().since(asked_at));
            Settled::Over
        }
        Some(Err(_)) => {
            tracing::warn!(
                job = lease.job_id.as_str(),
                attempt = lease.attempt,
                "lost the lease before the end was written"
            );
            runner.metrics.lease_lost();
            Settled::Over
        }
        None => Settled::Over,
    }
}

/// What an operator is to find, without asking for every job.
fn warn_failed(job: &Job, outcome: Outcome, reason: &str) {
    let (id, project) = (job.id.as_str(), job.project_id.as_str());
    tracing::warn!(job = id, project, model = job.model, outcome = outcome.as_str(), reason, "job failed");
}

async fn retry(runner: &Runner, job: &Job, lease: &Lease, reason: &str) -> Settled {
    let attempts = runner.terms.attempts;
    tracing::warn!(job = lease.job_id.as_str(), attempt = lease.attempt, reason, "a try failed");
    let put_back = || runner.store.retry_later(lease, reason, attempts, random_fraction());
    if let Some(Ok(Retry::GaveUp)) = retry_while_away(runner, put_back).await {
        warn_failed(job, Outcome::Error, reason);
    }
    Settled::Over
}

/// The job and its messages as they are now; none if it is gone or cannot be read.
async fn look_again(runner: &Runner, job: &Job) -> Option<(Job, Vec<Message>)> {
    let look = || async {
        let now = runner.store.job(&job.project_id, &job.id).await?;
        Ok((now, runner.store.messages(&job.id).await?))
    };
    let (now, messages) = retry_while_away(runner, look).await?.ok()?;
    Some((now?, messages))
}

/// Tries a write again while the database cannot be reached, but not past the end of the lease: by then the job
/// is another worker's. None if it could not be done.
async fn retry_while_away<T, F>(runner: &Runner, mut attempt: impl FnMut() -> F) -> Option<Result<T, LeaseLost>>
where
    F: Future<Output = Result<T, LeaseError>>,
{
    let give_up = tokio::time::Instant::now() + runner.terms.lease.max(Duration::from_secs(1));
    loop {
        match attempt().await {
            Ok(done) => return Some(Ok(done)),
            Err(LeaseError::Lost(lost)) => return Some(Err(lost)),
            Err(error) if tokio::time::Instant::now() >= give_up => {
                tracing::error!(%error, "cannot record the outcome of a job; the reaper will find it");
                return None;
            }
            Err(error) => {
                tracing::warn!(%error, "cannot record the outcome of a job; trying again");
                tokio::time::sleep(STORE_PAUSE).await;
            }
        }
    }
}
