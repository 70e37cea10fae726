//! Crowds: pages, readers and networks without end, and many questions at once about all of it. Whatever the bounds do, the
//! totals of every day are exact, and the memory of the server stays under a figure.

use std::fmt::Write;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::task::JoinSet;

use super::ViewsOptions;
use super::event::{Counts, READERS};
use super::world::settings;
use crate::connection::{Connection, request};
use crate::process::{Installation, Server, megabytes};
use crate::seeded::Seeded;

const DAYS: usize = 28;
/// 2026-02-01, in seconds since 1970.
const FIRST: usize = 1_769_904_000;
const DAY: usize = 86_400;
const BATCH: usize = 10_000;
/// Questions at once, no two alike.
const QUESTIONS: usize = 28;
/// The bounds of the first part.
const PAGES_A_DAY: usize = 200;
const READERS_A_DAY: usize = 50;
const A_NETWORK: usize = 60;
/// What the server may take.
const MEMORY: u64 = 1_000_000_000;
const PATIENCE: Duration = Duration::from_secs(60);

/// What was acknowledged, by day.
#[derive(Default)]
struct Book {
    days: [Counts; DAYS],
    violations: Vec<String>,
}

struct Crowd {
    project: String,
    key: String,
    book: Book,
    seeded: Seeded,
}

/// Runs it, prints what came out, and says whether all was well.
pub(super) async fn run(options: &ViewsOptions) -> bool {
    let mut violations = bounds(options).await;
    violations.extend(questions(options).await);
    super::show(&violations);
    println!("crowds: {} violations", violations.len());
    violations.is_empty()
}

fn crowd(installation: &Installation<'_>, seed: u64) -> Crowd {
    let project = installation.project_id("crowd", "https://example.com/docs");
    Crowd { project, key: installation.key(), book: Book::default(), seeded: Seeded::part(seed, 7) }
}

/// More pages, readers and events of one network than the bounds allow; the server is killed in between.
async fn bounds(options: &ViewsOptions) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let mut settings = settings();
    settings.retain(|(name, _)| *name != "COPYDESK_VIEWS__PAGES_PER_DAY");
    settings.push(("COPYDESK_VIEWS__PAGES_PER_DAY", PAGES_A_DAY.to_string()));
    settings.push(("COPYDESK_VIEWS__READERS_PER_DAY", READERS_A_DAY.to_string()));
    settings.push(("COPYDESK_LIMITS__EVENTS_PER_MINUTE", A_NETWORK.to_string()));
    let installation = Installation { binary: &options.binary, folder: folder.path(), settings };
    let mut crowd = crowd(&installation, options.seed);
    let ready = crowd.totals_request(0, DAYS);
    let mut lives = 0;
    for _ in 0..2 {
        let (server, _) = installation.serve_until(&ready).await;
        crowd.send(server.address, options.crowd_pages as usize / 8).await;
        crowd.check(server.address).await;
        lives += usize::from(server.kill());
    }
    let (server, _) = installation.serve_until(&ready).await;
    crowd.check(server.address).await;
    let pages = crowd.pages(server.address).await;
    // A day begins anew after a start, so there were as many days as that.
    let most = DAYS * PAGES_A_DAY * lives + 1;
    if pages > most {
        crowd.book.violations.push(format!("{pages} pages are told apart, and there may be {most}"));
    }
    let (taken, refused) = crowd.flood(server.address).await;
    println!(
        "crowds: {} events, {pages} pages kept; a network told of {taken} views, {refused} were refused",
        crowd.sent()
    );
    crowd.book.violations
}

