//! The routes, one file a resource, and the description of them all.

mod admin;
mod analytics;
mod change;
mod collect;
mod docs;
mod events;
mod examples;
mod health;
mod host_hooks;
mod host_words;
mod job_requests;
mod jobs;
mod mcp;
mod parts;
mod pull_page;
mod webhooks;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::middleware;
use axum::response::IntoResponse;
use axum::routing::{get, post};
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{NotForContentType, Predicate, SizeAbove};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::auth::Reader;
use crate::beside::Pages;
use crate::edge;
use crate::operation::Operation;
use crate::problem::Problem;

pub use docs::document;

/// Everything the server answers to, with the pages beside it.
pub fn router(app: App, pages: Pages) -> Router {
    let compress = SizeAbove::new(1024).and(NotForContentType::SSE).and(NotForContentType::IMAGES);
    let (router, _) = described().split_for_parts();
    // They say much about who uses the server and how. Where they are shown to all, that was asked for.
    let router = if app.limits().public_metrics { router.route("/metrics", get(health::metrics)) } else { router };
    let process = app.operation().clone();
    let beside = pages.prepared(app.clone());
    let interface = described().split_for_parts().0.with_state(app.clone());
    let take =
        move |State(app): State<App>, caller: Reader, request: Request| mcp::take(interface, app, caller, request);
    router
        // A protocol of its own, which describes itself.
        .route("/mcp/{projectId}", post(take))
        .route("/openapi.json", get(docs::openapi))
        .route("/docs", get(docs::index))
        .route("/docs/", get(docs::index))
        .route("/docs/{*file}", get(docs::file))
        .with_state(app)
        .merge(beside)
        .fallback(move |request| pages.fallback(request))
        .method_not_allowed_fallback(method_not_allowed)
        .layer(CompressionLayer::new().gzip(true).compress_when(compress))
        .layer(middleware::from_fn_with_state(process, edge::guard))
}

/// The routes that are part of the described interface: none can be served without its description.
fn described() -> OpenApiRouter<App> {
    OpenApiRouter::with_openapi(docs::preamble())
        .routes(routes!(jobs::create_job))
        .routes(routes!(jobs::get_job))
        .routes(routes!(jobs::list_jobs))
        .routes(routes!(jobs::message_job))
        .routes(routes!(jobs::cancel_job))
        .routes(routes!(jobs::archive_job))
        .routes(routes!(jobs::revoke_link))
        .routes(routes!(events::job_events))
        .routes(routes!(change::job_diff))
        .routes(routes!(change::open_pull_request))
        .routes(routes!(host_hooks::hear))
        .routes(routes!(analytics::page_views))
        .routes(routes!(analytics::view_series))
        .routes(routes!(analytics::view_agents))
        .merge(collect::routes())
        .merge(webhooks::routes())
        .merge(admin::routes())
        .merge(pull_page::described())
        .routes(routes!(health::healthz))
        .routes(routes!(health::readyz))
}

/// What is answered to those who run the process, on a listener of their own.
pub(crate) fn operation_router(process: Operation) -> Router {
    Router::new()
        .route("/healthz", get(health::healthz))
        .route("/readyz", get(health::readyz_in_full))
        .route("/metrics", get(health::metrics))
        .fallback(|| async { Problem::route_not_found() })
        .method_not_allowed_fallback(method_not_allowed)
        .layer(middleware::from_fn_with_state(process.clone(), edge::guard))
        .with_state(process)
}

/// The router adds the `Allow` header.
async fn method_not_allowed() -> impl IntoResponse {
    Problem::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "method_not_allowed",
        "This address does not take that method; the Allow header names those it takes.",
    )
}
