use std::path::Path;
use std::process::{Command, Output};

use base64::Engine;
use copydesk_domain::HostKind;
use copydesk_testkit::hosts::{FakeHost, Rights};

use super::{KINDS, host, token};

/// Runs git with a credential, away from all settings of this machine.
async fn git(folder: &Path, credential: Option<(&str, &str)>, arguments: &[&str]) -> Output {
    let mut command = Command::new("git");
    command.arg("-C").arg(folder).args(arguments);
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_TERMINAL_PROMPT", "0");
    command.env("LC_ALL", "C");
    if let Some((user, secret)) = credential {
        let pair = base64::engine::general_purpose::STANDARD.encode(format!("{user}:{secret}"));
        command.env("GIT_CONFIG_COUNT", "1").env("GIT_CONFIG_KEY_0", "http.extraHeader");
        command.env("GIT_CONFIG_VALUE_0", format!("Authorization: Basic {pair}"));
    }
    tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The name that goes with a token.
fn user(host: &FakeHost) -> &'static str {
    match host.kind() {
        HostKind::Bitbucket => "x-token-auth",
        HostKind::Gitlab => "oauth2",
        _ => "x-access-token",
    }
}

#[tokio::test]
async fn repositories_are_cloned_and_pushed_to() {
    for kind in KINDS {
        let (host, there) = host(kind).await;
        host.make_private("acme/docs");
        host.protect("acme/docs", "main");
        let secret = token(&host, Rights::ALL);
        let credential = Some((user(&host), secret.as_str()));
        let folder = tempfile::tempdir().unwrap();
        let work = folder.path().join("work");
        let address = host.address("acme/docs");
        let cloned = git(folder.path(), credential, &["clone", "-q", "--filter=blob:none", &address, "work"]).await;
        assert!(cloned.status.success(), "{kind:?} {}", said(&cloned));
        let pushed = git(&work, credential, &["push", "origin", "origin/feature:refs/heads/new"]).await;
        assert!(pushed.status.success(), "{kind:?} {}", said(&pushed));
        assert!(there.branches().contains(&"new".to_owned()), "{kind:?}");
        let refused = git(&work, credential, &["push", "origin", "origin/feature:refs/heads/main"]).await;
        assert!(!refused.status.success() && said(&refused).to_lowercase().contains("branch"), "{}", said(&refused));
        assert_eq!(there.text("main", "more.md"), None, "{kind:?}");
        assert_eq!(host.pushes(), 2, "{kind:?}");
        assert!(host.fetches() >= 1, "{kind:?}");
    }
}

#[tokio::test]
async fn git_is_refused_by_the_hosts_rules() {
    for kind in KINDS {
        let (host, there) = host(kind).await;
        host.make_private("acme/docs");
        let (read, none) = (token(&host, Rights::READ), token(&host, Rights::NONE));
        let address = host.address("acme/docs");
        let folder = tempfile::tempdir().unwrap();
        let look = async |credential| git(folder.path(), credential, &["ls-remote", &address]).await;
        // Git takes a 401 for the wish to be told a name, also when it has shown one.
        for credential in [None, Some((user(&host), "wrong"))] {
            let asked = look(credential).await;
            assert!(said(&asked).contains("could not read Username"), "{kind:?} {}", said(&asked));
        }
        let hidden = look(Some((user(&host), &none))).await;
        assert!(said(&hidden).contains("not found"), "{kind:?} {}", said(&hidden));
        assert!(look(Some((user(&host), &read))).await.status.success(), "{kind:?}");
        let cloned = git(folder.path(), Some((user(&host), &read)), &["clone", "-q", &address, "work"]).await;
        assert!(cloned.status.success(), "{kind:?}");
        let work = folder.path().join("work");
        let pushed = git(&work, Some((user(&host), &read)), &["push", "origin", "main:refs/heads/new"]).await;
        // Gitea lets a reader begin, and refuses in its hook.
        let words = if kind == HostKind::Forgejo { "User permission denied for writing." } else { "403" };
        assert!(said(&pushed).contains(words), "{kind:?} {}", said(&pushed));
        assert!(!there.branches().contains(&"new".to_owned()), "{kind:?}");
    }
}

#[tokio::test]
async fn bitbucket_wants_the_right_name_with_a_token() {
    let (host, _) = host(HostKind::Bitbucket).await;
    host.make_private("acme/docs");
    let (of_repository, of_user) = (token(&host, Rights::ALL), host.token(Rights::ALL));
    let address = host.address("acme/docs");
    let folder = tempfile::tempdir().unwrap();
    for (name, secret, works) in [
        ("x-token-auth", &of_repository, true),
        ("docs-writer", &of_repository, false),
        ("docs-writer", &of_user, true),
        ("x-bitbucket-api-token-auth", &of_user, true),
        ("writer@acme.example", &of_user, false),
    ] {
        let output = git(folder.path(), Some((name, secret)), &["ls-remote", &address]).await;
        assert_eq!(output.status.success(), works, "{name} {}", said(&output));
    }
}

#[tokio::test]
async fn git_follows_a_renamed_repository() {
    let (host, _) = host(HostKind::Github).await;
    host.rename("acme/docs", "acme/handbook");
    let folder = tempfile::tempdir().unwrap();
    let output = git(folder.path(), None, &["ls-remote", &host.address("acme/docs")]).await;
    assert!(output.status.success() && said(&output).contains("redirecting to"), "{}", said(&output));
}
