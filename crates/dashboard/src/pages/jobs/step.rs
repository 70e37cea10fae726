//! What happened to a job, in words.

use copydesk_domain::{Message, Timestamp};
use copydesk_store::Event;
use serde_json::Value;

use crate::words::{many, money, number, short};

/// One step of the timeline.
pub(super) struct Step {
    pub(super) number: u32,
    pub(super) at: Timestamp,
    /// How its mark looks.
    pub(super) look: &'static str,
    pub(super) title: String,
    pub(super) words: String,
    /// What is folded.
    pub(super) lines: Vec<String>,
    pub(super) text: String,
}

/// What came before the steps that are shown next.
#[derive(Default)]
pub(super) struct Before {
    /// What the last event was.
    pub(super) kind: Option<String>,
    pub(super) prompts: Vec<Message>,
}

impl Before {
    /// The steps that events make, oldest first.
    pub(super) fn steps(&mut self, events: Vec<Event>) -> Vec<Step> {
        // A plan is told by itself, and needs not be told as a call, too.
        let is_told = |event: &Event| event.kind != "tool_call" || event.data["tool"] != "plan";
        events
            .into_iter()
            .filter(is_told)
            .map(|event| {
                let step = self.step(&event);
                self.kind = Some(event.kind);
                step
            })
            .collect()
    }

    fn step(&self, event: &Event) -> Step {
        let Said { look, title, words, lines, text } = self.say(event);
        Step { number: event.number, at: event.created_at, look, title, words, lines, text }
    }

    fn say(&self, event: &Event) -> Said {
        let data = &event.data;
        match event.kind.as_str() {
            "created" => said("Created", format!("for {}", text(data, "model"))),
            "message" => said("Follow-up", self.prompt(count(data, "message"))),
            "claimed" => self.claimed(count(data, "attempt")),
            "resumed" => said(
                "Continues from recorded answers",
                format!(
                    "{} used again; {} not paid for twice",
                    many(count(data, "replayedAnswers"), "answer of the model is", "answers of the model are"),
                    many(count(data, "tokensSaved"), "token is", "tokens are")
                ),
            ),
            "retrying" => retrying(data),
            "released" => {
                broke("Handed back", "the process that worked on it was stopped; what was done is kept".to_owned())
            }
            "waiting" => broke("Waits for the code host", text(data, "reason")),
            "cancelling" => said("Cancellation asked for", String::new()),
            "completed" => Said { look: "done", ..said("Completed", text(data, "message")) },
            "failed" => Said { look: "bad", ..said(failed(data), text(data, "message")) },
            "archived" => said("Archived", String::new()),
            "link_revoked" => said("Link of the pull request revoked", "the old one leads nowhere".to_owned()),
            "prepared" => said("Prepared", format!("from commit {}", commit(data, "base"))),
            "source_unread" => {
                broke("Code source not read", format!("{}: {}", text(data, "source"), text(data, "reason")))
            }
            "edited" | "unchanged" => edited(data),
            "committed" => said("Committed", format!("{} on {}", commit(data, "commit"), text(data, "branch"))),
            "pushed" => said("Pushed", format!("branch {}", text(data, "branch"))),
            "taken_back" => said("Branch removed", "no pull request could be opened from it".to_owned()),
            "opened" => said("Pull request opened", text(data, "prLink")),
            "updated" => said("Pull request updated", text(data, "prLink")),
            "not_furnished" => {
                Said { lines: list(data, "reasons"), ..broke("Labels or reviewers are missing", String::new()) }
            }
            "pull_request" => {
                said(format!("Pull request is {}", text(data, "state")), format!("#{}", count(data, "number")))
            }
            "model_call" => model_call(data),
            "model_failed" => broke(
                "Model does not answer",
                format!(
                    "{} Next try in {}.",
                    text(data, "reason"),
                    many(count(data, "nextInSeconds"), "second", "seconds")
                ),
            ),
            "tool_call" => tool_call(data),
            "plan" => {
                let lines = list(data, "items");
                Said { lines, ..said("Planned", many(list(data, "items").len(), "point", "points")) }
            }
            "repairing" => Said {
                lines: list(data, "findings"),
                ..said("Repairs what the checks found", many(count(data, "count"), "finding", "findings"))
            },
            "chore" => Said { lines: list(data, "files"), ..said(text(data, "title"), chore(data)) },
            // One that is newer than this page.
            other => Said { text: folded(data), ..said(other.replace('_', " "), String::new()) },
        }
    }

    fn claimed(&self, attempt: u64) -> Said {
        match self.kind.as_deref() {
            Some("retrying" | "released" | "waiting") => {
                said("Resumed", format!("by a worker, attempt {}", number(attempt)))
            }
            _ => said("Taken by a worker", String::new()),
        }
    }

    fn prompt(&self, number: u64) -> String {
        let prompt = self.prompts.iter().find(|message| u64::from(message.number) == number);
        prompt.map(|message| short(message.prompt.trim().lines().next().unwrap_or_default(), 200)).unwrap_or_default()
    }
}

struct Said {
    look: &'static str,
    title: String,
    words: String,
    lines: Vec<String>,
    text: String,
}