/// Many questions at once about more pages than any site has.
async fn questions(options: &ViewsOptions) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let mut settings = settings();
    settings.retain(|(name, _)| *name != "COPYDESK_VIEWS__MEMORY");
    let installation = Installation { binary: &options.binary, folder: folder.path(), settings };
    let mut crowd = crowd(&installation, options.seed);
    let ready = crowd.totals_request(0, DAYS);
    let (server, _) = installation.serve_until(&ready).await;
    crowd.send(server.address, options.crowd_pages as usize).await;
    crowd.check(server.address).await;
    let filled = server.peak();
    drop(server);
    let (server, _) = installation.serve_until(&ready).await;
    let (mut slowest, mut later) = (Duration::ZERO, 0);
    for _ in 0..3 {
        let (took, refused) = crowd.ask_all(server.address).await;
        slowest = slowest.max(took);
        later += refused;
    }
    crowd.held_by(&server);
    println!(
        "crowds: {} pages, peak {} while they came in; {QUESTIONS} questions at once, three times: slowest {:.2} s, {later} \
         told to come later, peak {}",
        options.crowd_pages,
        megabytes(filled),
        slowest.as_secs_f64(),
        megabytes(server.peak()),
    );
    crowd.book.violations
}

impl Crowd {
    fn sent(&self) -> u64 {
        self.book.days.iter().map(|day| day.human + day.ai).sum()
    }

    fn held_by(&mut self, server: &Server) {
        if server.peak() > MEMORY {
            let peak = megabytes(server.peak());
            self.book.violations.push(format!("the server took {peak}, and may take {}", megabytes(MEMORY)));
        }
    }

    /// Sends events, each of a page of its own, by people, AI agents and crawlers that nobody has heard of.
    async fn send(&mut self, address: SocketAddr, pages: usize) {
        let mut connection = Connection::open(address).await.unwrap();
        let path = format!("/v1/analytics/{}/events", self.project);
        let mut left = pages;
        while left > 0 {
            let count = left.min(BATCH);
            left -= count;
            let (body, counts) = self.events(count);
            match connection.exchange(&request("POST", &path, &self.key, &[], Some(&body))).await {
                Ok(reply) if reply.status == 200 => {
                    self.book.days.iter_mut().zip(counts).for_each(|(day, more)| *day += more);
                }
                Ok(reply) => self.book.violations.push(format!("a batch was answered with {}", reply.status)),
                Err(error) => return self.book.violations.push(format!("the server hung up: {error}")),
            }
        }
    }

