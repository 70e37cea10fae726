//! Holds every answer against the server's own OpenAPI document and against the contract's rules for all answers.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use jsonschema::Validator;
use reqwest::Method;
use reqwest::header::{ALLOW, CONTENT_TYPE, HeaderMap, RETRY_AFTER, WWW_AUTHENTICATE};
use serde_json::{Value, json};

/// Routes that are served without being part of the described interface.
const UNDESCRIBED: [&str; 3] = ["/openapi.json", "/docs", "/metrics"];

/// The OpenAPI document of a server, ready to hold answers against.
pub struct Description {
    document: Value,
    validators: Mutex<HashMap<String, Arc<Validator>>>,
}

/// An answer as far as it can be held against the document.
pub(crate) struct Seen<'a> {
    pub(crate) method: &'a Method,
    /// With or without a query.
    pub(crate) path: &'a str,
    pub(crate) status: u16,
    pub(crate) headers: &'a HeaderMap,
    /// None if it was not read to its end: a stream.
    pub(crate) body: Option<&'a [u8]>,
}

impl Description {
    /// The description of a server that runs these models.
    pub fn new(models: &[String]) -> Self {
        Self { document: copydesk_server::api::document(models), validators: Mutex::default() }
    }

    /// Every path of the interface, with its methods in capitals.
    pub fn routes(&self) -> Vec<(String, Vec<String>)> {
        let paths = self.document["paths"].as_object().unwrap();
        let methods = |operations: &Value| operations.as_object().unwrap().keys().map(|it| it.to_uppercase()).collect();
        paths.iter().map(|(path, operations)| (path.clone(), methods(operations))).collect()
    }

    /// Panics, saying what is wrong, unless the answer is one that the document and the contract allow.
    pub(crate) fn check(&self, seen: &Seen<'_>) {
        if let Err(wrong) = self.judge(seen) {
            let body = seen.body.map(String::from_utf8_lossy).unwrap_or_default();
            let body: String = body.chars().take(2000).collect();
            panic!(
                "an answer breaks the contract: {wrong}\n  {} {}\n  {}\n  {:?}\n  {body}",
                seen.method, seen.path, seen.status, seen.headers
            );
        }
    }

    fn judge(&self, seen: &Seen<'_>) -> Result<(), String> {
        if text(seen.headers, "x-request-id").is_none_or(str::is_empty) {
            return Err("there is no X-Request-Id".to_owned());
        }
        if seen.status >= 400 {
            judge_error(seen)?;
        }
        let path = seen.path.split('?').next().unwrap_or_default();
        let Some((template, operations)) = self.route(path) else { return judge_undescribed(path, seen.status) };
        // HEAD is GET without its body.
        let method = if *seen.method == Method::HEAD { "get".to_owned() } else { seen.method.as_str().to_lowercase() };
        let Some(operation) = operations.get(&method) else {
            // While it stops a server says so whatever it is asked.
            let expected = matches!(seen.status, 405 | 503);
            return expected.then_some(()).ok_or(format!("{template} does not describe {method}, so 405 is due"));
        };
        let status = seen.status.to_string();
        let Some(answer) = operation["responses"].get(&status) else {
            return Err(format!("{method} {template} does not declare the status {status}"));
        };
        if answer.get("content").is_none() {
            // An answer without a body has no type either.
            let empty = seen.body.is_some_and(<[u8]>::is_empty) && essence(seen.headers).is_none();
            return empty.then_some(()).ok_or(format!("{method} {template} {status} declares no body"));
        }
        let essence = essence(seen.headers).ok_or("there is no Content-Type")?;
        let Some(content) = answer["content"].get(&essence) else {
            return Err(format!("{method} {template} {status} does not declare the content type {essence}"));
        };
        match seen.body {
            Some(body) if essence == "application/json" && *seen.method != Method::HEAD => {
                self.judge_body(&format!("{method} {template} {status}"), &content["schema"], body)
            }
            _ => Ok(()),
        }
    }

