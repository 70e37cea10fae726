use askama::Template;
use axum::extract::{Query, State};
use copydesk_domain::{JobId, Role, Status};
use copydesk_store::JobFilter;

use crate::dash::Dash;
use crate::pages::named::{Named, named};
use crate::respond::{Reply, page};
use crate::shell::Shell;
use crate::who::InProject;
use crate::words;

/// How many jobs a page shows.
const PAGE: u32 = 50;

#[derive(serde::Deserialize)]
pub(super) struct Wanted {
    #[serde(default)]
    status: String,
    #[serde(default)]
    model: String,
    #[serde(default)]
    q: String,
    #[serde(default)]
    cursor: String,
}

#[derive(Template)]
#[template(path = "jobs.html")]
struct JobsPage {
    shell: Shell,
    root: String,
    jobs: Vec<Named>,
    may_edit: bool,
    models: Vec<String>,
    wanted: Wanted,
    /// The address of the jobs before these.
    older: Option<String>,
}

impl JobsPage {
    fn statuses(&self) -> [&'static str; 4] {
        ["active", "completed", "failed", "archived"]
    }

    fn is_filtered(&self) -> bool {
        let Wanted { status, model, q, cursor } = &self.wanted;
        [status, model, q, cursor].into_iter().any(|it| !it.is_empty())
    }
}

pub(super) async fn show(State(dash): State<Dash>, who: InProject, Query(wanted): Query<Wanted>) -> Reply {
    let given = |text: &str| Some(text.trim()).filter(|text| !text.is_empty()).map(str::to_owned);
    let filter = JobFilter {
        status: Status::parse(&wanted.status),
        model: given(&wanted.model),
        text: given(&wanted.q),
        before: given(&wanted.cursor).map(|id| JobId::from(id.as_str())),
        limit: PAGE,
        ..JobFilter::default()
    };
    let (jobs, more) = dash.desk().jobs.list(&who.project.id, filter).await?;
    let older = jobs.last().filter(|_| more).map(|last| {
        let Wanted { status, model, q, .. } = &wanted;
        let parts = [("status", status.as_str()), ("model", model), ("q", q), ("cursor", last.id.as_str())];
        let parts: Vec<String> = parts
            .iter()
            .filter(|(_, value)| !value.is_empty())
            .map(|(name, value)| format!("{name}={}", words::part(value)))
            .collect();
        format!("{}?{}", who.path("/jobs"), parts.join("&"))
    });
    page(&JobsPage {
        shell: Shell::inside(&dash, &who, "/jobs", "Jobs"),
        root: who.path(""),
        jobs: named(&dash.desk().store, jobs).await?,
        may_edit: who.role.covers(Role::Editor),
        models: dash.desk().jobs.rules().models.clone(),
        wanted,
        older,
    })
}
