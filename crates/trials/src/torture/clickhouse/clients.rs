//! Those who tell of page views, and those who ask about them meanwhile.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::connection::{Connection, request};
use crate::seeded::Seeded;

/// How long a client waits for an answer before it asks another server. A question waits five seconds for what is on its way.
const ANSWER: Duration = Duration::from_secs(10);
/// How long a client may go on without an answer from any server.
const LONGEST_FAILURE: Duration = Duration::from_secs(10);
/// Between two requests of a client.
const PAUSE: Duration = Duration::from_millis(50);
/// Page views in one request.
const BATCH: (usize, usize) = (1, 200);
const PAGES: usize = 500;
/// How often a batch with ids is sent once more although it was acknowledged.
const REPEATED: f64 = 0.1;
/// 2026-01-01, in seconds since 1970, and the time after it in which page views were: some months, so that every table has
/// several parts.
const BEGINS: usize = 1_767_225_600;
const LASTS: usize = 100 * 86_400;
const READERS: [&str; 2] = [
    "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
    "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko); compatible; ChatGPT-User/1.0; +https://openai.com/bot",
];

/// Page views of a project: what was sent, and what a server has said of it.
#[derive(Default)]
pub(super) struct Tally {
    pub(super) sent: AtomicU64,
    pub(super) acknowledged: AtomicU64,
    /// Nobody has said what became of them.
    pub(super) unsure: AtomicU64,
}

impl Tally {
    /// How many there may be in the end.
    pub(super) fn bounds(&self) -> (u64, u64) {
        let acknowledged = self.acknowledged.load(Ordering::SeqCst);
        (acknowledged, acknowledged + self.unsure.load(Ordering::SeqCst))
    }
}

/// A project whose events have ids, so that they are sent until somebody acknowledges them, and one whose events have none.
pub(super) const PROJECTS: [&str; 2] = ["ids", "plain"];
pub(super) const IDS: usize = 0;
pub(super) const PLAIN: usize = 1;

/// What all clients know.
pub(super) struct World {
    pub(super) servers: Mutex<Vec<SocketAddr>>,
    pub(super) projects: [String; PROJECTS.len()],
    pub(super) key: String,
    pub(super) stop: AtomicBool,
    pub(super) tallies: [Tally; PROJECTS.len()],
    /// Questions that were answered, and those that were not.
    pub(super) questions: [AtomicU64; 2],
    pub(super) longest_failure: Mutex<Duration>,
    pub(super) violations: Mutex<Vec<String>>,
}

enum Answer {
    /// The server was not reached.
    Unreached,
    Said(u16, Value),
    /// It was reached, and has not answered.
    Silent,
}

impl World {
    pub(super) fn new(projects: [String; PROJECTS.len()], key: String, servers: Vec<SocketAddr>) -> Arc<Self> {
        Arc::new(Self {
            servers: Mutex::new(servers),
            projects,
            key,
            stop: AtomicBool::new(false),
            tallies: Default::default(),
            questions: Default::default(),
            longest_failure: Default::default(),
            violations: Default::default(),
        })
    }

