//! What the user is told while a model works. Everything is bounded.

use serde_json::{Map, Value, json};

use crate::said::{Call, Ran};
use crate::text::{one_line, short};

const LONGEST_STRING: usize = 500;
const LONGEST_RESULT: usize = 300;
const MOST_MEMBERS: usize = 20;
const DEEPEST: usize = 3;

/// A tool was run.
pub(super) fn tool_call(call: &Call, ran: &Ran) -> Value {
    json!({
        "tool": one_line(&call.name, 60),
        "arguments": bounded(&call.arguments, DEEPEST),
        "ok": ran.ok,
        "result": one_line(&ran.text, LONGEST_RESULT),
    })
}

/// The same value with long strings, long lists and deep nesting cut.
fn bounded(value: &Value, depth: usize) -> Value {
    match value {
        Value::String(text) => Value::String(short(text, LONGEST_STRING)),
        Value::Array(_) | Value::Object(_) if depth == 0 => Value::String("…".to_owned()),
        Value::Array(items) => items.iter().take(MOST_MEMBERS).map(|item| bounded(item, depth - 1)).collect(),
        Value::Object(members) => {
            let member = |(name, value): (&String, &Value)| (short(name, 60), bounded(value, depth - 1));
            Value::Object(members.iter().take(MOST_MEMBERS).map(member).collect::<Map<_, _>>())
        }
        other => other.clone(),
    }
}

/// The checks found something and the model is to repair it.
pub(super) fn repairing(findings: &[String]) -> Value {
    let shown: Vec<String> =
        findings.iter().take(MOST_MEMBERS).map(|finding| one_line(finding, LONGEST_RESULT)).collect();
    json!({"count": findings.len(), "findings": shown})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_bounded_at_every_depth() {
        let long = "ä".repeat(5_000);
        let deep = json!({"a": {"b": {"c": {"d": long}}}, "text": long, "list": vec![long.clone(); 500]});
        let call = Call { name: long.clone(), arguments: deep, ..Call::default() };
        let told = tool_call(&call, &Ran { text: long, ok: true, valid: true });
        assert!(told.to_string().len() < 13_000, "{}", told.to_string().len());
        assert_eq!(told["arguments"]["a"]["b"]["c"], "…");
    }
}
