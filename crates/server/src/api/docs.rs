//! The OpenAPI description and a page to read it with, both from inside the program.

use std::io::Read;
use std::sync::LazyLock;

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, VARY,
};
use axum::response::{IntoResponse, Redirect, Response};
use flate2::read::GzDecoder;
use serde_json::{Value, json};
use utoipa::OpenApi;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};

use super::examples;
use super::job_requests::PATTERNS;
use crate::app::App;
use crate::problem::{ErrorBody, Problem};

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Copydesk",
        description = "Agent jobs that edit a project's documentation and open a pull request; page views of the \
            documentation, by people and by AI agents.\n\n\
            Every error has the shape of the `Error` schema. Every answer has an `X-Request-Id` header, taken over \
            from the request if it is well-formed. Before any operation a request may be refused because its address \
            (414 `address_too_long`) or its head (431 `head_too_large`) is too long, it is not one of HTTP/1.1 (400 \
            `unreadable_request`), or its sender has too many connections (429 `too_many_connections`). Inside a version of the interface (`/v2/`) there are only additions.",
        license(name = "Apache-2.0", identifier = "Apache-2.0")
    ),
    components(schemas(ErrorBody)),
    security(("adminKey" = [])),
    tags(
        (name = "Agent jobs", description = "Jobs that run in the background"),
        (name = "Pull requests", description = "Pull requests that Copydesk hosts itself"),
        (name = "Page views", description = "Page views, by people and by AI agents, and how to send them"),
        (name = "Webhooks", description = "Notifications about jobs, following the Standard Webhooks specification"),
        (name = "Administration", description = "Projects, keys, members and credentials, with a key of the scope `admin`"),
        (name = "Operation", description = "For operators of the server")
    )
)]
struct Preamble;

pub(super) fn preamble() -> utoipa::openapi::OpenApi {
    let mut api = Preamble::openapi();
    api.info.version = env!("CARGO_PKG_VERSION").to_owned();
    let mut key = Http::new(HttpAuthScheme::Bearer);
    key.description = Some("An admin API key: `copydesk_…`".to_owned());
    if let Some(components) = api.components.as_mut() {
        components.add_security_scheme("adminKey", SecurityScheme::Http(key));
    }
    api
}

/// The OpenAPI 3.1 description of a server that runs these models.
pub fn document(models: &[String]) -> Value {
    static STATIC: LazyLock<Value> = LazyLock::new(|| {
        let (_, api) = super::described().split_for_parts();
        let mut document = serde_json::to_value(api).unwrap_or_default();
        add_common_answers(&mut document);
        add_patterns(&mut document);
        add_links(&mut document);
        forbid_null_parameters(&mut document);
        examples::add(&mut document);
        document
    });
    let mut document = STATIC.clone();
    // The models differ from server to server, and a client should not have to guess.
    document["components"]["schemas"]["CreateJob"]["properties"]["model"]["enum"] =
        models.iter().map(|model| json!(model)).chain([Value::Null]).collect();
    document
}

/// What every operation may answer, those behind a key above all, so that it is written once.
fn add_common_answers(document: &mut Value) {
    let common = [
        ("400", "Something in the request is wrong; `details` names it"),
        ("401", "The key is missing, malformed, unknown, revoked or expired"),
        ("403", "The key lacks the scope"),
        ("404", "There is no such project or job, or the key is not for it"),
        ("408", "The body came too slowly"),
        ("500", "Something went wrong inside; the request id leads to the log"),
        (
            "503",
            "Shutting down, the database cannot be reached, there is no memory for another body, or it took too long",
        ),
    ];
    let Some(paths) = document["paths"].as_object_mut() else { return };
    for (path, operations) in paths {
        let Some(operations) = operations.as_object_mut() else { continue };
        for operation in operations.values_mut() {
            let has_body = operation.get("requestBody").is_some();
            let Some(Value::Object(answers)) = operation.get_mut("responses") else { continue };
            let applies = |status: &str| match status {
                "408" => has_body,
                "500" | "503" => true,
                _ => path.starts_with("/v"),
            };
            for (status, description) in common.iter().filter(|(status, _)| applies(status)) {
                let schema = json!({ "$ref": "#/components/schemas/Error" });
                answers.entry(*status).or_insert_with(
                    || json!({ "description": description, "content": { "application/json": { "schema": schema } } }),
                );
            }
        }
    }
}

fn add_patterns(document: &mut Value) {
    for (schema, property, pattern) in PATTERNS {
        document["components"]["schemas"][schema]["properties"][property]["pattern"] = json!(pattern);
    }
}

