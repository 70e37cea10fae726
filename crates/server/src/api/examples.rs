//! What "Try it out" of the interface's page sends if nothing is changed: whole bodies that the server takes, in place of
//! what a page makes of a schema by itself, every field with the text `string`.

use serde_json::{Value, json};

/// The project of `copydesk demo`. The page puts in the project that whoever looks at it is signed in to.
const PROJECT: &str = "acme-docs";

/// Bodies by path and method, as JSON.
fn bodies() -> [(&'static str, &'static str, Value); 11] {
    [
        ("/v2/agent/{projectId}/job", "post", json!({ "prompt": "Fix the typos in docs/" })),
        (
            "/v2/agent/{projectId}/job/{id}/message",
            "post",
            json!({ "prompt": "Fill in missing front matter in docs/" }),
        ),
        (
            "/v1/analytics/{projectId}/events",
            "post",
            json!([{ "path": "/guides/install", "userAgent": "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0" }]),
        ),
        (
            "/api/event",
            "post",
            json!({ "n": "pageview", "u": "https://docs.example.com/guides/install", "d": PROJECT }),
        ),
        (
            "/v1/webhooks/{projectId}",
            "post",
            json!({ "url": "https://example.com/hooks/copydesk", "events": ["job.completed", "job.failed"] }),
        ),
        (
            "/v1/admin/projects",
            "post",
            json!({ "name": "Acme Handbook", "repository": "https://github.com/acme/handbook", "baseRef": "main" }),
        ),
        ("/v1/admin/projects/{projectId}", "patch", json!({ "timeZone": "Europe/Berlin" })),
        (
            "/v1/admin/projects/{projectId}/credential",
            "put",
            json!({ "kind": "token", "token": "paste the token here" }),
        ),
        ("/v1/admin/projects/{projectId}/invitations", "post", json!({ "role": "viewer", "note": "For Ada" })),
        ("/v1/admin/projects/{projectId}/members/{userId}", "put", json!({ "role": "viewer" })),
        (
            "/v1/admin/keys",
            "post",
            json!({ "projectId": PROJECT, "name": "Monthly report", "scope": "read", "expires": "90d" }),
        ),
    ]
}

/// What reads or makes something. For the others whoever wants to try them names the project: changing or deleting one must
/// not be one click away.
const FILLED_IN: [&str; 2] = ["get", "post"];

/// Puts examples into the description, for bodies and for the project.
pub(super) fn add(document: &mut Value) {
    for (path, method, body) in bodies() {
        document["paths"][path][method]["requestBody"]["content"]["application/json"]["example"] = body;
    }
    let operations = document["paths"].as_object_mut().into_iter().flat_map(|paths| paths.values_mut());
    let operations = operations.filter_map(Value::as_object_mut).flatten();
    let operations = operations.filter(|(method, _)| FILLED_IN.contains(&method.as_str())).map(|(_, it)| it);
    let parameters = operations.filter_map(|operation| operation.get_mut("parameters")?.as_array_mut()).flatten();
    for parameter in parameters.filter(|it| it["name"] == "projectId" && it["in"] == "path") {
        parameter["example"] = json!(PROJECT);
    }
}
