//! Keys: listed, made, revoked.

use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use copydesk_desk::keys::{self, KeyDraft, NotMade};
use copydesk_domain::{KeyRecord, ProjectId, Scope};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::requests::{ListKeys, named};
use super::{Named, no_project};
use crate::app::App;
use crate::auth::Administrator;
use crate::body::{self, RequestBody};
use crate::problem::{ErrorBody, Problem};

/// Keys, oldest first
#[derive(Serialize, ToSchema)]
pub(super) struct KeyList {
    keys: Vec<KeyRecord>,
}

/// A new key
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct NewKeyView {
    #[serde(flatten)]
    record: KeyRecord,
    /// The key itself, shown only now.
    #[schema(pattern = "^copydesk_[A-Za-z0-9]{46}$")]
    key: String,
}

/// A key to create
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct CreateKey {
    /// The project that it is for; null or not given: all projects.
    project_id: Option<String>,
    /// What to call it. At most 200 characters, no control characters.
    name: Option<String>,
    /// `read` or `write`; `write` if not given.
    #[schema(pattern = "^(read|write)$")]
    scope: Option<String>,
    /// How long it is valid, such as `90d`; for ever if not given.
    expires: Option<String>,
}

/// List keys, without the keys themselves
#[utoipa::path(get, path = "/v1/admin/keys", tag = "Administration", operation_id = "listKeys", params(ListKeys),
    responses((status = 200, description = "Keys, oldest first", body = KeyList)))]
pub(super) async fn list_keys(
    State(app): State<App>,
    _: Administrator,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    let query = query.unwrap_or_default();
    let mut named = form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| name == "projectId");
    let project_id = match (named.next(), named.next()) {
        (None, _) => None,
        (Some(_), Some(_)) => return Err(Problem::invalid("projectId", "is given twice")),
        (Some((_, id)), None) => {
            let id = ProjectId::parse(&id).map_err(|_| no_project())?;
            Some(app.store().project(&id).await?.ok_or_else(no_project)?.id)
        }
    };
    Ok(axum::Json(KeyList { keys: app.store().keys(project_id.as_ref()).await? }).into_response())
}

/// Make a key
///
/// The `key` of the answer is shown only now. Keys of the scope `admin` are made on the server itself, or by administrators
/// in the dashboard.
#[utoipa::path(post, path = "/v1/admin/keys", tag = "Administration", operation_id = "createKey",
    request_body(content = CreateKey, content_type = "application/json"),
    responses((status = 201, description = "The key", body = NewKeyView),
        (status = 413, description = "The body has more than 1 MiB", body = ErrorBody),
        (status = 415, description = "The body is not JSON", body = ErrorBody)))]
pub(super) async fn create_key(
    State(app): State<App>,
    who: Administrator,
    headers: HeaderMap,
    body: RequestBody,
) -> Result<Response, Problem> {
    let bytes = body::read(&app, &headers, body).await?;
    let wish = body::parse::<CreateKey>(&bytes)?;
    let scope = wish.scope.as_deref().map_or(Some(Scope::Write), Scope::parse);
    // One that is stolen must not make others that outlive it.
    let Some(scope) = scope.filter(|scope| *scope != Scope::Admin) else {
        return Err(Problem::invalid("scope", "must be read or write"));
    };
    let project_id = wish.project_id.map(|id| ProjectId::parse(&id)).transpose().map_err(|_| no_project())?;
    let draft = KeyDraft { project_id, name: wish.name.unwrap_or_default(), scope, expires: wish.expires };
    let (record, key) = keys::create(&who.store(&app), draft).await.map_err(|why| match why {
        NotMade::Invalid(invalid) => named(&invalid),
        NotMade::NoProject(_) => no_project(),
        NotMade::Store(error) => error.into(),
    })?;
    let view = NewKeyView { record, key: key.reveal().to_owned() };
    Ok((StatusCode::CREATED, axum::Json(view)).into_response())
}

/// Revoke a key
///
/// It stops working at once. Revoking it again does nothing.
#[utoipa::path(delete, path = "/v1/admin/keys/{keyId}", tag = "Administration", operation_id = "revokeKey",
    params(("keyId" = String, Path, description = "The key's id")),
    responses((status = 200, description = "The key, without the secret", body = KeyRecord)))]
pub(super) async fn revoke_key(State(app): State<App>, who: Administrator, at: Named) -> Result<Response, Problem> {
    let none = || Problem::new(StatusCode::NOT_FOUND, "key_not_found", "There is no such key.");
    let revoked = who.store(&app).revoke_key(&at.key).await?.ok_or_else(none)?;
    Ok(axum::Json(revoked).into_response())
}
