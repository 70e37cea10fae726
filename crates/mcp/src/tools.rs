//! The tools, and what a client is told about each.

use std::sync::OnceLock;

use rmcp::model::{Tool, ToolAnnotations};
use rmcp::schemars::JsonSchema;

use crate::arguments::{
    CancelJob, CheckDocs, CreateJob, GetAiAgents, GetDiff, GetJob, GetPageViews, ListJobs, SendMessage, WaitForJob,
};
use crate::schema;

pub(crate) const WAIT_FOR_JOB: &str = "wait_for_job";
pub(crate) const CHECK_DOCS: &str = "check_docs";

/// What a tool does to the world.
#[derive(Clone, Copy)]
enum Effect {
    Reads,
    /// Adds something; calling it again with its idempotency key adds nothing more.
    Adds,
    Ends,
}

/// Every tool; `check_docs` comes last.
pub(crate) fn all() -> &'static [Tool] {
    static ALL: OnceLock<Vec<Tool>> = OnceLock::new();
    ALL.get_or_init(|| {
        vec![
            tool::<CreateJob>("create_job", "Create a documentation job", Effect::Adds, true),
            tool::<GetJob>("get_job", "Look at a job", Effect::Reads, false),
            tool::<WaitForJob>(WAIT_FOR_JOB, "Wait for a job", Effect::Reads, false),
            tool::<ListJobs>("list_jobs", "List jobs", Effect::Reads, false),
            tool::<SendMessage>("send_message", "Send a follow-up to a job", Effect::Adds, true),
            tool::<CancelJob>("cancel_job", "Cancel a job", Effect::Ends, false),
            tool::<GetDiff>("get_diff", "Read what a job changed", Effect::Reads, false),
            tool::<GetPageViews>("get_page_views", "Page views", Effect::Reads, false),
            tool::<GetAiAgents>("get_ai_agents", "AI agents and bots", Effect::Reads, false),
            tool::<CheckDocs>(CHECK_DOCS, "Check documentation files", Effect::Reads, false),
        ]
    })
}

/// `is_open`: whether it leads to somebody outside of Copydesk, such as a code host or a model.
fn tool<T: JsonSchema>(name: &'static str, title: &str, effect: Effect, is_open: bool) -> Tool {
    let (input, about) = schema::of::<T>();
    let hints = ToolAnnotations::with_title(title).open_world(is_open);
    let hints = match effect {
        Effect::Reads => hints.read_only(true).destructive(false).idempotent(true),
        Effect::Adds => hints.read_only(false).destructive(false).idempotent(false),
        Effect::Ends => hints.read_only(false).destructive(true).idempotent(false),
    };
    Tool::new(name, about, input).with_title(title).with_annotations(hints)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn input(name: &str) -> Value {
        let tool = all().iter().find(|tool| tool.name == name).unwrap();
        tool.schema_as_json_value()
    }

    #[test]
    fn schemas_say_exactly_what_is_taken() {
        for tool in all() {
            let schema = tool.schema_as_json_value();
            assert_eq!(schema["type"], "object", "{}", tool.name);
            assert_eq!(schema["additionalProperties"], json!(false), "{}", tool.name);
            assert!(tool.description.as_ref().unwrap().contains("Use it"), "{} says when to use it", tool.name);
            let text = schema.to_string();
            assert!(!text.contains("null") && !text.contains("$ref") && !text.contains("uint"), "{text}");
            for (name, property) in schema["properties"].as_object().unwrap() {
                assert!(property["description"].is_string(), "{}.{name}", tool.name);
            }
        }
        let create = input("create_job");
        assert_eq!(create["required"], json!(["prompt"]));
        assert_eq!(create["properties"]["draft"]["type"], "boolean");
        assert_eq!(create["properties"]["maxCost"]["exclusiveMinimum"], 0);
        assert_eq!(create["properties"]["changes"]["required"], json!(["source", "from"]));
        assert_eq!(create["properties"]["changes"]["additionalProperties"], json!(false));
        let list = input("list_jobs");
        assert_eq!(list["properties"]["status"]["enum"], json!(["active", "completed", "archived", "failed"]));
        assert_eq!(list["properties"]["limit"]["maximum"], 100);
        let wait = &input("wait_for_job")["properties"]["timeoutSeconds"];
        assert_eq!(wait["maximum"], crate::wait::LONGEST_WAIT.as_secs());
        assert_eq!(input("check_docs")["properties"]["docsPaths"]["items"], json!({ "type": "string" }));
    }
}
