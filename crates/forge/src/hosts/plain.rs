//! A git server without pull requests that Copydesk can open: the branch is pushed, and a link leads to it.

use copydesk_domain::{HostKind, PullRequest, PullRequestState, Repository};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use url::Url;

use super::repository::escaped;
use crate::{CodeHost, ForgeError, NewPullRequest, PullWords};

/// One repository on a git server.
pub(super) struct Plain {
    pub(super) repository: Repository,
    /// Where people look at it, if it can be looked at.
    pub(super) web: String,
}

impl Plain {
    fn pull(&self, new: &NewPullRequest) -> PullRequest {
        let url = compare_url(&self.repository, &self.web, &new.base, &new.head);
        let url = url.unwrap_or_else(|| format!("{}#{}", self.repository.public_address(), escaped(&new.head)));
        PullRequest { number: 0, url, state: PullRequestState::Open, draft: new.draft, merged_at: None }
    }
}

/// Where a change can be looked at, on hosts whose addresses are known.
fn compare_url(repository: &Repository, web: &str, base: &str, head: &str) -> Option<String> {
    let url = Url::parse(web).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
    let host = url.host_str()?;
    // In a path a branch keeps its slashes.
    let in_path = |branch: &str| branch.split('/').map(escaped).collect::<Vec<_>>().join("/");
    let (from, to) = (escaped(head), escaped(base));
    if host == "git.sr.ht" {
        return Some(format!("{web}/log/{}", in_path(head)));
    }
    if let Some(web) = azure_web(&url) {
        return Some(format!("{web}/pullrequestcreate?sourceRef={from}&targetRef={to}"));
    }
    let says_gogs = host.split('.').any(|label| matches!(label, "gogs" | "notabug" | "gitee"));
    match HostKind::of(repository) {
        HostKind::Github => Some(format!("{web}/compare/{}...{}?expand=1", in_path(base), in_path(head))),
        HostKind::Gitlab => Some(format!(
            "{web}/-/merge_requests/new?merge_request%5Bsource_branch%5D={from}&merge_request%5Btarget_branch%5D={to}"
        )),
        HostKind::Forgejo => Some(format!("{web}/compare/{}...{}", in_path(base), in_path(head))),
        HostKind::Git if says_gogs => Some(format!("{web}/compare/{}...{}", in_path(base), in_path(head))),
        HostKind::Bitbucket => Some(format!("{web}/pull-requests/new?source={from}&dest={to}")),
        HostKind::Git | HostKind::Local => None,
    }
}

/// Where a repository of Azure DevOps is looked at: `https://dev.azure.com/acme/site/_git/docs`. Over SSH it is
/// `ssh.dev.azure.com/v3/acme/site/docs`.
fn azure_web(url: &Url) -> Option<String> {
    let host = url.host_str()?;
    let path = url.path().trim_matches('/');
    if host == "ssh.dev.azure.com" {
        let parts: Vec<&str> = path.split('/').collect();
        return match parts.as_slice() {
            ["v3", account, project, name] => Some(format!("https://dev.azure.com/{account}/{project}/_git/{name}")),
            _ => None,
        };
    }
    let is_azure = host == "dev.azure.com" || host.ends_with(".visualstudio.com");
    (is_azure && path.contains("_git/")).then(|| format!("https://{host}/{path}"))
}

impl CodeHost for Plain {
    fn find<'a>(&'a self, _head: &'a str) -> BoxFuture<'a, Result<Option<PullRequest>, ForgeError>> {
        async { Ok(None) }.boxed()
    }

    fn open<'a>(&'a self, new: &'a NewPullRequest) -> BoxFuture<'a, Result<PullRequest, ForgeError>> {
        async { Ok(self.pull(new)) }.boxed()
    }

    fn update<'a>(&'a self, _number: u64, new: &'a NewPullRequest) -> BoxFuture<'a, Result<PullRequest, ForgeError>> {
        self.open(new)
    }

    fn read(&self, _number: u64) -> BoxFuture<'_, Result<PullRequest, ForgeError>> {
        async { Err(ForgeError::lasting("a plain git server has no pull requests")) }.boxed()
    }

    fn words(&self, _number: u64) -> BoxFuture<'_, Result<Option<PullWords>, ForgeError>> {
        async { Ok(None) }.boxed()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use copydesk_domain::HostSettings;

    use super::super::repository::HostedRepository;
    use super::*;

    #[test]
    fn changes_can_be_looked_at_where_addresses_are_known() {
        for (address, url) in [
            ("https://git.sr.ht/~acme/docs", Some("https://git.sr.ht/~acme/docs/log/copydesk/x")),
            (
                "https://dev.azure.com/acme/site/_git/docs",
                Some(
                    "https://dev.azure.com/acme/site/_git/docs/pullrequestcreate?sourceRef=copydesk%2Fx&targetRef=main",
                ),
            ),
            (
                "git@ssh.dev.azure.com:v3/acme/site/docs",
                Some(
                    "https://dev.azure.com/acme/site/_git/docs/pullrequestcreate?sourceRef=copydesk%2Fx&targetRef=main",
                ),
            ),
            (
                "git@gitlab.example.com:g/s/docs.git",
                Some(
                    "https://gitlab.example.com/g/s/docs/-/merge_requests/new?merge_request%5Bsource_branch%5D=copydesk%2Fx\
                     &merge_request%5Btarget_branch%5D=main",
                ),
            ),
            ("https://gitea.example.com/a/b.git", Some("https://gitea.example.com/a/b/compare/main...copydesk/x")),
            ("https://gogs.example.com/a/b", Some("https://gogs.example.com/a/b/compare/main...copydesk/x")),
            ("https://github.com/a/b", Some("https://github.com/a/b/compare/main...copydesk/x?expand=1")),
            (
                "https://bitbucket.org/a/b",
                Some("https://bitbucket.org/a/b/pull-requests/new?source=copydesk%2Fx&dest=main"),
            ),
            ("https://git.example.com/docs.git", None),
        ] {
            let repository = Repository::parse(address, Path::new("/srv")).unwrap();
            let hosted = HostedRepository::of(&repository, HostKind::Git, &HostSettings::default()).unwrap();
            let found = compare_url(&repository, &hosted.web, "main", "copydesk/x");
            assert_eq!(found.as_deref(), url, "{address}");
        }
    }
}