fn said(title: impl Into<String>, words: String) -> Said {
    Said { look: "done", title: title.into(), words, lines: Vec::new(), text: String::new() }
}

fn broke(title: &str, words: String) -> Said {
    Said { look: "broke", ..said(title, words) }
}

/// What the store says of a worker that is silent.
const SILENT: &str = "its worker stopped answering";

fn retrying(data: &Value) -> Said {
    let reason = text(data, "reason");
    if reason.contains(SILENT) {
        return broke(
            "Worker lost",
            "it stopped answering; what was done is kept, and nothing is paid for again".to_owned(),
        );
    }
    broke("Tried again", reason)
}

fn failed(data: &Value) -> &'static str {
    match data["outcome"].as_str() {
        Some("cancelled") => "Cancelled",
        Some("timed_out") => "Out of time",
        Some("checks_failed") => "Not accepted by the checks",
        Some("blocked") => "Could not be done",
        _ => "Failed",
    }
}

fn edited(data: &Value) -> Said {
    let verdict = match data["verdict"].as_str() {
        // Also an event of before, which was called as if something had been edited.
        Some("unchanged") => return said("Changed nothing", String::new()),
        Some("draft") => "with findings of the checks, so it becomes a draft",
        Some("refused") => "the checks do not accept it",
        _ => "the checks accept it",
    };
    let title = text(data, "title");
    said("Edited", if title.is_empty() { verdict.to_owned() } else { format!("{title}; {verdict}") })
}

fn model_call(data: &Value) -> Said {
    let cost = data["costUsd"].as_f64().map(|cost| format!(", {}", money(&cost))).unwrap_or_default();
    let calls = match count(data, "toolCalls") {
        0 => String::new(),
        calls => format!(", asks for {}", many(calls, "tool", "tools")),
    };
    let (input, output) = (number(count(data, "inputTokens")), number(count(data, "outputTokens")));
    said("Model answered", format!("{input} tokens in, {output} out{cost}{calls}"))
}

fn tool_call(data: &Value) -> Said {
    let is_well = data["ok"].as_bool().unwrap_or(true);
    let what = ["path", "pattern", "old_text", "from", "text", "folder", "title"]
        .iter()
        .find_map(|name| data["arguments"][name].as_str());
    let result = short(&text(data, "result"), 120);
    let words = what.map_or_else(|| result.clone(), |what| short(what, 120));
    let look = if is_well { "done" } else { "warn" };
    let words = if is_well { words } else { format!("{words}: did not work") };
    let text = format!("{}\n\n{}", folded(&data["arguments"]), text(data, "result"));
    Said { look, text, ..said(self::text(data, "tool"), words) }
}

fn chore(data: &Value) -> String {
    let left = match count(data, "left") {
        0 => String::new(),
        left => format!(", {} left as they were", many(left, "place", "places")),
    };
    format!(
        "{} in {}{left}",
        many(count(data, "places"), "place", "places"),
        many(count(data, "filesChanged"), "file", "files")
    )
}

fn text(data: &Value, name: &str) -> String {
    data[name].as_str().unwrap_or_default().to_owned()
}

fn count(data: &Value, name: &str) -> u64 {
    data[name].as_u64().unwrap_or_default()
}

fn commit(data: &Value, name: &str) -> String {
    text(data, name).chars().take(10).collect()
}

fn list(data: &Value, name: &str) -> Vec<String> {
    let items = data[name].as_array().map(Vec::as_slice).unwrap_or_default();
    items.iter().filter_map(|item| item.as_str()).map(str::to_owned).collect()
}

fn folded(data: &Value) -> String {
    serde_json::to_string_pretty(data).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn event(number: u32, kind: &str, data: Value) -> Event {
        Event { number, kind: kind.to_owned(), data, created_at: Timestamp::from_millis(0) }
    }

    #[test]
    fn a_lost_worker_and_the_next_one_are_told_apart() {
        let events = vec![
            event(1, "claimed", json!({"attempt": 1})),
            event(2, "retrying", json!({"reason": SILENT})),
            event(3, "claimed", json!({"attempt": 2})),
            event(4, "resumed", json!({"replayedAnswers": 1, "tokensSaved": 6120})),
        ];
        let steps = Before::default().steps(events);
        let told: Vec<_> = steps.iter().map(|step| (step.look, step.title.as_str())).collect();
        assert_eq!(
            told,
            [
                ("done", "Taken by a worker"),
                ("broke", "Worker lost"),
                ("done", "Resumed"),
                ("done", "Continues from recorded answers")
            ]
        );
        assert_eq!(steps[3].words, "1 answer of the model is used again; 6,120 tokens are not paid for twice");
    }

    #[test]
    fn whatever_an_event_says_it_can_be_shown() {
        for data in [json!(null), json!({}), json!([1]), json!({"items": [1, "a"], "arguments": 3, "costUsd": "x"})] {
            let kinds = ["created", "message", "claimed", "resumed", "retrying", "failed", "edited", "model_call"];
            for kind in kinds.into_iter().chain(["tool_call", "plan", "repairing", "chore", "something_new"]) {
                Before::default().steps(vec![event(1, kind, data.clone())]);
            }
        }
    }
}
