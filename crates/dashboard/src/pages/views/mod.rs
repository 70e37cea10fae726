//! Who reads what: the site, one page, one machine. The figures are those of the interface.

mod agents;
pub(crate) mod asked;
mod csv;
mod said;

use std::collections::HashMap;

use askama::Template;
use axum::extract::{RawQuery, State};
use copydesk_desk::readers::{CallerId, Readers};
use copydesk_domain::Job;
use copydesk_domain::dates::Interval;
use copydesk_store::PageHealth;
use copydesk_views::CountsAs;
use copydesk_views::store::{Counts, Loss, PageViews};

use super::VIEWER;
use super::checked::{Badge, Checked, reasons};
use crate::access::Table;
use crate::chart::{self, Chart, Point};
use crate::dash::Dash;
use crate::form::Wrong;
use crate::respond::{Oops, Reply, page, unfit};
use crate::shell::Shell;
use crate::who::InProject;
use crate::words::{self, change, number};

use asked::{Asked, name_of};
use said::AgentRow;

/// Pages that are listed at a time.
const PAGES: usize = 25;
/// Machines that are listed beside them.
const AGENTS: usize = 12;
/// Jobs that are listed of a page.
const JOBS: u32 = 10;

pub(super) fn routes(table: Table) -> Table {
    table
        .get(VIEWER, "/p/{project}/views", show)
        .get(VIEWER, "/p/{project}/views.csv", as_csv)
        .get(VIEWER, "/p/{project}/views/machines", agents::machines)
        .get(VIEWER, "/p/{project}/views/agents/{agent}", agents::agent)
}

/// A number with how it stands against the period before.
pub(crate) struct Figure {
    pub(crate) name: &'static str,
    /// The class of its mark in the legend; empty if it has none.
    pub(crate) key: &'static str,
    pub(crate) value: String,
    pub(crate) look: &'static str,
    pub(crate) change: String,
}

impl Figure {
    pub(crate) fn new(name: &'static str, key: &'static str, now: u64, before: u64) -> Self {
        let (look, change) = change(now, before);
        Self { name, key, value: number(now), look, change }
    }
}

/// People, AI and both together.
pub(crate) fn figures(now: Counts, before: Counts) -> Vec<Figure> {
    vec![
        Figure::new("People", "key", now.human, before.human),
        Figure::new("AI", "key ai", now.ai, before.ai),
        Figure::new("Together", "", now.total(), before.total()),
    ]
}

/// A chart of a series.
pub(crate) fn chart_of(points: &[copydesk_desk::readers::SeriesPoint], by: Interval, about: String) -> Chart {
    let point = |it: &copydesk_desk::readers::SeriesPoint| {
        let (label, tick) = name_of(&it.start, by);
        Point { label, tick, people: it.counts.human, ai: it.counts.ai }
    };
    Chart { about, points: points.iter().map(point).collect(), is_small: false, has_people: true }
}

struct PageRow {
    path: String,
    link: String,
    bar: askama::filters::Safe<String>,
    people: String,
    ai: String,
    together: String,
    look: &'static str,
    change: String,
    badge: Badge,
}

