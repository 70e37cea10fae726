//! How fast the pages of the dashboard are, with much behind them, and while somebody guesses passwords.

use std::io::Write;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::task::JoinSet;

use super::sample::Sample;
use super::views::{place, settings};
use crate::args::program;
use crate::connection::{Connection, request};
use crate::figures::{Latencies, millis, thousands};
use crate::process::{Installation, Server};

/// How fast the pages of the dashboard are with many jobs and views, alone and while somebody guesses passwords.
#[derive(Debug, Clone, clap::Args)]
pub struct PagesOptions {
    /// The program `copydesk`.
    #[arg(long, value_parser = program)]
    pub binary: PathBuf,
    /// How many jobs.
    #[arg(long, default_value_t = 10_000)]
    pub jobs: usize,
    /// How many views.
    #[arg(long, default_value_t = 50_000_000)]
    pub views: u64,
    /// Of how many pages.
    #[arg(long, default_value_t = 10_000)]
    pub paths: usize,
}

const EMAIL: &str = "ada@example.com";
const PASSWORD: &str = "four words put together";
/// How often each page is asked for.
const ROUNDS: u32 = 200;
/// Connections that make the jobs.
const MAKERS: usize = 16;
/// Wrong passwords a second, and for how long.
const GUESSES: u64 = 1000;
const FIRE: Duration = Duration::from_secs(10);

/// Fills a server, signs in and asks for its pages.
pub async fn bench_pages(options: &PagesOptions) {
    let folder = tempfile::tempdir().unwrap();
    let mut settings = settings();
    settings.push(("COPYDESK_RUNNER__WORKERS", "16".to_owned()));
    let installation = Installation { binary: &options.binary, folder: folder.path(), settings };
    let project = installation.project_id("pages", "https://example.com/docs");
    let key = installation.key();
    place(&Sample::new(options.views, options.paths), &folder.path().join("data/views"), &project);
    add_user(&installation);
    let (server, _) = installation.serve().await;
    let job = make_jobs(&server, &project, &key, options.jobs).await;
    println!("pages: {} jobs, {} views", thousands(options.jobs as u64), thousands(options.views));
    // Its browser is known from now on.
    let cookie = sign_in(&server, PASSWORD, "192.0.2.1", "").await.unwrap_or_else(|said| panic!("{said}"));
    let pages = pages(&project, &job);
    for (name, times) in measure(&server, &pages, &cookie, ROUNDS).await {
        println!("  {name:<28} p50 {}, p99 {}", millis(times.within(0.5)), millis(times.within(0.99)));
    }
    under_fire(&server, &pages, &cookie).await;
}

