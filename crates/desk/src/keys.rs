//! Making keys, whoever asks for it.

use std::time::Duration;

use copydesk_boxed::boxed;
use copydesk_domain::{ApiKey, Invalid, KeyRecord, ProjectId, Scope, parse_duration};
use copydesk_store::{NewKey, Store, StoreError};

/// A key as somebody wants it.
#[derive(Debug)]
pub struct KeyDraft {
    /// The project that it opens; none: all.
    pub project_id: Option<ProjectId>,
    pub name: String,
    pub scope: Scope,
    /// After how long it is refused, such as `90d`; none: never.
    pub expires: Option<String>,
}

/// Why a key was not made.
#[derive(Debug, thiserror::Error)]
pub enum NotMade {
    #[error(transparent)]
    Invalid(#[from] Invalid),
    #[error("there is no project {0:?}")]
    NoProject(String),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Makes a key. This is the only time that it can be seen.
#[boxed]
pub async fn create(store: &Store, draft: KeyDraft) -> Result<(KeyRecord, ApiKey), NotMade> {
    let KeyDraft { project_id, name, scope, expires } = draft;
    if scope == Scope::Admin && project_id.is_some() {
        return Err(Invalid::new("scope", "can be admin only for all projects").into());
    }
    if name.chars().count() > 200 || name.chars().any(char::is_control) {
        return Err(Invalid::new("name", "must have at most 200 characters and no control characters").into());
    }
    let expires_at = match &expires {
        None => None,
        Some(text) => {
            let wrong = |error| Invalid::new("expires", format!("is not a duration: {error}"));
            let length = parse_duration(text).map_err(wrong)?;
            if length.is_zero() {
                let message = "must be longer than zero; leave it out for a key that does not expire";
                return Err(Invalid::new("expires", message).into());
            }
            Some(store.now().plus(length))
        }
    };
    let created = store.create_key(NewKey { project_id: project_id.clone(), name, scope, expires_at }).await?;
    created.ok_or_else(|| NotMade::NoProject(project_id.as_deref().unwrap_or_default().to_owned()))
}

/// Makes a key in place of another, for the same project and with the same name, scope and length of life. The old one is
/// refused after `overlap`. None: it opens nothing any more.
#[boxed]
pub async fn rotate(
    store: &Store,
    old: &KeyRecord,
    overlap: Duration,
) -> Result<Option<(KeyRecord, ApiKey)>, StoreError> {
    let now = store.now();
    let expires_at = old.expires_at.map(|ends| now.plus(ends.since(old.created_at)));
    store.rotate_key(&old.id, now.plus(overlap), expires_at).await
}
