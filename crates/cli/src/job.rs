use std::ffi::OsString;
use std::io::{IsTerminal, Read};
use std::process::ExitCode;
use std::time::Duration;

use copydesk_domain::{ChangeRange, Clock, Dollars, SystemClock, event_line, new_id};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};

use crate::args::{JobCommand, ServerFlags};
use crate::client::Client;
use crate::failure::Failure;
use crate::output::{self, printable, printable_lines};

/// How often a job that is waited for is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(500);

pub(crate) async fn run(
    command: JobCommand,
    environment: &[(OsString, OsString)],
    configured: impl Fn() -> Result<String, Failure>,
) -> Result<ExitCode, Failure> {
    let connect = |server: &ServerFlags| Client::new(server, environment, &configured);
    match command {
        JobCommand::Create {
            prompt,
            wait,
            base_ref,
            model,
            draft,
            no_pull_request,
            client_reference,
            max_cost,
            changes,
            idempotency_key,
            server,
        } => {
            let client = connect(&server)?;
            let max_cost = max_cost.map(|text| Dollars::parse_limit("max_cost", &text)).transpose();
            let max_cost = max_cost.map_err(|invalid| Failure::flag(&invalid))?;
            let mut body = json!({ "prompt": read_prompt(prompt)? });
            let mut set = |field: &str, value: Option<Value>| {
                if let Some(value) = value {
                    body[field] = value;
                }
            };
            set("baseRef", base_ref.map(Value::from));
            set("model", model.map(Value::from));
            set("draft", draft.then_some(Value::from(true)));
            set("openPullRequest", no_pull_request.then_some(Value::from(false)));
            set("clientReference", client_reference.map(Value::from));
            set("maxCost", max_cost.map(|it| Value::from(it.amount())));
            set("changes", changes.as_deref().map(range).transpose()?);
            let key = idempotency_key.unwrap_or_else(fresh_key);
            let job = client.post(&["job"], Some(&body), Some(&key)).await?;
            conclude(&client, job, wait.then_some(0), server.json).await
        }
        JobCommand::Get { id, wait, server } => {
            let client = connect(&server)?;
            let job = client.get(&["job", &id], &[]).await?;
            conclude(&client, job, wait.then_some(0), server.json).await
        }
        JobCommand::Message { id, prompt, wait, server } => {
            let client = connect(&server)?;
            let body = json!({ "prompt": read_prompt(prompt)? });
            // What happened before the message is known already.
            let known = if wait { last_event(&client, &id).await? } else { 0 };
            let job = client.post(&["job", &id, "message"], Some(&body), Some(&fresh_key())).await?;
            conclude(&client, job, wait.then_some(known), server.json).await
        }
        JobCommand::Diff { id, server } => {
            let diff = connect(&server)?.diff(&id).await?;
            if server.json {
                return output::json(&json!({ "id": id, "diff": diff }));
            }
            output::diff(&diff, "");
            Ok(ExitCode::SUCCESS)
        }
        JobCommand::Open { id, server } => act(&connect(&server)?, &id, "pull-request", server.json).await,
        JobCommand::Cancel { id, server } => act(&connect(&server)?, &id, "cancel", server.json).await,
        JobCommand::RevokeLink { id, server } => act(&connect(&server)?, &id, "revoke-link", server.json).await,
        JobCommand::Archive { id, server } => act(&connect(&server)?, &id, "archive", server.json).await,
        JobCommand::List { status, limit, server } => {
            let client = connect(&server)?;
            list(&client, status, limit, server.json).await
        }
    }
}

async fn act(client: &Client, id: &str, action: &str, json: bool) -> Result<ExitCode, Failure> {
    show(&client.post(&["job", id, action], None, None).await?, json)
}

/// A range of commits as the interface takes it.
fn range(text: &str) -> Result<Value, Failure> {
    let wrong = || {
        Failure::usage(format!("--changes {text:?} is not a range of commits of a code source"))
            .hint("write it as sdk:v1.4..v1.5; `copydesk project source list` names the sources")
    };
    let ChangeRange { source, from, to } = ChangeRange::parse(text).ok_or_else(wrong)?;
    Ok(match to {
        Some(to) => json!({ "source": source, "from": from, "to": to }),
        None => json!({ "source": source, "from": from }),
    })
}

fn fresh_key() -> String {
    new_id(SystemClock.now())
}

fn read_prompt(prompt: String) -> Result<String, Failure> {
    if prompt != "-" {
        return Ok(prompt);
    }
    let mut text = String::new();
    // One byte more than a request may have, so that too much is refused by the server and not cut off here.
    let read = std::io::stdin().lock().take(1024 * 1024 + 1).read_to_string(&mut text);
    read.map_err(|error| Failure::usage(format!("cannot read the prompt from standard input: {error}")))?;
    Ok(text)
}

/// The number of the last event of a job so far.
async fn last_event(client: &Client, id: &str) -> Result<u64, Failure> {
    let mut last = 0;
    // The server gives at most a thousand at a time.
    loop {
        let events = client.events(id, last).await?;
        let numbers = events["events"].as_array().into_iter().flatten().filter_map(|event| event["id"].as_u64());
        match numbers.max() {
            Some(newest) if newest > last => last = newest,
            _ => return Ok(last),
        }
    }
}