#[derive(Template)]
#[template(path = "views.html")]
struct ViewsPage {
    shell: Shell,
    project_id: String,
    asked: Asked,
    time_zone: String,
    figures: Vec<Figure>,
    chart: Chart,
    losses: Vec<String>,
    rows: Vec<PageRow>,
    /// «1–25 of 318».
    stretch: String,
    earlier: Option<String>,
    later: Option<String>,
    agents: Vec<AgentRow>,
    more_agents: usize,
    /// Views that are in neither figure.
    others: u64,
    curls: Vec<(&'static str, String)>,
    /// Of one page: its file and what the checks say, and the jobs that touched it.
    one: Option<OnePage>,
    is_empty: bool,
}

struct OnePage {
    health: Option<PageHealth>,
    badge: Badge,
    /// What could not be judged of it, in words.
    not_judged: String,
    jobs: Vec<Job>,
}

impl ViewsPage {
    fn wrong(&self) -> &Wrong {
        &self.asked.wrong
    }
}

/// Who answers, if views are kept here.
pub(super) fn readers(dash: &Dash) -> Result<&Readers, Oops> {
    let views = dash.desk().views.as_deref();
    let not_here = || Oops::refused(axum::http::StatusCode::SERVICE_UNAVAILABLE, "No page views are kept here.");
    Ok(views.ok_or_else(not_here)?.readers())
}

/// What is missing, in sentences; each once.
pub(super) fn sentences(losses: &[&[Loss]]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for sentence in losses.iter().flat_map(|losses| losses.iter()).map(Loss::sentence) {
        if !all.contains(&sentence) {
            all.push(sentence);
        }
    }
    all.truncate(5);
    all
}

fn asked(dash: &Dash, who: &InProject, query: Option<&str>) -> Asked {
    Asked::read(query, &who.project, dash.desk().store.now(), who.path("/views"))
}

async fn show(State(dash): State<Dash>, who: InProject, RawQuery(query): RawQuery) -> Reply {
    let (asked, readers, store) = (asked(&dash, &who, query.as_deref()), readers(&dash)?, &dash.desk().store);
    let (project, range, path) = (&who.project, asked.range(), asked.path.as_deref());
    let caller = CallerId::of_user(&who.user.id);

    let series = readers.series(project, range, Some(asked.by), path).await?;
    let ranked = match path {
        None => Some(readers.ranking(&caller, project, range, asked.offset, PAGES).await?),
        Some(_) => None,
    };
    let pages = ranked.as_ref().map(|ranked| ranked.pages.as_slice()).unwrap_or_default();
    let shown: Vec<&str> = path.into_iter().chain(pages.iter().map(|page| &*page.path)).collect();
    let before = readers.counts(project, asked.period.before().range(&asked.zone), &shown).await?;
    let found = readers.agents(project, range, path, 0, 0, usize::MAX).await?;

    let health = store.health(&project.id).await?;
    let known = store.page_health_at(&project.id, &shown).await?;
    let checked = Checked::new(&dash, &who, health.as_ref());
    let one = match path {
        Some(_) => Some(OnePage::new(&dash, &who, &checked, known.first()).await?),
        None => None,
    };
    let figures = match &ranked {
        Some(ranked) => {
            let read = Figure::new("Pages read", "", ranked.read as u64, before.read as u64);
            figures(ranked.totals, before.totals).into_iter().chain([read]).collect()
        }
        None => figures(series.totals, before.pages.first().copied().unwrap_or_default()),
    };
    let rows = rows(&asked, &checked, pages, &before.pages, &known);
    let (first, last) = (asked.offset, asked.offset.saturating_add(rows.len()));
    let others = found.classes.iter().filter(|(_, as_what, _)| *as_what == CountsAs::Other).map(|(.., views)| views);
    let for_people = || found.agents.iter().filter(|agent| agent.verdict.counts_as() == CountsAs::Ai);
    let (people, ai) = (number(series.totals.human), number(series.totals.ai));
    let about = format!("Views from {}: {people} by people and {ai} by AI", asked.words());
    let (read, losses) = ranked.as_ref().map_or((0, &[][..]), |ranked| (ranked.read as u64, &ranked.losses));
    let template = ViewsPage {
        shell: Shell::inside(&dash, &who, "/views", "Views"),
        project_id: project.id.to_string(),
        time_zone: project.time_zone.clone(),
        figures,
        chart: chart_of(&series.points, series.interval, about),
        losses: sentences(&[&series.losses, losses, &before.losses, &found.losses]),
        stretch: format!("{}–{} of {}", number(first as u64 + 1), number(last as u64), number(read)),
        earlier: (first > 0).then(|| asked.with_offset(first.saturating_sub(PAGES))),
        later: ranked.as_ref().is_some_and(|ranked| ranked.has_more).then(|| asked.with_offset(last)),
        rows,
        agents: for_people().take(AGENTS).map(AgentRow::from).collect(),
        more_agents: for_people().count().saturating_sub(AGENTS),
        others: others.sum(),
        curls: curls(&dash, &who, &asked),
        is_empty: series.totals.total() == 0 && readers.status(project).await?.first.is_none(),
        one,
        asked,
    };
    if template.wrong().all().is_empty() { page(&template) } else { unfit(&template) }
}

/// The pages of the list, each with what was before and what the checks say.
fn rows(
    asked: &Asked,
    checked: &Checked<'_>,
    pages: &[PageViews],
    before: &[Counts],
    known: &[PageHealth],
) -> Vec<PageRow> {
    let by_page: HashMap<&str, &PageHealth> =
        known.iter().filter_map(|page| Some((page.page.as_deref()?, page))).collect();
    let most = pages.first().map_or(1, |page| page.counts.total());
    let row = |(page, before): (&PageViews, &Counts)| {
        let counts = page.counts;
        let (look, change) = change(counts.total(), before.total());
        PageRow {
            link: asked.with_path(Some(&page.path)),
            bar: chart::bar(counts.human, counts.ai, most),
            people: number(counts.human),
            ai: number(counts.ai),
            together: number(counts.total()),
            look,
            change,
            badge: checked.badge(by_page.get(&*page.path).copied()),
            path: page.path.to_string(),
        }
    };
    pages.iter().zip(before).map(row).collect()
}

impl OnePage {
    async fn new(
        dash: &Dash,
        who: &InProject,
        checked: &Checked<'_>,
        health: Option<&PageHealth>,
    ) -> Result<Self, Oops> {
        let jobs = match health {
            Some(health) => dash.desk().store.jobs_that_changed(&who.project.id, &health.file, JOBS).await?,
            None => Vec::new(),
        };
        let not_judged = health.map(|health| reasons(&health.not_judged)).unwrap_or_default();
        Ok(Self { badge: checked.badge(health), health: health.cloned(), not_judged, jobs })
    }
}

/// The same questions to the interface.
fn curls(dash: &Dash, who: &InProject, asked: &Asked) -> Vec<(&'static str, String)> {
    let curl = |what: &str, more: &str| {
        let (url, id) = (&dash.settings().public_url, &who.project.id);
        format!(
            "curl \"{url}/v1/analytics/{id}/{what}?{}{more}\" \\\n  -H \"Authorization: Bearer $COPYDESK_KEY\"",
            asked.dates()
        )
    };
    let path = asked.path.as_deref().map(|path| format!("&path={}", words::part(path))).unwrap_or_default();
    let series = curl("views/series", &format!("&interval={}{path}", asked.by.as_str()));
    let agents = curl("views/agents", &path);
    match path.is_empty() {
        true => vec![("Pages", curl("views", "")), ("Over time", series), ("Who reads", agents)],
        false => vec![("Over time", series), ("Who reads", agents)],
    }
}

/// All pages, or the course of one.
async fn as_csv(State(dash): State<Dash>, who: InProject, RawQuery(query): RawQuery) -> Reply {
    let asked = asked(&dash, &who, query.as_deref());
    if let Some(wrong) = asked.wrong.all().first() {
        let words = format!("{}: {}", wrong.field, crate::form::sentence(wrong));
        return Err(Oops::refused(axum::http::StatusCode::UNPROCESSABLE_ENTITY, words));
    }
    let (readers, project) = (readers(&dash)?, &who.project);
    let name = format!("views-{}-{}-{}", project.id, asked.period.first, asked.period.last);
    match asked.path.as_deref() {
        None => {
            let caller = CallerId::of_user(&who.user.id);
            let ranked = readers.ranking(&caller, project, asked.range(), 0, usize::MAX).await?;
            let table = csv::table("page", ranked.pages.iter().map(|page| (&*page.path, page.counts)));
            Ok(csv::file(&name, table, &ranked.losses))
        }
        Some(path) => {
            let series = readers.series(project, asked.range(), Some(asked.by), Some(path)).await?;
            let table = csv::table("start", series.points.iter().map(|point| (point.start.as_str(), point.counts)));
            Ok(csv::file(&name, table, &series.losses))
        }
    }
}