    /// The description of the route that `path` is of.
    fn route(&self, path: &str) -> Option<(&String, &Value)> {
        let fits = |template: &str| {
            let (wanted, given) = (template.split('/'), path.split('/'));
            let same = |(wanted, given): (&str, &str)| wanted == given || wanted.starts_with('{');
            // A parameter may be empty inside an address, but not at its end.
            wanted.clone().count() == given.clone().count() && !path.ends_with('/') && wanted.zip(given).all(same)
        };
        self.document["paths"].as_object()?.iter().find(|(template, _)| fits(template))
    }

    fn judge_body(&self, name: &str, schema: &Value, body: &[u8]) -> Result<(), String> {
        let body: Value = serde_json::from_slice(body).map_err(|error| format!("the body is not JSON: {error}"))?;
        let validator = self.validator(name, schema);
        let mistakes: Vec<_> =
            validator.iter_errors(&body).map(|error| format!("{error} at {:?}", error.instance_path())).collect();
        if mistakes.is_empty() { Ok(()) } else { Err(format!("the body does not fit its schema: {mistakes:?}")) }
    }

    fn validator(&self, name: &str, schema: &Value) -> Arc<Validator> {
        let mut validators = self.validators.lock().unwrap();
        let made = validators.entry(name.to_owned()).or_insert_with(|| {
            // `$ref`s point into the document, so its components come along.
            let whole = json!({ "components": self.document["components"], "allOf": [schema] });
            let options =
                jsonschema::options().with_draft(jsonschema::Draft::Draft202012).should_validate_formats(true);
            Arc::new(options.build(&whole).unwrap_or_else(|error| panic!("the schema of {name} is broken: {error}")))
        });
        made.clone()
    }
}

/// What is not in the document: the document itself and its page, and addresses with nothing at them.
fn judge_undescribed(path: &str, status: u16) -> Result<(), String> {
    let served = UNDESCRIBED.iter().any(|it| path == *it || path.starts_with(&format!("{it}/")));
    match status {
        404 | 503 => Ok(()),
        200 | 307 | 405 if served => Ok(()),
        // A protocol of its own; its tests say what is due.
        _ if path.starts_with("/mcp/") => Ok(()),
        _ => Err(format!("nothing is described at {path}, so 404 is due")),
    }
}

/// The one shape of every error, and the headers that belong to some of them.
fn judge_error(seen: &Seen<'_>) -> Result<(), String> {
    let content_type = text(seen.headers, CONTENT_TYPE.as_str()).unwrap_or_default();
    if content_type != "application/json" {
        return Err(format!("an error must be application/json, not {content_type:?}"));
    }
    let header = |name: &str| text(seen.headers, name).unwrap_or_default();
    match seen.status {
        401 if header(WWW_AUTHENTICATE.as_str()) != "Bearer" => return Err("401 without WWW-Authenticate".to_owned()),
        405 if header(ALLOW.as_str()).is_empty() => return Err("405 without Allow".to_owned()),
        429 if header(RETRY_AFTER.as_str()).parse::<u32>().is_ok_and(|seconds| seconds > 0) => {}
        429 => return Err("429 without a Retry-After in seconds".to_owned()),
        _ => {}
    }
    match seen.body {
        Some(body) if *seen.method != Method::HEAD => judge_error_body(body),
        _ => Ok(()),
    }
}

fn judge_error_body(body: &[u8]) -> Result<(), String> {
    let body: Value = serde_json::from_slice(body).map_err(|error| format!("the error is not JSON: {error}"))?;
    let Some(fields) = body.as_object() else { return Err("the error is not an object".to_owned()) };
    if let Some(extra) = fields.keys().find(|name| !["error", "code", "details"].contains(&name.as_str())) {
        return Err(format!("the error has a field {extra}"));
    }
    let sentence = body["error"].as_str().ok_or("the error says nothing")?;
    if !sentence.ends_with('.') || sentence.contains('\n') || sentence.len() < 10 {
        return Err(format!("the error is no sentence: {sentence:?}"));
    }
    let code = body["code"].as_str().ok_or("the error has no code")?;
    if !code.starts_with(|c: char| c.is_ascii_lowercase())
        || !code.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
    {
        return Err(format!("the code is not in snake case: {code:?}"));
    }
    let Some(details) = fields.get("details") else { return Ok(()) };
    let details =
        details.as_array().filter(|it| !it.is_empty()).ok_or("details must be a list with something in it")?;
    for detail in details {
        let full = |name: &str| detail[name].as_str().is_some_and(|text| !text.is_empty());
        if !full("message") || !full("field") || detail.as_object().is_none_or(|it| it.len() != 2) {
            return Err(format!("a detail has a message and a field and nothing else: {detail}"));
        }
    }
    Ok(())
}

