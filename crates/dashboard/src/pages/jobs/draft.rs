//! A new job.

use askama::Template;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::http::header::RETRY_AFTER;
use copydesk_desk::jobs::{Draft, JobError};
use copydesk_domain::{ChangeRange, Invalid, JobId};

use super::{cost_limit, limit_words, oops};
use crate::dash::Dash;
use crate::form::{Form, Wrong};
use crate::once;
use crate::respond::{Oops, Reply, page, page_with, to};
use crate::shell::Shell;
use crate::who::InProject;
use crate::words;

#[derive(serde::Deserialize)]
pub(super) struct Begin {
    #[serde(default)]
    prompt: String,
    /// A page of the site that it is about.
    #[serde(default)]
    page: String,
    /// A job whose prompt is wanted once more.
    #[serde(default)]
    again: String,
}

#[derive(Template)]
#[template(path = "new_job.html")]
struct NewJobPage {
    shell: Shell,
    root: String,
    models: Vec<String>,
    limit: Option<f64>,
    /// Whether the project has code sources.
    has_sources: bool,
    fields: Fields,
    /// What makes a form that is sent twice one job.
    mark: String,
    wrong: Wrong,
    /// Why it cannot be made now, whatever is in the form.
    refused: Option<String>,
}

/// What is in the form.
struct Fields {
    prompt: String,
    base: String,
    model: String,
    /// Commits of a code source, as they were typed.
    changes: String,
    /// US dollars, as they were typed.
    max_cost: String,
    draft: bool,
    open: bool,
}

impl NewJobPage {
    async fn new(dash: &Dash, who: &InProject, fields: Fields) -> Result<Self, Oops> {
        Ok(Self {
            has_sources: !dash.desk().store.sources(&who.project.id).await?.is_empty(),
            shell: Shell::inside(dash, who, "/jobs", "New job"),
            root: who.path(""),
            models: dash.desk().jobs.rules().models.clone(),
            limit: cost_limit(dash, who, &fields.model, None),
            fields,
            mark: once::mark(),
            wrong: Wrong::default(),
            refused: None,
        })
    }
}

pub(super) async fn show(State(dash): State<Dash>, who: InProject, Query(begin): Query<Begin>) -> Reply {
    let mut fields = Fields {
        prompt: begin.prompt,
        base: who.project.base_ref.clone(),
        model: dash.desk().jobs.rules().default_model.clone(),
        changes: String::new(),
        max_cost: String::new(),
        draft: false,
        open: true,
    };
    if !begin.again.is_empty() {
        let store = &dash.desk().store;
        let id = JobId::from(begin.again.as_str());
        let job = store.job(&who.project.id, &id).await?.ok_or(Oops::NotFound)?;
        let first = store.messages(&id).await?.into_iter().next();
        fields = Fields {
            prompt: first.map(|first| first.prompt).unwrap_or_default(),
            base: job.base_ref,
            model: job.model,
            changes: job.changes.map(|it| it.to_string()).unwrap_or_default(),
            max_cost: job.max_cost.map(|it| it.to_string()).unwrap_or_default(),
            draft: job.draft,
            open: job.open_pull_request,
        };
    }
    if !begin.page.is_empty() && !fields.prompt.contains(&begin.page) {
        let told = format!("It is about the page {}.", begin.page);
        let prompt = fields.prompt.trim_end();
        fields.prompt = if prompt.is_empty() { format!("\n\n{told}") } else { format!("{prompt}\n\n{told}") };
    }
    page(&NewJobPage::new(&dash, &who, fields).await?)
}

pub(super) async fn create(State(dash): State<Dash>, who: InProject, form: Form) -> Reply {
    let fields = Fields {
        prompt: form.prose("prompt"),
        base: form.text("baseRef").to_owned(),
        model: form.text("model").to_owned(),
        changes: form.text("changes").to_owned(),
        max_cost: form.text("maxCost").to_owned(),
        draft: form.is_ticked("draft"),
        open: form.is_ticked("open"),
    };
    let changes = form.given("changes").map(|text| ChangeRange::parse(&text));
    if changes.as_ref().is_some_and(Option::is_none) {
        let wrong = Invalid::new("changes", "must be a range of commits of a code source, such as sdk:v1.4..v1.5");
        let shown = NewJobPage { wrong: wrong.into(), ..NewJobPage::new(&dash, &who, fields).await? };
        return page_with(StatusCode::UNPROCESSABLE_ENTITY, &shown);
    }
    let draft = Draft {
        prompt: fields.prompt.clone(),
        base_ref: form.given("baseRef"),
        model: form.given("model"),
        draft: fields.draft,
        open_pull_request: fields.open,
        client_reference: None,
        // What is no number is refused as what is out of bounds is.
        max_cost: form.given("maxCost").map(|text| text.parse().unwrap_or(f64::NAN)),
        changes: changes.flatten(),
    };
    let error = match who.jobs(&dash).create(&who.project, draft, once::idempotency("job", &form)).await {
        Ok(made) => return to(&who.path(&format!("/jobs/{}", made.job_id))),
        Err(error) => error,
    };
    let shown = NewJobPage::new(&dash, &who, fields).await?;
    match error {
        JobError::Invalid(all) => {
            let wrong: Vec<Invalid> = all.into_iter().map(in_words).collect();
            page_with(StatusCode::UNPROCESSABLE_ENTITY, &NewJobPage { wrong: wrong.into(), ..shown })
        }
        JobError::Limited(standing) => {
            let refused = Some(limit_words(&standing));
            let mut response = page_with(StatusCode::TOO_MANY_REQUESTS, &NewJobPage { refused, ..shown })?;
            response.headers_mut().insert(RETRY_AFTER, standing.reset_seconds.into());
            Ok(response)
        }
        error => Err(oops(error)),
    }
}

/// What is said of a prompt that is not there, to somebody in front of a form. A range is one field there.
fn in_words(wrong: Invalid) -> Invalid {
    if wrong.field.starts_with("changes.") {
        return Invalid { field: "changes", ..wrong };
    }
    if wrong.field == "prompt" && wrong.message.contains("empty") {
        return Invalid::new("prompt", "is needed: describe the change in your own words");
    }
    wrong
}
