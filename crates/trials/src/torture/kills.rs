use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use copydesk_domain::{ProjectId, Prompt, SystemClock, Window};
use copydesk_store::{Admission, JobFilter, NewJob, Store};
use copydesk_testkit::{Backend, TestDatabase};

use super::fleet::{Fleet, Start};
use super::stalls::StallWatch;
use super::verify::{Evidence, Findings, verify};
use super::worker::DATABASE;
use super::{MODEL, journal};
use crate::args::{milliseconds, seconds};
use crate::product::create_project;

/// Workers are killed with SIGKILL while they work; every job must be run to its end, once at a time.
#[derive(Debug, Clone, clap::Args)]
pub struct KillOptions {
    /// sqlite (one process with all workers) or postgres (a process for each, on COPYDESK_TEST_POSTGRES).
    #[arg(long = "database")]
    pub backend: Backend,
    /// For how long to kill.
    #[arg(long = "seconds", value_parser = seconds, default_value = "20")]
    pub time: Duration,
    /// How many jobs: one half at the start, the other as time goes by.
    #[arg(long, default_value_t = 200)]
    pub jobs: usize,
    /// How many workers.
    #[arg(long, default_value_t = 8)]
    pub workers: usize,
    /// How often to kill.
    #[arg(long = "every-ms", value_parser = milliseconds, default_value = "500")]
    pub every: Duration,
    /// How long a lease lasts.
    #[arg(long = "lease-ms", value_parser = milliseconds, default_value = "1000")]
    pub lease: Duration,
}

/// Every so many kills a worker is held still.
const STOP_EVERY: usize = 5;
/// How long workers may take to stop when asked.
const PATIENCE: Duration = Duration::from_secs(15);

/// Runs it, prints what came out, and says whether all was well.
pub async fn run_kills(options: KillOptions) -> bool {
    let started = Instant::now();
    let database = TestDatabase::new(options.backend).await;
    let folder = tempfile::tempdir().unwrap();
    let store = database.store(Arc::new(SystemClock)).await;
    let project = create_project(&store, Some(0)).await;
    let mut created = Vec::new();
    for _ in 0..options.jobs / 2 {
        created.push(create_job(&store, &project).await);
    }
    let (processes, workers) = match options.backend {
        Backend::Sqlite => (1, options.workers),
        Backend::Postgres => (options.workers, 1),
    };
    let journal_file = folder.path().join("journal");
    let start = start(&options, &database, &journal_file, workers);
    let mut fleet = Fleet::new(start, processes);
    let mut watch = StallWatch::new(&store, options.lease);
    let torture = async {
        let (more, ()) = tokio::join!(feed(&store, &project, &options), kill(&mut fleet, &journal_file, &options));
        created.extend(more);
        let drained = drain(&store, &mut fleet, &options).await;
        (drained, fleet.finish(PATIENCE).await)
    };
    let (drained, ended) = tokio::select! {
        ended = torture => ended,
        () = watch.run() => unreachable!("it looks until it is dropped"),
    };

    let (journal, broken) = match journal::read(&journal_file) {
        Ok(lines) => (lines, None),
        Err(error) => (Vec::new(), Some(error)),
    };
    let jobs = read_jobs(&store, &project).await;
    let evidence = Evidence { created, jobs, journal, lives: ended.lives, stalls: watch.stalls, kills: ended.kills };
    let mut found = verify(&evidence);
    found.violations.extend(ended.complaints);
    found.violations.extend(broken);
    found.violations.extend(drained.err());
    report(&options, &evidence, &found, started.elapsed());
    found.violations.is_empty()
}

fn start(options: &KillOptions, database: &TestDatabase, journal: &Path, workers: usize) -> Start {
    let (program, database, journal) = (std::env::current_exe().unwrap(), database.url(), journal.to_owned());
    let lease = options.lease;
    let command = move |_| {
        let mut command = Command::new(&program);
        command.arg("worker").args(["--workers", &workers.to_string()]);
        command.args(["--lease-ms", &lease.as_millis().to_string()]);
        command.arg("--journal").arg(&journal).env(DATABASE, &database);
        command
    };
    Start { command: Arc::new(command), lease }
}

