use copydesk_domain::HostKind;

use crate::HostSecret;

/// What errors speak of: which host, which repository, and what the host is shown.
#[derive(Debug, Clone)]
pub(super) struct Subject {
    pub(super) kind: HostKind,
    /// What the repository is called: `acme/docs`.
    pub(super) repository: String,
    pub(super) credential: CredentialKind,
}

impl Subject {
    /// What people call the host.
    pub(super) fn host(&self) -> &'static str {
        self.kind.title()
    }

    #[cfg(test)]
    pub(super) fn for_test(kind: HostKind) -> Self {
        Self { kind, repository: "acme/docs".to_owned(), credential: CredentialKind::Token }
    }
}

/// What the interface of a host is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CredentialKind {
    None,
    Token,
    Password,
    App,
}

impl CredentialKind {
    pub(super) fn of(secret: Option<&HostSecret>, host: HostKind) -> Self {
        match secret {
            None | Some(HostSecret::SshKey { token: None, .. }) => Self::None,
            Some(HostSecret::GithubApp { .. }) => Self::App,
            // Others take the token alone, whoever it belongs to.
            Some(HostSecret::Token { username: Some(_), .. })
                if matches!(host, HostKind::Forgejo | HostKind::Bitbucket) =>
            {
                Self::Password
            }
            Some(HostSecret::Token { .. } | HostSecret::SshKey { .. }) => Self::Token,
        }
    }

    /// What people call it.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::None => "request without a token",
            Self::Token => "token",
            Self::Password => "user name and password",
            Self::App => "GitHub App",
        }
    }
}