    fn is_over(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    pub(super) fn violated(&self, what: String) {
        self.violations.lock().unwrap().push(what);
    }

    /// Views of all projects that were acknowledged.
    pub(super) fn acknowledged(&self) -> u64 {
        self.tallies.iter().map(|tally| tally.bounds().0).sum()
    }

    pub(super) fn server(&self, number: usize) -> SocketAddr {
        let servers = self.servers.lock().unwrap();
        servers[number % servers.len()]
    }

    async fn ask_at(&self, server: SocketAddr, request: &[u8]) -> Answer {
        let Ok(mut connection) = Connection::open(server).await else { return Answer::Unreached };
        match tokio::time::timeout(ANSWER, connection.exchange(request)).await {
            Ok(Ok(reply)) => {
                let text = || String::from_utf8_lossy(reply.body).into_owned().into();
                Answer::Said(reply.status, serde_json::from_slice(reply.body).unwrap_or_else(|_| text()))
            }
            _ => Answer::Silent,
        }
    }

    fn post(&self, project: usize, events: &[Value]) -> Vec<u8> {
        let path = format!("/v1/analytics/{}/events", self.projects[project]);
        request("POST", &path, &self.key, &[], Some(&Value::from(events).to_string()))
    }

    /// How many views of a project a server tells of; none if it does not answer.
    pub(super) async fn total_at(&self, server: SocketAddr, project: usize) -> Option<u64> {
        let path = format!("/v1/analytics/{}/views?limit=1&dateFrom=2026-01-01", self.projects[project]);
        match self.ask_at(server, &request("GET", &path, &self.key, &[], None)).await {
            Answer::Said(200, answer) => answer["totals"]["total"].as_u64(),
            _ => None,
        }
    }

    fn note_failure(&self, failed_for: Duration) {
        let mut longest = self.longest_failure.lock().unwrap();
        *longest = failed_for.max(*longest);
        drop(longest);
        if failed_for > LONGEST_FAILURE {
            self.violated(format!("nobody has taken page views for {failed_for:?}"));
        }
    }
}

fn events(chance: &mut Seeded, id: Option<&str>) -> Vec<Value> {
    let count = chance.within(BATCH.0, BATCH.1);
    let mut event = |at: usize| {
        let (page, reader) = (chance.below(PAGES), READERS[usize::from(chance.chance(0.1))]);
        let when = BEGINS + chance.below(LASTS);
        let mut event = json!({ "path": format!("/page/{page}"), "userAgent": reader, "timestamp": when });
        if let Some(id) = id {
            event["id"] = format!("{id}-{at}").into();
        }
        event
    };
    (0..count).map(&mut event).collect()
}

/// Tells of page views with ids, each until somebody has acknowledged it, and of some once more.
pub(super) async fn tell_with_ids(world: Arc<World>, seed: u64, client: u64) {
    let mut chance = Seeded::part(seed, client);
    for number in 0.. {
        if world.is_over() {
            return;
        }
        let events = events(&mut chance, Some(&format!("{client}-{number}")));
        let (count, request) = (events.len() as u64, world.post(IDS, &events));
        world.tallies[IDS].sent.fetch_add(count, Ordering::SeqCst);
        let (began, first) = (Instant::now(), chance.below(2));
        let mut may_be_there = false;
        for server in first.. {
            match world.ask_at(world.server(server), &request).await {
                Answer::Said(200, answer) => {
                    check(&world, &answer, count, may_be_there);
                    break;
                }
                Answer::Said(503, _) | Answer::Unreached => {}
                Answer::Said(500, _) | Answer::Silent => may_be_there = true,
                Answer::Said(status, answer) => {
                    return world.violated(format!("page views were answered with {status}: {answer}"));
                }
            }
            tokio::time::sleep(PAUSE).await;
        }
        world.note_failure(began.elapsed());
        world.tallies[IDS].acknowledged.fetch_add(count, Ordering::SeqCst);
        if chance.chance(REPEATED)
            && let Answer::Said(200, answer) = world.ask_at(world.server(first + 1), &request).await
            && (answer["accepted"] != 0 || answer["duplicates"] != count)
        {
            world.violated(format!("page views that were acknowledged are new to another server: {answer}"));
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// A batch is kept whole or not at all.
fn check(world: &World, answer: &Value, count: u64, may_be_there: bool) {
    let is_new = answer["accepted"] == count && answer["duplicates"] == 0;
    let is_known = answer["accepted"] == 0 && answer["duplicates"] == count;
    let is_right = is_new || (may_be_there && is_known);
    if !is_right {
        world.violated(format!("{count} page views were answered with {answer}"));
    }
}

/// Tells of page views without ids, each once.
pub(super) async fn tell_plain(world: Arc<World>, seed: u64, client: u64) {
    let mut chance = Seeded::part(seed, client);
    while !world.is_over() {
        let events = events(&mut chance, None);
        let (count, request, tally) = (events.len() as u64, world.post(PLAIN, &events), &world.tallies[PLAIN]);
        tally.sent.fetch_add(count, Ordering::SeqCst);
        match world.ask_at(world.server(chance.below(2)), &request).await {
            Answer::Said(200, _) => tally.acknowledged.fetch_add(count, Ordering::SeqCst),
            // Nothing was kept.
            Answer::Said(503, _) | Answer::Unreached => tally.sent.fetch_sub(count, Ordering::SeqCst),
            Answer::Said(500, _) | Answer::Silent => tally.unsure.fetch_add(count, Ordering::SeqCst),
            Answer::Said(status, answer) => {
                return world.violated(format!("page views were answered with {status}: {answer}"));
            }
        };
        tokio::time::sleep(PAUSE).await;
    }
}

/// Asks one server over and over how many views there are: what any has acknowledged, each that answers knows of.
pub(super) async fn watch(world: Arc<World>, server: usize) {
    for project in [IDS, PLAIN].into_iter().cycle() {
        if world.is_over() {
            return;
        }
        let tally = &world.tallies[project];
        let acknowledged = tally.acknowledged.load(Ordering::SeqCst);
        let told = world.total_at(world.server(server), project).await;
        let sent = tally.sent.load(Ordering::SeqCst);
        world.questions[usize::from(told.is_none())].fetch_add(1, Ordering::SeqCst);
        if let Some(told) = told
            && !(acknowledged..=sent).contains(&told)
        {
            world.violated(format!(
                "server {server} tells of {told} views of {}; {acknowledged} were acknowledged, {sent} sent",
                PROJECTS[project]
            ));
        }
        tokio::time::sleep(PAUSE).await;
    }
}