/// A client that has created a job knows what it can do with it.
fn add_links(document: &mut Value) {
    let mut links = serde_json::Map::new();
    for (_, operations) in document["paths"].as_object().into_iter().flatten().filter(|(path, _)| path.contains("{id}"))
    {
        for operation in operations.as_object().into_iter().flat_map(|operations| operations.values()) {
            let Some(name) = operation["operationId"].as_str() else { continue };
            let parameters = json!({ "projectId": "$request.path.projectId", "id": "$response.body#/id" });
            links.insert(name.to_owned(), json!({ "operationId": name, "parameters": parameters }));
        }
    }
    document["paths"]["/v2/agent/{projectId}/job"]["post"]["responses"]["201"]["links"] = links.into();
}

/// A parameter that is optional may be left out; it cannot be null, as a type derived from `Option` would have it.
fn forbid_null_parameters(document: &mut Value) {
    let operations = document["paths"].as_object_mut().into_iter().flat_map(|paths| paths.values_mut());
    let operations = operations.filter_map(Value::as_object_mut).flat_map(|operations| operations.values_mut());
    let parameters = operations.filter_map(|operation| operation.get_mut("parameters")?.as_array_mut()).flatten();
    for schema in parameters.filter_map(|parameter| parameter.get_mut("schema")?.as_object_mut()) {
        if let Some(Value::Array(types)) = schema.get_mut("type") {
            types.retain(|it| *it != "null");
        }
        if let Some(Value::Array(choices)) = schema.get_mut("oneOf") {
            choices.retain(|choice| choice["type"] != "null");
        }
    }
}

pub(super) async fn openapi(State(app): State<App>) -> Json<Value> {
    Json(document(&app.desk().jobs.rules().models))
}

pub(super) async fn index() -> Response {
    // Relative links in the page need the full name.
    Redirect::temporary("/docs/index.html").into_response()
}

pub(super) async fn file(path: Result<Path<String>, PathRejection>, headers: HeaderMap) -> Result<Response, Problem> {
    let Path(path) = path.map_err(|_| Problem::route_not_found())?;
    let file = FILES.iter().find(|file| file.name == path).ok_or_else(Problem::route_not_found)?;
    // The page runs only what came with it and talks only to this server.
    let policy = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'";
    let about = [(CONTENT_TYPE, file.media), (CONTENT_SECURITY_POLICY, policy), (CACHE_CONTROL, "max-age=3600")];
    if !file.gzipped {
        return Ok((about, file.bytes).into_response());
    }
    let vary = [(VARY, "accept-encoding")];
    if takes_gzip(&headers) {
        return Ok((about, vary, [(CONTENT_ENCODING, "gzip")], file.bytes).into_response());
    }
    let mut plain = Vec::new();
    GzDecoder::new(file.bytes).read_to_end(&mut plain).expect("it is part of the program, packed by gzip");
    Ok((about, vary, plain).into_response())
}

/// Every browser does; some programs do not.
fn takes_gzip(headers: &HeaderMap) -> bool {
    let words = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    words.flat_map(|value| value.split(',')).any(|word| {
        let (name, weight) = word.split_once(';').unwrap_or((word, ""));
        name.trim().eq_ignore_ascii_case("gzip") && !matches!(weight.trim(), "q=0" | "q=0.0" | "q=0.00" | "q=0.000")
    })
}

struct File {
    name: &'static str,
    media: &'static str,
    bytes: &'static [u8],
    gzipped: bool,
}

macro_rules! file {
    ($name:literal, $media:literal) => {
        File {
            name: $name,
            media: $media,
            bytes: include_bytes!(concat!("../../assets/api-page/", $name)),
            gzipped: false,
        }
    };
    ($name:literal, $media:literal, gzipped) => {
        File {
            name: $name,
            media: $media,
            bytes: include_bytes!(concat!("../../assets/api-page/", $name, ".gz")),
            gzipped: true,
        }
    };
}

/// What the page consists of: Swagger UI (scripts/update-api-page), compressed since every browser takes it so, and
/// what is our own.
static FILES: [File; 7] = [
    file!("index.html", "text/html; charset=utf-8"),
    file!("page.css", "text/css"),
    file!("icon.svg", "image/svg+xml"),
    file!("swagger-initializer.js", "text/javascript"),
    file!("swagger-ui.css", "text/css", gzipped),
    file!("swagger-ui-bundle.js", "text/javascript", gzipped),
    file!("swagger-ui-standalone-preset.js", "text/javascript", gzipped),
];
