//! What a project shows to its code host, which is never shown to anybody else.

use axum::http::StatusCode;
use copydesk_desk::credentials::{CredentialDraft, CredentialSource, Credentials, Known, misfits};
use copydesk_domain::{Actor, Invalid, Project, SecretText, Timestamp};
use copydesk_store::VaultError;

use crate::dash::Dash;
use crate::form::{Form, sentence};
use crate::respond::Oops;

/// A project's credential, without the secret, for the form that sets it.
pub(crate) struct CredentialState {
    pub(crate) project_id: String,
    /// Its kind.
    pub(crate) title: Option<String>,
    /// When it was set, if it is stored.
    pub(crate) set_at: Option<Timestamp>,
    /// The variable of the environment that holds it.
    pub(crate) variable: Option<String>,
    pub(crate) problem: Option<String>,
    /// What to say with it to come back to where the form is.
    pub(crate) back: &'static str,
    /// What is wrong with what was filled in.
    pub(crate) wrong: Option<Invalid>,
    /// The kind that was filled in.
    pub(crate) kind: String,
    /// Whether the repository is on this machine and asks for nothing.
    pub(crate) is_local: bool,
}

impl CredentialState {
    /// What is wrong with a field of one of the forms, as a sentence.
    pub(crate) fn wrong(&self, kind: &str, field: &str) -> Option<String> {
        let wrong = self.wrong.as_ref().filter(|wrong| self.kind == kind && wrong.field == field);
        wrong.map(sentence)
    }
}

pub(super) fn credentials(dash: &Dash) -> Option<&Credentials> {
    dash.desk().jobs.workshop().map(|workshop| &workshop.credentials)
}

pub(crate) async fn credential_state(
    dash: &Dash,
    project: &Project,
    back: &'static str,
) -> Result<CredentialState, Oops> {
    let known = match credentials(dash) {
        Some(credentials) => credentials.known(&project.id).await?,
        None => Known { source: None, problem: Some("this process has no credentials".to_owned()) },
    };
    let (set_at, variable) = match &known.source {
        Some(CredentialSource::Stored(record)) => (Some(record.updated_at), None),
        Some(CredentialSource::Environment(name)) => (None, Some(name.clone())),
        None => (None, None),
    };
    Ok(CredentialState {
        project_id: project.id.to_string(),
        title: known.source.as_ref().map(|source| source.title().to_owned()),
        set_at,
        variable,
        problem: known.problem,
        back,
        wrong: None,
        kind: String::new(),
        is_local: project.repository.clone_address().starts_with("file:"),
    })
}

/// What a form says of a credential.
pub(crate) fn draft(form: &Form, kind: &str) -> CredentialDraft {
    let secret = |name: &str| form.given(name).map(SecretText::from);
    CredentialDraft {
        kind: kind.to_owned(),
        token: secret("token"),
        username: form.given("username"),
        private_key: secret("private_key"),
        known_hosts: form.given("known_hosts"),
        app_id: form.given("app_id"),
        installation: form.given("installation"),
    }
}

/// Seals and keeps a credential under the name of whoever sets it.
pub(crate) async fn keep(
    dash: &Dash,
    by: Actor,
    project: &Project,
    draft: CredentialDraft,
) -> Result<Result<(), Invalid>, Oops> {
    let none = || Oops::refused(StatusCode::SERVICE_UNAVAILABLE, "This process keeps no credentials.");
    let credentials = credentials(dash).ok_or_else(none)?;
    let field = if draft.kind == "token" { "token" } else { "private_key" };
    let secret = match draft.check() {
        Ok(secret) => secret,
        Err(invalid) => return Ok(Err(invalid)),
    };
    if let Some(misfit) = misfits(&secret, project).first() {
        return Ok(Err(Invalid::new(field, format!("was not stored: {misfit}"))));
    }
    credentials.by(by).set(&project.id, &secret).await?.ok_or(Oops::NotFound)?;
    Ok(Ok(()))
}

impl From<VaultError> for Oops {
    fn from(error: VaultError) -> Self {
        match error {
            VaultError::Store(error) => error.into(),
            error => Self::Broken(error.to_string()),
        }
    }
}
