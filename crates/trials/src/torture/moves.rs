//! `copydesk move` that is killed again and again, while a server at the old place counts and makes jobs until it is closed.

use std::collections::BTreeSet;
use std::io::{BufWriter, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use copydesk_testkit::{Backend, TestDatabase};
use serde_json::{Value, json};

use crate::args::program;
use crate::connection::{Connection, request};
use crate::process::Installation;
use crate::seeded::Seeded;

/// Page views in one request.
const BATCH: u64 = 20;
const FIREFOX: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
const BOT: &str = "Mozilla/5.0 (compatible; GPTBot/1.2; +https://openai.com/gptbot)";
/// How long a move may take that is not killed.
const PATIENCE: Duration = Duration::from_secs(3600);

/// An installation with page views and jobs is moved from SQLite and a folder to PostgreSQL and back, in turns, and each move is
/// killed at random and begun again until there were enough kills. A server at the old place takes views and jobs until it is
/// closed. Whatever was acknowledged must be at the new place, once. Needs PostgreSQL on COPYDESK_TEST_POSTGRES.
#[derive(Debug, Clone, clap::Args)]
pub struct MovesOptions {
    /// The program `copydesk`.
    #[arg(long, value_parser = program)]
    pub binary: PathBuf,
    #[arg(long, default_value_t = 20_000)]
    pub views: u64,
    #[arg(long, default_value_t = 100)]
    pub jobs: u64,
    #[arg(long, default_value_t = 6)]
    pub kills: usize,
    /// Milliseconds that a move has at most before it is killed.
    #[arg(long, default_value_t = 1500)]
    pub window: u64,
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

/// What was acknowledged.
#[derive(Default)]
struct Ledger {
    jobs: Mutex<BTreeSet<String>>,
    views: AtomicU64,
    /// The last events that were taken, to be sent again.
    last: Mutex<Vec<Value>>,
    number: AtomicU64,
}

struct World {
    ledger: Ledger,
    project: String,
    key: String,
}

/// Runs it, prints what came out, and says whether all was well.
pub async fn run_moves(options: MovesOptions) -> bool {
    let started = Instant::now();
    let (folder, database) = (tempfile::tempdir().unwrap(), TestDatabase::new(Backend::Postgres).await);
    let places = [settings(None), settings(Some(&database))];
    let at =
        |place: usize| Installation { binary: &options.binary, folder: folder.path(), settings: places[place].clone() };
    let project = at(0).project_id("docs", "https://example.com/docs");
    let world = Arc::new(World { ledger: Ledger::default(), project, key: at(0).key() });
    fill_views(&at(0), folder.path(), options.views);
    let (server, _) = at(0).serve().await;
    for _ in 0..options.jobs {
        make_job(&world, &mut Connection::open(server.address).await.unwrap()).await.unwrap();
    }
    world.ledger.views.store(total(&world, server.address).await, Ordering::SeqCst);
    let filled = started.elapsed();
    drop(server);

    let (mut chance, mut kills, mut moves, mut place) = (Seeded::new(options.seed), 0, 0, 0);
    let mut violations = Vec::new();
    let target = format!("sqlite:{}", folder.path().join("data/copydesk.db").display());
    while kills < options.kills || moves == 0 {
        let (from, to) = (at(place), at(1 - place));
        let (server, _) = from.serve().await;
        let client = tokio::spawn(keep_busy(world.clone(), server.address));
        let began = Instant::now();
        let killed_before = kills;
        loop {
            let mut child = begin(&from, place, &database, &target);
            let wait = Duration::from_millis(chance.within(1, options.window as usize) as u64);
            let patience = if kills < options.kills { wait } else { PATIENCE };
            match ended(&mut child, patience).await {
                Some(true) => break,
                Some(false) => {
                    violations.push(format!("a move failed: {}", said(child)));
                    break;
                }
                None => {
                    child.kill().unwrap();
                    child.wait().unwrap();
                    kills += 1;
                }
            }
        }
        if let Err(why) = client.await.unwrap() {
            violations.push(why);
        }
        drop(server);
        moves += 1;
        if !violations.is_empty() {
            break;
        }
        violations.extend(compare(&world, &to).await);
        println!(
            "moves: {} in {:.1} s with {} kills; {} jobs, {} views",
            if place == 0 { "to PostgreSQL" } else { "back" },
            began.elapsed().as_secs_f64(),
            kills - killed_before,
            world.ledger.jobs.lock().unwrap().len(),
            world.ledger.views.load(Ordering::SeqCst)
        );
        place = 1 - place;
    }
    violations.iter().for_each(|violation| eprintln!("VIOLATION {violation}"));
    println!(
        "moves: {moves} moves, {kills} kills, {} jobs and {} views; {} violations; filled in {:.1} s, all in {:.1} s",
        world.ledger.jobs.lock().unwrap().len(),
        world.ledger.views.load(Ordering::SeqCst),
        violations.len(),
        filled.as_secs_f64(),
        started.elapsed().as_secs_f64()
    );
    violations.is_empty()
}

fn settings(database: Option<&TestDatabase>) -> Vec<(&'static str, String)> {
    let mut settings = vec![
        ("COPYDESK_LIMITS__ANALYTICS_PER_MINUTE", "0".to_owned()),
        ("COPYDESK_VIEWS__PAGES_PER_DAY", "0".to_owned()),
        ("COPYDESK_VIEWS__KEEP_DAYS", "0".to_owned()),
    ];
    if let Some(database) = database {
        settings.push(("COPYDESK_DATABASE_URL", database.url()));
        settings.push(("COPYDESK_VIEWS__STORE", "database".to_owned()));
    }
    settings
}

/// Imports a log of that many lines, over about two months.
fn fill_views(installation: &Installation<'_>, folder: &Path, views: u64) {
    let path = folder.join("access.log");
    let mut log = BufWriter::new(std::fs::File::create(&path).unwrap());
    for number in 0..views {
        let at = number * 61 * 86_400 / views.max(1);
        let (day, second) = (at / 86_400, at % 86_400);
        let date = if day < 31 { format!("{:02}/Aug/2026", day + 1) } else { format!("{:02}/Sep/2026", day - 30) };
        let agent = if number % 5 == 0 { BOT } else { FIREFOX };
        let page = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        writeln!(
            log,
            "192.0.2.{} - - [{date}:{:02}:{:02}:{:02} +0000] \"GET /page/{} HTTP/1.1\" 200 2326 \"-\" \"{agent}\"",
            number % 250,
            second / 3600,
            second / 60 % 60,
            second % 60,
            page % 5000
        )
        .unwrap();
    }
    log.into_inner().unwrap().sync_all().unwrap();
    let output = installation.command(&["import", "access.log", "--project", "docs"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    std::fs::remove_file(path).unwrap();
}

fn begin(from: &Installation<'_>, place: usize, database: &TestDatabase, sqlite: &str) -> Child {
    let arguments = if place == 0 { ["move", "--to-views", "database"] } else { ["move", "--to-views", "embedded"] };
    let mut command = from.command(&arguments);
    command.env("COPYDESK_TO_DATABASE_URL", if place == 0 { database.url() } else { sqlite.to_owned() });
    command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Whether it ended well; none if it has not ended yet.
async fn ended(child: &mut Child, patience: Duration) -> Option<bool> {
    let give_up = Instant::now() + patience;
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return Some(status.success());
        }
        if Instant::now() >= give_up {
            return None;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn said(child: Child) -> String {
    let output = child.wait_with_output().unwrap();
    String::from_utf8_lossy(&output.stderr).into_owned()
}

async fn make_job(world: &World, connection: &mut Connection) -> Result<bool, String> {
    let body = json!({ "prompt": "Do nothing", "model": "noop" }).to_string();
    let path = format!("/v2/agent/{}/job", world.project);
    let reply = connection.exchange(&request("POST", &path, &world.key, &[], Some(&body))).await;
    let reply = reply.map_err(|error| format!("a job was not answered: {error}"))?;
    match reply.status {
        201 => {
            let job: Value = serde_json::from_slice(reply.body).unwrap();
            world.ledger.jobs.lock().unwrap().insert(job["id"].as_str().unwrap().to_owned());
            Ok(true)
        }
        503 => Ok(false),
        status => Err(format!("a job was answered with {status}")),
    }
}

/// Makes jobs and tells of views until the server takes neither.
async fn keep_busy(world: Arc<World>, address: SocketAddr) -> Result<(), String> {
    let mut connection = Connection::open(address).await.map_err(|error| error.to_string())?;
    let path = format!("/v1/analytics/{}/events", world.project);
    let (mut takes_jobs, mut takes_views) = (true, true);
    while takes_jobs || takes_views {
        takes_jobs = takes_jobs && make_job(&world, &mut connection).await?;
        if takes_views {
            let first = world.ledger.number.fetch_add(BATCH, Ordering::SeqCst);
            let event =
                |at: u64| json!({ "path": format!("/live/{}", at % 50), "userAgent": FIREFOX, "id": format!("e{at}") });
            let events: Vec<Value> = (first..first + BATCH).map(event).collect();
            let body = Value::from(events.clone()).to_string();
            let reply = connection.exchange(&request("POST", &path, &world.key, &[], Some(&body))).await;
            match reply.map_err(|error| format!("views were not answered: {error}"))?.status {
                200 => {
                    world.ledger.views.fetch_add(BATCH, Ordering::SeqCst);
                    *world.ledger.last.lock().unwrap() = events;
                }
                503 => takes_views = false,
                status => return Err(format!("views were answered with {status}")),
            }
        }
        // Not as fast as it can: the machine is to be had by the move.
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Ok(())
}

/// Counts what is at the new place. Gives what is wrong.
async fn compare(world: &World, to: &Installation<'_>) -> Vec<String> {
    let (server, _) = to.serve().await;
    let (expected, views) = (world.ledger.jobs.lock().unwrap().clone(), world.ledger.views.load(Ordering::SeqCst));
    let found = listed(world, server.address).await;
    let counted = total(world, server.address).await;
    let mut wrong = Vec::new();
    let mut hold = |is_so: bool, what: String| wrong.extend((!is_so).then_some(what));
    let (missing, more) = (expected.difference(&found).count(), found.difference(&expected).count());
    hold(missing == 0 && more == 0, format!("{missing} jobs are missing, and {more} were never acknowledged"));
    hold(counted == views, format!("{counted} views instead of {views}"));
    let last = Value::from(world.ledger.last.lock().unwrap().clone());
    let path = format!("/v1/analytics/{}/events", world.project);
    let mut connection = Connection::open(server.address).await.unwrap();
    let reply = connection.exchange(&request("POST", &path, &world.key, &[], Some(&last.to_string()))).await.unwrap();
    let answer: Value = serde_json::from_slice(reply.body).unwrap();
    hold(
        answer["duplicates"].as_u64() == last.as_array().map(|all| all.len() as u64),
        format!("events from before were not all known: {answer}"),
    );
    wrong
}

async fn get(world: &World, address: SocketAddr, path: &str) -> Value {
    let mut connection = Connection::open(address).await.unwrap();
    let reply = connection.exchange(&request("GET", path, &world.key, &[], None)).await.unwrap();
    assert_eq!(reply.status, 200, "{path}");
    serde_json::from_slice(reply.body).unwrap()
}

async fn listed(world: &World, address: SocketAddr) -> BTreeSet<String> {
    let (mut ids, mut cursor) = (BTreeSet::new(), String::new());
    loop {
        let page = get(world, address, &format!("/v2/agent/{}/jobs?limit=100{cursor}", world.project)).await;
        for job in page["jobs"].as_array().unwrap() {
            ids.insert(job["id"].as_str().unwrap().to_owned());
        }
        match page["nextCursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return ids,
        }
    }
}

async fn total(world: &World, address: SocketAddr) -> u64 {
    let path = format!("/v1/analytics/{}/views?limit=1&dateFrom=2026-01-01", world.project);
    get(world, address, &path).await["totals"]["total"].as_u64().unwrap()
}
