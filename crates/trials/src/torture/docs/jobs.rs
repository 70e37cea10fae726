//! Many jobs, and processes that are killed at any moment while they work on them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use copydesk_domain::{HostSettings, Job, ProjectId, Prompt, Status, SystemClock, Window, random_fraction};
use copydesk_store::{JobFilter, Store};
use copydesk_testkit::model::ModelServer;
use copydesk_testkit::{Backend, GitRepo, TestDatabase};
use tempfile::TempDir;

use super::super::fleet::{Fleet, Start};
use super::seen::{Seen, check_repository, look};
use super::steps::STEPS;
use super::story::{BASE, Story, base};
use super::verify::{attempts, verify, wasted_calls};
use super::worker::{Errand, open_later, workshop};
use super::world::{CodeRepo, check_mirrors, create_job, create_project, worker_command};
use crate::args::milliseconds;

/// Processes are killed at any moment while they work on documentation jobs; every job must come to its one end.
#[derive(Debug, Clone, clap::Args)]
pub struct JobsOptions {
    /// sqlite (few processes with many workers) or postgres (many with few, on COPYDESK_TEST_POSTGRES).
    #[arg(long = "database")]
    pub backend: Backend,
    /// How many times to kill.
    #[arg(long, default_value_t = 200)]
    pub kills: usize,
    /// How many jobs.
    #[arg(long, default_value_t = 60)]
    pub jobs: usize,
    /// How long a lease lasts.
    #[arg(long = "lease-ms", value_parser = milliseconds, default_value = "1000")]
    pub lease: Duration,
}

/// Beside one for jobs that read a code source: by their follow-ups it would have moved on, which they would be told.
const REPOSITORIES: usize = 3;
/// Jobs that are there before the first kill.
const AT_FIRST: usize = 10;
/// The time between two kills, at least and at most.
const BETWEEN: (f64, f64) = (0.03, 0.25);
/// How long processes may take to stop when asked.
const PATIENCE: Duration = Duration::from_secs(15);
/// How long the jobs may take when nobody is killed any more.
const DRAIN: Duration = Duration::from_secs(120);
const DEAD: &str = "its worker stopped answering";

/// Everything that a run is about.
struct Batch {
    options: JobsOptions,
    database: TestDatabase,
    store: Store,
    model: Arc<ModelServer>,
    /// Repositories and their projects.
    places: Vec<(Arc<GitRepo>, ProjectId)>,
    /// What the last of them can read.
    code: CodeRepo,
    mirrors: TempDir,
    jobs: Vec<Entry>,
}

/// A job that was created.
struct Entry {
    id: String,
    story: Story,
    place: usize,
    /// How many of its prompts were sent.
    sent: usize,
}

/// Runs it, prints what came out, and says whether all was well.
pub async fn run_jobs(options: JobsOptions) -> bool {
    let started = Instant::now();
    let mut batch = Batch::new(options).await;
    let processes = if batch.options.backend == Backend::Sqlite { 2 } else { 4 };
    let mut fleet = Fleet::new(batch.start(), processes);
    batch.kill(&mut fleet).await;
    let drained = batch.drain(&mut fleet).await;
    let ended = fleet.finish(PATIENCE).await;
    let (figures, mut violations) = batch.look().await;
    violations.extend(drained.err());
    violations.extend(ended.complaints);
    // A kill that meets nobody at work proves nothing.
    if figures.cut_short * 3 < ended.kills || ended.kills < batch.options.kills {
        violations.push(format!("{} kills met only {} attempts at work", ended.kills, figures.cut_short));
    }
    report(&batch, &figures, ended.kills, &violations, started.elapsed());
    violations.is_empty()
}

impl Batch {
    async fn new(options: JobsOptions) -> Self {
        let database = TestDatabase::new(options.backend).await;
        let store = database.store(Arc::new(SystemClock)).await;
        let model = Arc::new(ModelServer::builder().start().await);
        let (mut places, code) = (Vec::new(), CodeRepo::new());
        for _ in 0..=REPOSITORIES {
            let repo = Arc::new(GitRepo::new(BASE));
            let project = create_project(&store, &repo.address(), HostSettings::default()).await;
            places.push((repo, project));
        }
        code.add_to(&store, &places[REPOSITORIES].1).await;
        let mirrors = tempfile::tempdir().unwrap();
        Self { options, database, store, model, places, code, mirrors, jobs: Vec::new() }
    }

