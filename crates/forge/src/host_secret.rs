use copydesk_domain::SecretText;
use serde::{Deserialize, Serialize, Serializer};

/// What a project shows to its code host. Only the service ever has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum HostSecret {
    /// A token, or a password with its user name.
    Token {
        /// The user; none where the host knows tokens only.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        username: Option<String>,
        #[serde(serialize_with = "exposed")]
        token: SecretText,
    },
    GithubApp {
        /// Its id or its client id.
        app_id: String,
        /// Where it is installed; none: asked for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        installation_id: Option<u64>,
        #[serde(serialize_with = "exposed")]
        private_key: SecretText,
    },
    /// A key for git over SSH; opening pull requests takes a token beside it.
    SshKey {
        /// As OpenSSH writes it.
        #[serde(serialize_with = "exposed")]
        private_key: SecretText,
        /// What the host's key is, as lines of `known_hosts`; none: what this machine knows.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        known_hosts: Option<String>,
        /// The token for the host's interface.
        #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "exposed")]
        token: Option<SecretText>,
    },
}

/// A stored credential that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the credential of the project cannot be read")]
pub struct HostSecretError;

impl HostSecret {
    /// As it is sealed and stored.
    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// What [`HostSecret::to_bytes`] gave.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, HostSecretError> {
        // What serde says could quote it.
        serde_json::from_slice(bytes).map_err(|_| HostSecretError)
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

/// Writes a secret out, for what is sealed next.
fn exposed<'a, T, S: Serializer>(secret: &'a T, to: S) -> Result<S::Ok, S::Error>
where
    Option<&'a SecretText>: From<&'a T>,
{
    Option::<&SecretText>::from(secret).map(SecretText::expose).serialize(to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_comes_back_and_does_not_show() {
        for secret in [
            HostSecret::Token { username: None, token: "planted".into() },
            HostSecret::GithubApp { app_id: "1".to_owned(), installation_id: None, private_key: "planted".into() },
            HostSecret::SshKey { private_key: "planted".into(), known_hosts: None, token: Some("planted".into()) },
        ] {
            assert_eq!(HostSecret::from_bytes(&secret.to_bytes()), Ok(secret.clone()));
            assert!(!format!("{secret:?}").contains("planted"));
        }
        assert_eq!(HostSecret::from_bytes(br#"{"kind":"planted"}"#), Err(HostSecretError));
    }
}
