//! A tool's call as requests of the interface, and their answers as its result.

use copydesk_domain::random_token;
use rmcp::model::{CallToolResult, ContentBlock, JsonObject};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::api::{Api, Area, Ask, Reply};
use crate::arguments::{CancelJob, CreateJob, GetAiAgents, GetDiff, GetJob, GetPageViews, ListJobs, SendMessage};
use crate::bounds::{bounded, head};

/// The most bytes of a diff in one answer.
const DIFF_PIECE: usize = 60_000;
/// The most bytes of a job's message in a list.
const LISTED_MESSAGE: usize = 300;
/// What a list shows of a job.
const LISTED: [&str; 9] =
    ["id", "status", "outcome", "title", "message", "prLink", "createdAt", "updatedAt", "clientReference"];

/// Why a tool did not do what it was told.
#[derive(Debug)]
pub(crate) struct Wrong {
    sentence: String,
    /// The interface's own error.
    body: Option<Map<String, Value>>,
}

impl Wrong {
    pub(crate) fn told(sentence: impl Into<String>) -> Self {
        Self { sentence: sentence.into(), body: None }
    }

    pub(crate) fn result(self) -> CallToolResult {
        let structured = self.body.unwrap_or_else(|| Map::from_iter([("error".to_owned(), json!(self.sentence))]));
        let mut result = CallToolResult::error(vec![ContentBlock::text(self.sentence)]);
        result.structured_content = Some(Value::Object(structured));
        result
    }
}

pub(crate) type Called = Result<CallToolResult, Wrong>;

/// Calls one of the tools that ask the interface; none if there is no such tool.
pub(crate) async fn call(api: &impl Api, name: &str, arguments: JsonObject) -> Option<Called> {
    Some(match name {
        "create_job" => create_job(api, arguments).await,
        "get_job" => get_job(api, arguments).await,
        "list_jobs" => list_jobs(api, arguments).await,
        "send_message" => send_message(api, arguments).await,
        "cancel_job" => cancel_job(api, arguments).await,
        "get_diff" => get_diff(api, arguments).await,
        "get_page_views" => get_page_views(api, arguments).await,
        "get_ai_agents" => get_ai_agents(api, arguments).await,
        _ => return None,
    })
}

/// A tool's arguments; what is wrong with them is said by name.
pub(crate) fn read<T: DeserializeOwned>(arguments: JsonObject) -> Result<T, Wrong> {
    serde_json::from_value(Value::Object(arguments)).map_err(|error| {
        let error = error.to_string();
        Wrong::told(format!("The arguments are wrong: {}.", head(&error, 300)))
    })
}

/// The result of a tool: what programs read, and the same as text.
pub(crate) fn done(object: Map<String, Value>) -> CallToolResult {
    let value = bounded(object);
    let mut result = CallToolResult::success(vec![ContentBlock::text(value.to_string())]);
    result.structured_content = Some(value);
    result
}

/// Asks, and takes the body of a good answer.
pub(crate) async fn object(api: &impl Api, ask: Ask) -> Result<Map<String, Value>, Wrong> {
    let Reply { status, body, incomplete } = sent(api, ask).await?;
    let strange = || Wrong::told(format!("what answers there is not Copydesk: it says {status} without a JSON object"));
    let Ok(Value::Object(mut object)) = serde_json::from_str(&body) else { return Err(strange()) };
    if !incomplete.is_empty() {
        object.insert("incomplete".to_owned(), json!(incomplete));
    }
    Ok(object)
}

/// Asks; whatever is not a success is the interface's own sentence.
async fn sent(api: &impl Api, ask: Ask) -> Result<Reply, Wrong> {
    let reply = api.ask(ask).await.map_err(Wrong::told)?;
    if (200..300).contains(&reply.status) {
        return Ok(reply);
    }
    let status = reply.status;
    let Ok(Value::Object(mut body)) = serde_json::from_str(&reply.body) else {
        return Err(Wrong::told(format!("what answers there is not Copydesk: it says {status}")));
    };
    let Some(mut sentence) = body.get("error").and_then(Value::as_str).map(str::to_owned) else {
        return Err(Wrong::told(format!("what answers there is not Copydesk: it says {status}")));
    };
    let details = body.get("details").and_then(Value::as_array).cloned().unwrap_or_default();
    // One mistake is the sentence itself.
    for detail in details.iter().filter(|_| details.len() > 1) {
        let text = |name: &str| detail[name].as_str().unwrap_or_default().to_owned();
        sentence.push_str(&format!("\n{}: {}", text("field"), text("message")));
    }
    body.insert("status".to_owned(), json!(status));
    Err(Wrong { sentence, body: Some(body) })
}

/// An id that can stand in an address.
pub(crate) fn id(id: &str) -> Result<&str, Wrong> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    if (1..=64).contains(&id.len()) && id.bytes().all(is_plain) {
        return Ok(id);
    }
    Err(Wrong::told("The id is not that of a job: it has letters, digits and hyphens only; list_jobs shows them."))
}

/// With the key of the call, or one of its own, which lets a request be sent again when nothing was heard of the first. What
/// an HTTP header could not carry would be no error of the interface but a broken request.
fn posted(ask: Ask, key: Option<String>) -> Result<Ask, Wrong> {
    let fits = |key: &String| (1..=255).contains(&key.len()) && key.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    if key.as_ref().is_some_and(|key| !fits(key)) {
        return Err(Wrong::told("The idempotencyKey must be 1 to 255 printable ASCII characters."));
    }
    Ok(ask.header("idempotency-key", key.unwrap_or_else(random_token)))
}

