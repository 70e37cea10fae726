use std::fmt;

use serde::{Deserialize, Serialize};

/// What a project shows to its code host. Only the service ever has it; shown, it is a dash.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Secret {
    /// A token, or a password with its user name.
    Token {
        /// The user; none where the host knows tokens only.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        username: Option<String>,
        /// The token.
        token: String,
    },
    /// A GitHub App.
    GithubApp {
        /// Its id or its client id.
        app_id: String,
        /// Where it is installed; none: asked for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        installation_id: Option<u64>,
        /// Its private key, in PEM.
        private_key: String,
    },
    /// A key for git over SSH; opening pull requests takes a token beside it.
    SshKey {
        /// The private key, as OpenSSH writes it.
        private_key: String,
        /// What the host's key is, as lines of `known_hosts`; none: what this machine knows.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        known_hosts: Option<String>,
        /// The token for the host's interface.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        token: Option<String>,
    },
}

/// A stored credential that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the credential of the project cannot be read")]
pub struct SecretError;

impl Secret {
    /// As it is sealed and stored.
    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// What [`Secret::to_bytes`] gave.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, SecretError> {
        // What serde says could quote it.
        serde_json::from_slice(bytes).map_err(|_| SecretError)
    }

    /// Its kind, for people.
    pub fn title(&self) -> &'static str {
        match self {
            Self::Token { username: None, .. } => "token",
            Self::Token { username: Some(_), .. } => "user name and password",
            Self::GithubApp { .. } => "GitHub App",
            Self::SshKey { token: None, .. } => "SSH key",
            Self::SshKey { token: Some(_), .. } => "SSH key and token",
        }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret({})", self.title())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_comes_back_and_does_not_show() {
        for secret in [
            Secret::Token { username: None, token: "planted".to_owned() },
            Secret::GithubApp { app_id: "1".to_owned(), installation_id: None, private_key: "planted".to_owned() },
            Secret::SshKey { private_key: "planted".to_owned(), known_hosts: None, token: Some("planted".to_owned()) },
        ] {
            assert_eq!(Secret::from_bytes(&secret.to_bytes()), Ok(secret.clone()));
            assert!(!format!("{secret:?}").contains("planted"));
        }
        assert_eq!(Secret::from_bytes(br#"{"kind":"planted"}"#), Err(SecretError));
    }
}
