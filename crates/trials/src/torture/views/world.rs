//! The server, its projects, and those who send to it.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use serde::Deserialize;
use tokio::task::JoinSet;

use super::event::{Counts, Kind, Request};
use super::ledger::Ledger;
use crate::connection::{Connection, request};
use crate::process::Installation;

/// How long somebody who was refused waits.
const PAUSE: Duration = Duration::from_millis(20);
/// What each sender sends.
const SENDERS: [Kind; 10] = [
    Kind::Ids,
    Kind::Single,
    Kind::Plain,
    Kind::Ids,
    Kind::Single,
    Kind::Single,
    Kind::Ids,
    Kind::Plain,
    Kind::Single,
    Kind::Single,
];

/// What a run is about.
pub(super) struct World {
    pub(super) projects: Vec<String>,
    pub(super) key: String,
    ledger: Mutex<Ledger>,
}

/// How an answer is, and what it says of itself.
pub(super) enum Verdict {
    Right,
    RightAndDoubted,
    WrongAndSaid,
    Wrong(Vec<String>),
}

#[derive(Deserialize)]
struct Taken {
    accepted: u64,
    duplicates: u64,
}

#[derive(Deserialize)]
struct Page {
    totals: Totals,
    views: Vec<Row>,
    #[serde(rename = "hasMore")]
    has_more: bool,
    /// It says of itself that something is missing.
    #[serde(skip)]
    is_incomplete: bool,
}

#[derive(Deserialize)]
struct Totals {
    human: u64,
    ai: u64,
}

#[derive(Deserialize)]
struct Row {
    path: String,
    human: u64,
    ai: u64,
}

/// Settings with no limit for how often may be asked, and with little memory, so that much happens on disk.
pub(super) fn settings() -> Vec<(&'static str, String)> {
    vec![
        ("COPYDESK_LIMITS__ANALYTICS_PER_MINUTE", "0".to_owned()),
        ("COPYDESK_VIEWS__PAGES_PER_DAY", "0".to_owned()),
        ("COPYDESK_VIEWS__MEMORY", "16".to_owned()),
    ]
}

impl World {
    pub(super) fn new(installation: &Installation<'_>, projects: usize, seed: u64) -> Arc<Self> {
        let project = |number| installation.project_id(&format!("views {number}"), "https://example.com/docs");
        Arc::new(Self {
            projects: (0..projects).map(project).collect(),
            key: installation.key(),
            ledger: Mutex::new(Ledger::new(seed, projects)),
        })
    }

    pub(super) fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap()
    }

    /// A question for the totals of a project; when it is answered with 200, the server is ready.
    pub(super) fn totals_request(&self, project: usize) -> Vec<u8> {
        let address = format!("/v1/analytics/{}/views?limit=1", self.projects[project]);
        request("GET", &address, &self.key, &[], None)
    }

    /// Holds the totals of every project against the ledger. Nobody may be sending.
    pub(super) async fn check_totals(&self, address: SocketAddr) {
        for project in 0..self.projects.len() {
            let checked = match self.page(address, project, 0, 1).await {
                Ok(Page { totals: Totals { human, ai }, .. }) => {
                    self.ledger().check_totals(project, Counts { human, ai })
                }
                Err(why) => Err(why),
            };
            self.complain(checked.err());
        }
    }

    /// Holds every path of every project against the ledger.
    pub(super) async fn check_all(&self, address: SocketAddr) {
        for project in 0..self.projects.len() {
            match self.counted(address, project).await {
                Ok((counted, _)) => {
                    let wrong = self.ledger().check(project, &counted);
                    self.complain(wrong);
                }
                Err(why) => self.complain([why]),
            }
        }
    }

    /// Reads all paths of a project, page by page, and whether a page says that something is missing.
    pub(super) async fn counted(
        &self,
        address: SocketAddr,
        project: usize,
    ) -> Result<(HashMap<String, Counts>, bool), String> {
        let mut all = HashMap::new();
        let (mut listed, mut said) = (0, false);
        loop {
            let page = self.page(address, project, listed, 250).await?;
            listed += page.views.len();
            said |= page.is_incomplete;
            all.extend(page.views.into_iter().map(|Row { path, human, ai }| (path, Counts { human, ai })));
            if !page.has_more {
                break;
            }
        }
        if all.len() == listed {
            return Ok((all, said));
        }
        Err(format!("project {project} lists {listed} paths, of which only {} differ", all.len()))
    }

    /// How the counts of a project are, and whether the answer says itself that something is missing.
    pub(super) async fn verdict(&self, address: SocketAddr, project: usize) -> Result<Verdict, String> {
        let (counted, said) = self.counted(address, project).await?;
        let wrong = self.ledger().check(project, &counted);
        Ok(match (wrong.is_empty(), said) {
            (true, false) => Verdict::Right,
            (true, true) => Verdict::RightAndDoubted,
            (false, true) => Verdict::WrongAndSaid,
            (false, false) => Verdict::Wrong(wrong),
        })
    }

    async fn page(&self, address: SocketAddr, project: usize, offset: usize, limit: usize) -> Result<Page, String> {
        let path = format!("/v1/analytics/{}/views?limit={limit}&offset={offset}", self.projects[project]);
        let mut connection = Connection::open(address).await.map_err(|error| format!("cannot connect: {error}"))?;
        let reply = connection.exchange(&request("GET", &path, &self.key, &[], None)).await;
        let reply = reply.map_err(|error| format!("no answer to {path}: {error}"))?;
        if reply.status != 200 {
            return Err(format!("{path}: {} {}", reply.status, String::from_utf8_lossy(reply.body)));
        }
        let is_incomplete = reply.has("views-incomplete");
        let page: Page = serde_json::from_slice(reply.body).map_err(|error| format!("{path}: {error}"))?;
        Ok(Page { is_incomplete, ..page })
    }

    pub(super) fn complain(&self, violations: impl IntoIterator<Item = String>) {
        self.ledger().violations.extend(violations);
    }

    /// Sends what has to be sent again, and nothing else, until all of it is acknowledged.
    pub(super) async fn settle(self: &Arc<Self>, address: SocketAddr, patience: Duration) {
        let senders = Senders::start(self, address, false);
        if tokio::time::timeout(patience, senders.finished()).await.is_err() {
            self.complain([format!("after {patience:?} there were still requests that nobody acknowledged")]);
        }
        self.ledger().cut_off();
        if !self.ledger().is_settled() {
            self.complain(["the server hung up on somebody who sent again".to_owned()]);
        }
    }
}

