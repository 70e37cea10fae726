use std::sync::Arc;

use reqwest::header::HeaderValue;

use super::github_app::App;
use crate::{Credential, ForgeError};

/// What is shown to a host's interface.
pub(super) enum Access {
    /// Nothing.
    None,
    /// A token, as most hosts take it.
    Bearer(String),
    /// A token, as every age of Gitea and Forgejo takes it.
    Token(String),
    /// A user and a password or token.
    Basic(Credential),
    /// The token of an installation, fetched when it is needed.
    App(Arc<App>),
}

/// What goes along with a request.
pub(super) struct Pass {
    /// The value of the header.
    pub(super) header: Option<HeaderValue>,
    /// What of it must never be shown.
    pub(super) masks: Vec<String>,
}

impl Access {
    /// What people call it.
    pub(super) fn title(&self) -> &'static str {
        match self {
            Self::None => "request without a token",
            Self::Bearer(_) | Self::Token(_) => "token",
            Self::Basic(_) => "user name and password",
            Self::App(_) => "GitHub App",
        }
    }

    /// What to send along. It may have to be fetched first.
    pub(super) async fn pass(&self) -> Result<Pass, ForgeError> {
        let (text, secret) = match self {
            Self::None => return Ok(Pass { header: None, masks: Vec::new() }),
            Self::Bearer(token) => (format!("Bearer {token}"), token.clone()),
            Self::Token(token) => (format!("token {token}"), token.clone()),
            Self::Basic(credential) => (credential.header_value(), credential.secret().to_owned()),
            Self::App(app) => {
                let token = app.token().await?;
                (format!("Bearer {token}"), token)
            }
        };
        let unfit = |_| ForgeError::lasting("the credential holds characters that cannot be sent; give it once more");
        let mut value = HeaderValue::from_str(&text).map_err(unfit)?;
        value.set_sensitive(true);
        let encoded = text.rsplit(' ').next().unwrap_or_default().to_owned();
        Ok(Pass { header: Some(value), masks: vec![secret, encoded] })
    }

    /// Lets go of a token that the host has refused before its time; says whether a new one can be had.
    pub(super) async fn renew(&self) -> bool {
        match self {
            Self::App(app) => {
                app.forget().await;
                true
            }
            Self::None | Self::Bearer(_) | Self::Token(_) | Self::Basic(_) => false,
        }
    }
}
