//! What a job changed, and the pull request of a job that was to open none by itself.

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::{CONTENT_TYPE, HeaderValue};
use axum::response::{IntoResponse, Response};
use copydesk_desk::docs_job::NotPublished;
use copydesk_desk::job_view::{JobView, render};

use super::jobs::json;
use crate::app::App;
use crate::auth::{Reader, Writer};
use crate::problem::{ErrorBody, Problem};

/// Get what a job changed
///
/// A unified diff against the commit that the job started from. Empty if the job has changed nothing, or not yet.
#[utoipa::path(get, path = "/v2/agent/{projectId}/job/{id}/diff", tag = "Agent jobs", operation_id = "jobDiff",
    params(("projectId" = String, Path, description = "The project"), ("id" = String, Path, description = "The job")),
    responses((status = 200, description = "The diff", body = String, content_type = "text/x-diff")))]
pub(crate) async fn job_diff(State(app): State<App>, Reader(caller): Reader) -> Result<Response, Problem> {
    let diff = app.desk().jobs.diff(&caller.project.id, caller.job_id()?).await?;
    let kind = HeaderValue::from_static("text/x-diff; charset=utf-8");
    Ok((StatusCode::OK, [(CONTENT_TYPE, kind)], diff).into_response())
}

/// Open the pull request of a completed job
///
/// For a job that was created with `openPullRequest: false`. If it is open already, nothing changes.
#[utoipa::path(post, path = "/v2/agent/{projectId}/job/{id}/pull-request", tag = "Agent jobs",
    operation_id = "openPullRequest",
    params(("projectId" = String, Path, description = "The project"), ("id" = String, Path, description = "The job")),
    responses((status = 200, description = "The job with its pull request", body = JobView),
        (status = 409, description = "The job is not completed, has changed nothing, or its pull request is being opened",
            body = ErrorBody)))]
pub(crate) async fn open_pull_request(State(app): State<App>, Writer(caller): Writer) -> Result<Response, Problem> {
    let job_id = caller.job_id()?.clone();
    let job = caller.jobs(&app).open(caller.project, job_id).await?;
    Ok(json(StatusCode::OK, render(&job)))
}

impl From<NotPublished> for Problem {
    fn from(why: NotPublished) -> Self {
        let conflict = |code, error: &str| Self::new(StatusCode::CONFLICT, code, error);
        match why {
            NotPublished::NotFound => Self::job_not_found(),
            NotPublished::NotCompleted(status) => {
                let error = format!("The job is {}; only a completed job can be opened.", status.as_str());
                conflict("job_not_completed", &error)
            }
            NotPublished::NothingChanged => {
                conflict("nothing_changed", "The job has changed nothing, so there is nothing to open.")
            }
            NotPublished::Overtaken => {
                conflict("job_changed", "The job was archived or sent a message meanwhile; look at it again.")
            }
            NotPublished::Busy => conflict("being_opened", "The pull request is being opened; try again in a moment."),
            NotPublished::Failed(why) => conflict("cannot_be_opened", &why),
            NotPublished::NotNow(why) => Self::unavailable(why),
            NotPublished::NotHere => Self::unavailable("This server cannot open pull requests."),
            NotPublished::Store(error) => error.into(),
            NotPublished::Broken(why) => Self::internal("", why),
        }
    }
}
