//! One machine, and those that are in neither figure.

use askama::Template;
use axum::extract::{Path, RawQuery, State};
use copydesk_views::CountsAs;

use super::asked::{Asked, name_of};
use super::said::{AgentRow, class};
use super::{readers, sentences};
use crate::chart::{Chart, Point};
use crate::dash::Dash;
use crate::respond::{Oops, Reply, page};
use crate::shell::Shell;
use crate::who::InProject;
use crate::words::{self, number, part};

/// Pages that are listed of a machine.
const PAGES: usize = 25;
/// Machines that are listed at a time.
const MACHINES: usize = 50;

/// One way in which a machine was told.
struct Way {
    row: AgentRow,
    counts_as: &'static str,
    /// Page, its link, and views.
    most_read: Vec<(String, String, String)>,
}

#[derive(Template)]
#[template(path = "agent.html")]
struct AgentPage {
    shell: Shell,
    asked: Asked,
    project_id: String,
    name: String,
    kind: &'static str,
    ways: Vec<Way>,
    views: String,
    chart: Chart,
    losses: Vec<String>,
}

pub(super) async fn agent(
    State(dash): State<Dash>,
    who: InProject,
    Path((_, agent)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Reply {
    let at = who.path(&format!("/views/agents/{}", part(&agent)));
    let asked = Asked::read(query.as_deref(), &who.project, dash.desk().store.now(), at);
    let (readers, project) = (readers(&dash)?, &who.project);
    let found = readers.agents(project, asked.range(), None, PAGES, 0, usize::MAX).await?;
    let own: Vec<_> = found.agents.iter().filter(|it| it.verdict.is_called(&agent)).collect();
    // One that did not read in this time is one all the same.
    if own.is_empty() && !is_known(&dash, &who, &agent).await? {
        return Err(Oops::NotFound);
    }
    let course = readers.agent_series(project, asked.range(), &agent).await?;
    let views: u64 = own.iter().map(|it| it.views).sum();
    let about = format!("Views by {agent} from {}: {}", asked.words(), number(views));
    let point = |(start, views): &(String, u64)| {
        let (label, tick) = name_of(start, course.interval);
        Point { label, tick, people: 0, ai: *views }
    };
    let query = asked.period_query();
    let way = |it: &&copydesk_views::store::AgentViews| Way {
        row: AgentRow::from(*it),
        counts_as: if it.verdict.counts_as() == CountsAs::Ai { "AI" } else { "neither figure" },
        most_read: it
            .most_read
            .iter()
            .map(|(path, views)| {
                let link = who.path(&format!("/views?{query}&path={}", part(path)));
                (path.to_string(), link, number(*views))
            })
            .collect(),
    };
    page(&AgentPage {
        shell: Shell::inside(&dash, &who, "/views", agent.clone()),
        project_id: project.id.to_string(),
        kind: own.first().map_or("", |it| class(it.verdict.class)),
        ways: own.iter().map(way).collect(),
        views: number(views),
        chart: Chart { about, points: course.points.iter().map(point).collect(), is_small: false, has_people: false },
        losses: sentences(&[&found.losses, &course.losses]),
        name: agent,
        asked,
    })
}

/// Whether a machine of that name ever read.
async fn is_known(dash: &Dash, who: &InProject, agent: &str) -> Result<bool, Oops> {
    let all = readers(dash)?.agents(&who.project, Default::default(), None, 0, 0, usize::MAX).await?;
    Ok(all.agents.iter().any(|it| it.verdict.is_called(agent)))
}

#[derive(Template)]
#[template(path = "machines.html")]
struct MachinesPage {
    shell: Shell,
    asked: Asked,
    project_id: String,
    /// Kinds and their views.
    classes: Vec<(&'static str, String)>,
    together: String,
    rows: Vec<AgentRow>,
    stretch: String,
    earlier: Option<String>,
    later: Option<String>,
    losses: Vec<String>,
}

pub(super) async fn machines(State(dash): State<Dash>, who: InProject, RawQuery(query): RawQuery) -> Reply {
    let at = who.path("/views/machines");
    let asked = Asked::read(query.as_deref(), &who.project, dash.desk().store.now(), at);
    let found = readers(&dash)?.agents(&who.project, asked.range(), asked.path.as_deref(), 0, 0, usize::MAX).await?;
    let mut classes: Vec<_> = found.classes.iter().filter(|(_, as_what, _)| *as_what == CountsAs::Other).collect();
    classes.sort_by_key(|(.., views)| std::cmp::Reverse(*views));
    let others: Vec<_> = found.agents.iter().filter(|it| it.verdict.counts_as() == CountsAs::Other).collect();
    let rows: Vec<AgentRow> = others.iter().skip(asked.offset).take(MACHINES).map(|it| AgentRow::from(*it)).collect();
    let (first, last) = (asked.offset, asked.offset.saturating_add(rows.len()));
    page(&MachinesPage {
        shell: Shell::inside(&dash, &who, "/views", "In neither figure"),
        project_id: who.project.id.to_string(),
        together: number(classes.iter().map(|(.., views)| views).sum::<u64>()),
        classes: classes.iter().map(|(kind, _, views)| (class(*kind), number(*views))).collect(),
        stretch: format!("{}–{} of {}", number(first as u64 + 1), number(last as u64), number(others.len() as u64)),
        earlier: (first > 0).then(|| asked.with_offset(first.saturating_sub(MACHINES))),
        later: (last < others.len()).then(|| asked.with_offset(last)),
        losses: sentences(&[&found.losses]),
        rows,
        asked,
    })
}
