use axum::Extension;
use axum::extract::{RawQuery, State};
use axum::http::header::{CONTENT_TYPE, HeaderValue, LOCATION};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use copydesk_desk::job_view::{JobView, render};
use copydesk_desk::jobs::{Admitted, JobError};
use copydesk_domain::{Job, TraceContext};
use serde::Serialize;
use utoipa::ToSchema;

use super::job_requests::{CreateJob, ListJobs, SendMessage, idempotency, list_filter};
use crate::app::App;
use crate::auth::{Reader, Writer};
use crate::body::{self, RequestBody};
use crate::problem::{Detail, ErrorBody, Problem, standing_headers};

/// Create an agent job
///
/// The job runs in the background. Poll it until its status is `completed`, `archived` or `failed`.
#[utoipa::path(post, path = "/v2/agent/{projectId}/job", tag = "Agent jobs", operation_id = "createJob",
    params(("projectId" = String, Path, description = "The project"),
        ("Idempotency-Key" = Option<String>, Header, description = "Makes a retry safe: for 24 hours the same key and body give the first answer again", min_length = 1, max_length = 255, pattern = "^[ -~]+$")),
    request_body(content = CreateJob, content_type = "application/json"),
    responses((status = 201, description = "Agent job created successfully", body = JobView, headers(
            ("Location" = String, description = "Where to poll the job"),
            ("RateLimit-Limit" = u32, description = "Creations and messages an hour; not sent if there is no limit"),
            ("RateLimit-Remaining" = u32, description = "How many are left"),
            ("RateLimit-Reset" = u64, description = "Seconds until the oldest of them no longer counts"))),
        (status = 409, description = "The idempotency key was used with another body", body = ErrorBody),
        (status = 413, description = "The body has more than 1 MiB", body = ErrorBody),
        (status = 415, description = "The body is not JSON", body = ErrorBody),
        (status = 429, description = "The project has reached its limit for this hour", body = ErrorBody,
            headers(("Retry-After" = u64, description = "Seconds")))))]
pub(crate) async fn create_job(
    State(app): State<App>,
    Writer(caller): Writer,
    trace: Option<Extension<TraceContext>>,
    headers: HeaderMap,
    body: RequestBody,
) -> Result<Response, Problem> {
    let bytes = body::read(&app, &headers, body).await?;
    let idempotency = idempotency(&headers, "create", &bytes)?;
    let draft = body::parse::<CreateJob>(&bytes)?.into();
    let jobs = caller.jobs(&app).traced(trace.map(|Extension(trace)| trace));
    let admitted = jobs.create(&caller.project, draft, idempotency).await?;
    let location = HeaderValue::from_str(&format!("/v2/agent/{}/job/{}", caller.project.id, admitted.job_id));
    let mut response = answer(StatusCode::CREATED, admitted);
    if let Ok(location) = location {
        response.headers_mut().insert(LOCATION, location);
    }
    Ok(response)
}

/// Send a follow-up to a job
///
/// A finished job becomes active again and goes on with its branch and its pull request. An active one takes the
/// message in at its next step.
#[utoipa::path(post, path = "/v2/agent/{projectId}/job/{id}/message", tag = "Agent jobs", operation_id = "messageJob",
    params(("projectId" = String, Path, description = "The project"), ("id" = String, Path, description = "The job"),
        ("Idempotency-Key" = Option<String>, Header, description = "Makes a retry safe: for 24 hours the same key and body give the first answer again", min_length = 1, max_length = 255, pattern = "^[ -~]+$")),
    request_body(content = SendMessage, content_type = "application/json"),
    responses((status = 200, description = "The job", body = JobView, headers(
            ("RateLimit-Limit" = u32, description = "Creations and messages an hour; not sent if there is no limit"),
            ("RateLimit-Remaining" = u32, description = "How many are left"),
            ("RateLimit-Reset" = u64, description = "Seconds until the oldest of them no longer counts"))),
        (status = 409, description = "The job's pull request is merged, or the idempotency key was used with another body", body = ErrorBody),
        (status = 413, description = "The body has more than 1 MiB", body = ErrorBody),
        (status = 415, description = "The body is not JSON", body = ErrorBody),
        (status = 429, description = "The project has reached its limit for this hour", body = ErrorBody,
            headers(("Retry-After" = u64, description = "Seconds")))))]
pub(crate) async fn message_job(
    State(app): State<App>,
    Writer(caller): Writer,
    headers: HeaderMap,
    body: RequestBody,
) -> Result<Response, Problem> {
    let job_id = caller.job_id()?;
    let bytes = body::read(&app, &headers, body).await?;
    let idempotency = idempotency(&headers, &format!("message {job_id}"), &bytes)?;
    let SendMessage { prompt } = body::parse(&bytes)?;
    let admitted = caller.jobs(&app).message(&caller.project, job_id, &prompt, idempotency).await?;
    Ok(answer(StatusCode::OK, admitted))
}

/// What the client is told about a creation or a message.
fn answer(status: StatusCode, admitted: Admitted) -> Response {
    let mut response = json(status, admitted.answer);
    response.headers_mut().extend(admitted.standing.map(standing_headers).unwrap_or_default());
    response
}

