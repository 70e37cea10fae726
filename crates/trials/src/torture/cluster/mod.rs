//! A whole installation on several machines that are killed, cut off and cut off from their database.

mod clients;
mod network;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use copydesk_testkit::{Backend, GitRepo, TestDatabase};
use serde_json::Value;
use tokio::sync::watch;

use clients::{World, make_jobs, tell_views, watch_views};
use network::Machine;

use crate::args::{program, seconds};
use crate::process::Installation;
use crate::seeded::Seeded;

/// Servers and workers on machines of their own share a database. They are killed at random, their cables are pulled, the
/// database is restarted and cut off. Every job must end with one pull request, every view be counted once by all, and clients
/// get an answer from somebody within seconds. Needs root, and PostgreSQL on COPYDESK_TEST_POSTGRES.
#[derive(Debug, Clone, clap::Args)]
pub struct ClusterOptions {
    /// The program `copydesk`.
    #[arg(long, value_parser = program)]
    pub binary: PathBuf,
    /// How long, in seconds.
    #[arg(long, value_parser = seconds, default_value = "600")]
    pub seconds: Duration,
    #[arg(long, default_value_t = 3)]
    pub servers: usize,
    #[arg(long, default_value_t = 4)]
    pub workers: usize,
    /// A command that restarts the database at once, without waiting for anybody.
    #[arg(long)]
    pub restart_database: Option<String>,
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

const PROJECTS: usize = 4;
const JOB_CLIENTS: u64 = 2;
const VIEW_CLIENTS: u64 = 4;
/// How long jobs have after the last kill, and how soon all servers must tell of the same views.
const JOBS_END: Duration = Duration::from_secs(120);
const VIEWS_SETTLE: Duration = Duration::from_secs(2);

/// A program on a machine. It is killed when it is dropped.
struct Process {
    machine: usize,
    child: Child,
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct Cluster<'a> {
    options: &'a ClusterOptions,
    /// Those of the servers first.
    machines: Vec<Machine>,
    processes: Vec<Process>,
    folder: &'a Path,
    database: String,
    is_reached: watch::Sender<bool>,
    world: Arc<World>,
    counts: Counts,
}

/// What was done to it.
#[derive(Default)]
struct Counts {
    kills: usize,
    cables: usize,
    restarts: usize,
    cuts: usize,
}

/// Runs it, prints what came out, and says whether all was well.
pub async fn run_cluster(options: ClusterOptions) -> bool {
    let started = Instant::now();
    let folder = tempfile::tempdir().unwrap();
    let database = TestDatabase::new(Backend::Postgres).await;
    let (name, socket) = place(&database.url());
    let (is_reached, reached) = watch::channel(true);
    let mut machines = Vec::new();
    for number in 0..options.servers + options.workers {
        machines.push(Machine::new(number, socket.clone(), reached.clone()).await);
    }
    let repos: Vec<GitRepo> =
        (0..PROJECTS).map(|_| GitRepo::new([("docs/index.md", "# Paint\n\nChoose a colour.\n")])).collect();
    let settings = vec![("COPYDESK_DATABASE_URL", database.url()), ("COPYDESK_VIEWS__STORE", "database".to_owned())];
    let installation = Installation { binary: &options.binary, folder: folder.path(), settings };
    let projects = repos.iter().map(|repo| installation.project_id("Docs", &repo.address())).collect();
    let world = Arc::new(World {
        servers: machines[..options.servers].iter().map(Machine::server).collect(),
        projects,
        key: installation.key(),
        stop: false.into(),
        jobs: Default::default(),
        views: Default::default(),
        views_sent: Default::default(),
        away: Default::default(),
        longest_failure: Default::default(),
        violations: Default::default(),
    });
    let mut cluster = Cluster {
        options: &options,
        machines,
        processes: Vec::new(),
        folder: folder.path(),
        database: name,
        is_reached,
        world: world.clone(),
        counts: Counts::default(),
    };
    for machine in 0..cluster.machines.len() {
        cluster.start(machine);
    }
    cluster.wait_for_servers().await;
    let pause = Duration::from_millis(500);
    let mut clients: Vec<_> =
        (0..JOB_CLIENTS).map(|client| tokio::spawn(make_jobs(world.clone(), client, pause))).collect();
    clients.extend((0..VIEW_CLIENTS).map(|client| tokio::spawn(tell_views(world.clone(), client))));
    clients.push(tokio::spawn(watch_views(world.clone())));
    cluster.disturb().await;
    world.stop.store(true, Ordering::SeqCst);
    for client in clients {
        client.await.unwrap();
    }
    cluster.verify(&repos).await;
    let Counts { kills, cables, restarts, cuts } = cluster.counts;
    drop(cluster.processes);
    let violations = std::mem::take(&mut *world.violations.lock().unwrap());
    violations.iter().for_each(|violation| eprintln!("VIOLATION {violation}"));
    println!(
        "cluster: {} servers and {} workers, {kills} kills, {cables} cables pulled, {restarts} restarts of the database and {cuts} \
         cuts from it; {} jobs and {} page views acknowledged, the longest failure {:.1} s; {} violations, {:.0} s",
        options.servers,
        options.workers,
        world.jobs.lock().unwrap().len(),
        world.views.load(Ordering::SeqCst),
        world.longest_failure.lock().unwrap().as_secs_f64(),
        violations.len(),
        started.elapsed().as_secs_f64()
    );
    database.destroy().await;
    if !violations.is_empty() {
        eprintln!("the logs of all machines are in {}", folder.keep().display());
    }
    violations.is_empty()
}

/// The name of the database, and the socket of its server.
fn place(url: &str) -> (String, PathBuf) {
    let (address, folder) = url.split_once("?host=").unwrap_or_else(|| panic!("{url} is no address of a socket"));
    let name = address.rsplit('/').next().unwrap_or_default().to_owned();
    (name, Path::new(folder).join(".s.PGSQL.5432"))
}

impl Cluster<'_> {
    fn start(&mut self, machine: usize) {
        let place = &self.machines[machine];
        let data = self.folder.join(format!("machine-{machine}"));
        std::fs::create_dir_all(&data).unwrap();
        // What an operator copies to every machine.
        let secret = self.folder.join("data/credentials.key");
        if secret.exists() {
            std::fs::copy(secret, data.join("credentials.key")).unwrap();
        }
        let mut command = place.command(&self.options.binary);
        if machine < self.options.servers {
            command.args(["serve", "--listen", &place.server().to_string()]);
        } else {
            command.arg("worker");
        }
        let log =
            File::options().create(true).append(true).open(self.folder.join(format!("machine-{machine}.log"))).unwrap();
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).current_dir(self.folder);
        command.envs([
            ("COPYDESK_DATABASE_URL", place.database_url(&self.database).as_str()),
            ("COPYDESK_DATA_DIR", &data.display().to_string()),
            ("COPYDESK_VIEWS__STORE", "database"),
            ("COPYDESK_PUBLIC_URL", "http://docs.example.com"),
            ("COPYDESK_RUNNER__WORKERS", if machine < self.options.servers { "0" } else { "2" }),
            ("COPYDESK_RUNNER__LEASE", "3s"),
            ("COPYDESK_RUNNER__ATTEMPTS", "100"),
            ("COPYDESK_LIMITS__ANALYTICS_PER_MINUTE", "0"),
            ("COPYDESK_VIEWS__PAGES_PER_DAY", "0"),
        ]);
        self.processes.push(Process { machine, child: command.spawn().unwrap() });
    }

    async fn wait_for_servers(&self) {
        let give_up = Instant::now() + Duration::from_secs(60);
        for server in &self.world.servers {
            while self.world.total_at(*server, &self.world.projects[0]).await.is_none() {
                assert!(Instant::now() < give_up, "{server} does not answer: {}", self.last_words());
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }

    /// The end of what each machine has logged.
    fn last_words(&self) -> String {
        let log = |machine: usize| std::fs::read_to_string(self.folder.join(format!("machine-{machine}.log")));
        let last = |log: String| log.lines().last().unwrap_or_default().to_owned();
        let all = (0..self.machines.len()).filter_map(|machine| log(machine).ok().map(last));
        all.collect::<Vec<_>>().join("\n")
    }

    /// Does one bad thing after the other until the time is over, and then puts all right.
    async fn disturb(&mut self) {
        let mut chance = Seeded::new(self.options.seed);
        let end = Instant::now() + self.options.seconds;
        while Instant::now() < end {
            match chance.below(20) {
                0 => self.restart_database().await,
                1 => self.cut_database(Duration::from_millis(500 + chance.below(2500) as u64)).await,
                2..6 => {
                    let machine = chance.below(self.machines.len());
                    let time = Duration::from_millis(200 + chance.below(4000) as u64);
                    self.counts.cables += 1;
                    self.machines[machine].pull_cable();
                    tokio::time::sleep(time).await;
                    self.machines[machine].plug_cable();
                }
                _ => {
                    let unlucky = self.processes.swap_remove(chance.below(self.processes.len()));
                    let machine = unlucky.machine;
                    drop(unlucky);
                    self.counts.kills += 1;
                    self.start(machine);
                }
            }
            self.mind();
            tokio::time::sleep(Duration::from_millis(chance.below(2000) as u64)).await;
        }
    }

    /// Starts what has ended by itself, as a service manager would: a program that finds no database at its start does.
    fn mind(&mut self) {
        for at in (0..self.processes.len()).rev() {
            if !matches!(self.processes[at].child.try_wait(), Ok(None)) {
                let ended = self.processes.swap_remove(at);
                self.start(ended.machine);
            }
        }
    }

    async fn restart_database(&mut self) {
        let Some(command) = self.options.restart_database.clone() else { return };
        self.counts.restarts += 1;
        self.away(true);
        let output = tokio::task::spawn_blocking(move || Command::new("sh").args(["-c", &command]).output().unwrap());
        let output = output.await.unwrap();
        self.away(false);
        assert!(output.status.success(), "the database was not restarted: {}", String::from_utf8_lossy(&output.stderr));
    }

    async fn cut_database(&mut self, time: Duration) {
        self.counts.cuts += 1;
        self.away(true);
        self.is_reached.send_replace(false);
        tokio::time::sleep(time).await;
        self.is_reached.send_replace(true);
        self.away(false);
    }

    fn away(&self, is_away: bool) {
        let mut away = self.world.away.lock().unwrap();
        match (is_away, away.0) {
            (true, None) => away.0 = Some(Instant::now()),
            (false, Some(since)) => *away = (None, away.1 + since.elapsed()),
            _ => {}
        }
    }

    /// Waits until all is at rest, and says what is not as it should be.
    async fn verify(&mut self, repos: &[GitRepo]) {
        self.wait_for_servers().await;
        let world = self.world.clone();
        let settled = Instant::now() + VIEWS_SETTLE;
        for server in &world.servers {
            let acknowledged = world.views.load(Ordering::SeqCst);
            let told = loop {
                let told = world.total_at(*server, &world.projects[0]).await;
                if told == Some(acknowledged) || Instant::now() > settled {
                    break told;
                }
            };
            if told != Some(acknowledged) {
                world.violated(format!("{server} tells of {told:?} views, {acknowledged} were acknowledged"));
            }
        }
        let jobs = world.jobs.lock().unwrap().clone();
        let give_up = Instant::now() + JOBS_END;
        let mut opened = vec![0; repos.len()];
        for (id, project) in &jobs {
            let job = loop {
                self.mind();
                let job = world.job_at(world.servers[0], project, id).await;
                let has_ended = |job: &Value| job["status"] != "active";
                match job {
                    Some(job) if has_ended(&job) || Instant::now() > give_up => break job,
                    // One that nobody tells of is not one that has not ended.
                    None if Instant::now() > give_up + JOBS_END => panic!("nobody tells how job {id} ended"),
                    _ => tokio::time::sleep(Duration::from_millis(50)).await,
                }
            };
            if job["outcome"] == "pr_created" {
                let at = world.projects.iter().position(|known| known == project).unwrap();
                opened[at] += 1;
            } else {
                world.violated(format!("job {id} ended so: {} {} {}", job["status"], job["outcome"], job["message"]));
            }
        }
        for (repo, opened) in repos.iter().zip(opened) {
            let branches = repo.branches().len() - 1;
            if branches != opened {
                world.violated(format!("{opened} jobs with a pull request, and {branches} branches"));
            }
        }
    }
}