/// Shows the job; after its end if that is to be waited for, telling of every event after the one given.
async fn conclude(client: &Client, job: Value, wait_after: Option<u64>, json: bool) -> Result<ExitCode, Failure> {
    let Some(known) = wait_after else { return show(&job, json) };
    let job = wait_for(client, job, known).await?;
    show(&job, json)?;
    Ok(if job["status"] == "completed" { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Follows a job to its end, telling of every change on standard error.
async fn wait_for(client: &Client, job: Value, known: u64) -> Result<Value, Failure> {
    eprintln!("job {}", printable(job["id"].as_str().unwrap_or_default()));
    let progress = Progress::new();
    let ended = follow(client, job, known, |event| progress.tell(event), |why| progress.say(why)).await;
    progress.end();
    ended
}

/// Follows a job to its end, telling of every event after number `last`, and saying once why nobody works on it.
pub(crate) async fn follow(
    client: &Client,
    mut job: Value,
    mut last: u64,
    tell: impl Fn(&Value),
    say: impl Fn(&str),
) -> Result<Value, Failure> {
    let id = job["id"].as_str().unwrap_or_default().to_owned();
    let mut said = None;
    loop {
        let lost = |failure: Failure| {
            let again = client.command_line(&["job", "get", &id, "--wait"]);
            failure.hint(format!("the job goes on; run `{again}` to follow it again"))
        };
        let events = client.events(&id, last).await.map_err(lost)?;
        for event in events["events"].as_array().into_iter().flatten() {
            let number = event["id"].as_u64().unwrap_or(0);
            if number > last {
                last = number;
                tell(event);
            }
        }
        if job["status"] != "active" {
            return Ok(job);
        }
        // An active job has something to say only if it waits for something: for `copydesk wake`, its model or its
        // code host.
        if let Some(why) = job["message"].as_str().filter(|why| said.as_deref() != Some(*why)) {
            say(why);
            said = Some(why.to_owned());
        }
        tokio::time::sleep(LOOK_EVERY).await;
        job = client.get(&["job", &id], &[]).await.map_err(lost)?;
    }
}

/// A line that changes on a terminal; a line a change elsewhere.
struct Progress(Option<ProgressBar>);

impl Progress {
    fn new() -> Self {
        if !std::io::stderr().is_terminal() {
            return Self(None);
        }
        let bar = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed} {msg}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(120));
        Self(Some(bar))
    }

    fn tell(&self, event: &Value) {
        let text = event_line(event);
        match &self.0 {
            Some(bar) => bar.set_message(text),
            None => eprintln!("{} {text}", printable(event["at"].as_str().unwrap_or_default())),
        }
    }

    /// What stays to be read while the job is waited for.
    fn say(&self, why: &str) {
        let why = printable(why);
        match &self.0 {
            Some(bar) => bar.println(why),
            None => eprintln!("{why}"),
        }
    }

    fn end(self) {
        if let Some(bar) = self.0 {
            bar.finish_and_clear();
        }
    }
}

fn show(job: &Value, json: bool) -> Result<ExitCode, Failure> {
    if json {
        return output::json(job);
    }
    let text = |value: &Value| value.as_str().map_or_else(|| "-".to_owned(), printable_lines);
    let pull_request = pull_request(job);
    let range = serde_json::from_value::<ChangeRange>(job["changes"].clone());
    let about = range.ok().map(|range| ("about", printable(&range.to_string())));
    let fields = [
        ("id", &job["id"]),
        ("status", &job["status"]),
        ("outcome", &job["outcome"]),
        ("title", &job["title"]),
        ("message", &job["message"]),
        ("pull request", &pull_request),
        ("model", &job["model"]),
        ("repository", &job["source"]["repository"]),
        ("created", &job["createdAt"]),
    ];
    for (label, value) in about.into_iter().chain(fields.map(|(label, value)| (label, text(value)))) {
        output::field(label, &value, 13);
    }
    Ok(ExitCode::SUCCESS)
}

/// The link to the pull request, and how it stands if it is not open any more.
fn pull_request(job: &Value) -> Value {
    match (job["prLink"].as_str(), job["pullRequest"]["state"].as_str()) {
        (Some(link), Some(state)) if state != "open" => format!("{link} ({state})").into(),
        _ => job["prLink"].clone(),
    }
}

async fn list(client: &Client, status: Option<String>, limit: u32, json: bool) -> Result<ExitCode, Failure> {
    let mut jobs = Vec::new();
    let mut cursor: Option<String> = None;
    // The server gives at most a hundred at a time.
    while (jobs.len() as u64) < u64::from(limit) {
        let page = (u64::from(limit) - jobs.len() as u64).min(100).to_string();
        let mut query = vec![("limit", page.as_str())];
        query.extend(status.as_deref().map(|status| ("status", status)));
        query.extend(cursor.as_deref().map(|cursor| ("cursor", cursor)));
        let mut answer = client.get(&["jobs"], &query).await?;
        jobs.extend(answer["jobs"].as_array_mut().map(std::mem::take).unwrap_or_default());
        match answer["nextCursor"].as_str() {
            Some(next) => cursor = Some(next.to_owned()),
            None => break,
        }
    }
    if json {
        return output::json(&json!({ "jobs": jobs }));
    }
    let cell = |value: &Value| value.as_str().map_or_else(|| "-".to_owned(), printable);
    let row = |job: &Value| {
        let mut cells: Vec<String> = ["id", "status", "outcome", "createdAt"].map(|field| cell(&job[field])).to_vec();
        cells.push(cell(&pull_request(job)));
        cells
    };
    output::table(&["id", "status", "outcome", "created", "pull request"], &jobs.iter().map(row).collect::<Vec<_>>());
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pull_request_that_is_not_open_any_more_says_so() {
        let shown = |state: Value| pull_request(&json!({ "prLink": "https://h/1", "pullRequest": { "state": state } }));
        assert_eq!(shown("merged".into()), "https://h/1 (merged)");
        assert_eq!((shown("open".into()), shown(Value::Null)), ("https://h/1".into(), "https://h/1".into()));
        assert_eq!(pull_request(&json!({ "prLink": null, "pullRequest": { "state": "closed" } })), Value::Null);
    }
}
