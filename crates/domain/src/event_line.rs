use serde_json::Value;

use crate::visible;

/// The most bytes of an event in words.
const LONGEST: usize = 200;

/// An event of a job, as the interface shows it, in a few words on one line: fit for a terminal.
pub fn event_line(event: &Value) -> String {
    let data = &event["data"];
    let text = |field: &str| data[field].as_str().unwrap_or_default().to_owned();
    let kind = event["type"].as_str().unwrap_or_default();
    let more = match kind {
        "tool_call" => format!("{} {}", text("tool"), data["arguments"]["path"].as_str().unwrap_or_default()),
        "chore" => text("chore"),
        "edited" | "completed" | "failed" => text("title"),
        "committed" | "pushed" => text("branch"),
        "opened" | "updated" => text("prLink"),
        "retrying" => text("reason"),
        _ => String::new(),
    };
    let line = format!("{kind} {more}");
    let mut line: String = visible(line.trim()).chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    line.truncate(line.floor_char_boundary(LONGEST));
    line
}
