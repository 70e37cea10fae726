//! A project's webhooks over HTTP.

mod deliveries;
mod requests;

use axum::extract::{FromRequestParts, RawPathParams, State};
use axum::http::header::{HeaderValue, LOCATION};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use copydesk_desk::webhooks::{NotMade, WebhookView};
use copydesk_store::{WebhookDelivery, WebhookEndpoint};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::api::parts::webhooks;
use crate::app::App;
use crate::auth::{Caller, Reader, Writer};
use crate::body::{self, RequestBody};
use crate::problem::{ErrorBody, Problem};
use requests::CreateWebhook;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list_webhooks, create_webhook))
        .routes(routes!(get_webhook, delete_webhook))
        .routes(routes!(pause_webhook))
        .routes(routes!(resume_webhook))
        .routes(routes!(rotate_webhook))
        .routes(routes!(deliveries::test_webhook))
        .routes(routes!(deliveries::list_deliveries))
        .routes(routes!(deliveries::redeliver))
}

/// What the address names beside the project. Text that is not UTF-8 names nothing that exists.
struct Named {
    webhook: String,
    delivery: String,
}

impl FromRequestParts<App> for Named {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let Ok(params) = RawPathParams::from_request_parts(parts, app).await else { return Err(not_found()) };
        let find = |wanted: &str| params.iter().find(|(name, _)| *name == wanted).map(|(_, value)| value.to_owned());
        // PostgreSQL cannot even be asked about a NUL.
        let plain = |value: &String| !value.contains('\0');
        let find = |wanted: &str| find(wanted).filter(plain).unwrap_or_default();
        Ok(Self { webhook: find("webhookId"), delivery: find("deliveryId") })
    }
}

impl Named {
    /// The webhook, if it is one of the caller's project.
    async fn webhook(&self, app: &App, caller: &Caller) -> Result<WebhookEndpoint, Problem> {
        let found = app.store().webhook(&self.webhook).await?;
        found.filter(|endpoint| endpoint.project_id == caller.project.id).ok_or_else(not_found)
    }

    /// The delivery, if it is one of that webhook.
    async fn delivery(&self, app: &App, webhook: &WebhookEndpoint) -> Result<WebhookDelivery, Problem> {
        let found = app.store().delivery(&self.delivery).await?;
        found.filter(|delivery| delivery.endpoint_id == webhook.id).ok_or_else(delivery_not_found)
    }
}

fn not_found() -> Problem {
    Problem::new(StatusCode::NOT_FOUND, "webhook_not_found", "There is no such webhook in this project.")
}

fn delivery_not_found() -> Problem {
    Problem::new(StatusCode::NOT_FOUND, "delivery_not_found", "There is no such delivery of this webhook.")
}

fn shown(endpoint: &WebhookEndpoint) -> Response {
    axum::Json(WebhookView::from(endpoint)).into_response()
}

/// The webhooks of a project, oldest first
#[derive(Serialize, ToSchema)]
struct WebhookList<'a> {
    webhooks: Vec<WebhookView<'a>>,
}

/// List a project's webhooks
#[utoipa::path(get, path = "/v1/webhooks/{projectId}", tag = "Webhooks", operation_id = "listWebhooks",
    params(("projectId" = String, Path, description = "The project")),
    responses((status = 200, description = "The webhooks, oldest first", body = WebhookList)))]
async fn list_webhooks(State(app): State<App>, Reader(caller): Reader) -> Result<Response, Problem> {
    let endpoints = app.store().webhooks(Some(&caller.project.id)).await?;
    Ok(axum::Json(WebhookList { webhooks: endpoints.iter().map(WebhookView::from).collect() }).into_response())
}

/// Add a webhook
///
/// Deliveries are signed after the Standard Webhooks specification. The `secret` of the answer is shown only now.
#[utoipa::path(post, path = "/v1/webhooks/{projectId}", tag = "Webhooks", operation_id = "createWebhook",
    params(("projectId" = String, Path, description = "The project")),
    request_body(content = CreateWebhook, content_type = "application/json"),
    responses((status = 201, description = "The webhook with its secret", body = WebhookView,
            headers(("Location" = String, description = "Where to find it"))),
        (status = 409, description = "The project has as many webhooks as it can have", body = ErrorBody),
        (status = 413, description = "The body has more than 1 MiB", body = ErrorBody),
        (status = 415, description = "The body is not JSON", body = ErrorBody)))]
