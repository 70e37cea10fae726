use std::time::Duration;

use copydesk_boxed::boxed;
use copydesk_domain::dates::{self, Interval};
use copydesk_domain::{Invalid, Project, Timestamp};
use copydesk_views::Bucket;
use copydesk_views::store::{Counts, Loss, Status, ViewsError};
use jiff::tz::TimeZone;

use super::{Range, Readers};

/// Points of a series at most.
const MOST: usize = 2000;
/// Points of the course of one machine at most.
const FEW: usize = 31;
const QUARTER: Duration = Duration::from_secs(900);

pub struct Series {
    pub interval: Interval,
    pub totals: Counts,
    /// One after the other. The first and the last are cut off where the range begins and ends.
    pub points: Vec<SeriesPoint>,
    /// Why the figures are not to be relied on, if they are not.
    pub losses: Vec<Loss>,
}

pub struct SeriesPoint {
    /// When it begins, by the clocks of the project's zone.
    pub start: String,
    pub counts: Counts,
}

/// What one machine read over time.
pub struct AgentSeries {
    pub interval: Interval,
    /// When each begins, by the clocks of the project's zone, and the views.
    pub points: Vec<(String, u64)>,
    /// Why the figures are not to be relied on, if they are not.
    pub losses: Vec<Loss>,
}

/// Why a question has no answer.
#[derive(Debug)]
pub enum ReadError {
    Invalid(Invalid),
    Views(ViewsError),
}

impl From<ViewsError> for ReadError {
    fn from(error: ViewsError) -> Self {
        Self::Views(error)
    }
}

#[boxed]
impl Readers {
    /// Views of the site, or of one page, by an interval; without one by a day, or by the shortest that gives not too many
    /// points.
    pub async fn series(
        &self,
        project: &Project,
        range: Range,
        interval: Option<Interval>,
        path: Option<&str>,
    ) -> Result<Series, ReadError> {
        let there = match (range.from, range.to) {
            (Some(_), Some(_)) => Status::default(),
            _ => self.store.status(&project.id).await?,
        };
        let (zone, now) = (dates::zone(&project.time_zone), self.clock.now());
        // The finest of those that suit an overview.
        let tried = interval.map_or(vec![Interval::Day, Interval::Week, Interval::Month], |interval| vec![interval]);
        let fits = |interval| Some((interval, edges(range, &there, interval, &zone, now)?));
        let too_many = || {
            let many = format!("gives more than {MOST} points; choose a longer one or a shorter range");
            ReadError::Invalid(Invalid::new("interval", many))
        };
        let (interval, edges) = tried.into_iter().find_map(fits).ok_or_else(too_many)?;
        let buckets: Vec<Bucket> = edges.iter().map(|edge| Bucket::of(*edge)).collect();
        let asked = self.with_losses(project, range.question(project), |store| {
            store.series(&project.id, path, buckets.clone(), project.views.sources)
        });
        let (counts, losses) = asked.await?;
        let sum = |all: Counts, one: &Counts| Counts { human: all.human + one.human, ai: all.ai + one.ai };
        let totals = counts.iter().fold(Counts::default(), sum);
        let point = |(start, counts)| SeriesPoint { start: dates::local(start, &zone), counts };
        Ok(Series { interval, totals, points: edges.into_iter().zip(counts).map(point).collect(), losses })
    }
}

#[boxed]
impl Readers {
    /// How much one machine read, by the shortest interval that gives few points. It is told by its name, or by the rule
    /// that found it if it has none.
    pub async fn agent_series(&self, project: &Project, range: Range, agent: &str) -> Result<AgentSeries, ReadError> {
        let there = match (range.from, range.to) {
            (Some(_), Some(_)) => Status::default(),
            _ => self.store.status(&project.id).await?,
        };
        let (zone, now) = (dates::zone(&project.time_zone), self.clock.now());
        let fits = |interval: &Interval| {
            edges(range, &there, *interval, &zone, now).is_some_and(|edges| edges.len() <= FEW + 1)
        };
        let interval = Interval::ALL.into_iter().find(fits).unwrap_or(Interval::Month);
        let edges = edges(range, &there, interval, &zone, now).unwrap_or_default();
        // The newest are what matters.
        let edges = &edges[edges.len().saturating_sub(FEW + 1)..];
        let buckets: Vec<Bucket> = edges.iter().map(|edge| Bucket::of(*edge)).collect();
        let asked = self.with_losses(project, range.question(project), |store| {
            store.agent_series(&project.id, agent, buckets.clone(), project.views.sources)
        });
        let (views, losses) = asked.await?;
        let points = edges.iter().zip(views).map(|(start, views)| (dates::local(*start, &zone), views)).collect();
        Ok(AgentSeries { interval, points, losses })
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