    /// On SQLite few processes with many workers, on PostgreSQL many with few. Every other one is a machine of its own.
    fn start(&self) -> Start {
        let (database, model, lease) = (self.database.url(), self.model.clone(), self.options.lease);
        let workers = if self.options.backend == Backend::Sqlite { 4 } else { 2 };
        let folder = self.mirrors.path().to_owned();
        let machine = move |slot: usize| -> PathBuf {
            if slot.is_multiple_of(2) { folder.join("shared") } else { folder.join(format!("own-{slot}")) }
        };
        let command = move |slot| worker_command(&database, &machine(slot), &model, workers, lease);
        Start { command: Arc::new(command), lease }
    }

    /// Kills one process after the other while jobs and follow-ups come in.
    async fn kill(&mut self, fleet: &mut Fleet) {
        for round in 0..self.options.kills {
            let due = AT_FIRST + round * self.options.jobs / self.options.kills;
            while self.jobs.len() < due.min(self.options.jobs) {
                self.create().await;
            }
            self.follow_up(0.05).await;
            self.forget_tries().await;
            if round % 10 == 0 {
                self.code.go_on();
            }
            tokio::time::sleep(Duration::from_secs_f64(BETWEEN.0 + (BETWEEN.1 - BETWEEN.0) * random_fraction())).await;
            fleet.mind();
            // Any process, in turn with one that is in the middle of a job.
            let busy = if round % 2 == 0 { Vec::new() } else { self.somebody_busy().await };
            fleet.kill_one(|pid| round % 2 == 0 || busy.contains(&pid));
        }
        while self.jobs.len() < self.options.jobs {
            self.create().await;
        }
    }

    async fn create(&mut self) {
        let number = self.jobs.len();
        let tag = format!("job-{number}");
        let story = match number % 8 {
            0 => Story::model(&tag),
            1 => Story::all_tools(&tag),
            2 | 3 => Story::followed_model(&tag, true),
            4 => Story::builtin(&tag),
            5 => Story::followed_builtin(&tag),
            6 if number % 16 == 6 => Story::idle_builtin(&tag),
            6 => Story::idle_model(&tag),
            _ => Story::model(&tag).opened_later(),
        };
        let story = story.slowly(Duration::from_millis(number as u64 % 5 * 25));
        let place = if story.reads_source { REPOSITORIES } else { number % REPOSITORIES };
        let (repo, project) = &self.places[place];
        let id = create_job(&self.store, project, &repo.address(), &story, &self.model).await;
        self.jobs.push(Entry { id, story, place, sent: 1 });
    }

    /// Sends each follow-up that was not sent yet with this chance, whatever its job is at.
    async fn follow_up(&mut self, chance: f64) {
        for job in &mut self.jobs {
            let Some(prompt) = job.story.prompts.get(job.sent).filter(|_| random_fraction() < chance) else { continue };
            let prompt = Prompt::parse(prompt).unwrap();
            let (_, project) = &self.places[job.place];
            let id = job.id.as_str().into();
            let sent = self.store.message_job(project, &id, prompt, Window::hourly(0), None, |_| String::new());
            sent.await.unwrap();
            job.sent += 1;
        }
    }

    /// A job that was killed often pauses for minutes, which is right, but not what this run is about.
    async fn forget_tries(&self) {
        self.database.execute("UPDATE jobs SET tries = 1 WHERE status = 'active' AND tries > 1").await;
    }

