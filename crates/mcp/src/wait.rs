use std::time::Duration;

use copydesk_domain::event_line;
use rmcp::RoleServer;
use rmcp::model::{JsonObject, ProgressNotificationParam, ProgressToken};
use rmcp::service::RequestContext;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::api::{Api, Area, Ask};
use crate::arguments::WaitForJob;
use crate::calls::{Called, Wrong, done, id, object, read};

/// The longest that a call waits for a job.
pub const LONGEST_WAIT: Duration = Duration::from_secs(300);
/// How long a call waits if it does not say.
const USUAL_WAIT: Duration = Duration::from_secs(45);
/// How often a job that is waited for is looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Waits for the end of a job, telling of its steps whoever wants to know.
pub(crate) async fn wait_for_job(
    api: &impl Api,
    arguments: JsonObject,
    context: &RequestContext<RoleServer>,
) -> Called {
    let wait: WaitForJob = read(arguments)?;
    let longest = wait.timeout_seconds.map_or(USUAL_WAIT, |seconds| Duration::from_secs(seconds.into()));
    if longest.is_zero() || longest > LONGEST_WAIT {
        let most = LONGEST_WAIT.as_secs();
        return Err(Wrong::told(format!("The timeoutSeconds must be a whole number from 1 to {most}.")));
    }
    let mut steps = Steps { id: id(&wait.id)?, last: 0, token: context.meta.get_progress_token() };
    let until = Instant::now() + longest;
    loop {
        steps.tell(api, context).await?;
        let mut job = object(api, Ask::get(Area::Jobs, &["job", steps.id])).await?;
        let is_active = job.get("status") == Some(&Value::from("active"));
        if !is_active || Instant::now() >= until {
            job.insert("stillActive".to_owned(), json!(is_active));
            return Ok(done(job));
        }
        tokio::select! {
            () = tokio::time::sleep_until(until.min(Instant::now() + LOOK_EVERY)) => {}
            () = context.ct.cancelled() => return Err(Wrong::told("The wait was cancelled; the job goes on.")),
        }
    }
}

/// A job's steps so far.
struct Steps<'a> {
    id: &'a str,
    last: u64,
    token: Option<ProgressToken>,
}

impl Steps<'_> {
    /// Tells of the newest step if there is one, and only of that: many may have been made since the last look.
    async fn tell(&mut self, api: &impl Api, context: &RequestContext<RoleServer>) -> Result<(), Wrong> {
        let Some(token) = &self.token else { return Ok(()) };
        let ask = Ask::get(Area::Jobs, &["job", self.id, "events"]).header("last-event-id", self.last.to_string());
        let events = object(api, ask).await?;
        let newest = events.get("events").and_then(Value::as_array).and_then(|events| events.last());
        let Some(event) = newest else { return Ok(()) };
        let number = event["id"].as_u64().unwrap_or(0);
        if number <= self.last {
            return Ok(());
        }
        self.last = number;
        let step = ProgressNotificationParam::new(token.clone(), number as f64).with_message(event_line(event));
        // A client that has gone away is noticed by whoever sends it the result.
        let _ = context.peer.notify_progress(step).await;
        Ok(())
    }
}