async fn create_webhook(
    State(app): State<App>,
    Writer(caller): Writer,
    headers: HeaderMap,
    body: RequestBody,
) -> Result<Response, Problem> {
    let bytes = body::read(&app, &headers, body).await?;
    let wish = body::parse::<CreateWebhook>(&bytes)?.into_wish(&caller.project)?;
    let (endpoint, secret) = webhooks(&app)?.add(&caller.store(&app), wish).await?;
    let view = WebhookView::from(&endpoint).with_secret(&secret);
    let mut response = (StatusCode::CREATED, axum::Json(view)).into_response();
    if let Ok(location) = HeaderValue::from_str(&format!("/v1/webhooks/{}/{}", caller.project.id, endpoint.id)) {
        response.headers_mut().insert(LOCATION, location);
    }
    Ok(response)
}

impl From<NotMade> for Problem {
    fn from(why: NotMade) -> Self {
        match why {
            NotMade::Invalid(invalid) => Self::invalid_all(vec![invalid.into()]),
            NotMade::NoProject => Self::project_not_found(),
            NotMade::TooMany(most) => {
                let error = format!("The project has {most} webhooks, and cannot have more; remove one first.");
                Self::new(StatusCode::CONFLICT, "too_many_webhooks", error)
            }
            NotMade::Vault(error) => error.into(),
        }
    }
}

/// Get a webhook
#[utoipa::path(get, path = "/v1/webhooks/{projectId}/{webhookId}", tag = "Webhooks", operation_id = "getWebhook",
    params(("projectId" = String, Path, description = "The project"),
        ("webhookId" = String, Path, description = "The webhook")),
    responses((status = 200, description = "The webhook", body = WebhookView)))]
async fn get_webhook(State(app): State<App>, Reader(caller): Reader, named: Named) -> Result<Response, Problem> {
    Ok(shown(&named.webhook(&app, &caller).await?))
}

/// Remove a webhook
///
/// Its waiting deliveries are dropped.
#[utoipa::path(delete, path = "/v1/webhooks/{projectId}/{webhookId}", tag = "Webhooks",
    operation_id = "deleteWebhook",
    params(("projectId" = String, Path, description = "The project"),
        ("webhookId" = String, Path, description = "The webhook")),
    responses((status = 204, description = "It is removed")))]
async fn delete_webhook(State(app): State<App>, Writer(caller): Writer, named: Named) -> Result<Response, Problem> {
    let endpoint = named.webhook(&app, &caller).await?;
    caller.store(&app).remove_webhook(&endpoint.id).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Pause a webhook
///
/// Events from now on are not delivered, not even later; deliveries that are waiting keep waiting.
#[utoipa::path(post, path = "/v1/webhooks/{projectId}/{webhookId}/pause", tag = "Webhooks",
    operation_id = "pauseWebhook",
    params(("projectId" = String, Path, description = "The project"),
        ("webhookId" = String, Path, description = "The webhook")),
    responses((status = 200, description = "The webhook", body = WebhookView)))]
async fn pause_webhook(State(app): State<App>, Writer(caller): Writer, named: Named) -> Result<Response, Problem> {
    let endpoint = named.webhook(&app, &caller).await?;
    let paused = caller.store(&app).pause_webhook(&endpoint.id, "Somebody paused it.").await?;
    Ok(shown(&paused.ok_or_else(not_found)?))
}

/// Resume a webhook
///
/// Waiting deliveries are sent at once.
#[utoipa::path(post, path = "/v1/webhooks/{projectId}/{webhookId}/resume", tag = "Webhooks",
    operation_id = "resumeWebhook",
    params(("projectId" = String, Path, description = "The project"),
        ("webhookId" = String, Path, description = "The webhook")),
    responses((status = 200, description = "The webhook", body = WebhookView)))]
async fn resume_webhook(State(app): State<App>, Writer(caller): Writer, named: Named) -> Result<Response, Problem> {
    let endpoint = named.webhook(&app, &caller).await?;
    Ok(shown(&caller.store(&app).resume_webhook(&endpoint.id).await?.ok_or_else(not_found)?))
}

/// Give a webhook a new secret
///
/// The new one is shown only now. For 24 hours deliveries carry a signature with the old one too, so that receivers can
/// change over.
#[utoipa::path(post, path = "/v1/webhooks/{projectId}/{webhookId}/rotate", tag = "Webhooks",
    operation_id = "rotateWebhook",
    params(("projectId" = String, Path, description = "The project"),
        ("webhookId" = String, Path, description = "The webhook")),
    responses((status = 200, description = "The webhook with its new secret", body = WebhookView)))]
async fn rotate_webhook(State(app): State<App>, Writer(caller): Writer, named: Named) -> Result<Response, Problem> {
    let endpoint = named.webhook(&app, &caller).await?;
    let rotated = webhooks(&app)?.rotate(&caller.store(&app), &endpoint.id).await?;
    let (endpoint, secret) = rotated.ok_or_else(not_found)?;
    Ok(axum::Json(WebhookView::from(&endpoint).with_secret(&secret)).into_response())
}
