//! The product's own git against the fakes, and against real servers that are no fakes of ours.

use std::path::Path;
use std::time::Duration;

use copydesk_domain::{HostKind, HostSettings, Repository};
use copydesk_forge::{Forge, ForgeError, ForgeErrorKind, ForgeSettings, HostSecret, Hosts, HostsSettings, Signature};
use copydesk_testkit::GitRepo;
use copydesk_testkit::hosts::{Fault, NGINX_USER, Nginx, Rights, Sshd};

use super::{KINDS, host, token};

/// Fetches `main` from an address and pushes it back as the branch `new`.
async fn publish(address: &str, kind: HostKind, secret: Option<HostSecret>) -> Result<(), ForgeError> {
    let folder = tempfile::tempdir().unwrap();
    let who = || Signature { name: "Docs".to_owned(), email: "docs@acme.example".to_owned() };
    let time_limit = Duration::from_secs(60);
    let settings = ForgeSettings { folder: folder.path().to_owned(), time_limit, author: who(), committer: who() };
    let repository = Repository::parse(address, Path::new("/")).unwrap();
    let about = HostSettings { kind: Some(kind), ..HostSettings::default() };
    let way = Hosts::new(HostsSettings::default()).connect(&repository, &about, secret)?;
    let mirror = Forge::new(settings).mirror(&way.remote().await?).await?;
    let commit = mirror.fetch("main").await?;
    mirror.push(&commit, "new", None).await
}

fn is_there(git: &GitRepo) -> bool {
    git.branches().contains(&"new".to_owned())
}

#[tokio::test]
async fn every_fake_is_fetched_from_and_pushed_to() {
    for kind in KINDS {
        let (host, there) = host(kind).await;
        host.make_private("acme/docs");
        let secret = |token: String| Some(HostSecret::Token { username: None, token: token.into() });
        let address = host.address("acme/docs");
        let mut asked = Vec::new();
        for (rights, token) in [("read", token(&host, Rights::READ)), ("no", "wrong".to_owned())] {
            asked.push(host.seen().len());
            let error = publish(&address, kind, secret(token.clone())).await.unwrap_err();
            assert_eq!(error.kind, ForgeErrorKind::Lasting, "{kind:?} {rights} {error}");
            assert!(!error.message.contains(&token), "{kind:?} {error}");
        }
        let unknown = host.seen().split_off(asked[1]).len();
        assert_eq!(unknown, if kind == HostKind::Forgejo { 3 } else { 1 }, "{kind:?}: only Gitea is doubted");
        let refused = host.pushes();
        assert_eq!((refused, is_there(&there)), (usize::from(kind == HostKind::Forgejo), false), "{kind:?}");
        publish(&address, kind, secret(token(&host, Rights::ALL))).await.unwrap();
        assert!(is_there(&there), "{kind:?}");
        assert_eq!((host.fetches() > 0, host.pushes()), (true, refused + 1), "{kind:?}");
        host.assert_clean();
    }
}

#[tokio::test]
async fn a_protected_branch_and_a_slow_host_are_told() {
    for kind in KINDS {
        let (host, there) = host(kind).await;
        let secret = Some(HostSecret::Token { username: None, token: token(&host, Rights::ALL).into() });
        host.protect("acme/docs", "new");
        host.fail(1, "GET", "/info/refs", Fault::Slow(Duration::from_millis(500)));
        let error = publish(&host.address("acme/docs"), kind, secret).await.unwrap_err();
        assert!(error.kind == ForgeErrorKind::Lasting && !is_there(&there), "{kind:?} {error}");
        assert_eq!(host.pushes(), 1, "{kind:?}");
    }
}

#[tokio::test]
async fn nginx_serves_git_to_whoever_knows_the_password() {
    let git = GitRepo::new([("index.md", "# Docs\n")]);
    let Some(nginx) = Nginx::start(&git, "planted-word") else { return };
    let secret = |word: &str| Some(HostSecret::Token { username: Some(NGINX_USER.to_owned()), token: word.into() });
    let address = nginx.address();
    let error = publish(&address, HostKind::Git, secret("wrong-word")).await.unwrap_err();
    assert!(error.kind == ForgeErrorKind::Lasting && !error.message.contains("wrong-word"), "{error}");
    assert!(!is_there(&git));
    publish(&address, HostKind::Git, secret("planted-word")).await.unwrap();
    assert!(is_there(&git));
}

#[tokio::test]
async fn ssh_serves_git_to_whoever_has_the_key() {
    let git = GitRepo::new([("index.md", "# Docs\n")]);
    let (Some(sshd), Some(other)) = (Sshd::start(&git), Sshd::start(&git)) else { return };
    let secret = |key: &Sshd, host: &Sshd| {
        let (private_key, known_hosts) = (key.private_key().into(), Some(host.known_hosts().to_owned()));
        Some(HostSecret::SshKey { private_key, known_hosts, token: None })
    };
    let address = sshd.address();
    let error = publish(address, HostKind::Git, secret(&other, &sshd)).await.unwrap_err();
    assert!(error.kind == ForgeErrorKind::Lasting && !is_there(&git), "a key that is not let in: {error}");
    let error = publish(address, HostKind::Git, secret(&sshd, &other)).await.unwrap_err();
    assert!(error.kind == ForgeErrorKind::Lasting && !is_there(&git), "a host that is not the known one: {error}");
    publish(address, HostKind::Git, secret(&sshd, &sshd)).await.unwrap();
    assert!(is_there(&git));
    let broken = Sshd::broken(&git).unwrap();
    let error = publish(broken.address(), HostKind::Git, secret(&broken, &broken)).await.unwrap_err();
    assert_eq!(error.kind, ForgeErrorKind::Passing, "its banner is not why: {error}");
}
