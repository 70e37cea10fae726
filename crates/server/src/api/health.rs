use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::response::IntoResponse;
use copydesk_desk::MetricsFormat;
use copydesk_store::StoreError;
use copydesk_views::store::Loss;
use serde::Serialize;
use utoipa::ToSchema;

use crate::operation::Operation;
use crate::problem::{ErrorBody, Problem};

/// The state of the process.
#[derive(Serialize, ToSchema)]
pub(crate) struct Health {
    /// Always `ok`.
    #[schema(example = "ok")]
    status: &'static str,
    /// The version of Copydesk.
    version: &'static str,
    /// What an operator should look at, though requests are served: that a restored copy is dormant, or that everything
    /// is being moved; how much was lost of page views with a damaged file, and on the admin listener, what.
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
        (status = 503, description = "Shutting down, or the database cannot be reached or takes no writes, also because everything was moved to another one", body = ErrorBody)))]
pub(crate) async fn readyz(State(process): State<Operation>) -> Result<Json<Health>, Problem> {
    let count = losses(&process, false).await?.len();
    let detail = || format!("page views: losses noted: {count}; the admin listener says which");
    let mut details = standstill(&process).await?;
    details.extend((count > 0).then(detail));
    Ok(Health::ok(details))
}

/// The same for those who run the process, who may know what was lost.
pub(crate) async fn readyz_in_full(State(process): State<Operation>) -> Result<Json<Health>, Problem> {
    let detail = |loss: &Loss| format!("page views: {}", loss.sentence());
    let mut details = standstill(&process).await?;
    details.extend(losses(&process, true).await?.iter().take(MOST_DETAILS).map(detail));
    Ok(Health::ok(details))
}

const MOVED: &str = "Everything is moving to another database, or has moved; the admin listener says where";

/// Why no job begins, if that is so.
async fn standstill(process: &Operation) -> Result<Vec<String>, Problem> {
    let dormancy = process.store().dormancy().await?.map(|dormancy| dormancy.sentence());
    let moving = process.store().move_note().await?.and_then(|note| note.sentence());
    Ok(dormancy.into_iter().chain(moving).collect())
}

/// What was lost, if the process is ready. Where everything was moved to is told only to those who run the process.
async fn losses(process: &Operation, in_full: bool) -> Result<Vec<Loss>, Problem> {
    match process.store().ping().await {
        Err(StoreError::Moved(_)) if !in_full => return Err(Problem::unavailable(MOVED)),
        ready => ready?,
    }
    Ok(match process.views() {
        Some(views) => views.readers().all_losses().await?,
        None => Vec::new(),
    })
}

/// Figures for Prometheus. Not part of the interface: they are for those who run the process.
pub(crate) async fn metrics(State(process): State<Operation>, headers: HeaderMap) -> impl IntoResponse {
    // Without the database the other figures matter all the more.
    if let Ok(depth) = process.store().queue_depth().await {
        process.metrics().queue(depth);
    }
    if let Ok(state) = process.store().queue_state().await {
        process.metrics().queue_oldest(state.oldest_waiting, process.store().now());
    }
    if let Ok(backlog) = process.store().delivery_backlog().await {
        process.metrics().backlog(backlog, process.store().now());
    }
    if let Some(views) = process.views()
        && let Ok(losses) = views.readers().all_losses().await
    {
        process.metrics().view_losses(losses.len());
    }
    let accept = headers.get(ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    let format = MetricsFormat::accepted(accept);
    ([(CONTENT_TYPE, format.content_type())], process.metrics().render(format))
}
