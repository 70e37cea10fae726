use axum::Json;
use axum::extract::{RawQuery, State};
use axum::http::HeaderMap;
use copydesk_desk::readers::{ReadError, SeriesPoint};
use copydesk_domain::dates;
use serde::Serialize;
use utoipa::ToSchema;

use super::query::Query;
use super::{Totals, admitted, incomplete};
use crate::api::parts::views;
use crate::app::App;
use crate::auth::Reader;
use crate::problem::{ErrorBody, Problem};

/// Views over time.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Series {
    /// `hour`, `day`, `week` or `month`.
    interval: &'static str,
    /// The zone that they are counted in.
    time_zone: String,
    /// All of them together.
    totals: Totals,
    /// One after the other. The first and the last are cut off where the range begins and ends.
    series: Vec<Point>,
}

/// Views of an hour, a day, a week or a month.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Point {
    /// When it begins, by the clocks of the zone.
    #[schema(format = DateTime)]
    start: String,
    /// Views by people.
    human: u64,
    /// Views by AI agents.
    ai: u64,
    /// Both together.
    total: u64,
}

/// Page views over time.
///
/// Views of the site, or of one page, by hour, day, week or month of the project's time zone. Without dates: from the
/// first view to now. At most 2,000 points.
#[utoipa::path(
    get,
    path = "/v1/analytics/{projectId}/views/series",
    tag = "Page views",
    operation_id = "getViewSeries",
    params(
        ("projectId" = String, Path, description = "The project's id."),
        ("interval" = Option<String>, Query, description = "`hour`, `day`, `week` or `month`; if not given `day`, or the shortest that gives at most 2,000 points."),
        ("path" = Option<String>, Query, description = "Only this page."),
        ("dateFrom" = Option<String>, Query, description = "As for page views."),
        ("dateTo" = Option<String>, Query, description = "As for page views."),
    ),
    responses(
        (status = 200, description = "The series.", body = Series, headers(
            ("Views-Incomplete" = String, description = "Why the figures may be incomplete: a file was damaged, and views of the range may be missing. Absent if all is well."),)),
        (status = 400, description = "A parameter is wrong.", body = ErrorBody),
        (status = 401, description = "No valid key.", body = ErrorBody),
        (status = 404, description = "No such project.", body = ErrorBody),
        (status = 429, description = "Too many requests with this key.", body = ErrorBody),
        (status = 503, description = "Not now.", body = ErrorBody),
    )
)]
pub(crate) async fn view_series(
    State(app): State<App>,
    Reader(caller): Reader,
    RawQuery(query): RawQuery,
) -> Result<(HeaderMap, Json<Series>), Problem> {
    let mut standing = admitted(&app, &caller)?;
    let mut query = Query::read(query.as_deref());
    let range = query.range(&dates::zone(&caller.project.time_zone));
    let (interval, path) = (query.interval(), query.path());
    query.finish().map_err(|problem| problem.with_headers(&standing))?;
    let readers = views(&app)?.readers();
    let series = readers.series(&caller.project, range, interval, path.as_deref()).await;
    let series = series.map_err(|error| match error {
        ReadError::Invalid(_) => Problem::from(error).with_headers(&standing),
        ReadError::Views(error) => error.into(),
    })?;
    let point = |SeriesPoint { start, counts }| {
        let Totals { human, ai, total } = counts.into();
        Point { start, human, ai, total }
    };
    let answer = Series {
        interval: series.interval.as_str(),
        time_zone: caller.project.time_zone,
        totals: series.totals.into(),
        series: series.points.into_iter().map(point).collect(),
    };
    standing.extend(incomplete(&series.losses));
    Ok((standing, Json(answer)))
}
