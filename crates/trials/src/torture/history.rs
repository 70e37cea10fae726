use copydesk_domain::{Command, Status};
use copydesk_store::Event;

use super::engine::who_ended;

/// Reads a job's events from the first to the last and says what must not have happened: a change of status that the
/// contract does not know, attempts that do not grow, a step or an end by a worker that no longer held the job.
///
/// The events are the truth about what was accepted: each was written in the transaction of what it tells.
pub fn check_history(job: &str, events: &[Event], status: Status) -> Vec<String> {
    check(History::new(job, Work::Recorded), events, status)
}

/// The same for a job that edits documentation. Its steps do not name their writer, but there must be one.
pub(super) fn check_docs_history(job: &str, events: &[Event], status: Status) -> Vec<String> {
    check(History::new(job, Work::Docs), events, status)
}

/// What was worked on, and so which events there are.
#[derive(PartialEq, Eq)]
enum Work {
    /// Jobs of a [`super::RecordingEngine`].
    Recorded,
    /// Jobs that edit documentation.
    Docs,
}

/// What a job that edits documentation tells while somebody works on it.
const DOCS_STEPS: [&str; 9] =
    ["prepared", "edited", "unchanged", "committed", "resumed", "model_call", "tool_call", "plan", "chore"];

fn check(mut history: History<'_>, events: &[Event], status: Status) -> Vec<String> {
    for (at, event) in events.iter().enumerate() {
        if event.number as usize != at + 1 {
            history.complain(format!("event number {} is in place {}", event.number, at + 1));
        }
        history.follow(event);
    }
    if history.status != status {
        history.complain(format!("is {} but its events say {}", status.as_str(), history.status.as_str()));
    }
    history.wrong
}

struct History<'a> {
    job: &'a str,
    work: Work,
    status: Status,
    attempt: Option<i64>,
    /// Whether a worker holds the job.
    held: bool,
    wrong: Vec<String>,
}

impl<'a> History<'a> {
    fn new(job: &'a str, work: Work) -> Self {
        Self { job, work, status: Status::Active, attempt: None, held: false, wrong: Vec::new() }
    }

    fn complain(&mut self, what: String) {
        self.wrong.push(format!("job {}: {what}", self.job));
    }

    fn follow(&mut self, event: &Event) {
        match event.kind.as_str() {
            "created" if event.number == 1 => {}
            "claimed" => self.claimed(event),
            "message" => self.change(event, Command::Message),
            "completed" => {
                let writer = match self.work {
                    Work::Recorded => event.data["message"].as_str().and_then(who_ended),
                    Work::Docs => self.attempt,
                };
                self.by_its_holder(event, writer);
                self.change(event, Command::Complete);
                self.held = false;
            }
            "failed" => {
                self.change(event, Command::Fail);
                self.held = false;
            }
            "archived" if self.status == Status::Archived => self.complain("was archived twice".to_owned()),
            "archived" => self.change(event, Command::Archive),
            "cancelling" => self.must_be_active(event),
            "retrying" | "released" => {
                self.must_be_active(event);
                self.held = false;
            }
            "reading" | "writing" if self.work == Work::Recorded => {
                self.must_be_active(event);
                self.by_its_holder(event, event.data["attempt"].as_i64());
            }
            step if self.work == Work::Docs && DOCS_STEPS.contains(&step) => {
                self.must_be_active(event);
                self.by_its_holder(event, self.attempt);
            }
            // Also done for a job that has ended without a pull request.
            "pushed" | "opened" | "updated" if self.work == Work::Docs && self.status == Status::Completed => {}
            "pushed" | "opened" | "updated" if self.work == Work::Docs => self.by_its_holder(event, self.attempt),
            other => self.complain(format!("has an event {other:?} that nobody writes")),
        }
    }

    fn claimed(&mut self, event: &Event) {
        self.must_be_active(event);
        if self.held {
            self.complain(format!("event {}: was claimed while a worker held it", event.number));
        }
        let attempt = event.data["attempt"].as_i64();
        if attempt.is_none() || attempt <= self.attempt {
            self.complain(format!("event {}: attempt {attempt:?} after {:?}", event.number, self.attempt));
        }
        (self.attempt, self.held) = (attempt, true);
    }