    /// The processes that are in the middle of a job, once there are some; none if that takes too long.
    async fn somebody_busy(&self) -> Vec<u32> {
        let give_up = Instant::now() + self.options.lease;
        loop {
            let busy = self.busy().await;
            if !busy.is_empty() || Instant::now() >= give_up {
                return busy;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// The processes that are in the middle of a job. A worker's name begins with its process.
    async fn busy(&self) -> Vec<u32> {
        // A lease is at its end when its process is dead.
        let alive = self.store.now().plus(self.options.lease / 2).as_millis();
        let sql = format!("SELECT worker FROM jobs WHERE status = 'active' AND lease_expires_at > {alive}");
        let rows = self.database.query(&sql).await;
        rows.iter().filter_map(|row| row[0].split('-').next()?.parse().ok()).collect()
    }

    /// Waits until all that was asked for is done, and opens what is to be opened later.
    async fn drain(&mut self, fleet: &mut Fleet) -> Result<(), String> {
        self.follow_up(1.0).await;
        let give_up = Instant::now() + DRAIN;
        loop {
            self.forget_tries().await;
            let depth = self.store.queue_depth().await.map_err(|error| format!("cannot look at the queue: {error}"))?;
            if depth.waiting + depth.running == 0 {
                break;
            }
            if Instant::now() >= give_up {
                return Err(format!("after {DRAIN:?} without a kill the queue still holds {depth:?}"));
            }
            fleet.mind();
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let workshop = workshop(&self.store, &self.mirrors.path().join("publisher"));
        for job in self.jobs.iter().filter(|job| !job.story.opens) {
            let (project, job) = (self.places[job.place].1.clone(), job.id.clone());
            let errand = Errand { project, job, follow_ups: Vec::new(), asked: false, publish: true };
            open_later(&self.store, &workshop, &errand).await?;
        }
        Ok(())
    }

    async fn look(&self) -> (Figures, Vec<String>) {
        let (mut figures, mut wrong) = (Figures::default(), Vec::new());
        for job in &self.jobs {
            let (repo, project) = &self.places[job.place];
            let whose = (project, job.id.as_str());
            match look(&self.store, &self.database, repo, &self.model, &job.story, whose).await {
                Some(seen) => {
                    wrong.extend(verify(&job.story, &base(), &seen));
                    figures.add(&seen);
                }
                None => wrong.push(format!("job {}: is gone", job.id)),
            }
        }
        for (at, (repo, project)) in self.places.iter().enumerate() {
            let jobs = self.jobs.iter().filter(|job| job.place == at).map(|job| job.id.clone()).collect::<Vec<_>>();
            wrong.extend(check_repository(repo, &jobs).await);
            let there = self.all(project).await;
            if there.len() != jobs.len() || there.iter().any(|job| job.status == Status::Active) {
                wrong.push(format!("{} jobs were created; there are {}", jobs.len(), there.len()));
            }
        }
        wrong.extend(check_all_mirrors(self.mirrors.path()).await);
        wrong.extend(self.model.take_violations().into_iter().map(|violation| format!("the model: {violation:?}")));
        (figures, wrong)
    }

    async fn all(&self, project: &ProjectId) -> Vec<Job> {
        self.store.jobs(project, JobFilter { limit: u32::MAX, ..JobFilter::default() }).await.unwrap()
    }
}

async fn check_all_mirrors(folder: &Path) -> Vec<String> {
    let folder = folder.to_owned();
    tokio::task::spawn_blocking(move || check_mirrors(&folder)).await.unwrap()
}

/// What a run comes to.
#[derive(Default)]
struct Figures {
    attempts: usize,
    most: usize,
    cut_short: usize,
    /// Behind which steps.
    behind: BTreeMap<String, usize>,
    /// Tries that failed though nobody was killed, and the last reason.
    failed: usize,
    reason: String,
    rounds: usize,
    answers: usize,
    wasted: usize,
}

impl Figures {
    fn add(&mut self, seen: &Seen) {
        let attempts = attempts(seen);
        self.attempts += attempts;
        self.most = self.most.max(attempts);
        let mut last = "nothing";
        for event in &seen.events {
            match event.data["reason"].as_str().unwrap_or_default() {
                DEAD => {
                    self.cut_short += 1;
                    *self.behind.entry(last.to_owned()).or_default() += 1;
                }
                reason if event.kind == "retrying" => {
                    self.failed += 1;
                    reason.clone_into(&mut self.reason);
                }
                // Whoever takes a job over is as far as the one before.
                _ if event.kind == "claimed" && !matches!(last, "created" | "message") => {}
                _ if STEPS.contains(&event.kind.as_str()) => last = &event.kind,
                _ => {}
            }
        }
        self.rounds += seen.rounds.len();
        self.answers += seen.answers.len();
        self.wasted += wasted_calls(seen);
    }
}

fn report(batch: &Batch, figures: &Figures, kills: usize, violations: &[String], took: Duration) {
    for violation in violations.iter().take(50) {
        eprintln!("VIOLATION {violation}");
    }
    let Figures { attempts, most, cut_short, behind, failed, reason, rounds, answers, wasted } = figures;
    let behind: Vec<String> = behind.iter().map(|(step, count)| format!("{count} {step}")).collect();
    let reason = if *failed == 0 { String::new() } else { format!(" (the last: {reason})") };
    println!(
        "jobs on {}: {} jobs, {kills} kills, {attempts} attempts (at most {most} a job), {cut_short} cut short \
         (behind: {}), {failed} failed by themselves{reason}, {rounds} rounds, {answers} answers of the model recorded, {wasted} lost \
         before, {} violations, {:.1} s",
        batch.options.backend,
        batch.jobs.len(),
        behind.join(", "),
        violations.len(),
        took.as_secs_f64(),
    );
}
