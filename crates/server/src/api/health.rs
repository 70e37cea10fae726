use axum::Json;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use copydesk_views::store::Loss;
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::problem::{ErrorBody, Problem};

/// How the process does.
#[derive(Serialize, ToSchema)]
pub(crate) struct Health {
    /// Always `ok`.
    #[schema(example = "ok")]
    status: &'static str,
    /// The version of Copydesk.
    version: &'static str,
    /// What an operator should look at, though requests are served: page views that were lost with a damaged file.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    details: Vec<String>,
}

/// Details that are shown at most.
const MOST_DETAILS: usize = 10;

impl Health {
    fn ok(details: Vec<String>) -> Json<Self> {
        Json(Self { status: "ok", version: env!("CARGO_PKG_VERSION"), details })
    }
}

/// Says that the process is alive
#[utoipa::path(get, path = "/healthz", tag = "Operation", operation_id = "healthz", security(()),
    responses((status = 200, description = "It is", body = Health, headers(("X-Request-Id" = String)))))]
pub(crate) async fn healthz() -> Json<Health> {
    Health::ok(Vec::new())
}

/// Says whether requests can be served: the database answers and takes writes
#[utoipa::path(get, path = "/readyz", tag = "Operation", operation_id = "readyz", security(()),
    responses((status = 200, description = "They can", body = Health, headers(("X-Request-Id" = String))),
        (status = 503, description = "Shutting down, or the database cannot be reached or takes no writes", body = ErrorBody)))]
pub(crate) async fn readyz(State(app): State<App>) -> Result<Json<Health>, Problem> {
    app.store().ping().await?;
    let losses = match &app.desk().views {
        Some(views) => views.readers().all_losses().await?,
        None => Vec::new(),
    };
    let detail = |loss: &Loss| format!("page views: {}", loss.sentence());
    Ok(Health::ok(losses.iter().take(MOST_DETAILS).map(detail).collect()))
}

/// Figures for Prometheus
#[utoipa::path(get, path = "/metrics", tag = "Operation", operation_id = "metrics", security(()),
    responses((status = 200, description = "The figures", body = String, content_type = "text/plain"),
        (status = 503, description = "Shutting down", body = ErrorBody)))]
pub(crate) async fn metrics(State(app): State<App>) -> impl IntoResponse {
    // Without the database the other figures matter all the more.
    if let Ok(depth) = app.store().queue_depth().await {
        app.desk().metrics.queue(depth);
    }
    if let Ok(backlog) = app.store().delivery_backlog().await {
        app.desk().metrics.backlog(backlog, app.store().now());
    }
    if let Some(views) = &app.desk().views
        && let Ok(losses) = views.readers().all_losses().await
    {
        app.desk().metrics.view_losses(losses.len());
    }
    ([(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], app.desk().metrics.render())
}
