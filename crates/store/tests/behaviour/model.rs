//! A queue in a few lines of plain memory, to compare the real one with.

use std::collections::BTreeMap;
use std::time::Duration;

use copydesk_domain::{JobId, Outcome, ProjectId, Status, Timestamp};
use copydesk_store::{Finished, Lease, LeaseError, QueueTerms, Reaped, Retry};

use crate::desk::{CANCELLED, LOST};

/// A job as the model has it.
#[derive(Debug, Clone)]
pub struct ModelJob {
    pub project: ProjectId,
    pub status: Status,
    pub outcome: Option<Outcome>,
    pub run: u32,
    pub messages: u32,
    pub cancelling: bool,
    pub attempt: i64,
    /// Who holds it, and until when.
    pub held: Option<(Lease, Timestamp)>,
    pub tries: u32,
    pub not_before: Timestamp,
    queued_at: Timestamp,
    deadline: Option<Timestamp>,
}

pub struct Model {
    pub terms: QueueTerms,
    /// The running limit of each project; 0 is none.
    pub limits: BTreeMap<ProjectId, usize>,
    pub jobs: BTreeMap<JobId, ModelJob>,
    /// When a job of each project was last taken.
    pub taken: BTreeMap<ProjectId, Timestamp>,
}

impl Model {
    pub fn create(&mut self, project: &ProjectId, id: &JobId, now: Timestamp) {
        let job = ModelJob {
            project: project.clone(),
            status: Status::Active,
            outcome: None,
            run: 1,
            messages: 1,
            cancelling: false,
            attempt: 0,
            held: None,
            tries: 0,
            not_before: now,
            queued_at: now,
            deadline: None,
        };
        assert!(self.jobs.insert(id.to_owned(), job).is_none(), "an id is given once");
    }

    /// Whether it was taken.
    pub fn message(&mut self, id: &JobId, now: Timestamp) -> bool {
        let job = self.job(id);
        match job.status {
            Status::Archived => return false,
            Status::Active => {}
            Status::Completed | Status::Failed => {
                (job.status, job.outcome, job.run) = (Status::Active, None, job.run + 1);
                (job.tries, job.not_before, job.queued_at, job.deadline) = (0, now, now, None);
            }
        }
        job.messages += 1;
        true
    }

    /// Whether it was taken.
    pub fn cancel(&mut self, id: &JobId) -> bool {
        let job = self.job(id);
        if job.status != Status::Active {
            return false;
        }
        if job.held.is_some() {
            job.cancelling = true;
        } else {
            job.end(Outcome::Cancelled);
        }
        true
    }

    pub fn archive(&mut self, id: &JobId) {
        let job = self.job(id);
        if job.status == Status::Active {
            job.end(Outcome::Cancelled);
        }
        job.status = Status::Archived;
    }

    /// The job that a claim must give, leased. Of projects whose turn comes at the same moment either may be first.
    pub fn claim(&mut self, worker: &str, now: Timestamp, given: Option<&JobId>) -> Option<Lease> {
        let room = |project: &ProjectId| {
            let running = self.jobs.values().filter(|job| job.project == project.clone() && job.held.is_some()).count();
            self.limits[project] == 0 || running < self.limits[project]
        };
        let free = |job: &ModelJob| job.status == Status::Active && job.held.is_none() && job.not_before <= now;
        let waiting = self.jobs.iter().filter(|(_, job)| free(job) && room(&job.project));
        let mut first = BTreeMap::new();
        for (id, job) in waiting {
            let next = first.entry(&job.project).or_insert((job.not_before, id));
            *next = (*next).min((job.not_before, id));
        }
        let turn = |(project, (at, id)): (&ProjectId, (Timestamp, &JobId))| {
            (self.taken.get(project).map_or(at, |taken| at.max(*taken)), Some(id) != given, id.clone())
        };
        let (_, _, id) = first.into_iter().map(turn).min()?;
        let terms = self.terms.clone();
        self.taken.insert(self.jobs[&id].project.clone(), now);
        let job = self.job(&id);
        (job.attempt, job.tries) = (job.attempt + 1, job.tries + 1);
        job.deadline.get_or_insert(now.plus(terms.job_time));
        let lease = Lease { job_id: id, worker: worker.to_owned(), attempt: job.attempt };
        job.held = Some((lease.clone(), now.plus(terms.lease)));
        Some(lease)
    }