    fn must_be_active(&mut self, event: &Event) {
        if self.status != Status::Active {
            let was = self.status.as_str();
            self.complain(format!("event {}: {:?} when it was {was}", event.number, event.kind));
        }
    }

    fn by_its_holder(&mut self, event: &Event, writer: Option<i64>) {
        let holder = self.attempt.filter(|_| self.held);
        if writer.is_none() || writer != holder {
            let Event { number, kind, .. } = event;
            self.complain(format!("event {number}: {kind:?} by attempt {writer:?} when {holder:?} held it"));
        }
    }

    fn change(&mut self, event: &Event, command: Command) {
        match self.status.after(command) {
            Ok(status) => self.status = status,
            Err(_) => self.must_be_active(event),
        }
    }
}

#[cfg(test)]
mod tests {
    use copydesk_domain::Timestamp;
    use serde_json::{Value, json};

    use super::super::engine::ended_by;
    use super::*;

    fn history(of: &[(&str, Value)]) -> Vec<Event> {
        let event = |(at, (kind, data)): (usize, &(&str, Value))| Event {
            number: u32::try_from(at + 1).unwrap(),
            kind: (*kind).to_owned(),
            data: data.clone(),
            created_at: Timestamp::from_millis(0),
        };
        of.iter().enumerate().map(event).collect()
    }

    fn said(of: &[(&str, Value)], status: Status) -> String {
        check_history("x", &history(of), status).join("; ")
    }

    fn claimed(attempt: i64) -> (&'static str, Value) {
        ("claimed", json!({ "attempt": attempt }))
    }

    fn step(attempt: i64) -> (&'static str, Value) {
        ("reading", json!({ "attempt": attempt }))
    }

    fn completed(attempt: i64) -> (&'static str, Value) {
        ("completed", json!({ "message": ended_by(attempt) }))
    }

    fn plain(kind: &'static str) -> (&'static str, Value) {
        (kind, json!({}))
    }

    #[test]
    fn an_honest_history_passes() {
        let retried = [plain("created"), claimed(1), step(1), plain("retrying"), claimed(2), step(2), completed(2)];
        assert_eq!(said(&retried, Status::Completed), "");
        let put_away =
            [plain("created"), claimed(1), completed(1), plain("message"), plain("failed"), plain("archived")];
        assert_eq!(said(&put_away, Status::Archived), "");
    }

    #[test]
    fn a_write_by_a_worker_that_lost_its_lease_is_seen() {
        let late = [plain("created"), claimed(1), plain("retrying"), claimed(2), step(1), completed(2)];
        assert!(said(&late, Status::Completed).contains("\"reading\" by attempt Some(1) when Some(2)"));
        let late = [plain("created"), claimed(1), plain("retrying"), claimed(2), completed(1)];
        assert!(said(&late, Status::Completed).contains("\"completed\" by attempt Some(1)"));
        let orphan = [plain("created"), claimed(1), plain("retrying"), step(1)];
        assert!(said(&orphan, Status::Active).contains("when None held it"));
    }

    #[test]
    fn claims_that_do_not_follow_each_other_are_seen() {
        let twice = [plain("created"), claimed(1), claimed(2)];
        assert!(said(&twice, Status::Active).contains("was claimed while a worker held it"));
        let again = [plain("created"), claimed(1), plain("retrying"), claimed(1)];
        assert!(said(&again, Status::Active).contains("attempt Some(1) after Some(1)"));
    }

    #[test]
    fn changes_that_the_contract_does_not_know_are_seen() {
        let twice = [plain("created"), claimed(1), completed(1), completed(1)];
        assert!(said(&twice, Status::Completed).contains("\"completed\" when it was completed"));
        let risen = [plain("created"), plain("archived"), plain("message")];
        assert!(said(&risen, Status::Archived).contains("\"message\" when it was archived"));
        assert!(said(&[plain("created")], Status::Failed).contains("is failed but its events say active"));
        assert!(said(&[plain("created"), plain("archived"), plain("archived")], Status::Archived).contains("twice"));
        let mut gap = history(&[plain("created"), plain("archived")]);
        gap.remove(0);
        assert!(check_history("x", &gap, Status::Archived).join("").contains("event number 2 is in place 1"));
    }
}
