//! Clients that go on until somebody answers, and remember what they were told.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::connection::{Connection, request};
use crate::seeded::Seeded;

/// How long a client waits for an answer before it asks another server.
const ANSWER: Duration = Duration::from_secs(2);
/// How long a client may go without an answer from any server while the database is there.
const LONGEST_FAILURE: Duration = Duration::from_secs(5);
/// Between two requests of a client.
const PAUSE: Duration = Duration::from_millis(50);
/// Page views in one request.
const BATCH: u64 = 20;
const FIREFOX: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";

/// What all clients know.
pub(super) struct World {
    pub(super) servers: Vec<SocketAddr>,
    pub(super) projects: Vec<String>,
    pub(super) key: String,
    pub(super) stop: AtomicBool,
    /// The acknowledged jobs, and the project of each.
    pub(super) jobs: Mutex<BTreeMap<String, String>>,
    pub(super) views: AtomicU64,
    pub(super) views_sent: AtomicU64,
    /// Since when the database has been away, and for how long it was in all.
    pub(super) away: Mutex<(Option<Instant>, Duration)>,
    pub(super) longest_failure: Mutex<Duration>,
    pub(super) violations: Mutex<Vec<String>>,
}

impl World {
    pub(super) fn is_over(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    pub(super) fn violated(&self, what: String) {
        self.violations.lock().unwrap().push(what);
    }

    /// For how long the database was away until now.
    fn time_away(&self) -> Duration {
        let (since, in_all) = *self.away.lock().unwrap();
        in_all + since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// What a server answers, with its status; none if it does not answer in time.
    pub(super) async fn ask_at(&self, server: SocketAddr, request: &[u8]) -> Option<(u16, Value)> {
        let exchange = async {
            let mut connection = Connection::open(server).await.ok()?;
            let reply = connection.exchange(request).await.ok()?;
            let text = || String::from_utf8_lossy(reply.body).into_owned().into();
            Some((reply.status, serde_json::from_slice(reply.body).unwrap_or_else(|_| text())))
        };
        tokio::time::timeout(ANSWER, exchange).await.ok().flatten()
    }

    /// Asks one server after the other until one answers with `wanted`.
    async fn ask(&self, chance: &mut Seeded, request: &[u8], wanted: u16) -> Option<Value> {
        let (began, away_before) = (Instant::now(), self.time_away());
        let give_up = began + Duration::from_secs(120);
        let first = chance.below(self.servers.len());
        for server in self.servers.iter().cycle().skip(first) {
            match self.ask_at(*server, request).await {
                Some((status, answer)) if status == wanted => {
                    self.note_failure(began.elapsed().saturating_sub(self.time_away() - away_before));
                    return Some(answer);
                }
                // What the server cannot do now may work elsewhere or later; anything else is an answer that nobody expects.
                Some((status, answer)) if status < 500 => {
                    self.violated(format!("{server} answered {status} instead of {wanted}: {answer}"));
                    return None;
                }
                _ if Instant::now() > give_up => {
                    self.violated(format!("nobody has answered for {:?}", began.elapsed()));
                    return None;
                }
                _ => tokio::time::sleep(PAUSE).await,
            }
        }
        None
    }

    fn note_failure(&self, failed_for: Duration) {
        let mut longest = self.longest_failure.lock().unwrap();
        *longest = failed_for.max(*longest);
        drop(longest);
        if failed_for > LONGEST_FAILURE {
            self.violated(format!("a request was not answered for {failed_for:?} although the database was there"));
        }
    }

    fn get(&self, path: &str) -> Vec<u8> {
        request("GET", path, &self.key, &[], None)
    }

    /// How many views of a project a server tells of; none if it does not answer.
    pub(super) async fn total_at(&self, server: SocketAddr, project: &str) -> Option<u64> {
        let ask = self.get(&format!("/v1/analytics/{project}/views?limit=1"));
        let (status, answer) = self.ask_at(server, &ask).await?;
        if status == 200 { answer["totals"]["total"].as_u64() } else { None }
    }

    pub(super) async fn job_at(&self, server: SocketAddr, project: &str, id: &str) -> Option<Value> {
        let (status, job) = self.ask_at(server, &self.get(&format!("/v2/agent/{project}/job/{id}"))).await?;
        (status == 200).then_some(job)
    }
}

/// Makes jobs, each once, however often it has to be asked for.
pub(super) async fn make_jobs(world: Arc<World>, client: u64, pause: Duration) {
    let mut chance = Seeded::part(1, client);
    let body = json!({ "prompt": "Replace \"colour\" with \"color\"" }).to_string();
    for number in 0.. {
        if world.is_over() {
            return;
        }
        let project = &world.projects[chance.below(world.projects.len())];
        let key = format!("client-{client}-{number}");
        let ask = request(
            "POST",
            &format!("/v2/agent/{project}/job"),
            &world.key,
            &[("idempotency-key", key.as_str())],
            Some(&body),
        );
        if let Some(job) = world.ask(&mut chance, &ask, 201).await {
            let id = job["id"].as_str().unwrap().to_owned();
            if world.jobs.lock().unwrap().insert(id.clone(), project.clone()).is_some() {
                world.violated(format!("job {id} was made for two requests"));
            }
        }
        tokio::time::sleep(pause).await;
    }
}

/// Tells of page views, each once, however often it has to be told.
pub(super) async fn tell_views(world: Arc<World>, client: u64) {
    let mut chance = Seeded::part(2, client);
    let path = format!("/v1/analytics/{}/events", world.projects[0]);
    for number in 0.. {
        if world.is_over() {
            return;
        }
        let event = |at: u64| json!({ "path": format!("/{at}"), "userAgent": FIREFOX, "id": format!("{client}-{number}-{at}") });
        let body = Value::from((0..BATCH).map(event).collect::<Vec<_>>()).to_string();
        world.views_sent.fetch_add(BATCH, Ordering::SeqCst);
        if world.ask(&mut chance, &request("POST", &path, &world.key, &[], Some(&body)), 200).await.is_some() {
            world.views.fetch_add(BATCH, Ordering::SeqCst);
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Asks all servers over and over how many views there are: what one has acknowledged, all know of.
pub(super) async fn watch_views(world: Arc<World>) {
    while !world.is_over() {
        for server in &world.servers {
            let acknowledged = world.views.load(Ordering::SeqCst);
            let Some(told) = world.total_at(*server, &world.projects[0]).await else { continue };
            let sent = world.views_sent.load(Ordering::SeqCst);
            if !(acknowledged..=sent).contains(&told) {
                world
                    .violated(format!("{server} tells of {told} views; {acknowledged} were acknowledged, {sent} sent"));
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
}
