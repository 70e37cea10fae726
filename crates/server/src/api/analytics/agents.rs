use std::sync::Arc;

use axum::Json;
use axum::extract::{RawQuery, State};
use axum::http::HeaderMap;
use copydesk_domain::dates;
use copydesk_views::store::AgentViews;
use copydesk_views::{Class, CountsAs, Evidence};
use serde::Serialize;
use utoipa::ToSchema;

use super::query::Query;
use super::{admitted, incomplete};
use crate::api::parts::views;
use crate::app::App;
use crate::auth::Reader;
use crate::problem::{ErrorBody, Problem};

/// What machines read.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Agents {
    /// Views by kind of machine, over the whole range.
    classes: Vec<ClassRow>,
    /// The machines, most views first.
    agents: Vec<AgentRow>,
    /// Whether there are more machines.
    has_more: bool,
}

/// A kind of machine.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ClassRow {
    /// The kind.
    #[schema(value_type = String, example = "assistant")]
    class: Class,
    /// `ai` if these are part of the AI figures, else `other`.
    #[schema(value_type = String, example = "ai")]
    counts_as: CountsAs,
    /// Its views.
    views: u64,
}

/// A machine, and why it was recognised as one.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AgentRow {
    /// Its name, if it has one.
    agent: Option<String>,
    /// The kind of machine.
    #[schema(value_type = String, example = "assistant")]
    class: Class,
    /// The evidence: `signature`, `network`, `spoofed`, `token`, `shape`, `library`, `bot_shape`.
    #[schema(value_type = String, example = "token")]
    evidence: Evidence,
    /// The rule that decided.
    #[schema(example = "token:ChatGPT-User")]
    rule: String,
    /// `ai` if its views are part of the AI figures, else `other`.
    #[schema(value_type = String, example = "ai")]
    counts_as: CountsAs,
    /// Its views.
    views: u64,
    /// How many pages it read.
    pages: u64,
    /// The pages it read most.
    most_read: Vec<ReadPage>,
}

/// A page that a machine read.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ReadPage {
    /// The page.
    #[schema(value_type = String, example = "/guides/start")]
    path: Arc<str>,
    /// How often.
    views: u64,
}

impl From<AgentViews> for AgentRow {
    fn from(agent: AgentViews) -> Self {
        let counts_as = agent.verdict.counts_as();
        Self {
            agent: agent.verdict.agent,
            class: agent.verdict.class,
            evidence: agent.verdict.evidence,
            rule: agent.verdict.rule,
            counts_as,
            views: agent.views,
            pages: agent.pages,
            most_read: agent.most_read.into_iter().map(|(path, views)| ReadPage { path, views }).collect(),
        }
    }
}

/// AI agents and bots.
///
/// Which machines read the site, or one page: the kind of each, on what that rests and the rule that decided, with the
/// pages it read most. Machines that are in neither figure of the page views are listed too.
#[utoipa::path(
    get,
    path = "/v1/analytics/{projectId}/views/agents",
    tag = "Page views",
    operation_id = "getViewAgents",
    params(
        ("projectId" = String, Path, description = "The project's id."),
        ("path" = Option<String>, Query, description = "Only views of this page."),
        ("dateFrom" = Option<String>, Query, description = "As for page views."),
        ("dateTo" = Option<String>, Query, description = "As for page views."),
        ("limit" = Option<u16>, Query, minimum = 1, maximum = 250, description = "Machines in the answer; 50 if not given."),
        ("offset" = Option<usize>, Query, minimum = 0, description = "Machines to skip; 0 if not given."),
        ("pages" = Option<u16>, Query, minimum = 0, maximum = 100, description = "Pages to list of each; 10 if not given."),
    ),
    responses(
        (status = 200, description = "The machines.", body = Agents, headers(
            ("Views-Incomplete" = String, description = "Why the figures may be incomplete: a file was damaged, and views of the range may be missing. Absent if all is well."),)),
        (status = 400, description = "A parameter is wrong.", body = ErrorBody),
        (status = 401, description = "No valid key.", body = ErrorBody),
        (status = 404, description = "No such project.", body = ErrorBody),
        (status = 429, description = "Too many requests with this key.", body = ErrorBody),
        (status = 503, description = "Not now.", body = ErrorBody),
    )
)]
pub(crate) async fn view_agents(
    State(app): State<App>,
    Reader(caller): Reader,
    RawQuery(query): RawQuery,
) -> Result<(HeaderMap, Json<Agents>), Problem> {
    let mut standing = admitted(&app, &caller)?;
    let mut query = Query::read(query.as_deref());
    let range = query.range(&dates::zone(&caller.project.time_zone));
    let (limit, offset) = (query.whole("limit", 50, 1, 250), query.whole("offset", 0, 0, usize::MAX));
    let pages = query.whole("pages", 10, 0, 100);
    let path = query.path();
    query.finish().map_err(|problem| problem.with_headers(&standing))?;
    let readers = views(&app)?.readers();
    let found = readers.agents(&caller.project, range, path.as_deref(), pages, offset, limit).await?;
    let class = |(class, counts_as, views)| ClassRow { class, counts_as, views };
    let answer = Agents {
        classes: found.classes.into_iter().map(class).collect(),
        has_more: found.has_more,
        agents: found.agents.into_iter().map(AgentRow::from).collect(),
    };
    standing.extend(incomplete(&found.losses));
    Ok((standing, Json(answer)))
}
