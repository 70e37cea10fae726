use axum::Json;
use axum::extract::{RawQuery, State};
use axum::http::HeaderMap;
use copydesk_domain::dates::{self, Interval};
use copydesk_domain::{Invalid, Timestamp};
use copydesk_views::Bucket;
use copydesk_views::page::{self, Target};
use copydesk_views::store::{Counts, Status};
use jiff::tz::TimeZone;
use serde::Serialize;
use utoipa::ToSchema;

use super::query::{Query, Range};
use super::{Totals, admitted};
use crate::api::parts::views;
use crate::app::App;
use crate::auth::Reader;
use crate::problem::{ErrorBody, Problem};

/// Points of a series at most.
const MOST: usize = 2000;
const QUARTER: std::time::Duration = std::time::Duration::from_secs(900);

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
        (status = 200, description = "The series.", body = Series),
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
    let standing = admitted(&app, &caller)?;
    let (project, views) = (&caller.project, views(&app)?);
    let zone = dates::zone(&project.time_zone);
    let mut query = Query::read(query.as_deref());
    let range = query.range(&zone);
    let interval = interval(&mut query);
    let path = path(&mut query);
    query.finish().map_err(|problem| problem.with_headers(&standing))?;
    let there = match (range.from, range.to) {
        (Some(_), Some(_)) => Status::default(),
        _ => views.store().status(&project.id).await?,
    };
    let now = app.store().now();
    let (interval, edges) = match interval {
        Some(interval) => (interval, edges(range, &there, interval, &zone, now)),
        // The finest of those that suit an overview.
        None => {
            let fits = |interval| edges(range, &there, interval, &zone, now).map(|edges| (interval, Some(edges)));
            let found = [Interval::Day, Interval::Week, Interval::Month].into_iter().find_map(fits);
            found.unwrap_or((Interval::Month, None))
        }
    };
    let edges = edges.ok_or_else(|| {
        let many = format!("gives more than {MOST} points; choose a longer one or a shorter range");
        Problem::invalid("interval", many).with_headers(&standing)
    })?;
    let buckets = edges.iter().map(|edge| Bucket::of(*edge)).collect();
    let counts = views.store().series(&project.id, path.as_deref(), buckets, project.views.sources).await?;
    let sum = |all: Counts, one: &Counts| Counts { human: all.human + one.human, ai: all.ai + one.ai };
    let point = |(start, counts): (&Timestamp, &Counts)| {
        let Totals { human, ai, total } = (*counts).into();
        Point { start: dates::local(*start, &zone), human, ai, total }
    };
    let answer = Series {
        interval: interval.as_str(),
        time_zone: project.time_zone.clone(),
        totals: counts.iter().fold(Counts::default(), sum).into(),
        series: edges.iter().zip(&counts).map(point).collect(),
    };
    Ok((standing, Json(answer)))
}

/// None if it was left to us.
fn interval(query: &mut Query) -> Option<Interval> {
    let text = query.text("interval")?;
    let interval = Interval::parse(&text);
    if interval.is_none() {
        query.refuse(Invalid::new("interval", "must be hour, day, week or month"));
    }
    interval
}

/// The page in its one form, so that it is found as it was asked for.
pub(super) fn path(query: &mut Query) -> Option<String> {
    match page::target(&query.text("path")?) {
        Ok(Target::Page { path, .. }) => Some(path),
        Ok(Target::Asset) => {
            query.refuse(Invalid::new("path", "is not that of a page"));
            None
        }
        Err(error) => {
            query.refuse(Invalid::new("path", format!("cannot be read: {error}")));
            None
        }
    }
}

/// The edges of the points; none if they would be too many. Without dates it is all there is, up to now or to the last
/// view if somebody's clock is ahead.
fn edges(range: Range, there: &Status, interval: Interval, zone: &TimeZone, now: Timestamp) -> Option<Vec<Timestamp>> {
    let quarter = |at: Timestamp| Bucket::of(at).begins();
    let last = there.last.map_or(now, |last| last.begins().max(now));
    let to = quarter(range.to.unwrap_or_else(|| last.plus(QUARTER)));
    let begin = |bucket: Bucket| interval.around(bucket.begins(), zone).map_or(to, |(first, _)| first);
    let from = range.from.map(quarter).or_else(|| there.first.map(begin)).unwrap_or(to);
    if from >= to { Some(Vec::new()) } else { interval.edges(from, to, zone, MOST + 1) }
}