/// Those who send, each over a connection of its own, until they are told to stop or the server hangs up.
pub(super) struct Senders {
    tasks: JoinSet<()>,
    stop: Arc<AtomicBool>,
    refusals: Arc<AtomicUsize>,
    answers: Arc<AtomicUsize>,
}

impl Senders {
    /// Starts them; without `more` they only send again what has to be.
    pub(super) fn start(world: &Arc<World>, address: SocketAddr, more: bool) -> Self {
        let (stop, refusals, answers) = (Arc::default(), Arc::default(), Arc::default());
        let mut tasks = JoinSet::new();
        for kind in SENDERS {
            let sender = Sender {
                world: Arc::clone(world),
                kind: more.then_some(kind),
                stop: Arc::clone(&stop),
                refusals: Arc::clone(&refusals),
                answers: Arc::clone(&answers),
            };
            tasks.spawn(sender.run(address));
        }
        Self { tasks, stop, refusals, answers }
    }

    /// Requests that were refused so far.
    pub(super) fn refusals(&self) -> usize {
        self.refusals.load(Ordering::SeqCst)
    }

    /// Requests that were acknowledged so far.
    pub(super) fn acknowledged(&self) -> usize {
        self.answers.load(Ordering::SeqCst)
    }

    /// Lets each finish what it is at.
    pub(super) async fn stop(self) {
        self.stop.store(true, Ordering::SeqCst);
        self.finished().await;
    }

    /// Waits until all have ended by themselves.
    pub(super) async fn finished(self) {
        self.tasks.join_all().await;
    }
}

struct Sender {
    world: Arc<World>,
    /// None: only what has to be sent again.
    kind: Option<Kind>,
    stop: Arc<AtomicBool>,
    refusals: Arc<AtomicUsize>,
    answers: Arc<AtomicUsize>,
}

impl Sender {
    async fn run(self, address: SocketAddr) {
        // The server may be dead already; then there is nothing to send.
        let Ok(mut connection) = Connection::open(address).await else { return };
        while !self.stop.load(Ordering::SeqCst) {
            let next = match self.kind {
                Some(kind) => Some(self.world.ledger().next(kind)),
                None => self.world.ledger().next_again(),
            };
            let Some(request) = next else { return };
            if !self.send(&mut connection, &request).await {
                return;
            }
        }
    }

    /// Whether the server is still there.
    async fn send(&self, connection: &mut Connection, request: &Request) -> bool {
        let world = &self.world;
        let Ok(reply) = connection.exchange(&request.bytes(&world.projects[request.project], &world.key)).await else {
            return false;
        };
        match (reply.status, serde_json::from_slice(reply.body)) {
            (200, Ok(Taken { accepted, duplicates })) => {
                world.ledger().acknowledged(request.number, accepted, duplicates);
                self.answers.fetch_add(1, Ordering::SeqCst);
            }
            (503, _) => {
                world.ledger().refused(request.number);
                self.refusals.fetch_add(1, Ordering::SeqCst);
                tokio::time::sleep(PAUSE).await;
            }
            (status, _) => {
                let body = String::from_utf8_lossy(reply.body).into_owned();
                world.complain([format!("{} was answered with {status}: {body}", request.path())]);
            }
        }
        true
    }
}