impl From<JobError> for Problem {
    fn from(why: JobError) -> Self {
        match why {
            JobError::Invalid(wrong) => Self::invalid_all(wrong.into_iter().map(Detail::from).collect()),
            JobError::NoProject => Self::project_not_found(),
            JobError::NotFound => Self::job_not_found(),
            JobError::Limited(standing) => Self::limited(standing),
            JobError::KeyReused => {
                let error = "This Idempotency-Key was used with another request; use a new one.";
                Self::new(StatusCode::CONFLICT, "idempotency_key_reused", error)
            }
            JobError::Archived => {
                let error = "The job is archived and takes no more messages; create a new one.";
                Self::new(StatusCode::BAD_REQUEST, "job_archived", error)
            }
            JobError::Merged => {
                let error = "The pull request of the job is merged, so nothing can be added to it; create a new job.";
                Self::new(StatusCode::CONFLICT, "pull_request_merged", error)
            }
            JobError::NotActive(status) => {
                let error = format!("The job is {}; only an active job can be cancelled.", status.as_str());
                Self::new(StatusCode::CONFLICT, "job_not_active", error)
            }
            JobError::NoLink => {
                let error =
                    "The job has no pull request on this server; a pull request on a code host is managed there.";
                Self::new(StatusCode::CONFLICT, "no_link", error)
            }
            JobError::LinkEnded => {
                let error = "The job is archived, and the link to its pull request has ended with it.";
                Self::new(StatusCode::CONFLICT, "no_link", error)
            }
            JobError::Busy => {
                let error = "The job is being worked on; revoke its link when that has ended, or archive it.";
                Self::new(StatusCode::CONFLICT, "job_busy", error)
            }
            JobError::Store(error) => error.into(),
        }
    }
}

/// Get an agent job
#[utoipa::path(get, path = "/v2/agent/{projectId}/job/{id}", tag = "Agent jobs", operation_id = "getJob",
    params(("projectId" = String, Path, description = "The project"), ("id" = String, Path, description = "The job")),
    responses((status = 200, description = "The job", body = JobView)))]
pub(crate) async fn get_job(State(app): State<App>, Reader(caller): Reader) -> Result<Response, Problem> {
    let job = app.desk().jobs.get(&caller.project, caller.job_id()?).await?;
    Ok(json(StatusCode::OK, render(&job)))
}

/// A page of jobs, newest first
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct JobList<'a> {
    jobs: Vec<JobView<'a>>,
    /// Send this as `cursor` to get the next page; null at the end.
    #[schema(required)]
    next_cursor: Option<&'a str>,
}

impl<'a> JobList<'a> {
    /// The page of `jobs`, of which there may be more.
    pub(crate) fn new(jobs: &'a [Job], more: bool) -> Self {
        let next_cursor = jobs.last().filter(|_| more).map(|job| job.id.as_str());
        Self { jobs: jobs.iter().map(JobView::from).collect(), next_cursor }
    }
}

/// List a project's jobs, newest first
#[utoipa::path(get, path = "/v2/agent/{projectId}/jobs", tag = "Agent jobs", operation_id = "listJobs",
    params(("projectId" = String, Path, description = "The project"), ListJobs),
    responses((status = 200, description = "A page of jobs", body = JobList)))]
pub(crate) async fn list_jobs(
    State(app): State<App>,
    Reader(caller): Reader,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let filter = list_filter(query.as_deref().unwrap_or_default())?;
    let (jobs, more) = app.desk().jobs.list(&caller.project.id, filter).await?;
    Ok(axum::Json(JobList::new(&jobs, more)).into_response())
}

/// Cancel an active job
///
/// A job that is being worked on ends within seconds, `failed` with the outcome `cancelled`.
#[utoipa::path(post, path = "/v2/agent/{projectId}/job/{id}/cancel", tag = "Agent jobs", operation_id = "cancelJob",
    params(("projectId" = String, Path, description = "The project"), ("id" = String, Path, description = "The job")),
    responses((status = 200, description = "The job, which has ended or is about to end", body = JobView),
        (status = 409, description = "The job is not active", body = ErrorBody)))]
pub(crate) async fn cancel_job(State(app): State<App>, Writer(caller): Writer) -> Result<Response, Problem> {
    let job = caller.jobs(&app).cancel(&caller.project.id, caller.job_id()?).await?;
    Ok(json(StatusCode::OK, render(&job)))
}

/// Archive a job; this is final
///
/// An active job is cancelled first. Archiving again changes nothing.
#[utoipa::path(post, path = "/v2/agent/{projectId}/job/{id}/archive", tag = "Agent jobs", operation_id = "archiveJob",
    params(("projectId" = String, Path, description = "The project"), ("id" = String, Path, description = "The job")),
    responses((status = 200, description = "The archived job", body = JobView)))]
pub(crate) async fn archive_job(State(app): State<App>, Writer(caller): Writer) -> Result<Response, Problem> {
    let job = caller.jobs(&app).archive(&caller.project.id, caller.job_id()?).await?;
    Ok(json(StatusCode::OK, render(&job)))
}

/// Revoke the link to a job's pull request
///
/// For repositories that no code host looks after, whose pull requests are pages of this server that whoever has the link
/// may read. The job gets another `prLink`; the one it had leads nowhere. Archiving a job ends its link as well.
#[utoipa::path(post, path = "/v2/agent/{projectId}/job/{id}/revoke-link", tag = "Agent jobs", operation_id = "revokePullLink",
    params(("projectId" = String, Path, description = "The project"), ("id" = String, Path, description = "The job")),
    responses((status = 200, description = "The job with its new link", body = JobView),
        (status = 409, description = "It has no pull request that Copydesk keeps, is being worked on, or is archived", body = ErrorBody)))]
pub(crate) async fn revoke_link(State(app): State<App>, Writer(caller): Writer) -> Result<Response, Problem> {
    let job = caller.jobs(&app).revoke_link(&caller.project.id, caller.job_id()?).await?;
    Ok(json(StatusCode::OK, render(&job)))
}

pub(super) fn json(status: StatusCode, body: String) -> Response {
    (status, [(CONTENT_TYPE, HeaderValue::from_static("application/json"))], body).into_response()
}
