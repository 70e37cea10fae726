//! How page views come in: from servers, from browsers, from the logs of those who host sites. One file a way in.

mod batch;
mod browser;
mod drain_key;
mod drains;
mod events;
mod packed;
mod pixel;
mod plausible;
mod script;

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(events::send_events))
        .routes(routes!(plausible::send_event, plausible::may_send_event))
        .routes(routes!(pixel::pixel))
        .routes(routes!(script::script))
        .routes(routes!(drains::vercel, drains::try_vercel))
        .routes(routes!(drains::netlify))
        .routes(routes!(drains::cloudflare))
}