/// Kills one process after the other; between processes also holds one still, past the end of its leases.
async fn kill(fleet: &mut Fleet, journal: &Path, options: &KillOptions) {
    let end = Instant::now() + options.time;
    let mut round = 0;
    while Instant::now() < end {
        tokio::time::sleep(options.every).await;
        round += 1;
        fleet.mind();
        fleet.resume(false);
        let busy = busy(journal);
        // Any process, in turn with one that is in the middle of a job if there is one.
        fleet.kill_one(|pid| round % 2 == 0 || busy.contains(&pid));
        if options.backend == Backend::Postgres && round % STOP_EVERY == 0 {
            fleet.stop_one(|pid| busy.contains(&pid));
        }
    }
    fleet.resume(true);
}

/// The processes that are in the middle of a job.
fn busy(journal: &Path) -> Vec<u32> {
    let mut busy = Vec::new();
    for line in journal::read(journal).unwrap_or_default() {
        match line.mark {
            journal::Mark::Begin => busy.push(line.pid),
            _ => busy.retain(|pid| *pid != line.pid),
        }
    }
    busy
}

/// Creates the second half of the jobs, evenly over the time of the killing.
async fn feed(store: &Store, project: &ProjectId, options: &KillOptions) -> Vec<String> {
    let rest = options.jobs - options.jobs / 2;
    let pause = options.time.mul_f64(0.95) / u32::try_from(rest.max(1)).unwrap();
    let mut created = Vec::new();
    for _ in 0..rest {
        tokio::time::sleep(pause).await;
        created.push(create_job(store, project).await);
    }
    created
}

/// Waits until no job is active. A job that was killed n times pauses for up to 2ⁿ⁻¹ seconds, and has paused for at
/// least half of that already, so this takes at most a bit more than twice the time of the killing.
async fn drain(store: &Store, fleet: &mut Fleet, options: &KillOptions) -> Result<(), String> {
    let limit = Duration::from_secs(60) + options.time * 2;
    let give_up = Instant::now() + limit;
    loop {
        let depth = store.queue_depth().await.map_err(|error| format!("cannot look at the queue: {error}"))?;
        if depth.waiting + depth.running == 0 {
            return Ok(());
        }
        if Instant::now() >= give_up {
            return Err(format!("after {limit:?} without a kill the queue still holds {depth:?}"));
        }
        fleet.mind();
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn create_job(store: &Store, project: &ProjectId) -> String {
    let new = NewJob {
        project_id: project.clone(),
        repository: "https://example.com/docs".to_owned(),
        base_ref: "main".to_owned(),
        model: MODEL.to_owned(),
        draft: false,
        open_pull_request: true,
        client_reference: None,
        max_cost: None,
        changes: None,
        prompt: Prompt::parse("Live through this.").unwrap(),
    };
    match store.create_job(new, Window::hourly(0), None, |job| job.id.to_string()).await.unwrap() {
        Admission::Done { job_id, .. } => job_id.to_string(),
        other => panic!("a job was not created: {other:?}"),
    }
}

async fn read_jobs(store: &Store, project: &ProjectId) -> Vec<(copydesk_domain::Job, Vec<copydesk_store::Event>)> {
    let mut all = Vec::new();
    for job in store.jobs(project, JobFilter { limit: u32::MAX, ..JobFilter::default() }).await.unwrap() {
        let events = store.events(&job.id, 0, u32::MAX).await.unwrap();
        all.push((job, events));
    }
    all
}

fn report(options: &KillOptions, evidence: &Evidence, found: &Findings, took: Duration) {
    for violation in found.violations.iter().take(50) {
        eprintln!("VIOLATION {violation}");
    }
    let Findings { attempts, most, cut_short, stops, fenced, stalled, starved, violations } = found;
    println!(
        "kills on {}: {} jobs, {attempts} attempts (at most {most} a job), {} kills, {cut_short} attempts cut short, \
         {stops} workers held still, {fenced} attempts fenced off, {starved} leases lost alive, the machine stood still \
         {} times and cost {stalled} leases, {} violations, {:.1} s",
        options.backend,
        evidence.created.len(),
        evidence.kills,
        evidence.stalls.len(),
        violations.len(),
        took.as_secs_f64(),
    );
}