    pub fn heartbeat(&mut self, lease: &Lease, now: Timestamp) -> Result<(), LeaseError> {
        let until = now.plus(self.terms.lease);
        let job = self.hold(lease)?;
        job.held = Some((lease.clone(), until));
        if job.cancelling { Err(CANCELLED) } else { Ok(()) }
    }

    pub fn step(&mut self, lease: &Lease) -> Result<(), LeaseError> {
        let job = self.hold(lease)?;
        if job.cancelling { Err(CANCELLED) } else { Ok(()) }
    }

    pub fn finish(&mut self, lease: &Lease, outcome: Outcome, taken_through: u32) -> Result<Finished, LeaseError> {
        let job = self.hold(lease)?;
        if job.cancelling {
            job.end(Outcome::Cancelled);
            return Ok(Finished::Cancelled);
        }
        if job.messages > taken_through && outcome != Outcome::TimedOut {
            return Ok(Finished::NewMessages);
        }
        job.end(outcome);
        Ok(Finished::Ended)
    }

    pub fn release(&mut self, lease: &Lease, now: Timestamp) -> Result<(), LeaseError> {
        let job = self.hold(lease)?;
        if job.cancelling {
            job.end(Outcome::Cancelled);
        } else {
            (job.held, job.tries, job.not_before) = (None, job.tries - 1, now);
        }
        Ok(())
    }

    pub fn retry(&mut self, lease: &Lease, now: Timestamp) -> Result<Retry, LeaseError> {
        let attempts = self.terms.attempts;
        Ok(self.hold(lease)?.put_back(attempts, now))
    }

    pub fn reap(&mut self, now: Timestamp) -> Reaped {
        let (terms, mut reaped) = (self.terms.clone(), Reaped::default());
        for job in self.jobs.values_mut().filter(|job| job.status == Status::Active) {
            let up = match (&job.held, job.deadline) {
                (Some((_, until)), _) if *until <= now => job.put_back(terms.attempts, now),
                (None, Some(deadline)) if deadline <= now => job.end(Outcome::TimedOut),
                (None, None) if job.queued_at.plus(terms.queue_time) <= now => job.end(Outcome::TimedOut),
                _ => continue,
            };
            match up {
                Retry::At(_) => reaped.requeued += 1,
                Retry::GaveUp => reaped.ended += 1,
            }
        }
        reaped
    }

    fn job(&mut self, id: &JobId) -> &mut ModelJob {
        self.jobs.get_mut(id).unwrap()
    }

    fn hold(&mut self, lease: &Lease) -> Result<&mut ModelJob, LeaseError> {
        let job = self.job(&lease.job_id);
        if job.held.as_ref().is_some_and(|(held, _)| held == lease) { Ok(job) } else { Err(LOST) }
    }
}

impl ModelJob {
    fn end(&mut self, outcome: Outcome) -> Retry {
        let well = matches!(outcome, Outcome::PrCreated | Outcome::NoChanges);
        self.status = if well { Status::Completed } else { Status::Failed };
        (self.outcome, self.held, self.cancelling) = (Some(outcome), None, false);
        Retry::GaveUp
    }

    fn put_back(&mut self, attempts: u32, now: Timestamp) -> Retry {
        if self.cancelling {
            return self.end(Outcome::Cancelled);
        }
        if self.deadline.is_some_and(|deadline| deadline <= now) {
            return self.end(Outcome::TimedOut);
        }
        if self.tries >= attempts {
            return self.end(Outcome::Error);
        }
        // With no jitter the pause is half of one, two, four, … seconds.
        self.not_before = now.plus(Duration::from_millis(500 << (self.tries - 1)));
        self.held = None;
        Retry::At(self.not_before)
    }
}
