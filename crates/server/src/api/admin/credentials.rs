//! What projects show to their code hosts: set, removed, never shown.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use copydesk_desk::credentials::{CredentialDraft, CredentialSource, Known, misfits};
use copydesk_domain::{SecretText, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::requests::named;
use super::{Named, no_project};
use crate::api::parts::workshop;
use crate::app::App;
use crate::auth::Administrator;
use crate::body::{self, RequestBody};
use crate::problem::{ErrorBody, Problem};

/// A project's credential, without the secret
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Credential)]
pub(super) struct CredentialView {
    project: String,
    /// Where it is: `stored`, `environment`, or null if there is none.
    #[schema(required)]
    source: Option<&'static str>,
    /// Its kind, in words.
    #[schema(required)]
    kind: Option<String>,
    /// Why a job could not use it.
    #[schema(required)]
    problem: Option<String>,
    /// When it was last set.
    #[schema(required, value_type = Option<String>, format = DateTime)]
    updated_at: Option<Timestamp>,
    /// Problems with it, one sentence each.
    notes: Vec<String>,
}

impl CredentialView {
    fn new(project: &str, known: Known, notes: Vec<String>) -> Self {
        let (source, updated_at) = match &known.source {
            Some(CredentialSource::Stored(record)) => (Some("stored"), Some(record.updated_at)),
            Some(CredentialSource::Environment(_)) => (Some("environment"), None),
            None => (None, None),
        };
        let kind = known.source.map(|source| source.title().to_owned());
        Self { project: project.to_owned(), source, kind, problem: known.problem, updated_at, notes }
    }
}

/// A credential to set
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct SetCredential {
    /// `token`, `ssh_key` or `github_app`.
    #[schema(pattern = "^(token|ssh_key|github_app)$")]
    kind: String,
    /// For a token, and for an SSH key where pull requests are opened too.
    #[schema(value_type = Option<String>, format = Password)]
    token: Option<SecretText>,
    /// The user of a token, if the host wants one.
    username: Option<String>,
    /// Of an SSH key or a GitHub App, in PEM.
    #[schema(value_type = Option<String>, format = Password)]
    private_key: Option<SecretText>,
    /// The host's key, as lines of known_hosts; what the server knows if not given.
    known_hosts: Option<String>,
    /// The id or the client id of a GitHub App.
    app_id: Option<String>,
    /// Where it is installed; asked for if not given.
    installation_id: Option<u64>,
}

impl From<SetCredential> for CredentialDraft {
    fn from(body: SetCredential) -> Self {
        Self {
            kind: body.kind,
            token: body.token,
            username: body.username,
            private_key: body.private_key,
            known_hosts: body.known_hosts,
            app_id: body.app_id,
            installation: body.installation_id.map(|id| id.to_string()),
        }
    }
}

/// Show a project's credential, without the secret
#[utoipa::path(get, path = "/v1/admin/projects/{projectId}/credential", tag = "Administration",
    operation_id = "getCredential",
    params(("projectId" = String, Path, description = "The project")),
    responses((status = 200, description = "About the credential, never the credential itself", body = CredentialView)))]
pub(super) async fn get_credential(State(app): State<App>, _: Administrator, at: Named) -> Result<Response, Problem> {
    let project = at.project(&app).await?;
    let known = workshop(&app)?.credentials.known(&project.id).await?;
    Ok(axum::Json(CredentialView::new(&project.id, known, Vec::new())).into_response())
}

/// Set a project's credential
///
/// Replaces an earlier one. It is encrypted and cannot be read back.
#[utoipa::path(put, path = "/v1/admin/projects/{projectId}/credential", tag = "Administration",
    operation_id = "setCredential",
    params(("projectId" = String, Path, description = "The project")),
    request_body(content = SetCredential, content_type = "application/json"),
    responses((status = 200, description = "The credential, without the secret", body = CredentialView),
        (status = 413, description = "The body has more than 1 MiB", body = ErrorBody),
        (status = 415, description = "The body is not JSON", body = ErrorBody)))]
pub(super) async fn set_credential(
    State(app): State<App>,
    who: Administrator,
    at: Named,
    headers: HeaderMap,
    body: RequestBody,
) -> Result<Response, Problem> {
    let bytes = body::read(&app, &headers, body).await?;
    let draft = CredentialDraft::from(body::parse::<SetCredential>(&bytes)?);
    let project = at.project(&app).await?;
    let secret = draft.check().map_err(|invalid| named(&invalid))?;
    let notes = misfits(&secret, &project).iter().map(ToString::to_string).collect();
    let credentials = workshop(&app)?.credentials.by(who.actor());
    credentials.set(&project.id, &secret).await?.ok_or_else(no_project)?;
    let known = credentials.known(&project.id).await?;
    Ok(axum::Json(CredentialView::new(&project.id, known, notes)).into_response())
}

/// Remove a project's credential
///
/// Revoke it at the code host too. Removing it again does nothing.
#[utoipa::path(delete, path = "/v1/admin/projects/{projectId}/credential", tag = "Administration",
    operation_id = "deleteCredential",
    params(("projectId" = String, Path, description = "The project")),
    responses((status = 204, description = "None is stored")))]
pub(super) async fn delete_credential(
    State(app): State<App>,
    who: Administrator,
    at: Named,
) -> Result<Response, Problem> {
    let project = at.project(&app).await?;
    workshop(&app)?.credentials.by(who.actor()).remove(&project.id).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}