fn add_user(installation: &Installation<'_>) {
    let mut command = installation.command(&["user", "add", EMAIL, "--admin"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    writeln!(child.stdin.take().unwrap(), "{PASSWORD}").unwrap();
    assert!(child.wait().unwrap().success(), "a user is made");
}

/// Makes jobs that end without a change, waits until they have, and gives the id of one.
async fn make_jobs(server: &Server, project: &str, key: &str, count: usize) -> String {
    let (mut makers, address) = (JoinSet::new(), server.address);
    for maker in 0..MAKERS {
        let (project, key) = (project.to_owned(), key.to_owned());
        makers.spawn(async move {
            let mut connection = Connection::open(address).await.unwrap();
            let mut last = String::new();
            for number in (maker..count).step_by(MAKERS) {
                let body = format!(r#"{{"prompt":"Bring page {number} up to date","model":"noop"}}"#);
                let ask = request("POST", &format!("/v2/agent/{project}/job"), &key, &[], Some(&body));
                let reply = connection.exchange(&ask).await.unwrap();
                assert_eq!(reply.status, 201, "{}", String::from_utf8_lossy(reply.body));
                let made: Value = serde_json::from_slice(reply.body).unwrap();
                made["id"].as_str().unwrap().clone_into(&mut last);
            }
            last
        });
    }
    let id = makers.join_all().await.pop().unwrap();
    let mut connection = Connection::open(address).await.unwrap();
    let ask = request("GET", &format!("/v2/agent/{project}/jobs?status=active&limit=1"), key, &[], None);
    loop {
        let reply = connection.exchange(&ask).await.unwrap();
        let left: Value = serde_json::from_slice(reply.body).unwrap();
        if left["jobs"].as_array().is_some_and(Vec::is_empty) {
            return id;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// Every page that is looked at often, by what it is called.
fn pages(project: &str, job: &str) -> Vec<(String, String)> {
    let year = "from=2025-01-01&to=2025-12-31";
    let of_project = [
        ("overview", String::new()),
        ("jobs", "/jobs".to_owned()),
        ("jobs, searched", "/jobs?q=page+4711".to_owned()),
        ("a job", format!("/jobs/{job}")),
        ("talk of a job", format!("/jobs/{job}/talk")),
        ("new job", "/jobs/new".to_owned()),
        ("views, 30 days", "/views?from=2025-12-01&to=2025-12-30".to_owned()),
        ("views, a year", format!("/views?{year}")),
        ("views, a page", format!("/views?{year}&path=/guides/webhooks-1")),
        ("an agent, a year", format!("/views/agents/ChatGPT-User?{year}")),
        ("machines, a year", format!("/views/machines?{year}")),
        ("pull requests", "/pulls".to_owned()),
        ("keys", "/keys".to_owned()),
        ("settings", "/settings/general".to_owned()),
        ("audit", "/settings/audit".to_owned()),
    ];
    let mut all = vec![("projects".to_owned(), "/".to_owned()), ("server".to_owned(), "/server".to_owned())];
    all.extend(of_project.into_iter().map(|(name, end)| (name.to_owned(), format!("/p/{project}{end}"))));
    all
}

async fn measure(server: &Server, pages: &[(String, String)], cookie: &str, rounds: u32) -> Vec<(String, Latencies)> {
    let mut connection = Connection::open(server.address).await.unwrap();
    let mut all: Vec<(String, Latencies)> =
        pages.iter().map(|(name, _)| (name.clone(), Latencies::default())).collect();
    // In rounds, so that whatever else the machine does falls on all.
    for round in 0..=rounds {
        for ((_, path), (_, times)) in pages.iter().zip(&mut all) {
            let ask = request("GET", path, "none", &[("cookie", cookie)], None);
            let before = Instant::now();
            let reply = connection.exchange(&ask).await.unwrap();
            // The first is for the warmth.
            if round > 0 {
                times.add(before.elapsed());
            }
            assert_eq!(reply.status, 200, "{path}");
        }
    }
    all
}

/// Tries a password from an address, in a browser with these cookies; gives those of who is in, or what was said.
async fn sign_in(server: &Server, password: &str, from: &str, cookies: &str) -> Result<String, String> {
    let mut connection = Connection::open(server.address).await.map_err(|error| error.to_string())?;
    let ask = attempt(EMAIL, password, from, cookies);
    let reply = connection.exchange(&ask).await.map_err(|error| error.to_string())?;
    let set = reply.headers("set-cookie").filter_map(|it| it.split(';').next()).collect::<Vec<_>>().join("; ");
    Some(set).filter(|_| reply.status == 303).ok_or_else(|| format!("{}", reply.status))
}

fn attempt(email: &str, password: &str, from: &str, cookies: &str) -> Vec<u8> {
    let body = format!("email={email}&password={}", password.replace(' ', "+"));
    let head = format!(
        "POST /sign-in HTTP/1.1\r\nhost: localhost\r\nsec-fetch-site: same-origin\r\nx-forwarded-for: {from}\r\n\
         cookie: {cookies}\r\n"
    );
    let kind = "content-type: application/x-www-form-urlencoded\r\n";
    format!("{head}{kind}content-length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// What others notice while somebody guesses the password of one account from many networks: on pages that are fast
/// otherwise, so that it is the fire that is measured.
async fn under_fire(server: &Server, pages: &[(String, String)], cookie: &str) {
    const FAST: [&str; 5] = ["projects", "jobs", "a job", "keys", "settings"];
    let pages: Vec<_> = pages.iter().filter(|(name, _)| FAST.contains(&name.as_str())).cloned().collect();
    let (sent, answered, address) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)), server.address);
    let begun = Instant::now();
    let (counting, counted) = (sent.clone(), answered.clone());
    // One after the other, whether those before were answered or not: who guesses does not wait.
    let attacker = tokio::spawn(async move {
        let mut guesses = JoinSet::new();
        for number in 0.. {
            let due = begun + Duration::from_secs_f64(number as f64 / GUESSES as f64);
            tokio::time::sleep_until(due.into()).await;
            let from = format!("10.{}.{}.7", (number >> 8) & 255, number & 255);
            let guess = attempt(EMAIL, &format!("wrong password {number}"), &from, "");
            counting.fetch_add(1, Ordering::Relaxed);
            let counted = counted.clone();
            guesses.spawn(async move {
                if let Ok(mut connection) = Connection::open(address).await
                    && connection.exchange(&guess).await.is_ok()
                {
                    counted.fetch_add(1, Ordering::Relaxed);
                }
            });
            while guesses.try_join_next().is_some() {}
        }
    });
    let mut all = Latencies::default();
    while begun.elapsed() < FIRE {
        for (_, times) in measure(server, &pages, cookie, 1).await {
            all.join(times);
        }
    }
    let asked = Instant::now();
    let mut tries = 1;
    let owner = loop {
        // Signed out, in the browser in which they were before.
        let browser = cookie.split("; ").find(|it| it.starts_with("copydesk-browser=")).unwrap_or_default();
        match sign_in(server, PASSWORD, "198.51.100.1", browser).await {
            Ok(_) => break format!("the owner is in after {} and {tries} tries", millis(asked.elapsed())),
            Err(said) if tries == 20 => break format!("the owner does not get in: {said}"),
            Err(_) => tries += 1,
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    };
    attacker.abort();
    let time = begun.elapsed().as_secs_f64();
    let rate = |count: &AtomicU64| count.load(Ordering::Relaxed) as f64 / time;
    println!(
        "  under {:.0} wrong passwords a second ({:.0} answered): pages p50 {}, p99 {}; {owner}",
        rate(&sent),
        rate(&answered),
        millis(all.within(0.5)),
        millis(all.within(0.99))
    );
}
