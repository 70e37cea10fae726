//! Backups of a server that is busy, brought back elsewhere and counted.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use copydesk_testkit::{Backend, TestDatabase};
use serde_json::{Value, json};

use crate::args::program;
use crate::connection::{Connection, request};
use crate::process::Installation;

/// Clients that make jobs, and clients that tell of page views.
const CLIENTS: usize = 4;
/// Page views in one request.
const BATCH: u64 = 20;
const FIREFOX: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";

/// A server is loaded with jobs and page views, backed up meanwhile, and the backup restored elsewhere. Everything that was
/// acknowledged before the backup began must be in it, nothing that was never sent, and as much as the backup says.
#[derive(Debug, Clone, clap::Args)]
pub struct BackupsOptions {
    /// The program `copydesk`.
    #[arg(long, value_parser = program)]
    pub binary: PathBuf,
    /// The database of the server: sqlite, or postgres (on COPYDESK_TEST_POSTGRES).
    #[arg(long)]
    pub from: Backend,
    /// The database that is restored into.
    #[arg(long)]
    pub to: Backend,
    /// How many backups are taken and restored.
    #[arg(long, default_value_t = 5)]
    pub backups: usize,
    /// Seconds of load before each.
    #[arg(long, default_value_t = 3)]
    pub seconds: u64,
}

/// What the clients have sent and what was acknowledged.
#[derive(Default)]
struct Ledger {
    jobs: Mutex<BTreeSet<String>>,
    jobs_sent: AtomicU64,
    views: AtomicU64,
    views_sent: AtomicU64,
    stop: AtomicBool,
    failures: Mutex<Vec<String>>,
}

impl Ledger {
    fn fail(&self, why: String) {
        self.failures.lock().unwrap().push(why);
        self.stop.store(true, Ordering::SeqCst);
    }
}

struct World {
    ledger: Ledger,
    project: String,
    key: String,
}

/// Runs it, prints what came out, and says whether all was well.
pub async fn run_backups(options: BackupsOptions) -> bool {
    let started = Instant::now();
    let folder = tempfile::tempdir().unwrap();
    let database = database(options.from).await;
    let installation =
        Installation { binary: &options.binary, folder: folder.path(), settings: settings(database.as_ref()) };
    let project = installation.project_id("docs", "https://example.com/docs");
    let world = Arc::new(World { ledger: Ledger::default(), project, key: installation.key() });
    let (server, _) = installation.serve().await;
    let clients: Vec<_> = (0..CLIENTS)
        .flat_map(|number| {
            let (jobs, views) = (world.clone(), world.clone());
            let address = server.address;
            [tokio::spawn(make_jobs(jobs, address)), tokio::spawn(tell_views(views, address, number as u64))]
        })
        .collect();
    let mut violations = Vec::new();
    for number in 0..options.backups {
        tokio::time::sleep(Duration::from_secs(options.seconds)).await;
        let place = folder.path().join(format!("backup-{number}"));
        violations.extend(one(&options, &installation, &world, &place).await);
    }
    world.ledger.stop.store(true, Ordering::SeqCst);
    for client in clients {
        client.await.unwrap();
    }
    drop(server);
    violations.extend(world.ledger.failures.lock().unwrap().drain(..));
    violations.iter().for_each(|violation| eprintln!("VIOLATION {violation}"));
    println!(
        "backups: {} to {}, {} backups under load, {} jobs and {} page views acknowledged in all; {} violations, {:.1} s",
        options.from,
        options.to,
        options.backups,
        world.ledger.jobs.lock().unwrap().len(),
        world.ledger.views.load(Ordering::SeqCst),
        violations.len(),
        started.elapsed().as_secs_f64()
    );
    violations.is_empty()
}

async fn database(backend: Backend) -> Option<TestDatabase> {
    match backend {
        Backend::Sqlite => None,
        Backend::Postgres => Some(TestDatabase::new(backend).await),
    }
}

fn settings(database: Option<&TestDatabase>) -> Vec<(&'static str, String)> {
    let mut settings = vec![
        ("COPYDESK_LIMITS__ANALYTICS_PER_MINUTE", "0".to_owned()),
        ("COPYDESK_VIEWS__PAGES_PER_DAY", "0".to_owned()),
    ];
    settings.extend(database.map(|database| ("COPYDESK_DATABASE_URL", database.url())));
    settings
}

/// Makes jobs that a worker ends at once.
async fn make_jobs(world: Arc<World>, address: SocketAddr) {
    let path = format!("/v2/agent/{}/job", world.project);
    let body = json!({ "prompt": "Do nothing", "model": "noop" }).to_string();
    let ask = request("POST", &path, &world.key, &[], Some(&body));
    let mut connection = Connection::open(address).await.unwrap();
    while !world.ledger.stop.load(Ordering::SeqCst) {
        world.ledger.jobs_sent.fetch_add(1, Ordering::SeqCst);
        match connection.exchange(&ask).await {
            Ok(reply) if reply.status == 201 => {
                let job: Value = serde_json::from_slice(reply.body).unwrap();
                world.ledger.jobs.lock().unwrap().insert(job["id"].as_str().unwrap().to_owned());
            }
            other => return world.ledger.fail(format!("a job was not made: {other:?}")),
        }
    }
}

