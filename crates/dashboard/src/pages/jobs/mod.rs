//! Jobs: the list of them, a new one, and one as it goes on.

mod changes;
mod deeds;
mod draft;
mod list;
mod live;
mod show;
mod step;
mod talk;

use axum::http::StatusCode;
use copydesk_desk::jobs::JobError;
use copydesk_domain::{Dollars, Job, JobId, Role};
use copydesk_store::Brief;

use super::named::{badge, title};
use super::{EDITOR, VIEWER};
use crate::access::Table;
use crate::dash::Dash;
use crate::respond::Oops;
use crate::who::InProject;
use crate::words;

pub(crate) use changes::{Changes, Looking, file_of, file_only, keep_look, kept_look};

pub(super) fn routes(table: Table) -> Table {
    table
        .get(VIEWER, "/p/{project}/jobs", list::show)
        .get(EDITOR, "/p/{project}/jobs/new", draft::show)
        .post(EDITOR, "/p/{project}/jobs/new", draft::create)
        .get(VIEWER, "/p/{project}/jobs/{id}", show::show)
        .get(VIEWER, "/p/{project}/jobs/{id}/live", live::stream)
        .get(VIEWER, "/p/{project}/jobs/{id}/changes", changes::show)
        .get(VIEWER, "/p/{project}/jobs/{id}/changes/{file}", changes::file)
        .get(VIEWER, "/p/{project}/jobs/{id}/diff", changes::patch)
        .get(VIEWER, "/p/{project}/jobs/{id}/checks", talk::checks)
        .get(VIEWER, "/p/{project}/jobs/{id}/talk", talk::show)
        .post(EDITOR, "/p/{project}/jobs/{id}/message", deeds::message)
        .post(EDITOR, "/p/{project}/jobs/{id}/cancel", deeds::cancel)
        .get(EDITOR, "/p/{project}/jobs/{id}/archive", deeds::ask_archive)
        .post(EDITOR, "/p/{project}/jobs/{id}/archive", deeds::archive)
        .post(EDITOR, "/p/{project}/jobs/{id}/pull-request", deeds::open)
}

/// What all pages of a job say of it.
pub(crate) struct JobView {
    pub(crate) job: Job,
    /// The address of the project's pages.
    pub(crate) root: String,
    pub(crate) title: String,
    /// How it stands: the look of its badge, and the words.
    pub(crate) state: (&'static str, &'static str),
    pub(crate) may_edit: bool,
    /// The page that is shown: the end of its address.
    pub(crate) tab: &'static str,
}

/// The pages of a job: the end of the address, and the name.
const TABS: [(&str, &str); 4] = [("", "Steps"), ("/changes", "Changes"), ("/checks", "Checks"), ("/talk", "Talk")];

impl JobView {
    pub(crate) async fn new(dash: &Dash, who: &InProject, id: &str, tab: &'static str) -> Result<Self, Oops> {
        let job = who.jobs(dash).get(&who.project, &JobId::from(id)).await.map_err(oops)?;
        let briefs = dash.desk().store.briefs(std::slice::from_ref(&job.id)).await?;
        Ok(Self::of(who, job, briefs.first(), tab))
    }

    fn of(who: &InProject, job: Job, brief: Option<&Brief>, tab: &'static str) -> Self {
        let title = title(&job, brief);
        let state = badge(&job, brief.is_some_and(|brief| brief.is_held));
        let may_edit = who.role.covers(Role::Editor);
        Self { root: who.path(""), title, state, may_edit, tab, job }
    }

    fn tabs(&self) -> [(&'static str, &'static str); 4] {
        TABS
    }

    fn is_active(&self) -> bool {
        self.job.status == copydesk_domain::Status::Active
    }

    fn is_archived(&self) -> bool {
        self.job.status == copydesk_domain::Status::Archived
    }

    /// Where its pull request is looked at: here, if Copydesk keeps it.
    fn pull(&self) -> Option<String> {
        pull_address(&self.root, &self.job)
    }

    /// Whether there is a change that no pull request was opened from.
    fn waits_to_be_opened(&self) -> bool {
        self.job.outcome == Some(copydesk_domain::Outcome::ChangesReady)
            && self.job.status == copydesk_domain::Status::Completed
    }
}

/// Where the pull request of a job is looked at.
pub(crate) fn pull_address(root: &str, job: &Job) -> Option<String> {
    let link = job.pr_link.as_deref()?;
    match &job.pull_request {
        Some(pull) if is_kept_here(job) => Some(format!("{root}/pulls/{}", pull.number)),
        _ => ["https://", "http://"].iter().any(|scheme| link.starts_with(scheme)).then(|| link.to_owned()),
    }
}

/// Whether the job is of a repository that no code host looks after.
fn is_kept_here(job: &Job) -> bool {
    job.repository.starts_with("file://")
}

/// What went wrong with a job, where no form can say it.
fn oops(error: JobError) -> Oops {
    let conflict = |words: &str| Oops::refused(StatusCode::CONFLICT, words);
    match error {
        JobError::NotFound | JobError::NoProject | JobError::NoLink => Oops::NotFound,
        JobError::Invalid(wrong) => {
            let words = wrong.iter().map(|wrong| format!("{} {}.", wrong.field, wrong.message)).collect::<Vec<_>>();
            Oops::refused(StatusCode::UNPROCESSABLE_ENTITY, words.join(" "))
        }
        JobError::Limited(standing) => Oops::refused(StatusCode::TOO_MANY_REQUESTS, limit_words(&standing)),
        JobError::KeyReused => conflict("This form was sent before with something else in it. Open the page again."),
        JobError::Busy => conflict("The job is being worked on. Try again when it has ended."),
        JobError::Archived | JobError::LinkEnded => conflict("The job is archived, which is final. Make a new one."),
        JobError::Merged => conflict("The pull request is merged, so nothing can be added to it. Make a new job."),
        JobError::NotActive(status) => {
            Oops::refused(StatusCode::CONFLICT, format!("The job is {} already.", status.as_str()))
        }
        JobError::Store(error) => error.into(),
    }
}

/// The rate limit in words.
fn limit_words(standing: &copydesk_domain::Standing) -> String {
    let minutes = standing.reset_seconds.div_ceil(60);
    format!(
        "This project has reached its limit of {} and messages an hour. The next can be sent in {}.",
        words::many(standing.limit, "job", "jobs"),
        words::many(minutes, "minute", "minutes")
    )
}

/// What a prompt of a job may cost, if there is a limit that holds.
fn cost_limit(dash: &Dash, who: &InProject, model: &str, job: Option<Dollars>) -> Option<f64> {
    dash.desk().jobs.rules().budget(&who.project, model, job).map(|budget| budget.most.amount())
}