async fn create_job(api: &impl Api, arguments: JsonObject) -> Called {
    let create: CreateJob = read(arguments)?;
    let key = create.idempotency_key.clone();
    let body = serde_json::to_value(create).map_err(|error| Wrong::told(error.to_string()))?;
    Ok(done(object(api, posted(Ask::post(&["job"], body), key)?).await?))
}

async fn get_job(api: &impl Api, arguments: JsonObject) -> Called {
    let get: GetJob = read(arguments)?;
    Ok(done(object(api, Ask::get(Area::Jobs, &["job", id(&get.id)?])).await?))
}

async fn send_message(api: &impl Api, arguments: JsonObject) -> Called {
    let message: SendMessage = read(arguments)?;
    let ask = Ask::post(&["job", id(&message.id)?, "message"], json!({ "prompt": message.prompt }));
    Ok(done(object(api, posted(ask, message.idempotency_key)?).await?))
}

async fn cancel_job(api: &impl Api, arguments: JsonObject) -> Called {
    let cancel: CancelJob = read(arguments)?;
    Ok(done(object(api, Ask::post(&["job", id(&cancel.id)?, "cancel"], Value::Null)).await?))
}

async fn list_jobs(api: &impl Api, arguments: JsonObject) -> Called {
    let list: ListJobs = read(arguments)?;
    let status = list.status.map(|status| json!(status).as_str().unwrap_or_default().to_owned());
    let ask = Ask::get(Area::Jobs, &["jobs"]);
    let ask = ask.with("status", status).with("limit", Some(list.limit.unwrap_or(20))).with("cursor", list.cursor);
    let mut answer = object(api, ask).await?;
    for job in answer.get_mut("jobs").and_then(Value::as_array_mut).into_iter().flatten() {
        let shown = |name: &&str| Some(((*name).to_owned(), job.get(*name)?.clone()));
        let mut listed: Map<_, _> = LISTED.iter().filter_map(shown).collect();
        if let Some(Value::String(message)) = listed.get_mut("message")
            && message.len() > LISTED_MESSAGE
        {
            *message = format!("{}… (cut; get_job has all of it)", head(message, LISTED_MESSAGE));
        }
        *job = Value::Object(listed);
    }
    Ok(done(answer))
}

async fn get_diff(api: &impl Api, arguments: JsonObject) -> Called {
    let get: GetDiff = read(arguments)?;
    let ask = Ask { accept: "text/x-diff", ..Ask::get(Area::Jobs, &["job", id(&get.id)?, "diff"]) };
    let diff = sent(api, ask).await?.body;
    let offset = usize::try_from(get.offset.unwrap_or(0)).unwrap_or(usize::MAX);
    if offset > diff.len() || !diff.is_char_boundary(offset) {
        return Err(Wrong::told(format!("The offset is not one of a nextOffset; the diff has {} bytes.", diff.len())));
    }
    let mut piece = head(&diff[offset..], DIFF_PIECE);
    let is_cut = offset + piece.len() < diff.len();
    // A piece ends with a line where there is one.
    if is_cut && let Some(end) = piece.rfind('\n') {
        piece = &piece[..=end];
    }
    let next = is_cut.then_some(offset + piece.len());
    let mut text = match (piece, next) {
        ("", _) if offset > 0 => "There is no more of the diff.".to_owned(),
        ("", _) => "The job has changed nothing, or not yet.".to_owned(),
        (piece, _) => piece.to_owned(),
    };
    if let Some(next) = next {
        text.push_str(&format!("\n[cut: {} of {} bytes; read on with offset {next}]", piece.len(), diff.len()));
    }
    let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
    result.structured_content = Some(json!({
        "id": get.id, "diff": piece, "offset": offset, "bytes": diff.len(), "cut": is_cut, "nextOffset": next,
    }));
    Ok(result)
}

async fn get_page_views(api: &impl Api, arguments: JsonObject) -> Called {
    let get: GetPageViews = read(arguments)?;
    let ask = Ask::get(Area::Views, &["views"]).with("dateFrom", get.date_from).with("dateTo", get.date_to);
    Ok(done(object(api, ask.with("limit", get.limit).with("offset", get.offset)).await?))
}

async fn get_ai_agents(api: &impl Api, arguments: JsonObject) -> Called {
    let get: GetAiAgents = read(arguments)?;
    let ask = Ask::get(Area::Views, &["views", "agents"]).with("path", get.path).with("pages", get.pages);
    let ask = ask.with("dateFrom", get.date_from).with("dateTo", get.date_to);
    Ok(done(object(api, ask.with("limit", get.limit).with("offset", get.offset)).await?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers everything with the same diff.
    struct Diff(&'static str);

    impl Api for Diff {
        async fn ask(&self, _: Ask) -> Result<Reply, String> {
            Ok(Reply { status: 200, body: self.0.to_owned(), incomplete: Vec::new() })
        }
    }

    #[tokio::test]
    async fn the_end_of_a_diff_is_not_a_job_without_changes() {
        let said = async |diff: &'static str, offset: usize| {
            let arguments = json!({ "id": "a", "offset": offset }).as_object().unwrap().clone();
            let result = call(&Diff(diff), "get_diff", arguments).await.unwrap().unwrap();
            json!(result)["content"][0]["text"].as_str().unwrap().to_owned()
        };
        assert_eq!(said("+A\n", 0).await, "+A\n");
        assert_eq!(said("+A\n", 3).await, "There is no more of the diff.");
        assert_eq!(said("", 0).await, "The job has changed nothing, or not yet.");
    }
}
