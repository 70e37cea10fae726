//! Thousands of random operations by several workers and clients, each compared with a queue in plain memory.

use std::collections::BTreeMap;
use std::time::Duration;

use copydesk_domain::{Job, JobId, Outcome, Status};
use copydesk_store::{Admission, CancelError, Finish, Lease, QueueDepth, QueueTerms, Store};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use serde_json::json;

use crate::desk::{Desk, LEASE, claim_with, heartbeat, message, models, terms};
use crate::model::Model;

behaviours! {
    random_operations_do_what_the_model_does_by_seed_1,
    random_operations_do_what_the_model_does_by_seed_2,
}

async fn random_operations_do_what_the_model_does_by_seed_1(desk: Desk) {
    Story::start(desk, 1).await.play(1500).await;
}

async fn random_operations_do_what_the_model_does_by_seed_2(desk: Desk) {
    Story::start(desk, 2).await.play(1500).await;
}

/// The transitions of the contract. Whatever happens, a job goes no other way.
const ALLOWED: [(Status, Status); 8] = [
    (Status::Active, Status::Completed),
    (Status::Active, Status::Failed),
    (Status::Active, Status::Archived),
    (Status::Completed, Status::Active),
    (Status::Completed, Status::Archived),
    (Status::Failed, Status::Active),
    (Status::Failed, Status::Archived),
    (Status::Archived, Status::Archived),
];

/// So many jobs are active at the most, fewer than the reaper takes at a time.
const ACTIVE: usize = 20;

struct Story {
    desk: Desk,
    /// The processes that workers and clients are in.
    stores: Vec<Store>,
    rng: StdRng,
    model: Model,
    terms: QueueTerms,
    /// Every lease there ever was, those that are lost included.
    leases: Vec<Lease>,
    /// How each job stood when it was last seen.
    seen: BTreeMap<JobId, Status>,
    /// The last attempt of each job.
    attempts: BTreeMap<JobId, i64>,
}

impl Story {
    async fn start(desk: Desk, seed: u64) -> Self {
        let terms = QueueTerms {
            running_per_project: 3,
            job_time: Duration::from_secs(240),
            queue_time: Duration::from_secs(400),
            ..terms()
        };
        let mut limits = BTreeMap::new();
        limits.insert(desk.project("default").await, 3);
        limits.insert(desk.project_running("one", 1).await, 1);
        limits.insert(desk.project_running("many", 0).await, 0);
        let stores = desk.several_beside(2).await;
        let model = Model { terms: terms.clone(), limits, jobs: BTreeMap::new(), taken: BTreeMap::new() };
        let rng = StdRng::seed_from_u64(seed);
        let (seen, attempts) = (BTreeMap::new(), BTreeMap::new());
        Self { desk, stores, rng, model, terms, leases: Vec::new(), seen, attempts }
    }

    async fn play(&mut self, operations: usize) {
        for at in 0..operations {
            if let Some(id) = self.operate().await {
                let job = self.desk.job(&self.model.jobs[&id].project, &id).await;
                self.check(&job);
            }
            if at % 100 == 99 {
                self.look_at_all().await;
            }
        }
        let ways: std::collections::BTreeSet<_> =
            self.model.jobs.values().map(|job| (job.status.as_str(), job.outcome.map(Outcome::as_str))).collect();
        assert!(ways.len() >= 7, "the story went many ways: {ways:?}");
    }

    fn store(&mut self) -> Store {
        self.stores.choose(&mut self.rng).unwrap().clone()
    }

    /// Does one thing and gives the job it was about, if it was about one.
    async fn operate(&mut self) -> Option<JobId> {
        let active = self.model.jobs.values().filter(|job| job.status == Status::Active).count();
        match self.rng.random_range(0..100) {
            0..12 if active < ACTIVE => Some(self.create().await),
            0..45 => self.claim_or_step().await,
            45..60 => self.finish().await,
            60..68 => self.give_back().await,
            68..88 => self.client().await,
            88..92 => {
                self.reap().await;
                self.look_at_all().await;
                None
            }
            _ => {
                // Mostly a moment, sometimes so long that leases and deadlines pass.
                let millis = if self.rng.random_bool(0.8) { 1500 } else { 2 * LEASE.as_millis() as u64 };
                let by = self.rng.random_range(1..millis);
                self.desk.advance(Duration::from_millis(by));
                None
            }
        }
    }

    async fn create(&mut self) -> JobId {
        let projects: Vec<_> = self.model.limits.keys().cloned().collect();
        let (project, store) = (projects.choose(&mut self.rng).unwrap().clone(), self.store());
        let id = crate::desk::create(&store, &project).await;
        self.model.create(&project, &id, self.desk.now());
        id
    }

