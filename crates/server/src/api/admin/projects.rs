//! Projects: listed, made, changed, tried and deleted.

use axum::extract::State;
use axum::http::header::{HeaderValue, LOCATION};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use copydesk_desk::projects::{self, NotDeleted, NotSaved, ProjectView, TestView};
use copydesk_domain::{Project, ProjectId};
use copydesk_store::StoreError;
use serde::Serialize;
use utoipa::ToSchema;

use super::requests::{ChangeProject, CreateProject, checked, named};
use super::{Named, no_project};
use crate::api::parts::{views, workshop};
use crate::app::App;
use crate::auth::Administrator;
use crate::body::{self, RequestBody};
use crate::edge::TimeLimit;
use crate::problem::{ErrorBody, Problem};

/// All projects, by id
#[derive(Serialize, ToSchema)]
pub(super) struct ProjectList {
    projects: Vec<ProjectView>,
}

fn view(app: &App, project: &Project) -> ProjectView {
    ProjectView::new(project, app.desk().jobs.rules())
}

/// List the projects
#[utoipa::path(get, path = "/v1/admin/projects", tag = "Administration", operation_id = "listProjects",
    responses((status = 200, description = "All projects, by id", body = ProjectList)))]
pub(super) async fn list_projects(State(app): State<App>, _: Administrator) -> Result<Response, Problem> {
    let projects = app.store().projects().await?;
    Ok(axum::Json(ProjectList { projects: projects.iter().map(|it| view(&app, it)).collect() }).into_response())
}

/// Make a project
///
/// Without `baseRef` the repository is asked for its main branch. What may be a mistake is said in `notes`.
#[utoipa::path(post, path = "/v1/admin/projects", tag = "Administration", operation_id = "createProject",
    request_body(content = CreateProject, content_type = "application/json"),
    responses((status = 201, description = "The project", body = ProjectView,
            headers(("Location" = String, description = "Where to find it"))),
        (status = 409, description = "The id or a domain is taken", body = ErrorBody),
        (status = 413, description = "The body has more than 1 MiB", body = ErrorBody),
        (status = 415, description = "The body is not JSON", body = ErrorBody)))]
pub(super) async fn create_project(
    State(app): State<App>,
    who: Administrator,
    headers: HeaderMap,
    body: RequestBody,
) -> Result<Response, Problem> {
    let bytes = body::read(&app, &headers, body).await?;
    let mut wish = body::parse::<CreateProject>(&bytes)?;
    let id = wish.id.take().map(|id| ProjectId::parse(&id)).transpose().map_err(|invalid| named(&invalid))?;
    let checked = checked(wish.into(), None).await?;
    let (project, notes) = projects::create(&who.store(&app), id, checked, None).await.map_err(|why| match why {
        NotSaved::Invalid(invalid) => named(&invalid),
        NotSaved::Taken(id) => Problem::new(StatusCode::CONFLICT, "id_taken", format!("The id {id} is taken.")),
        NotSaved::Store(error) => taken(error),
    })?;
    let view = view(&app, &project).with_notes(notes);
    let mut response = (StatusCode::CREATED, axum::Json(view)).into_response();
    if let Ok(location) = HeaderValue::from_str(&format!("/v1/admin/projects/{}", project.id)) {
        response.headers_mut().insert(LOCATION, location);
    }
    Ok(response)
}

fn taken(error: StoreError) -> Problem {
    match error {
        StoreError::DomainTaken(domain) => {
            let error = format!("The domain {domain} belongs to another project.");
            Problem::new(StatusCode::CONFLICT, "domain_taken", error)
        }
        error => error.into(),
    }
}

/// Get a project
#[utoipa::path(get, path = "/v1/admin/projects/{projectId}", tag = "Administration", operation_id = "getProject",
    params(("projectId" = String, Path, description = "The project")),
    responses((status = 200, description = "The project", body = ProjectView)))]
pub(super) async fn get_project(State(app): State<App>, _: Administrator, at: Named) -> Result<Response, Problem> {
    Ok(axum::Json(view(&app, &at.project(&app).await?)).into_response())
}

/// Change a project
///
/// Fields that are not given stay as they are.
#[utoipa::path(patch, path = "/v1/admin/projects/{projectId}", tag = "Administration", operation_id = "changeProject",
    params(("projectId" = String, Path, description = "The project")),
    request_body(content = ChangeProject, content_type = "application/json"),
    responses((status = 200, description = "The project", body = ProjectView),
        (status = 409, description = "A domain is taken", body = ErrorBody),
        (status = 413, description = "The body has more than 1 MiB", body = ErrorBody),
        (status = 415, description = "The body is not JSON", body = ErrorBody)))]
pub(super) async fn change_project(
    State(app): State<App>,
    who: Administrator,
    at: Named,
    headers: HeaderMap,
    body: RequestBody,
) -> Result<Response, Problem> {
    let bytes = body::read(&app, &headers, body).await?;
    let wish = body::parse::<ChangeProject>(&bytes)?;
    let old = at.project(&app).await?;
    let checked = checked(wish.into(), Some(&old)).await?;
    let changed = who.store(&app).update_project(&old.id, checked.change).await.map_err(taken)?;
    let view = view(&app, &changed.ok_or_else(no_project)?).with_notes(checked.notes);
    Ok(axum::Json(view).into_response())
}

/// Delete a project
///
/// With its keys, jobs and page views. Deleting it again does nothing.
#[utoipa::path(delete, path = "/v1/admin/projects/{projectId}", tag = "Administration", operation_id = "deleteProject",
    params(("projectId" = String, Path, description = "The project")),
    responses((status = 204, description = "There is no such project any more")))]
pub(super) async fn delete_project(
    State(app): State<App>,
    who: Administrator,
    at: Named,
    limit: TimeLimit,
) -> Result<Response, Problem> {
    let views = views(&app)?.store().clone();
    limit.lift();
    match projects::delete_surely(who.store(&app), views, at.project_id()?).await {
        Ok(_) => Ok(StatusCode::NO_CONTENT.into_response()),
        Err(NotDeleted::Store(error)) => Err(error.into()),
        Err(error @ NotDeleted::Views(_)) => Err(Problem::internal("", error.to_string())),
    }
}

/// Test what jobs need from a project's code host
///
/// Nothing is left behind. The answer is 200 whether or not a job would succeed.
#[utoipa::path(post, path = "/v1/admin/projects/{projectId}/test", tag = "Administration", operation_id = "testProject",
    params(("projectId" = String, Path, description = "The project")),
    responses((status = 200, description = "What was tried", body = TestView)))]
pub(super) async fn test_project(
    State(app): State<App>,
    _: Administrator,
    at: Named,
    limit: TimeLimit,
) -> Result<Response, Problem> {
    let project = at.project(&app).await?;
    let workshop = workshop(&app)?;
    // Git and the host have time limits of their own.
    limit.lift();
    let trials = projects::trials(workshop, &project, app.desk().jobs.rules()).await;
    Ok(axum::Json(TestView::new(&project, &trials)).into_response())
}