    fn events(&mut self, count: usize) -> (String, [Counts; DAYS]) {
        let (mut body, mut counts) = (String::with_capacity(count * 200), [Counts::default(); DAYS]);
        for event in 0..count {
            let (day, page) = (self.seeded.below(DAYS), self.seeded.draw());
            let second = FIRST + day * DAY + self.seeded.below(DAY);
            let (user_agent, by_ai) = READERS[self.seeded.below(READERS.len())];
            body.push(if event == 0 { '[' } else { ',' });
            if self.seeded.chance(0.1) {
                let name = format!("Zz{:x}bot/1.0", self.seeded.below(10_000));
                let _ = write!(body, r#"{{"path":"/c/{page:x}","userAgent":"{name}","timestamp":{second}}}"#);
                continue;
            }
            counts[day] += Counts { human: u64::from(!by_ai), ai: u64::from(by_ai) };
            let _ = write!(body, r#"{{"path":"/c/{page:x}","userAgent":"{user_agent}","timestamp":{second}}}"#);
        }
        body.push(']');
        (body, counts)
    }

    fn totals_request(&self, from: usize, to: usize) -> Vec<u8> {
        let second = |day: usize| {
            let date = if day == DAYS { "2026-03-01".to_owned() } else { format!("2026-02-{:02}", day + 1) };
            format!("{date}T00:00:00Z")
        };
        let range = format!("dateFrom={}&dateTo={}", second(from), second(to));
        let address = format!("/v1/analytics/{}/views?limit=1&{range}", self.project);
        request("GET", &address, &self.key, &[], None)
    }

    fn expected(&self, from: usize, to: usize) -> (u64, u64) {
        let days = &self.book.days[from..to];
        (days.iter().map(|day| day.human).sum(), days.iter().map(|day| day.ai).sum())
    }

    /// Holds the totals of every day, and of all, against the book.
    async fn check(&mut self, address: SocketAddr) {
        for (from, to) in (0..DAYS).map(|day| (day, day + 1)).chain([(0, DAYS)]) {
            let answer = ask(address, self.totals_request(from, to)).await;
            let expected = self.expected(from, to);
            if answer != Ok(Some(expected)) {
                self.book.violations.push(format!("days {from} to {to}: {answer:?} instead of {expected:?}"));
            }
        }
    }

    /// Asks all questions at once, and holds the answers against the book. How long the slowest took, and how many were
    /// told to come later.
    async fn ask_all(&mut self, address: SocketAddr) -> (Duration, usize) {
        let started = Instant::now();
        let mut asking = JoinSet::new();
        for number in 0..QUESTIONS {
            let (from, to) = (number / 2, DAYS - number % 2 - number / 3);
            let ask = ask(address, self.totals_request(from, to));
            asking.spawn(async move { (from, to, ask.await) });
        }
        let mut later = 0;
        for (from, to, answer) in asking.join_all().await {
            let expected = self.expected(from, to);
            match answer {
                Ok(None) => later += 1,
                Ok(Some(totals)) if totals == expected => {}
                other => self.book.violations.push(format!("days {from} to {to}: {other:?} instead of {expected:?}")),
            }
        }
        (started.elapsed(), later)
    }

    /// How many pages there are.
    async fn pages(&mut self, address: SocketAddr) -> usize {
        let mut pages = 0;
        loop {
            let path = format!("/v1/analytics/{}/views?limit=250&offset={pages}", self.project);
            let mut connection = Connection::open(address).await.unwrap();
            let reply = connection.exchange(&request("GET", &path, &self.key, &[], None)).await.unwrap();
            let page: Value = serde_json::from_slice(reply.body).unwrap();
            pages += page["views"].as_array().map_or(0, Vec::len);
            if page["hasMore"] != true {
                return pages;
            }
        }
    }

    /// One network tells of more views than it may; what was taken, which must be counted, and what was refused.
    async fn flood(&mut self, address: SocketAddr) -> (usize, usize) {
        let before = ask(address, self.all_request()).await;
        let mut connection = Connection::open(address).await.unwrap();
        let (mut taken, mut refused) = (0, 0);
        for page in 0..A_NETWORK * 3 {
            let body = format!(r#"{{"n":"pageview","u":"https://x.example/f/{page}","d":"{}"}}"#, self.project);
            let headers = [("x-forwarded-for", "203.0.113.7"), ("user-agent", READERS[0].0)];
            let reply = connection.exchange(&request("POST", "/api/event", &self.key, &headers, Some(&body))).await;
            match reply.map(|reply| reply.status) {
                Ok(202) => taken += 1,
                Ok(429) => refused += 1,
                other => self.book.violations.push(format!("an event was answered with {other:?}")),
            }
        }
        let after = ask(address, self.all_request()).await;
        let sum = |answer: &Answer| answer.as_ref().ok().copied().flatten().map(|(human, ai)| human + ai);
        // From here on people are counted where the script says so, which is what was taken.
        if refused == 0 || sum(&after) < sum(&before).map(|_| taken as u64) {
            self.book.violations.push(format!("{taken} taken, {refused} refused: {before:?} and then {after:?}"));
        }
        (taken, refused)
    }

    fn all_request(&self) -> Vec<u8> {
        request("GET", &format!("/v1/analytics/{}/views?limit=1", self.project), &self.key, &[], None)
    }
}

/// The totals; none if they are to be asked for later.
type Answer = Result<Option<(u64, u64)>, String>;

async fn ask(address: SocketAddr, question: Vec<u8>) -> Answer {
    let asked = async {
        let mut connection = Connection::open(address).await.map_err(|error| error.to_string())?;
        let reply = connection.exchange(&question).await.map_err(|error| error.to_string())?;
        match reply.status {
            429 | 503 => Ok(None),
            200 => {
                let answer: Value = serde_json::from_slice(reply.body).map_err(|error| error.to_string())?;
                let figure = |name: &str| answer["totals"][name].as_u64().ok_or("no totals".to_owned());
                Ok(Some((figure("human")?, figure("ai")?)))
            }
            status => Err(format!("status {status}")),
        }
    };
    tokio::time::timeout(PATIENCE, asked).await.unwrap_or_else(|_| Err("no answer".to_owned()))
}
