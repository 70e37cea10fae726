//! Whether a credential is of use with the project's code host.

use copydesk_domain::{HostKind, HostSettings, Project, Repository};
use copydesk_forge::HostSecret;
use url::Url;

/// Why a credential is of no use, or of less use than it seems.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Misfit {
    #[error("the repository is on this machine and asks for no credential")]
    LocalRepository,
    #[error("a GitHub App is of no use with {}", .0.title())]
    AppElsewhere(HostKind),
    #[error("the repository's address is one of SSH, for which git needs an SSH key; use an https address, or both")]
    NeedsSshKey,
    #[error("the repository's address is one of {0}, where an SSH key is of no use")]
    NeedsNoSshKey(String),
    #[error("with {}, opening pull requests takes a token beside the SSH key", .0.title())]
    NeedsToken(HostKind),
    #[error("the repository's address is one of http: anybody in between can read the credential")]
    Unencrypted,
}

/// What does not fit about a credential for a project.
pub fn misfits(secret: &HostSecret, project: &Project) -> Vec<Misfit> {
    misfits_at(secret, &project.repository, &project.host)
}

/// What does not fit about a credential for a code source, of which no pull requests are asked for.
pub fn source_misfits(secret: &HostSecret, repository: &Repository, host: &HostSettings) -> Vec<Misfit> {
    let mut misfits = misfits_at(secret, repository, host);
    misfits.retain(|misfit| !matches!(misfit, Misfit::NeedsToken(_)));
    misfits
}

fn misfits_at(secret: &HostSecret, repository: &Repository, host: &HostSettings) -> Vec<Misfit> {
    let kind = host.kind_of(repository);
    let url = Url::parse(repository.clone_address()).ok();
    let scheme = url.as_ref().map_or("", Url::scheme);
    if kind == HostKind::Local || scheme == "file" {
        return vec![Misfit::LocalRepository];
    }
    let mut misfits = Vec::new();
    match secret {
        HostSecret::GithubApp { .. } if kind != HostKind::Github => misfits.push(Misfit::AppElsewhere(kind)),
        HostSecret::GithubApp { .. } | HostSecret::Token { .. } if scheme == "ssh" => misfits.push(Misfit::NeedsSshKey),
        HostSecret::SshKey { .. } if scheme != "ssh" => misfits.push(Misfit::NeedsNoSshKey(scheme.to_owned())),
        HostSecret::SshKey { token: None, .. } if kind != HostKind::Git => misfits.push(Misfit::NeedsToken(kind)),
        _ => {}
    }
    if scheme == "http" {
        misfits.push(Misfit::Unencrypted);
    }
    misfits
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use copydesk_domain::{OnFindings, Timestamp, ViewSettings, WritePaths};

    use super::*;

    fn project(address: &str, kind: Option<HostKind>) -> Project {
        let at = Timestamp::from_millis(0);
        Project {
            id: "docs".into(),
            name: "Docs".to_owned(),
            repository: Repository::parse(address, Path::new("/srv")).unwrap(),
            base_ref: "main".to_owned(),
            docs_paths: Vec::new(),
            write_paths: WritePaths::default(),
            time_zone: "UTC".to_owned(),
            jobs_per_hour: None,
            max_running: None,
            time_limit_seconds: None,
            job_cost: None,
            on_findings: OnFindings::Draft,
            views: ViewSettings::default(),
            host: HostSettings { kind, ..HostSettings::default() },
            created_at: at,
            updated_at: at,
        }
    }

    #[test]
    fn what_does_not_fit_is_said() {
        let text = || "planted".into();
        let token = HostSecret::Token { username: None, token: text() };
        let app = HostSecret::GithubApp { app_id: "1".to_owned(), installation_id: None, private_key: text() };
        let key = |token| HostSecret::SshKey { private_key: text(), known_hosts: None, token };
        for (secret, address, kind, said) in [
            (&token, "https://github.com/acme/docs", None, ""),
            (&app, "https://github.com/acme/docs", None, ""),
            (&app, "https://git.example.com/acme/docs", Some(HostKind::Github), ""),
            (&key(Some(text())), "git@github.com:acme/docs", None, ""),
            (&key(None), "git@git.example.com:acme/docs", None, ""),
            (&app, "https://gitlab.com/acme/docs", None, "no use with GitLab"),
            (&token, "git@github.com:acme/docs", None, "needs an SSH key"),
            (&key(None), "https://github.com/acme/docs", None, "no use"),
            (&key(None), "git@github.com:acme/docs", None, "takes a token"),
            (&token, "http://git.example.com/acme/docs", None, "anybody in between"),
            (&token, "/srv/docs.git", None, "on this machine"),
        ] {
            let notes = misfits(secret, &project(address, kind));
            let says = |note: &Misfit| note.to_string().contains(said);
            let fits = if said.is_empty() { notes.is_empty() } else { notes.len() == 1 && says(&notes[0]) };
            assert!(fits, "{address}: {notes:?}");
        }
    }
}