fn text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name)?.to_str().ok()
}

fn essence(headers: &HeaderMap) -> Option<String> {
    Some(text(headers, CONTENT_TYPE.as_str())?.split(';').next()?.trim().to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOBS: &str = "/v2/agent/docs/jobs?limit=1";

    fn judge(method: &str, path: &str, status: u16, headers: &[(&'static str, &str)], body: &Value) -> String {
        let description = Description::new(&crate::app::rules().models);
        let (method, body) = (Method::from_bytes(method.as_bytes()).unwrap(), body.to_string());
        let headers = headers.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect();
        let seen = Seen { method: &method, path, status, headers: &headers, body: Some(body.as_bytes()) };
        description.judge(&seen).err().unwrap_or_default()
    }

    const ID: (&str, &str) = ("x-request-id", "r1");
    const JSON: (&str, &str) = ("content-type", "application/json");

    #[test]
    fn what_the_document_declares_passes() {
        let page = json!({ "jobs": [], "nextCursor": null });
        assert_eq!(judge("GET", JOBS, 200, &[ID, JSON], &page), "");
        assert_eq!(judge("HEAD", JOBS, 200, &[ID, JSON], &Value::Null), "");
        let error =
            json!({ "error": "The limit is wrong.", "code": "x", "details": [{ "message": "m", "field": "f" }] });
        assert_eq!(judge("GET", JOBS, 400, &[ID, JSON], &error), "");
        let error = json!({ "error": "There is nothing here.", "code": "not_found" });
        assert_eq!(judge("GET", "/nowhere", 404, &[ID, JSON], &error), "");
        assert_eq!(judge("PUT", JOBS, 405, &[ID, JSON, ("allow", "GET,HEAD")], &error), "");
    }

    #[test]
    fn what_it_does_not_declare_is_found() {
        let page = json!({ "jobs": [], "nextCursor": null });
        assert!(judge("GET", JOBS, 200, &[JSON], &page).contains("X-Request-Id"));
        assert!(judge("GET", JOBS, 201, &[ID, JSON], &page).contains("the status 201"));
        assert!(
            judge("GET", JOBS, 200, &[ID, ("content-type", "text/plain")], &page).contains("content type text/plain")
        );
        assert!(judge("GET", JOBS, 200, &[ID, JSON], &json!({ "jobs": [] })).contains("nextCursor"));
        assert!(judge("GET", JOBS, 200, &[ID, JSON], &json!({ "jobs": [{}], "nextCursor": null })).contains("schema"));
        assert!(judge("PUT", JOBS, 200, &[ID, JSON], &page).contains("405 is due"));
        assert!(judge("GET", "/nowhere", 200, &[ID, JSON], &page).contains("404 is due"));
    }

    #[test]
    fn errors_of_another_shape_are_found() {
        let good = json!({ "error": "Something is wrong.", "code": "wrong" });
        assert!(judge("GET", JOBS, 401, &[ID, JSON], &good).contains("WWW-Authenticate"));
        assert!(judge("PUT", JOBS, 405, &[ID, JSON], &good).contains("Allow"));
        assert!(judge("POST", "/v2/agent/docs/job", 429, &[ID, JSON], &good).contains("Retry-After"));
        let plain = ("content-type", "text/plain");
        assert!(judge("GET", JOBS, 400, &[ID, plain], &good).contains("application/json"));
        for bad in [
            json!("Something is wrong."),
            json!({ "error": "Something is wrong." }),
            json!({ "error": "", "code": "wrong" }),
            json!({ "error": "Something is wrong.", "code": "Not Snake" }),
            json!({ "error": "Something is wrong.", "code": "wrong", "status": 400 }),
            json!({ "error": "Something is wrong.", "code": "wrong", "details": [] }),
            json!({ "error": "Something is wrong.", "code": "wrong", "details": [{ "message": "m" }] }),
        ] {
            assert_ne!(judge("GET", JOBS, 400, &[ID, JSON], &bad), "", "{bad}");
        }
    }
}
