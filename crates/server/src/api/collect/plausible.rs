//! Events in Plausible's format, from its scripts and plugins and from our own script.

use axum::extract::State;
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, CONTENT_TYPE, HeaderName, HeaderValue,
};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use copydesk_desk::views::Site;
use copydesk_views::collect::plausible;
use copydesk_views::intake::Refusal;
use copydesk_views::page;
use utoipa::ToSchema;

use super::browser::{Browser, Told};
use super::packed::{self, Bound};
use crate::app::App;
use crate::bodies::Whose;
use crate::body::RequestBody;
use crate::problem::{ErrorBody, Problem};

const BOUND: Bound = Bound(16 * 1024, "16 KiB");
static DROPPED: HeaderName = HeaderName::from_static("x-plausible-dropped");

/// An event in Plausible's format
///
/// Its long names are read too: `name`, `url`, `domain`. Other fields are neither needed nor kept.
#[derive(ToSchema)]
#[schema(as = PlausibleEvent)]
#[allow(dead_code, reason = "describes what copydesk_views reads")]
pub(crate) struct Event {
    /// `pageview`; other events are accepted and dropped.
    #[schema(example = "pageview", min_length = 1)]
    n: String,
    /// The address of the page.
    #[schema(example = "https://docs.example.com/guides/install", pattern = "^https?://")]
    u: String,
    /// The project: one of its domains, or its id; several with commas between them. The host of the page, if not given.
    #[schema(example = "docs.example.com", required = false)]
    d: Option<String>,
}

/// Send a page view from a browser
///
/// Plausible's format, so that its scripts and plugins work by changing the address. No key: everybody's browser sends
/// it. Where a project names its domains, views of other hosts are dropped. The same page told of twice in a moment by the
/// same reader counts once. The answer does not tell which projects there are. Any content type will do; browsers send `text/plain`.
#[utoipa::path(post, path = "/api/event", tag = "Page views", operation_id = "sendPlausibleEvent", security(()),
    request_body(content((Event = "application/json"), (String = "text/plain"))),
    responses((status = 202, description = "Taken", body = String, content_type = "text/plain", headers(
            ("x-plausible-dropped" = String, description = "`1` if the event is not one of a view"))),
        (status = 400, description = "The event cannot be read", body = ErrorBody),
        (status = 413, description = "The body has more than 16 KiB", body = ErrorBody),
        (status = 415, description = "The body has an unknown compression", body = ErrorBody),
        (status = 429, description = "Too many page views come from this network", body = ErrorBody,
            headers(("Retry-After" = u64, description = "Seconds")))))]
pub(crate) async fn send_event(
    State(app): State<App>,
    browser: Browser,
    headers: HeaderMap,
    body: RequestBody,
) -> Response {
    let mut response = match take(&app, &browser, &headers, body).await {
        Ok(is_view) => accepted(is_view),
        Err(problem) => problem.into_response(),
    };
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("x-plausible-dropped"));
    response
}

/// Ask whether a browser may send a page view
///
/// The question that browsers ask before some requests to another host (CORS).
#[utoipa::path(options, path = "/api/event", tag = "Page views", operation_id = "maySendPlausibleEvent", security(()),
    responses((status = 204, description = "It may")))]
pub(crate) async fn may_send_event() -> Response {
    let headers = [
        (ACCESS_CONTROL_ALLOW_ORIGIN, "*"),
        (ACCESS_CONTROL_ALLOW_METHODS, "POST, OPTIONS"),
        (ACCESS_CONTROL_ALLOW_HEADERS, "content-type"),
        (ACCESS_CONTROL_MAX_AGE, "86400"),
    ];
    (StatusCode::NO_CONTENT, headers).into_response()
}

/// Whether the event is one of a view. Whether that is counted depends on the project, of which nothing is told.
async fn take(app: &App, browser: &Browser, headers: &HeaderMap, body: RequestBody) -> Result<bool, Problem> {
    browser.admitted(app)?;
    let bytes = packed::raw(app, headers, body, Whose::Stranger, BOUND).await?;
    let bytes = packed::plain(app, headers, bytes, Whose::Stranger, BOUND).await?;
    let event = plausible::read(&bytes)
        .map_err(|wrong| Problem::new(StatusCode::BAD_REQUEST, wrong.code, format!("The event is wrong: {wrong}.")))?;
    if !event.is_view() || browser.is_prefetch() {
        return Ok(false);
    }
    page::shown(&event.url).map_err(|error| refused(Refusal::Path(error)))?;
    for name in &event.sites {
        let Some(site) = Site::find(app.store(), name).await? else { continue };
        if !site.takes(&event.host) {
            continue;
        }
        if let Told::Refused(refusal) = browser.tell(app, &site, &event.url).await? {
            return Err(refused(refusal));
        }
    }
    Ok(true)
}

fn refused(refusal: Refusal) -> Problem {
    Problem::new(StatusCode::BAD_REQUEST, refusal.as_str(), format!("The event is wrong: {refusal}."))
}

fn accepted(is_view: bool) -> Response {
    let text = (CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    let mut response = (StatusCode::ACCEPTED, [text], "ok").into_response();
    if !is_view {
        response.headers_mut().insert(DROPPED.clone(), HeaderValue::from_static("1"));
    }
    response
}
