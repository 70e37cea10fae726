//! How git gets to a repository: the address, and what it shows there.

use std::sync::Arc;

use copydesk_domain::HostKind;

use super::github_app::App;
use super::repository::HostedRepository;
use crate::{Credential, ForgeError, HostSecret, Remote, SshKey, Trust};

pub(super) struct GitAccess {
    address: String,
    credential: GitCredential,
    ssh_key: Option<SshKey>,
    trust: Trust,
    may_be_gitea: bool,
}

/// What git shows at an `https` or `http` address.
enum GitCredential {
    None,
    Fixed(Credential),
    App(Arc<App>),
}

/// An App has no key for ssh.
pub(super) fn address_of_app(repository: &HostedRepository) -> String {
    format!("{}.git", repository.web)
}

impl GitAccess {
    /// For a repository on this machine, where nothing is shown.
    pub(super) fn local(address: String, trust: Trust) -> Self {
        Self { address, credential: GitCredential::None, ssh_key: None, trust, may_be_gitea: false }
    }

    pub(super) fn new(
        kind: HostKind,
        address: String,
        repository: &HostedRepository,
        secret: Option<&HostSecret>,
        app: Option<Arc<App>>,
        trust: Trust,
    ) -> Self {
        if let Some(app) = app {
            // An App has no key for SSH; its token is for https.
            let address = if address.starts_with("ssh:") { address_of_app(repository) } else { address };
            return Self { address, credential: GitCredential::App(app), ssh_key: None, trust, may_be_gitea: false };
        }
        let (username, token, ssh_key) = match secret {
            Some(HostSecret::Token { username, token }) => (username.as_deref(), Some(token), None),
            Some(HostSecret::SshKey { private_key, known_hosts, token }) => {
                (None, token.as_ref(), Some(SshKey::new(private_key.expose(), known_hosts.as_deref())))
            }
            Some(HostSecret::GithubApp { .. }) | None => (None, None, None),
        };
        let credential = token.map_or(GitCredential::None, |token| {
            GitCredential::Fixed(Credential::new(git_user(kind, username), token.expose().trim()))
        });
        let may_be_gitea = matches!(kind, HostKind::Forgejo | HostKind::Git);
        Self { address, credential, ssh_key, trust, may_be_gitea }
    }

    /// Whether git shows what the interface is shown too, and not a key.
    pub(super) fn shows_credential(&self) -> bool {
        let is_shown = !matches!(self.credential, GitCredential::None);
        is_shown && (self.address.starts_with("http://") || self.address.starts_with("https://"))
    }

    /// What git needs, with a token that holds for some minutes at least.
    pub(super) async fn remote(&self) -> Result<Remote, ForgeError> {
        let credential = match &self.credential {
            GitCredential::None => None,
            GitCredential::Fixed(credential) => Some(credential.clone()),
            GitCredential::App(app) => Some(Credential::new("x-access-token", app.token().await?)),
        };
        let (address, ssh_key, trust) = (self.address.clone(), self.ssh_key.clone(), self.trust.clone());
        Ok(Remote { address, credential, ssh_key, trust, may_be_gitea: self.may_be_gitea })
    }
}

/// The user that goes with a token: the given one, or the one that the host wants to see.
fn git_user(kind: HostKind, given: Option<&str>) -> &str {
    match (kind, given) {
        // The address of an Atlassian account is a user for the interface only.
        (HostKind::Bitbucket, Some(given)) if given.contains('@') => "x-bitbucket-api-token-auth",
        (_, Some(given)) => given,
        (HostKind::Github, None) => "x-access-token",
        (HostKind::Gitlab, None) => "oauth2",
        (HostKind::Bitbucket, None) => "x-token-auth",
        (HostKind::Forgejo | HostKind::Git | HostKind::Local, None) => "copydesk",
    }
}
