use serde::{Deserialize, Serialize};
use url::Url;

use crate::{Invalid, Repository, Timestamp, mentions};

/// Where a project's pull requests live.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum HostKind {
    /// GitHub and GitHub Enterprise.
    Github,
    /// GitLab, the hosted one and those that others run.
    Gitlab,
    /// Forgejo, Gitea and Codeberg.
    Forgejo,
    /// Bitbucket Cloud.
    Bitbucket,
    /// A git server of which nothing else is known: a branch is pushed and no pull request opened.
    Git,
    /// A repository on this machine: Copydesk keeps the pull request itself.
    Local,
}

impl HostKind {
    /// Every kind.
    pub const ALL: [Self; 6] = [Self::Github, Self::Gitlab, Self::Forgejo, Self::Bitbucket, Self::Git, Self::Local];

    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Github => "github",
            Self::Gitlab => "gitlab",
            Self::Forgejo => "forgejo",
            Self::Bitbucket => "bitbucket",
            Self::Git => "git",
            Self::Local => "local",
        }
    }

    /// The one of that word. Gitea is asked as Forgejo is.
    pub fn parse(text: &str) -> Option<Self> {
        if text == "gitea" {
            return Some(Self::Forgejo);
        }
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }

    /// What people call it.
    pub fn title(self) -> &'static str {
        match self {
            Self::Github => "GitHub",
            Self::Gitlab => "GitLab",
            Self::Forgejo => "Forgejo or Gitea",
            Self::Bitbucket => "Bitbucket",
            Self::Git => "a plain git server",
            Self::Local => "a repository on this machine",
        }
    }

    /// The kind that the address of a repository tells; plain git where it tells none.
    pub fn of(repository: &Repository) -> Self {
        let Ok(url) = Url::parse(repository.clone_address()) else { return Self::Git };
        if url.scheme() == "file" {
            return Self::Local;
        }
        let host = url.host_str().unwrap_or_default().to_ascii_lowercase();
        // `gitlab.example.com` and `git.codeberg.example` say what they are; a company's name alone does not.
        let says = |name: &str| host.split('.').any(|label| label == name);
        if says("github") || host.ends_with(".ghe.com") {
            Self::Github
        } else if says("gitlab") {
            Self::Gitlab
        } else if says("codeberg") || says("forgejo") || says("gitea") {
            Self::Forgejo
        } else if host == "bitbucket.org" {
            Self::Bitbucket
        } else {
            Self::Git
        }
    }
}

/// How a project's code host is reached. What is none is told by the address of the repository.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct HostSettings {
    /// Which kind it is.
    pub kind: Option<HostKind>,
    /// Where its interface is, without a slash at the end: `https://git.example.com/api/v4`.
    pub api_url: Option<String>,
    /// A PEM file with further certificate authorities to trust.
    pub ca_file: Option<String>,
    /// Accept any certificate. Only for tests in your own network: others could read the connection.
    pub accept_any_certificate: bool,
    /// Which comments on its pull requests become follow-ups.
    pub comments: Comments,
    /// The name by which comments mention it, without `@`; none: `copydesk`.
    pub mention: Option<String>,
    /// The label that turns an issue into a job.
    pub job_label: Option<String>,
    /// The labels that its pull requests get.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub labels: Vec<String>,
    /// The reviewers of its pull requests, by their names on the host.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub reviewers: Vec<String>,
}

/// Which comments on pull requests become follow-ups, from people who may write to the repository
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum Comments {
    /// Those that mention it.
    #[default]
    Mentions,
    All,
    /// None.
    Off,
}

impl Comments {
    pub const ALL: [Self; 3] = [Self::Mentions, Self::All, Self::Off];

    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Mentions => "mentions",
            Self::All => "all",
            Self::Off => "off",
        }
    }

    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|comments| comments.as_str() == text)
    }
}

