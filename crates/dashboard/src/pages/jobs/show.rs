//! One job: its steps as they happen, what is known of it, and what can be done with it.

use askama::Template;
use axum::extract::{Path, Query, State};
use copydesk_domain::{JobId, Message};
use copydesk_store::Course;

use super::step::{Before, Step};
use super::{JobView, cost_limit, oops};
use crate::dash::Dash;
use crate::form::Wrong;
use crate::respond::{Oops, Reply, page};
use crate::shell::Shell;
use crate::who::InProject;
use crate::{markdown, once, words};

/// So many of the last steps are shown at once.
const LAST: u32 = 300;

#[derive(Template)]
#[template(path = "job.html")]
struct JobPage {
    shell: Shell,
    it: JobView,
    facts: Facts,
    steps: Vec<Step>,
    /// How many steps there are before those that are shown.
    earlier: u32,
    /// The number of the last step that is shown.
    last: u32,
    /// Whether there are steps behind those.
    has_later: bool,
    prompt: String,
    /// What was typed and not taken.
    typed: String,
    mark: String,
    wrong: Wrong,
}

/// What is known of a job beside its steps.
pub(super) struct Facts {
    pub(super) tries: u32,
    pub(super) saved: u64,
    pub(super) limit: Option<f64>,
}

impl Facts {
    pub(super) fn new(course: &Course, limit: Option<f64>) -> Self {
        let saved = course.resumed.iter().filter_map(|data| data["tokensSaved"].as_u64());
        Self { tries: course.claims, saved: saved.fold(0, u64::saturating_add), limit }
    }
}

/// The parts of the page that the stream of a job replaces.
#[derive(Template)]
#[template(path = "job_parts.html")]
pub(super) struct Parts {
    pub(super) it: JobView,
    pub(super) facts: Facts,
}

/// The steps that it appends.
#[derive(Template)]
#[template(path = "job_steps.html")]
pub(super) struct Steps {
    pub(super) steps: Vec<Step>,
}

#[derive(serde::Deserialize)]
pub(super) struct Wanted {
    after: Option<String>,
}

/// What stands in the form for a follow-up.
#[derive(Default)]
pub(super) struct Typed {
    pub(super) text: String,
    pub(super) wrong: Wrong,
}

pub(super) async fn show(
    State(dash): State<Dash>,
    who: InProject,
    Path((_, id)): Path<(String, String)>,
    Query(wanted): Query<Wanted>,
) -> Reply {
    page(&job_page(&dash, &who, &id, wanted.after.and_then(|after| after.parse().ok()), Typed::default()).await?)
}

pub(super) async fn job_page(
    dash: &Dash,
    who: &InProject,
    id: &str,
    after: Option<u32>,
    typed: Typed,
) -> Result<impl Template, Oops> {
    let it = JobView::new(dash, who, id, "").await?;
    let (store, job_id) = (&dash.desk().store, it.job.id.clone());
    let course = store.course(&job_id).await?;
    let after = after.unwrap_or_else(|| course.last.saturating_sub(LAST));
    let messages = store.messages(&job_id).await?;
    let prompt = messages.first().map(|first| first.prompt.clone()).unwrap_or_default();
    let mut before = before(dash, &job_id, after, messages).await?;
    let events = dash.desk().jobs.events(&who.project.id, &job_id, after).await.map_err(oops)?;
    let last = events.last().map_or(after, |event| event.number);
    Ok(JobPage {
        shell: Shell::inside(dash, who, "/jobs", it.title.clone()),
        facts: Facts::new(&course, cost_limit(dash, who, &it.job.model, it.job.max_cost)),
        steps: before.steps(events),
        earlier: after,
        last,
        has_later: last < course.last,
        prompt,
        typed: typed.text,
        mark: once::mark(),
        wrong: typed.wrong,
        it,
    })
}

/// What came before the step after that number.
pub(super) async fn before(dash: &Dash, job_id: &JobId, after: u32, prompts: Vec<Message>) -> Result<Before, Oops> {
    let kind = match after {
        0 => None,
        after => dash.desk().store.events(job_id, after - 1, 1).await?.into_iter().next().map(|event| event.kind),
    };
    Ok(Before { kind, prompts })
}
