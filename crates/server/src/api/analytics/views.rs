use axum::extract::{RawQuery, State};
use axum::http::header::{ACCEPT, CONTENT_TYPE, LINK, VARY};
use axum::http::{HeaderMap, HeaderValue};
use axum::response::{IntoResponse, Response};
use copydesk_desk::readers::RankedPages;
use copydesk_domain::dates;
use copydesk_views::store::PageViews;
use serde::Serialize;
use std::sync::Arc;
use utoipa::ToSchema;

use super::query::Query;
use super::{Totals, admitted, csv, incomplete};
use crate::api::parts::views;
use crate::app::App;
use crate::auth::{Caller, Reader};
use crate::problem::{ErrorBody, Problem};

/// Views of a site and of its pages.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ViewsPage {
    /// Of the whole site, over the whole range.
    totals: Totals,
    /// By page: `total` descending, then `path` ascending.
    views: Vec<PageRow>,
    /// Whether there are more pages.
    #[serde(rename = "hasMore")]
    has_more: bool,
}

/// Views of a page.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PageRow {
    /// The page.
    #[schema(value_type = String, example = "/guides/start")]
    path: Arc<str>,
    /// Views by people.
    human: u64,
    /// Views by AI agents.
    ai: u64,
    /// Both together.
    total: u64,
}

impl From<PageViews> for PageRow {
    fn from(page: PageViews) -> Self {
        let Totals { human, ai, total } = page.counts.into();
        Self { path: page.path, human, ai, total }
    }
}

/// Page views.
///
/// Totals of the site and the counts of its pages, each split into people and AI agents. To read all pages, ask with
/// `offset` 0 and add `limit` while `hasMore` is true: the order is kept for five minutes after it was last asked for, so
/// that nothing is missed or repeated while views arrive. It is kept for the key and the range: whoever asks for `offset` 0
/// begins anew for all who read with the same key, so give programs that read at the same time a key each. With `Accept: text/csv` the same rows come as CSV.
#[utoipa::path(
    get,
    path = "/v1/analytics/{projectId}/views",
    tag = "Page views",
    operation_id = "getPageViews",
    params(
        ("projectId" = String, Path, description = "The project's id."),
        ("dateFrom" = Option<String>, Query, description = "From this date or instant on. A date is its midnight in the project's time zone; an instant is rounded down to the quarter hour. Without it: from the beginning."),
        ("dateTo" = Option<String>, Query, description = "Before this date or instant. Without it: no limit."),
        ("limit" = Option<u16>, Query, minimum = 1, maximum = 250, description = "Pages in the answer; 50 if not given."),
        ("offset" = Option<usize>, Query, minimum = 0, description = "Pages to skip; 0 if not given."),
    ),
    responses(
        (status = 200, description = "The views.",
            content((ViewsPage = "application/json"), (String = "text/csv", example = "path,human,ai,total\n/,5,2,7\n")),
            headers(
                ("RateLimit-Limit" = u32, description = "Requests a minute that the key may make; absent if there is no limit."),
                ("RateLimit-Remaining" = u32, description = "How many are left."),
                ("RateLimit-Reset" = u64, description = "Seconds until one more may be made."),
                ("Views-Incomplete" = String, description = "Why the figures may be incomplete: a file was damaged, and views of the range may be missing. Absent if all is well."),
                ("Link" = String, description = "The address of the next page, `rel=\"next\"`, if there is one."),
            )),
        (status = 400, description = "A parameter is wrong.", body = ErrorBody),
        (status = 401, description = "No valid key.", body = ErrorBody),
        (status = 404, description = "No such project.", body = ErrorBody),
        (status = 429, description = "Too many requests with this key.", body = ErrorBody),
        (status = 503, description = "Not now.", body = ErrorBody),
    )
)]
pub(crate) async fn page_views(
    State(app): State<App>,
    Reader(caller): Reader,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let standing = admitted(&app, &caller)?;
    let zone = dates::zone(&caller.project.time_zone);
    let mut query = Query::read(query.as_deref());
    let range = query.range(&zone);
    let (limit, offset) = (query.whole("limit", 50, 1, 250), query.whole("offset", 0, 0, usize::MAX));
    let filters = query.filters();
    query.finish().map_err(|problem| problem.with_headers(&standing))?;
    let ranked = views(&app)?.readers().ranking(&caller.id(), &caller.project, range, offset, limit).await?;
    let RankedPages { totals, pages, has_more, losses, .. } = ranked;
    let mut response = if csv::wanted(headers.get_all(ACCEPT)) {
        ([(CONTENT_TYPE, HeaderValue::from_static(csv::TYPE))], csv::table(&pages)).into_response()
    } else {
        let views = pages.into_iter().map(PageRow::from).collect();
        axum::Json(ViewsPage { totals: totals.into(), views, has_more }).into_response()
    };
    response.headers_mut().extend(standing);
    response.headers_mut().extend(incomplete(&losses));
    response.headers_mut().insert(VARY, HeaderValue::from_static("accept"));
    if has_more && let Some(link) = next(&caller, &filters, limit, offset) {
        response.headers_mut().insert(LINK, link);
    }
    Ok(response)
}

fn next(caller: &Caller, filters: &str, limit: usize, offset: usize) -> Option<HeaderValue> {
    let offset = offset.saturating_add(limit);
    let address = format!("/v1/analytics/{}/views?{filters}limit={limit}&offset={offset}", caller.project.id);
    HeaderValue::from_str(&format!("<{address}>; rel=\"next\"")).ok()
}
