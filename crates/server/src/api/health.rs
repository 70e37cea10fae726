use axum::Json;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
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
}

const OK: Health = Health { status: "ok", version: env!("CARGO_PKG_VERSION") };

/// Says that the process is alive
#[utoipa::path(get, path = "/healthz", tag = "Operation", operation_id = "healthz", security(()),
    responses((status = 200, description = "It is", body = Health, headers(("X-Request-Id" = String)))))]
pub(crate) async fn healthz() -> Json<Health> {
    Json(OK)
}

/// Says whether requests can be served: the database answers and takes writes
#[utoipa::path(get, path = "/readyz", tag = "Operation", operation_id = "readyz", security(()),
    responses((status = 200, description = "They can", body = Health, headers(("X-Request-Id" = String))),
        (status = 503, description = "Shutting down, or the database cannot be reached or takes no writes", body = ErrorBody)))]
pub(crate) async fn readyz(State(app): State<App>) -> Result<Json<Health>, Problem> {
    app.store().ping().await?;
    Ok(Json(OK))
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
    ([(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], app.desk().metrics.render())
}
