//! Who asks, and for which project.

use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use copydesk_desk::jobs::{Jobs, StillAllowed};
use copydesk_desk::readers::CallerId;
use copydesk_domain::{Actor, ApiKey, JobId, Project, ProjectId, Scope};
use copydesk_store::{Store, StoreError};

use crate::app::App;
use crate::edge::Who;
use crate::problem::Problem;

/// Somebody with a valid key for an existing project.
pub(crate) struct Caller {
    pub(crate) project: Project,
    digest: String,
    job_id: Option<JobId>,
    actor: Actor,
}

impl Caller {
    /// The store, for what the caller does.
    pub(crate) fn store(&self, app: &App) -> Store {
        app.store().by(self.actor.clone())
    }

    /// Jobs, for what the caller does.
    pub(crate) fn jobs(&self, app: &App) -> Jobs {
        app.desk().jobs.by(self.actor.clone())
    }

    /// The job that the address names.
    pub(crate) fn job_id(&self) -> Result<&JobId, Problem> {
        self.job_id.as_ref().ok_or_else(Problem::job_not_found)
    }

    /// Who asks, for what is remembered from one request to the next.
    pub(crate) fn id(&self) -> CallerId {
        CallerId::of_key(&self.digest)
    }

    /// For answers that last so long that the key may be revoked meanwhile.
    pub(crate) fn still_allowed(&self, app: &App) -> KeyStillValid {
        KeyStillValid { store: app.store().clone(), digest: self.digest.clone(), project_id: self.project.id.clone() }
    }
}

/// Looks whether a key still opens a project.
pub(crate) struct KeyStillValid {
    store: Store,
    digest: String,
    project_id: ProjectId,
}

impl StillAllowed for KeyStillValid {
    async fn still_allowed(&self) -> Result<bool, StoreError> {
        let access = self.store.access(self.digest.clone(), Some(self.project_id.clone())).await?;
        Ok(access.is_some_and(|access| access.key.is_valid_at(self.store.now())))
    }
}

/// A caller who may read.
pub(crate) struct Reader(pub(crate) Caller);

/// A caller who may write.
pub(crate) struct Writer(pub(crate) Caller);

impl FromRequestParts<App> for Reader {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        authenticate(parts, app, Scope::Read).await.map(Self)
    }
}

impl FromRequestParts<App> for Writer {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        authenticate(parts, app, Scope::Write).await.map(Self)
    }
}

/// Somebody with a valid key for the administration.
pub(crate) struct Administrator {
    actor: Actor,
}

impl Administrator {
    pub(crate) fn actor(&self) -> Actor {
        self.actor.clone()
    }

    /// The store, for what the caller does.
    pub(crate) fn store(&self, app: &App) -> Store {
        app.store().by(self.actor())
    }
}

impl FromRequestParts<App> for Administrator {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let key = bearer(parts).ok_or_else(Problem::unauthorized)?;
        let access = app.store().access(key.digest(), None).await?.ok_or_else(Problem::unauthorized)?;
        let now = app.store().now();
        if !access.key.is_valid_at(now) {
            return Err(Problem::unauthorized());
        }
        app.desk().key_use.note(&access.key, now);
        parts.extensions.get_or_insert_default::<Who>().set(&access.key.id);
        if !access.key.scope.covers(Scope::Admin) {
            return Err(Problem::not_an_administrator());
        }
        Ok(Self { actor: Actor::key(&access.key.id, &access.key.name) })
    }
}

async fn authenticate(parts: &mut Parts, app: &App, wanted: Scope) -> Result<Caller, Problem> {
    let key = bearer(parts).ok_or_else(Problem::unauthorized)?;
    let (project_id, job_id) = path(parts).await;
    // Asked anew for every request: a key that was revoked, by whichever process, is refused by the next one.
    let digest = key.digest();
    let access = app.store().access(digest.clone(), project_id).await?.ok_or_else(Problem::unauthorized)?;
    let now = app.store().now();
    if !access.key.is_valid_at(now) {
        return Err(Problem::unauthorized());
    }
    app.desk().key_use.note(&access.key, now);
    parts.extensions.get_or_insert_default::<Who>().set(&access.key.id);
    let project = access.project.ok_or_else(Problem::project_not_found)?;
    if access.key.project_id.as_ref().is_some_and(|id| *id != project.id) {
        return Err(Problem::project_not_found());
    }
    if !access.key.scope.covers(wanted) {
        return Err(if access.key.scope == Scope::Admin { Problem::only_administers() } else { Problem::forbidden() });
    }
    let actor = Actor::key(&access.key.id, &access.key.name);
    Ok(Caller { project, digest, job_id, actor })
}

/// The key of the one `Authorization: Bearer` header.
fn bearer(parts: &Parts) -> Option<ApiKey> {
    let mut headers = parts.headers.get_all(AUTHORIZATION).iter();
    let (Some(header), None) = (headers.next(), headers.next()) else { return None };
    let (scheme, token) = header.to_str().ok()?.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return None;
    }
    ApiKey::parse(token.trim()).ok()
}

/// The project and the job of the address. Text that is not UTF-8 names nothing that exists.
async fn path(parts: &mut Parts) -> (Option<ProjectId>, Option<JobId>) {
    let Ok(params) = RawPathParams::from_request_parts(parts, &()).await else { return (None, None) };
    let find = |wanted: &str| params.iter().find(|(name, _)| *name == wanted).map(|(_, value)| value);
    let project_id = find("projectId").and_then(|text| ProjectId::parse(text).ok());
    // PostgreSQL cannot even be asked about a NUL.
    (project_id, find("id").filter(|text| !text.contains('\0')).map(JobId::from))
}
