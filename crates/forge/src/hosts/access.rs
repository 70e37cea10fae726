use std::sync::Arc;

use copydesk_domain::{HostKind, SecretText};

use super::exchange::Authorization;
use super::github_app::App;
use super::subject::CredentialKind;
use crate::{Credential, ForgeError, HostSecret};

/// What is shown to a host's interface.
pub(super) enum Access {
    None,
    Fixed {
        /// The value of the header.
        header: SecretText,
        /// What of it must never be shown.
        secret: SecretText,
    },
    /// The token of an installation, fetched when it is needed.
    App(Arc<App>),
}

impl Access {
    pub(super) fn of(secret: Option<&HostSecret>, host: HostKind, app: Option<Arc<App>>) -> Self {
        if let Some(app) = app {
            return Self::App(app);
        }
        let (username, token) = match secret {
            Some(HostSecret::Token { username, token }) => (username.as_deref(), token),
            Some(HostSecret::SshKey { token: Some(token), .. }) => (None, token),
            Some(HostSecret::SshKey { token: None, .. } | HostSecret::GithubApp { .. }) | None => return Self::None,
        };
        // As it is pasted, with the end of the line.
        let token = token.expose().trim();
        let header = match (CredentialKind::of(secret, host), username) {
            (CredentialKind::Password, Some(username)) => Credential::new(username, token).header_value(),
            // As every age of Gitea and Forgejo takes it.
            _ if host == HostKind::Forgejo => format!("token {token}"),
            _ => format!("Bearer {token}"),
        };
        Self::Fixed { header: header.into(), secret: token.into() }
    }

    /// What to send along. It may have to be fetched first.
    pub(super) async fn authorization(&self) -> Result<Authorization, ForgeError> {
        match self {
            Self::None => Ok(Authorization::default()),
            Self::Fixed { header, secret } => Authorization::new(header.expose(), secret),
            Self::App(app) => Authorization::bearer(&app.token().await?),
        }
    }

    /// Lets go of a token that the host has refused before its time; says whether a new one can be had.
    pub(super) async fn renew(&self) -> bool {
        let Self::App(app) = self else { return false };
        app.forget().await;
        true
    }
}
