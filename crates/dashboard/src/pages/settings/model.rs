//! Which models there are, and how much a project may ask of them.

use std::time::Duration;

use askama::Template;
use axum::extract::{RawQuery, State};
use axum::http::StatusCode;
use copydesk_desk::NotTried;
use copydesk_desk::projects::ProjectDraft;
use copydesk_domain::{Project, format_duration};

use super::repository::line;
use super::{Frame, OWNER, save, shell};
use crate::access::Table;
use crate::dash::Dash;
use crate::form::{Form, Values, asked};
use crate::respond::{Oops, Reply, page, to, unfit};
use crate::shell::Shell;
use crate::who::InProject;
use crate::words;

pub(super) fn routes(table: Table) -> Table {
    table.get(OWNER, "/p/{project}/settings/model", show).post(OWNER, "/p/{project}/settings/model", change).post(
        OWNER,
        "/p/{project}/settings/model/try",
        try_out,
    )
}

#[derive(Template)]
#[template(path = "settings/model.html")]
struct ModelPage {
    shell: Shell,
    frame: Frame,
    values: Values,
    /// Each with what it is, in words.
    models: Vec<(String, &'static str)>,
    default_model: String,
    /// What holds where the project says nothing: jobs an hour, at once, time, cost of a prompt.
    defaults: [String; 4],
    /// Why a limit that the project has set does not hold.
    not_in_force: Option<String>,
    /// The language model that can be tried out from here, if there is one.
    trial: Option<String>,
    /// What trying it out has shown, as lines of HTML.
    tried: Vec<String>,
}

fn number(limit: Option<u32>) -> String {
    limit.map(|limit| limit.to_string()).unwrap_or_default()
}

fn values(project: &Project, typed: Option<&Form>) -> Values {
    let time = project.time_limit_seconds.map(|seconds| format_duration(Duration::from_secs(seconds.into())));
    let now = vec![
        ("jobs_per_hour", number(project.jobs_per_hour)),
        ("max_running", number(project.max_running)),
        ("time_limit", time.unwrap_or_default()),
        ("job_cost", project.job_cost.map(|it| it.to_string()).unwrap_or_default()),
    ];
    Values::new(now, typed)
}

fn what(model: &str) -> &'static str {
    match model {
        "builtin" => "edits by rules, without a model: typos, terms, links, navigation",
        "noop" => "does nothing, for trying out",
        _ => "a language model",
    }
}

fn model(dash: &Dash, who: &InProject, frame: Frame, typed: Option<&Form>) -> ModelPage {
    let rules = dash.desk().jobs.rules();
    let limit = |limit: u32| if limit == 0 { "no limit".to_owned() } else { words::number(limit) };
    ModelPage {
        shell: shell(dash, who, "Model and limits"),
        frame,
        values: values(&who.project, typed),
        models: rules.models.iter().map(|model| (model.clone(), what(model))).collect(),
        default_model: rules.default_model.clone(),
        defaults: [
            limit(rules.jobs_per_hour),
            limit(rules.running_per_project),
            format_duration(rules.job_time),
            rules.job_cost.map_or_else(|| "no limit".to_owned(), |it| format!("{it} US dollars")),
        ],
        not_in_force: rules.budget_not_in_force(&who.project),
        trial: dash.desk().model.as_ref().map(|model| model.name().to_owned()),
        tried: Vec::new(),
    }
}

async fn show(State(dash): State<Dash>, who: InProject, query: RawQuery) -> Reply {
    page(&model(&dash, &who, Frame::new(&who, "model").said(&asked(query)), None))
}

/// Asks the model once, and shows what that tells.
async fn try_out(State(dash): State<Dash>, who: InProject) -> Reply {
    let trials = dash.desk().try_model(&who.project.id).await.map_err(|not_tried| match not_tried {
        NotTried::NoModel => Oops::refused(StatusCode::CONFLICT, "No language model is configured on this server."),
        NotTried::TooOften => Oops::refused(
            StatusCode::TOO_MANY_REQUESTS,
            "It was tried out ten times within an hour. Each time costs; wait a while.",
        ),
    })?;
    let mut shown = model(&dash, &who, Frame::new(&who, "model"), None);
    shown.tried = trials.iter().map(line).collect::<Result<_, _>>()?;
    page(&shown)
}

async fn change(State(dash): State<Dash>, who: InProject, form: Form) -> Reply {
    let limit = |name: &str| Some(form.given(name).unwrap_or_else(|| "default".to_owned()));
    let draft = ProjectDraft {
        jobs_per_hour: limit("jobs_per_hour"),
        max_running: limit("max_running"),
        time_limit: limit("time_limit"),
        job_cost: limit("job_cost"),
        ..ProjectDraft::default()
    };
    match save(&dash, &who, draft).await? {
        Ok(()) => to(&who.path("/settings/model?said=saved")),
        Err(invalid) => unfit(&model(&dash, &who, Frame::new(&who, "model").wrong(invalid), Some(&form))),
    }
}
