//! One client: does this and that, and holds every answer against what it knows.

use std::sync::{Arc, MutexGuard};
use std::time::Instant;

use copydesk_domain::{Status, random_fraction};
use serde_json::Value;

use super::Desk;
use super::check::Book;
use crate::connection::{Connection, request};
use crate::figures::Latencies;

/// The ways of doing things, each with its share.
const ACTS: [(Act, f64); 7] = [
    (Act::Create, 0.15),
    (Act::CreateWithKey, 0.15),
    (Act::Get, 0.35),
    (Act::List, 0.10),
    (Act::Message, 0.10),
    (Act::Cancel, 0.08),
    (Act::Archive, 0.07),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Act {
    Create,
    CreateWithKey,
    Get,
    List,
    Message,
    Cancel,
    Archive,
}

pub(super) struct Client {
    desk: Arc<Desk>,
    latencies: Latencies,
}

/// What an answer came to.
struct Said {
    status: u16,
    json: Value,
}

impl Client {
    pub(super) fn new(desk: Arc<Desk>) -> Self {
        Self { desk, latencies: Latencies::default() }
    }

    /// Works until the time is up, and says how long each request took.
    pub(super) async fn run(mut self) -> Latencies {
        let mut connection = Connection::open(self.desk.address).await.unwrap();
        while Instant::now() < self.desk.until {
            if let Err(broke) = self.act(&mut connection).await {
                self.book().wrong.push(broke);
                match Connection::open(self.desk.address).await {
                    Ok(again) => connection = again,
                    Err(_) => break,
                }
            }
        }
        self.latencies
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.desk.book.lock().unwrap()
    }

    async fn act(&mut self, connection: &mut Connection) -> Result<(), String> {
        let act = choose(random_fraction());
        let crowded = self.book().crowded;
        match act {
            Act::Create | Act::CreateWithKey if crowded => self.list(connection).await,
            Act::Create => self.create(connection, None).await,
            Act::CreateWithKey => {
                let key = self.book().some_key();
                self.create(connection, Some(key)).await
            }
            Act::List => self.list(connection).await,
            Act::Get | Act::Message | Act::Cancel | Act::Archive => {
                let Some(job) = self.book().some_job() else { return self.create(connection, None).await };
                self.on_job(connection, act, &job).await
            }
        }
    }

    async fn create(&mut self, connection: &mut Connection, key: Option<String>) -> Result<(), String> {
        let body = r#"{"prompt":"Fix the broken links in docs/guides"}"#;
        let headers: Vec<_> = key.iter().map(|key| ("idempotency-key", key.as_str())).collect();
        let path = self.path("job");
        let said = self.send(connection, "POST", &path, &headers, Some(body)).await?;
        let id = said.json["id"].as_str().unwrap_or_default().to_owned();
        let mut book = self.book();
        book.expect(said.status, &[201], || format!("a creation with key {key:?}"));
        if said.status == 201 {
            check_job(&mut book, &said.json);
            book.created.insert(id.clone());
            book.jobs.push(id.clone());
            if let Some(key) = key {
                book.by_key.entry(key).or_default().push(id);
            }
        }
        Ok(())
    }

    async fn list(&mut self, connection: &mut Connection) -> Result<(), String> {
        let path = self.path("jobs?limit=20");
        let said = self.send(connection, "GET", &path, &[], None).await?;
        let mut book = self.book();
        book.expect(said.status, &[200], || "a list".to_owned());
        let jobs = said.json["jobs"].as_array().cloned().unwrap_or_default();
        jobs.iter().for_each(|job| check_job(&mut book, job));
        let ids: Vec<_> = jobs.iter().map(|job| job["id"].as_str().unwrap_or_default()).collect();
        if !ids.is_sorted_by(|newer, older| newer > older) {
            book.wrong.push(format!("a list is not in order: {ids:?}"));
        }
        Ok(())
    }

    async fn on_job(&mut self, connection: &mut Connection, act: Act, job: &str) -> Result<(), String> {
        // Looked at before the request: whatever was archived by then must be so for this request too.
        let archived = self.book().archived.contains(job);
        let (method, path, body) = match act {
            Act::Message => ("POST", format!("job/{job}/message"), Some(r#"{"prompt":"Use the shorter title"}"#)),
            Act::Cancel => ("POST", format!("job/{job}/cancel"), None),
            Act::Archive => ("POST", format!("job/{job}/archive"), None),
            _ => ("GET", format!("job/{job}"), None),
        };
        let path = self.path(&path);
        let said = self.send(connection, method, &path, &[], body).await?;
        let allowed: &[u16] = match (act, archived) {
            (Act::Message, true) => &[400],
            (Act::Message, false) => &[200, 400],
            (Act::Cancel, true) => &[409],
            (Act::Cancel, false) => &[200, 409],
            _ => &[200],
        };
        let mut book = self.book();
        book.expect(said.status, allowed, || format!("{act:?} of job {job}, archived before: {archived}"));
        if said.status != 200 {
            return Ok(());
        }
        check_job(&mut book, &said.json);
        let status = said.json["status"].as_str().unwrap_or_default();
        if said.json["id"] != job {
            book.wrong.push(format!("{act:?} of job {job} was answered with job {}", said.json["id"]));
        }
        if (archived || act == Act::Archive) && status != "archived" {
            book.wrong.push(format!("{act:?} of job {job}, which was archived, says {status}"));
        }
        match act {
            Act::Message => book.messages += 1,
            Act::Cancel => book.cancelled += 1,
            Act::Archive => drop(book.archived.insert(job.to_owned())),
            _ => {}
        }
        Ok(())
    }

    fn path(&self, rest: &str) -> String {
        format!("/v2/agent/{}/{rest}", self.desk.project)
    }

    async fn send(
        &mut self,
        connection: &mut Connection,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&str>,
    ) -> Result<Said, String> {
        let bytes = request(method, path, &self.desk.key, headers, body);
        let started = Instant::now();
        let reply = connection.exchange(&bytes).await.map_err(|error| format!("{method} {path} broke: {error}"))?;
        self.latencies.add(started.elapsed());
        let json = serde_json::from_slice(reply.body);
        let json = json.map_err(|error| format!("{method} {path}: {} without JSON: {error}", reply.status))?;
        Ok(Said { status: reply.status, json })
    }
}

/// The act at this place between 0 and 1.
fn choose(mut place: f64) -> Act {
    for (act, share) in ACTS {
        if place < share {
            return act;
        }
        place -= share;
    }
    Act::Get
}

/// What is true of every job that is shown.
fn check_job(book: &mut Book, job: &Value) {
    let status = job["status"].as_str().and_then(Status::parse);
    let (over, put_away) = (job["outcome"].is_string(), job["archivedAt"].is_string());
    let can_be =
        status.is_some_and(|status| (status == Status::Active) != over && (status == Status::Archived) == put_away);
    if !can_be {
        book.wrong.push(format!("a job that cannot be: {job}"));
    }
}