async fn tell_views(world: Arc<World>, address: SocketAddr, client: u64) {
    let path = format!("/v1/analytics/{}/events", world.project);
    let mut connection = Connection::open(address).await.unwrap();
    let mut number = 0;
    while !world.ledger.stop.load(Ordering::SeqCst) {
        let event = |at: u64| json!({ "path": format!("/{client}/{at}"), "userAgent": FIREFOX });
        let body = Value::from((number..number + BATCH).map(event).collect::<Vec<_>>()).to_string();
        number += BATCH;
        world.ledger.views_sent.fetch_add(BATCH, Ordering::SeqCst);
        match connection.exchange(&request("POST", &path, &world.key, &[], Some(&body))).await {
            Ok(reply) if reply.status == 200 => {
                world.ledger.views.fetch_add(BATCH, Ordering::SeqCst);
            }
            other => return world.ledger.fail(format!("views were not taken: {other:?}")),
        }
    }
}

/// Takes a backup, restores it and counts. Gives what is wrong.
async fn one(
    options: &BackupsOptions,
    installation: &Installation<'_>,
    world: &Arc<World>,
    place: &Path,
) -> Vec<String> {
    let ledger = &world.ledger;
    let before = (ledger.jobs.lock().unwrap().clone(), ledger.views.load(Ordering::SeqCst));
    let began = Instant::now();
    let made = ask(installation, &["backup", &place.display().to_string(), "--verify"]).await;
    let backup_took = began.elapsed();
    let after = (ledger.jobs_sent.load(Ordering::SeqCst), ledger.views_sent.load(Ordering::SeqCst));

    let elsewhere = tempfile::tempdir().unwrap();
    let database = database(options.to).await;
    let other =
        Installation { binary: &options.binary, folder: elsewhere.path(), settings: settings(database.as_ref()) };
    let began = Instant::now();
    let restored = ask(&other, &["restore", &place.display().to_string()]).await;
    let restore_took = began.elapsed();
    let (server, _) = other.serve().await;
    let (jobs, active) = listed(world, server.address).await;
    let views = total(world, server.address).await;
    drop(server);

    let (rows, counted) = (&made["backup"]["rows"], &made["backup"]["views"][&world.project]);
    let mut wrong = Vec::new();
    let missing = before.0.difference(&jobs).count();
    let mut hold = |is_so: bool, what: String| wrong.extend((!is_so).then_some(what));
    hold(missing == 0, format!("{missing} jobs that were acknowledged before the backup are not in it"));
    let (lowest, highest) = (before.0.len() as u64, after.0);
    let found = jobs.len() as u64;
    hold((lowest..=highest).contains(&found), format!("{found} jobs instead of {lowest} to {highest}"));
    hold(rows["jobs"] == found, format!("{found} jobs, and the backup says {}", rows["jobs"]));
    hold(rows["messages"] == found, format!("{found} jobs, and {} messages", rows["messages"]));
    hold((before.1..=after.1).contains(&views), format!("{views} views instead of {} to {}", before.1, after.1));
    hold(*counted == views, format!("{views} views, and the backup says {counted}"));
    hold(restored["dormant"] == true, "the copy is not dormant".to_owned());
    println!(
        "backups: {found} jobs ({lowest} acknowledged before, {highest} sent until the end; {active} of them not ended), \
         {views} views ({} before, {} until the end); backup {:.2} s, restore {:.2} s",
        before.1,
        after.1,
        backup_took.as_secs_f64(),
        restore_took.as_secs_f64()
    );
    wrong
}

/// Runs a command without holding up the clients.
async fn ask(installation: &Installation<'_>, arguments: &[&str]) -> Value {
    let mut command = installation.command(&[arguments, &["--json"]].concat());
    command.stderr(std::process::Stdio::piped());
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "copydesk {arguments:?} failed: {said}");
    serde_json::from_slice(&output.stdout).unwrap()
}

async fn get(world: &World, address: SocketAddr, path: &str) -> Value {
    let mut connection = Connection::open(address).await.unwrap();
    let reply = connection.exchange(&request("GET", path, &world.key, &[], None)).await.unwrap();
    assert_eq!(reply.status, 200, "{path}");
    serde_json::from_slice(reply.body).unwrap()
}

/// The ids of all jobs, and how many of them have not ended.
async fn listed(world: &World, address: SocketAddr) -> (BTreeSet<String>, usize) {
    let (mut ids, mut active, mut cursor) = (BTreeSet::new(), 0, String::new());
    loop {
        let page = get(world, address, &format!("/v2/agent/{}/jobs?limit=100{cursor}", world.project)).await;
        for job in page["jobs"].as_array().unwrap() {
            ids.insert(job["id"].as_str().unwrap().to_owned());
            active += usize::from(job["status"] == "active");
        }
        match page["nextCursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return (ids, active),
        }
    }
}

async fn total(world: &World, address: SocketAddr) -> u64 {
    let answer = get(world, address, &format!("/v1/analytics/{}/views?limit=1", world.project)).await;
    answer["totals"]["total"].as_u64().unwrap()
}
