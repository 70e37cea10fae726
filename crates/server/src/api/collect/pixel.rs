//! A picture for pages on which no script runs.

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, RawQuery, State};
use axum::http::header::{ACCESS_CONTROL_ALLOW_ORIGIN, CACHE_CONTROL, CONTENT_TYPE, HeaderName, REFERER};
use axum::http::{HeaderMap, Method};
use axum::response::{IntoResponse, Response};
use copydesk_desk::views::Site;
use copydesk_views::page;

use super::browser::Browser;
use crate::app::App;
use crate::problem::{ErrorBody, Problem};

/// One transparent dot.
const GIF: &[u8] =
    b"GIF89a\x01\0\x01\0\x80\0\0\0\0\0\xff\xff\xff!\xf9\x04\x01\0\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;";

/// Send a page view by loading an image
///
/// For pages without script: one transparent dot, which is never cached. The page is what `u` says, or else the `Referer`.
/// It counts as the script does. Whatever is wrong, the answer is the picture, unless too many come from one network.
#[utoipa::path(get, path = "/pixel/{project}", tag = "Page views", operation_id = "pixel", security(()),
    params(("project" = String, Path, description = "The project's id or one of its domains, and `.gif`", example = "docs.gif"),
        ("u" = Option<String>, Query, description = "The page: its address or its path")),
    responses((status = 200, description = "The picture", body = Vec<u8>, content_type = "image/gif"),
        (status = 429, description = "Too many page views come from this network", body = ErrorBody,
            headers(("Retry-After" = u64, description = "Seconds")))))]
pub(crate) async fn pixel(
    State(app): State<App>,
    method: Method,
    path: Result<Path<String>, PathRejection>,
    RawQuery(query): RawQuery,
    browser: Browser,
    headers: HeaderMap,
) -> Response {
    if let (Method::GET, Ok(Path(file))) = (method, path) {
        if let Err(problem) = browser.admitted(&app) {
            return problem.into_response();
        }
        if let Err(problem) = tell(&app, &file, query.as_deref(), &browser, &headers).await {
            // A reader's page must not look broken because of us; the log says what was.
            tracing::warn!(?problem, "a view by pixel was not kept");
        }
    }
    let headers = [
        (CONTENT_TYPE, "image/gif"),
        (CACHE_CONTROL, "no-store, max-age=0"),
        (ACCESS_CONTROL_ALLOW_ORIGIN, "*"),
        (HeaderName::from_static("cross-origin-resource-policy"), "cross-origin"),
    ];
    (headers, GIF).into_response()
}

async fn tell(
    app: &App,
    file: &str,
    query: Option<&str>,
    browser: &Browser,
    headers: &HeaderMap,
) -> Result<(), Problem> {
    let name = file.strip_suffix(".gif").unwrap_or(file).to_ascii_lowercase();
    let referer = headers.get(REFERER).and_then(|value| value.to_str().ok());
    let given = form_urlencoded::parse(query.unwrap_or_default().as_bytes())
        .find_map(|(name, value)| (name == "u" && !value.is_empty()).then(|| value.into_owned()));
    let Some(target) = given.as_deref().or(referer) else { return Ok(()) };
    let Some(site) = Site::find(app.store(), &name).await? else { return Ok(()) };
    // A mere path has no host; then it is the page around it that must be of the site, if it is known.
    let host = page::host(target).or_else(|| page::host(referer?));
    if host.is_none_or(|host| site.takes(&host)) {
        browser.tell(app, &site, target).await?;
    }
    Ok(())
}