impl HostSettings {
    /// Whether somebody who says this on a pull request may ask for something.
    pub fn takes_comment<'t>(&self, texts: impl IntoIterator<Item = &'t str>) -> bool {
        match self.comments {
            Comments::Mentions => texts.into_iter().any(|text| mentions(text, self.mention())),
            Comments::All => true,
            Comments::Off => false,
        }
    }

    /// The name by which comments mention it, without `@`.
    pub fn mention(&self) -> &str {
        self.mention.as_deref().unwrap_or("copydesk")
    }

    /// The kind, set or told by the address.
    pub fn kind_of(&self, repository: &Repository) -> HostKind {
        self.kind.unwrap_or_else(|| HostKind::of(repository))
    }

    /// What to say if nobody has named the kind and the address does not tell it.
    pub fn untold(&self, repository: &Repository) -> Option<&'static str> {
        let is_untold = self.kind.is_none() && HostKind::of(repository) == HostKind::Git;
        is_untold.then_some(
            "the address of the repository does not tell which kind of code host it is, so jobs push a branch and open no \
             pull request; name the kind with `--host`",
        )
    }
}

/// The address of a code host's interface: `https` or `http`, with no credential, query or fragment.
pub fn api_url(text: &str) -> Result<String, Invalid> {
    let wrong = || Invalid::new("api_url", "must be an https or http address without a user, a query or a fragment");
    let url = Url::parse(text).map_err(|_| wrong())?;
    let plain = url.username().is_empty() && url.password().is_none() && url.query().is_none();
    let fits = matches!(url.scheme(), "https" | "http") && plain && url.fragment().is_none() && url.has_host();
    if fits { Ok(url.as_str().trim_end_matches('/').to_owned()) } else { Err(wrong()) }
}

/// A pull request
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = JobPullRequest))]
#[serde(rename_all = "camelCase")]
pub struct PullRequest {
    /// The number that the code host gave it.
    pub number: u64,
    pub state: PullRequestState,
    /// Whether it is a draft.
    pub draft: bool,
    /// When it was merged.
    #[cfg_attr(feature = "openapi", schema(required, value_type = Option<String>, format = DateTime))]
    pub merged_at: Option<Timestamp>,
    /// Where people look at it.
    #[cfg_attr(feature = "openapi", schema(format = "uri"))]
    pub url: String,
}

/// The state of a pull request
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = PullRequestStatus))]
#[serde(rename_all = "lowercase")]
pub enum PullRequestState {
    /// To be looked at.
    Open,
    /// In the base branch.
    Merged,
    /// Closed without a merge.
    Closed,
}

impl PullRequestState {
    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Merged => "merged",
            Self::Closed => "closed",
        }
    }

    /// The one of that word.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Open, Self::Merged, Self::Closed].into_iter().find(|state| state.as_str() == text)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn hosts_are_told_by_their_addresses() {
        for (address, kind) in [
            ("https://github.com/acme/docs.git", HostKind::Github),
            ("git@github.com:acme/docs.git", HostKind::Github),
            ("https://github.acme.example/docs/site", HostKind::Github),
            ("https://acme.ghe.com/docs/site", HostKind::Github),
            ("https://gitlab.com/group/sub/docs", HostKind::Gitlab),
            ("ssh://git@gitlab.acme.example:2222/docs.git", HostKind::Gitlab),
            ("https://codeberg.org/acme/docs", HostKind::Forgejo),
            ("https://gitea.acme.example/acme/docs", HostKind::Forgejo),
            ("https://bitbucket.org/acme/docs", HostKind::Bitbucket),
            ("https://notgithub.example/acme/docs", HostKind::Git),
            ("https://git.acme.example/docs.git", HostKind::Git),
            ("/srv/docs.git", HostKind::Local),
        ] {
            let repository = Repository::parse(address, Path::new("/srv")).unwrap();
            assert_eq!(HostKind::of(&repository), kind, "{address}");
        }
    }

    #[test]
    fn words_come_back() {
        for kind in HostKind::ALL {
            assert_eq!(HostKind::parse(kind.as_str()), Some(kind));
        }
        assert_eq!(HostKind::parse("gitea"), Some(HostKind::Forgejo));
        assert_eq!(HostKind::parse("svn"), None);
    }

    #[test]
    fn addresses_of_interfaces_are_plain() {
        assert_eq!(api_url("https://git.example.com/api/v4/").unwrap(), "https://git.example.com/api/v4");
        for text in ["", "git.example.com", "ftp://x", "https://me:pw@x/", "https://x/?token=1", "https://x/#a"] {
            assert!(api_url(text).is_err(), "{text}");
        }
    }
}
