//! The way in for git: the address, the credential, and a look at whether the host would take a push.

use std::sync::Arc;

use reqwest::header::AUTHORIZATION;
use url::Url;

use super::github_app::App;
use super::http::Line;
use crate::{Ability, Credential, ForgeError, Remote, SshKey, Trust};

/// The most of what a git server tells of itself that is read.
const MOST_READ: usize = 256 * 1024;

/// How git gets to a repository.
pub(super) struct Gate {
    pub(super) address: String,
    pub(super) pass: Pass,
    pub(super) ssh_key: Option<SshKey>,
    pub(super) trust: Trust,
}

/// What git shows at an `https` or `http` address.
pub(super) enum Pass {
    None,
    Fixed(Credential),
    App(Arc<App>),
}

/// What a git server said to a first question.
pub(super) enum Greeting {
    /// What it offers.
    Welcome(Vec<u8>),
    /// A status that is not a welcome.
    Status(u16),
    /// It cannot be asked this way.
    Mute,
}

impl Gate {
    /// What git needs, with a token that holds for some minutes at least.
    pub(super) async fn remote(&self) -> Result<Remote, ForgeError> {
        Ok(Remote {
            address: self.address.clone(),
            credential: self.credential().await?,
            ssh_key: self.ssh_key.clone(),
            trust: self.trust.clone(),
        })
    }

    async fn credential(&self) -> Result<Option<Credential>, ForgeError> {
        Ok(match &self.pass {
            Pass::None => None,
            Pass::Fixed(credential) => Some(credential.clone()),
            Pass::App(app) => Some(Credential::new("x-access-token", app.token().await?)),
        })
    }

    /// Asks for a service of git as git itself would, and goes no further.
    pub(super) async fn greet(&self, line: &Line, service: &str) -> Result<Greeting, ForgeError> {
        let Some(url) = self.greeting_url(service) else { return Ok(Greeting::Mute) };
        let mut request = line.client.get(url);
        if let Some(credential) = self.credential().await? {
            request = request.header(AUTHORIZATION, credential.header_value());
        }
        let mut response = request.send().await.map_err(|error| line.lapse(&error).error)?;
        if response.status().as_u16() != 200 {
            return Ok(Greeting::Status(response.status().as_u16()));
        }
        let mut read = Vec::new();
        while read.len() < MOST_READ
            && let Some(chunk) = response.chunk().await.map_err(|error| line.lapse(&error).error)?
        {
            read.extend_from_slice(&chunk);
        }
        Ok(Greeting::Welcome(read))
    }

    fn greeting_url(&self, service: &str) -> Option<Url> {
        let mut url = Url::parse(&self.address).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
        let path = format!("{}/info/refs", url.path().trim_end_matches('/'));
        url.set_path(&path);
        url.set_query(Some(&format!("service={service}")));
        Some(url)
    }

    /// Whether the host would take a push; unknown where only a push can tell.
    pub(super) async fn may_push(&self, line: &Line) -> Ability {
        let host = line.host();
        match self.greet(line, "git-receive-pack").await {
            Ok(Greeting::Welcome(_)) => Ability::Yes,
            Ok(Greeting::Status(401 | 403)) => {
                Ability::No(format!("{host} does not let the {} push to {}", line.credential_title(), line.name()))
            }
            Ok(Greeting::Status(status)) => {
                Ability::Unknown(format!("the git server of {host} answered with status {status}"))
            }
            Ok(Greeting::Mute) => Ability::Unknown("over SSH only a push can tell".to_owned()),
            Err(error) => Ability::Unknown(error.message),
        }
    }
}

/// The branch that `HEAD` stands for in what a git server offers.
pub(super) fn head_of(greeting: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(greeting);
    let (_, rest) =
        text.split_once(" symref=HEAD:refs/heads/").or_else(|| text.split_once("\0symref=HEAD:refs/heads/"))?;
    let name = rest.split(|c: char| c.is_whitespace() || c == '\0').next()?;
    copydesk_domain::git_ref("branch", name).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_main_branch_is_in_the_greeting() {
        let greeting =
            b"001e# service=git-upload-pack\n0000015547b3 HEAD\0multi_ack symref=HEAD:refs/heads/docs/v2 agent=git/2\n";
        assert_eq!(head_of(greeting).as_deref(), Some("docs/v2"));
        assert_eq!(head_of(b"0000 HEAD\0symref=HEAD:refs/heads/main\n0000").as_deref(), Some("main"));
        assert_eq!(head_of(b"001e# service=git-upload-pack\n"), None);
        assert_eq!(head_of(b"HEAD\0 symref=HEAD:refs/heads/../x\n"), None);
    }
}
