//! The administration over HTTP: what the command line does on the machine itself.

mod credentials;
mod keys;
mod people;
mod projects;
mod requests;

use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::StatusCode;
use axum::http::request::Parts;
use copydesk_domain::{Project, ProjectId};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::problem::Problem;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(projects::list_projects, projects::create_project))
        .routes(routes!(projects::get_project, projects::change_project, projects::delete_project))
        .routes(routes!(projects::test_project))
        .routes(routes!(credentials::get_credential, credentials::set_credential, credentials::delete_credential))
        .routes(routes!(people::list_users))
        .routes(routes!(people::list_members))
        .routes(routes!(people::set_member, people::remove_member))
        .routes(routes!(people::list_invitations, people::create_invitation))
        .routes(routes!(people::delete_invitation))
        .routes(routes!(keys::list_keys, keys::create_key))
        .routes(routes!(keys::revoke_key))
}

/// What the address names. Text that is not UTF-8 names nothing that exists.
#[derive(Default)]
struct Named {
    project: String,
    user: String,
    invitation: String,
    key: String,
}

impl FromRequestParts<App> for Named {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let Ok(params) = RawPathParams::from_request_parts(parts, app).await else { return Ok(Self::default()) };
        // PostgreSQL cannot even be asked about a NUL.
        let find = |wanted: &str| {
            let found = params.iter().find(|(name, value)| *name == wanted && !value.contains('\0'));
            found.map(|(_, value)| value.to_owned()).unwrap_or_default()
        };
        Ok(Self {
            project: find("projectId"),
            user: find("userId"),
            invitation: find("invitationId"),
            key: find("keyId"),
        })
    }
}

impl Named {
    /// The id of the project that the address names, whether or not there is one.
    fn project_id(&self) -> Result<ProjectId, Problem> {
        ProjectId::parse(&self.project).map_err(|_| no_project())
    }

    async fn project(&self, app: &App) -> Result<Project, Problem> {
        app.store().project(&self.project_id()?).await?.ok_or_else(no_project)
    }
}

fn no_project() -> Problem {
    Problem::new(StatusCode::NOT_FOUND, "project_not_found", "There is no such project.")
}