    async fn claim_or_step(&mut self) -> Option<JobId> {
        let (store, now) = (self.store(), self.desk.now());
        if self.rng.random_bool(0.5) {
            let worker = format!("worker {}", self.rng.random_range(0..5));
            let claimed = claim_with(&store, &worker, &models(), &self.terms).await.unwrap();
            let lease = claimed.map(|claimed| claimed.lease);
            let given = lease.as_ref().map(|lease| &lease.job_id);
            assert_eq!(lease, self.model.claim(&worker, now, given));
            let lease = lease?;
            let last = self.attempts.insert(lease.job_id.clone(), lease.attempt);
            assert!(last < Some(lease.attempt), "the attempt grows");
            self.leases.push(lease.clone());
            return Some(lease.job_id);
        }
        let lease = self.some_lease()?;
        if self.rng.random_bool(0.5) {
            let pulse = heartbeat(&store, &lease, self.terms.lease).await;
            assert_eq!(pulse, self.model.heartbeat(&lease, now), "{lease:?}");
        } else {
            let step = store.record_step(&lease, "working", json!({ "attempt": lease.attempt })).await;
            assert_eq!(step, self.model.step(&lease), "{lease:?}");
        }
        Some(lease.job_id)
    }

    async fn finish(&mut self) -> Option<JobId> {
        let (store, lease) = (self.store(), self.some_lease()?);
        let outcomes =
            [Outcome::PrCreated, Outcome::NoChanges, Outcome::ChecksFailed, Outcome::Error, Outcome::TimedOut];
        let outcome = *outcomes.choose(&mut self.rng).unwrap();
        let taken_through = self.model.jobs[&lease.job_id].messages - self.rng.random_range(0..=1);
        let finished = store.finish(&lease, Finish::new(outcome, "Done.", taken_through)).await;
        assert_eq!(finished, self.model.finish(&lease, outcome, taken_through), "{lease:?}");
        Some(lease.job_id)
    }

    async fn give_back(&mut self) -> Option<JobId> {
        let (store, lease, now) = (self.store(), self.some_lease()?, self.desk.now());
        if self.rng.random_bool(0.4) {
            assert_eq!(store.release(&lease).await, self.model.release(&lease, now), "{lease:?}");
        } else {
            let retry = store.retry_later(&lease, "chance", self.terms.attempts, 0.0).await;
            assert_eq!(retry, self.model.retry(&lease, now), "{lease:?}");
        }
        Some(lease.job_id)
    }

    async fn client(&mut self) -> Option<JobId> {
        let ids: Vec<_> = self.model.jobs.keys().rev().take(2 * ACTIVE).cloned().collect();
        let id = ids.choose(&mut self.rng)?.clone();
        let project = self.model.jobs[&id].project.clone();
        let store = self.store();
        match self.rng.random_range(0..10) {
            0..5 => {
                let sent = matches!(message(&store, &project, &id).await, Admission::Done { .. });
                assert_eq!(sent, self.model.message(&id, self.desk.now()));
            }
            5..8 => {
                let cancelled = match store.cancel_job(&project, &id).await {
                    Err(CancelError::Refused(_)) => false,
                    cancelled => cancelled.unwrap().is_some(),
                };
                assert_eq!(cancelled, self.model.cancel(&id));
            }
            _ => {
                store.archive_job(&project, &id).await.unwrap().unwrap();
                self.model.archive(&id);
            }
        }
        Some(id)
    }

    async fn reap(&mut self) {
        let reaped = self.store().reap(&self.terms, || 0.0).await.unwrap();
        assert_eq!(reaped, self.model.reap(self.desk.now()));
    }

    /// One that stands, or, one time in four, any that ever was.
    fn some_lease(&mut self) -> Option<Lease> {
        if self.rng.random_bool(0.25) {
            return self.leases.choose(&mut self.rng).cloned();
        }
        let held: Vec<_> = self.model.jobs.values().filter_map(|job| job.held.clone()).collect();
        held.choose(&mut self.rng).map(|(lease, _)| lease.clone())
    }

    fn check(&mut self, job: &Job) {
        let model = &self.model.jobs[&job.id];
        let found = (job.status, job.outcome, job.run, job.cancel_requested);
        assert_eq!(found, (model.status, model.outcome, model.run, model.cancelling), "{}", job.id);
        let status = self.seen.insert(job.id.clone(), job.status).unwrap_or(Status::Active);
        assert!(job.status == status || ALLOWED.contains(&(status, job.status)), "{status:?} to {:?}", job.status);
    }

    async fn look_at_all(&mut self) {
        let mut count = 0;
        for project in self.model.limits.keys().cloned().collect::<Vec<_>>() {
            for job in self.desk.jobs(&project).await {
                self.check(&job);
                count += 1;
            }
        }
        assert_eq!(count, self.model.jobs.len());
        let active = || self.model.jobs.values().filter(|job| job.status == Status::Active);
        let held: Vec<_> = active().filter_map(|job| job.held.clone()).collect();
        let depth = QueueDepth { waiting: (active().count() - held.len()) as u32, running: held.len() as u32 };
        assert_eq!(self.desk.store.queue_depth().await.unwrap(), depth, "no ended job is held");
        let holders = self.leases.iter().filter(|lease| held.iter().any(|(held, _)| held == *lease)).count();
        assert_eq!(holders, held.len(), "each held job has one holder");
    }
}
