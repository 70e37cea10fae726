//! One story, told to every code host through the product's own clients: a pull request from its opening to its end, and
//! everything that can go wrong on the way.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should stop at once")]

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use copydesk_domain::{HostKind, HostSettings, PullRequestState, Repository};
use copydesk_forge::{
    Ability, Connection, Forge, ForgeErrorKind, ForgeSettings, HostInterface, HostSecret, Hosts, HostsSettings,
    NewPullRequest, Signature,
};
use copydesk_testkit::hosts::{FakeHost, Fault, Holder, Rights};
use copydesk_testkit::{GitEntry, GitRepo};

const KINDS: [HostKind; 4] = [HostKind::Github, HostKind::Gitlab, HostKind::Forgejo, HostKind::Bitbucket];

/// Where pull requests of a kind are, in the path of its interface.
fn list(kind: HostKind) -> &'static str {
    match kind {
        HostKind::Gitlab => "/merge_requests",
        HostKind::Bitbucket => "/pullrequests",
        _ => "/pulls",
    }
}

/// A host with `acme/docs`, which only those see who may, and in which `feature` is ahead of `main`.
async fn fake(kind: HostKind) -> (FakeHost, Arc<GitRepo>) {
    let host = FakeHost::start(kind).await;
    let git = GitRepo::new([("index.md", "# Docs\n")]);
    for branch in ["same", "feature", "docs/second"] {
        git.git(&["branch", branch, "main"]);
    }
    for branch in ["feature", "docs/second"] {
        git.commit(branch, "Write more", [(format!("{branch}.md"), GitEntry::File(b"# More\n".to_vec()))]);
    }
    let git = host.add("acme/docs", git);
    host.make_private("acme/docs");
    (host, git)
}

/// A token as the host wants it for its interface.
fn token(host: &FakeHost, rights: Rights) -> HostSecret {
    let token = match host.kind() {
        HostKind::Bitbucket => host.token_of(Holder::Repository, rights),
        _ => host.token(rights),
    };
    HostSecret::Token { username: None, token: token.into() }
}

/// A client that does not dawdle.
fn client(host: &FakeHost, secret: Option<HostSecret>) -> Arc<dyn HostInterface> {
    connect(host, host.kind(), secret).interface().unwrap()
}

fn connect(host: &FakeHost, kind: HostKind, secret: Option<HostSecret>) -> Connection {
    let settings = HostsSettings {
        time_limit: Duration::from_secs(5),
        first_pause: Duration::from_millis(1),
        longest_wait: Duration::from_millis(1500),
        ..HostsSettings::default()
    };
    let repository = Repository::parse(&host.address("acme/docs"), Path::new("/")).unwrap();
    let about = HostSettings { kind: Some(kind), api_url: Some(host.api_url()), ..HostSettings::default() };
    Hosts::new(settings).connect(&repository, &about, secret).unwrap()
}

fn new(head: &str) -> NewPullRequest {
    NewPullRequest {
        head: head.to_owned(),
        base: "main".to_owned(),
        title: "Say more".to_owned(),
        body: "About *this*.".to_owned(),
        draft: false,
    }
}

#[tokio::test]
async fn from_the_opening_to_the_merge() {
    for kind in KINDS {
        let (host, git) = fake(kind).await;
        let client = client(&host, Some(token(&host, Rights::ALL)));
        assert_eq!(client.default_branch().await.unwrap(), "main", "{kind:?}");
        assert_eq!(client.find("feature").await.unwrap(), None, "{kind:?}");
        let opened = client.open(&new("feature")).await.unwrap();
        assert_eq!((opened.number, opened.state, opened.draft), (1, PullRequestState::Open, false), "{kind:?}");
        assert!(opened.url.starts_with(&format!("{}/acme/docs/", host.url())), "{kind:?} {}", opened.url);
        assert_eq!(client.find("feature").await.unwrap(), Some(opened.clone()), "{kind:?}");
        assert_eq!(client.read(1).await.unwrap(), opened, "{kind:?}");
        let pull = host.pulls("acme/docs").remove(0);
        assert_eq!((pull.title.as_str(), pull.body.as_str()), ("Say more", "About *this*."), "{kind:?}");
        let changed = NewPullRequest { title: "Say it".to_owned(), body: "Now.".to_owned(), ..new("feature") };
        client.update(1, &changed).await.unwrap();
        let pull = host.pulls("acme/docs").remove(0);
        assert_eq!((pull.title.as_str(), pull.body.as_str()), ("Say it", "Now."), "{kind:?}");
        assert_eq!(client.open(&changed).await.unwrap().number, 1, "{kind:?}: there is one already");
        host.merge("acme/docs", 1).await;
        let merged = client.read(1).await.unwrap();
        assert_eq!(merged.state, PullRequestState::Merged, "{kind:?}");
        // Bitbucket does not say when.
        assert_eq!(merged.merged_at.is_some(), kind != HostKind::Bitbucket, "{kind:?}");
        assert_eq!(client.find("feature").await.unwrap(), Some(merged), "{kind:?}");
        assert!(git.text("main", "feature.md").is_some());
        assert_eq!(host.pulls("acme/docs").len(), 1, "{kind:?}");
        host.assert_clean();
    }
}

#[tokio::test]
async fn a_closed_one_makes_room_for_another() {
    for kind in KINDS {
        let (host, _) = fake(kind).await;
        let client = client(&host, Some(token(&host, Rights::ALL)));
        client.open(&new("docs/second")).await.unwrap();
        host.close("acme/docs", 1).await;
        let closed = client.read(1).await.unwrap();
        assert_eq!((closed.state, closed.merged_at), (PullRequestState::Closed, None), "{kind:?}");
        assert_eq!(client.find("docs/second").await.unwrap(), Some(closed), "{kind:?}");
        assert_eq!(client.open(&new("docs/second")).await.unwrap().number, 2, "{kind:?}");
        assert_eq!(client.find("docs/second").await.unwrap().unwrap().number, 2, "{kind:?}: the newest counts");
        host.assert_clean();
    }
}

#[tokio::test]
async fn drafts_become_ready_and_drafts_again() {
    for kind in KINDS {
        let (host, _) = fake(kind).await;
        let client = client(&host, Some(token(&host, Rights::ALL)));
        let draft = NewPullRequest { draft: true, ..new("feature") };
        assert!(client.open(&draft).await.unwrap().draft, "{kind:?}");
        assert!(host.pulls("acme/docs")[0].draft && client.read(1).await.unwrap().draft, "{kind:?}");
        assert!(!client.update(1, &new("feature")).await.unwrap().draft, "{kind:?}");
        assert!(!host.pulls("acme/docs")[0].draft, "{kind:?}");
        assert_eq!(host.pulls("acme/docs")[0].title, "Say more", "{kind:?}");
        assert!(client.update(1, &draft).await.unwrap().draft && host.pulls("acme/docs")[0].draft, "{kind:?}");
        host.assert_clean();
    }
}

#[tokio::test]
async fn the_newest_of_a_branch_is_found_however_long_the_list_is() {
    // Forgejo gives fifty at a time and cannot be asked for a branch.
    let (host, git) = fake(HostKind::Forgejo).await;
    let client = client(&host, Some(token(&host, Rights::ALL)));
    client.open(&new("feature")).await.unwrap();
    for number in 0..=50 {
        let branch = format!("other-{number}");
        git.git(&["branch", &branch, "docs/second"]);
        client.open(&new(&branch)).await.unwrap();
    }
    assert_eq!(client.find("feature").await.unwrap().unwrap().number, 1);
    assert_eq!(client.find("none").await.unwrap(), None);
    assert_eq!(client.open(&new("feature")).await.unwrap().number, 1);
    host.assert_clean();
}

#[tokio::test]
async fn where_there_are_no_drafts_it_is_opened_as_ready() {
    let (host, _) = fake(HostKind::Github).await;
    host.forbid_drafts("acme/docs");
    let client = client(&host, Some(token(&host, Rights::ALL)));
    let opened = client.open(&NewPullRequest { draft: true, ..new("feature") }).await.unwrap();
    assert!(!opened.draft && host.pulls("acme/docs").len() == 1);
}

#[tokio::test]
async fn branches_that_do_not_fit_are_told_apart() {
    for kind in KINDS {
        let (host, git) = fake(kind).await;
        let client = client(&host, Some(token(&host, Rights::ALL)));
        let gone = client.open(&new("gone")).await.unwrap_err();
        assert!(gone.message.contains("`gone`"), "{kind:?} {gone}");
        let other = NewPullRequest { base: "gone".to_owned(), ..new("feature") };
        let gone = client.open(&other).await.unwrap_err();
        assert!(gone.kind == ForgeErrorKind::Lasting && gone.message.contains("no branch `gone`"), "{kind:?} {gone}");
        // GitLab and Forgejo take a pull request that holds nothing.
        if matches!(kind, HostKind::Github | HostKind::Bitbucket) {
            let empty = client.open(&new("same")).await.unwrap_err();
            assert!(
                empty.kind == ForgeErrorKind::Lasting && empty.message.contains("nothing to merge"),
                "{kind:?} {empty}"
            );
        }
        assert_eq!(git.branches().len(), 4);
        assert!(host.pulls("acme/docs").is_empty());
        host.assert_clean();
    }
}

#[tokio::test]
async fn a_renamed_repository_is_found_at_its_new_place() {
    for kind in KINDS {
        let (host, _) = fake(kind).await;
        let client = client(&host, Some(token(&host, Rights::ALL)));
        host.rename("acme/docs", "globex/handbook");
        assert_eq!(client.default_branch().await.unwrap(), "main", "{kind:?}");
        assert_eq!(client.open(&new("feature")).await.unwrap().number, 1, "{kind:?}");
        assert!(client.find("feature").await.unwrap().unwrap().url.contains("globex/handbook"), "{kind:?}");
        assert_eq!(client.read(1).await.unwrap().number, 1, "{kind:?}");
        host.assert_clean();
    }
}

#[tokio::test]
async fn what_is_not_allowed_is_said_and_not_tried_again() {
    for kind in KINDS {
        let (host, _) = fake(kind).await;
        let all = token(&host, Rights::ALL);
        let HostSecret::Token { token: secret, .. } = &all else { unreachable!() };
        let secret = secret.expose();
        let revoked = client(&host, Some(all.clone()));
        host.revoke(secret);
        let error = revoked.open(&new("feature")).await.unwrap_err();
        assert!(error.kind == ForgeErrorKind::Lasting && error.message.contains("revoked"), "{kind:?} {error}");
        let reader = client(&host, Some(token(&host, Rights::READ)));
        let error = reader.open(&new("feature")).await.unwrap_err();
        assert!(error.kind == ForgeErrorKind::Lasting && error.message.contains("needs"), "{kind:?} {error}");
        for hidden in [client(&host, Some(token(&host, Rights::NONE))), client(&host, None)] {
            let error = hidden.default_branch().await.unwrap_err();
            assert!(error.kind == ForgeErrorKind::Lasting && error.message.contains("acme/docs"), "{kind:?} {error}");
        }
        assert!(host.seen().iter().all(|seen| !seen.path.contains(secret)));
        let posts = host.seen().iter().filter(|seen| seen.method == "POST").count();
        // Once each, and the second look at a credential that is not known: a host that is being stopped knows none.
        assert!(posts <= 4, "{kind:?}: nothing is tried on and on that cannot work: {posts}");
        host.assert_clean();
    }
}

#[tokio::test]
async fn a_host_that_falters_is_asked_again() {
    for kind in KINDS {
        let (host, _) = fake(kind).await;
        let client = client(&host, Some(token(&host, Rights::ALL)));
        for fault in [Fault::Status(500), Fault::Status(502), Fault::Status(503), Fault::Break] {
            host.fail(2, "GET", "acme", fault.clone());
            assert_eq!(client.default_branch().await.unwrap(), "main", "{kind:?} {fault:?}");
        }
        host.fail(2, "POST", list(kind), Fault::Status(503));
        assert_eq!(client.open(&new("feature")).await.unwrap().number, 1, "{kind:?}");
        assert_eq!(host.pulls("acme/docs").len(), 1, "{kind:?}");
        host.fail(100, "GET", "acme", Fault::Status(502));
        let error = client.read(1).await.unwrap_err();
        assert_eq!(error.kind, ForgeErrorKind::Away, "{kind:?} {error}");
        host.assert_clean();
    }
}

#[tokio::test]
async fn an_answer_that_is_lost_leaves_one_pull_request() {
    for kind in KINDS {
        for fault in [Fault::LoseAnswer, Fault::HangAfterwards] {
            let (host, _) = fake(kind).await;
            let client = client(&host, Some(token(&host, Rights::ALL)));
            host.fail(1, "POST", list(kind), fault.clone());
            assert_eq!(client.open(&new("feature")).await.unwrap().number, 1, "{kind:?} {fault:?}");
            assert_eq!(host.pulls("acme/docs").len(), 1, "{kind:?} {fault:?}");
            assert_eq!(host.count("POST", list(kind)), 1, "{kind:?} {fault:?}: it looks before it asks again");
            host.assert_clean();
        }
    }
}

#[tokio::test]
async fn limits_are_waited_for_or_told() {
    for kind in KINDS {
        let (host, _) = fake(kind).await;
        let client = client(&host, Some(token(&host, Rights::ALL)));
        host.fail(1, "GET", "acme", Fault::RateLimit(Some(1)));
        assert_eq!(client.default_branch().await.unwrap(), "main", "{kind:?}");
        host.fail(1, "POST", list(kind), Fault::SecondaryLimit(Some(1)));
        assert_eq!(client.open(&new("feature")).await.unwrap().number, 1, "{kind:?}");
        assert_eq!(host.pulls("acme/docs").len(), 1, "{kind:?}");
        host.fail(1, "GET", "acme", Fault::RateLimit(Some(900)));
        let error = client.read(1).await.unwrap_err();
        assert_eq!(error.kind, ForgeErrorKind::Away, "{kind:?} {error}");
        host.assert_clean();
    }
}

#[tokio::test]
async fn a_github_app_works_like_a_token_whatever_the_clock_says() {
    let (host, _) = fake(HostKind::Github).await;
    let app = host.app(&["acme/docs"], Rights::ALL);
    for (private_key, installation_id) in [(&app.private_key, None), (&app.private_key_pkcs8, Some(app.installation))] {
        let private_key = private_key.as_str().into();
        let client =
            client(&host, Some(HostSecret::GithubApp { app_id: app.id.to_string(), installation_id, private_key }));
        assert_eq!(client.open(&new("feature")).await.unwrap().number, 1);
        host.revoke_installation_tokens();
        assert_eq!(client.read(1).await.unwrap().number, 1, "a new token is had");
    }
    let secret = || HostSecret::GithubApp {
        app_id: app.client_id.clone(),
        installation_id: None,
        private_key: app.private_key.as_str().into(),
    };
    host.skew(-900);
    assert_eq!(client(&host, Some(secret())).default_branch().await.unwrap(), "main");
    host.skew(0);
    host.suspend(&app);
    let error = client(&host, Some(secret())).default_branch().await.unwrap_err();
    assert!(error.kind == ForgeErrorKind::Lasting && error.message.contains("suspended"), "{error}");
    host.assert_clean();
}

/// Whether git would be let push.
async fn may_push(host: &FakeHost, secret: HostSecret) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let who = || Signature { name: "Docs".to_owned(), email: "docs@acme.example".to_owned() };
    let time_limit = Duration::from_secs(60);
    let settings = ForgeSettings { folder: folder.path().to_owned(), time_limit, author: who(), committer: who() };
    let remote = connect(host, host.kind(), Some(secret)).remote().await.unwrap();
    assert!(remote.shows_credential());
    Forge::new(settings).mirror(&remote).await.unwrap().check_push().await.is_ok()
}

#[tokio::test]
async fn abilities_are_found_out_without_writing() {
    for kind in KINDS {
        let (host, git) = fake(kind).await;
        let before = git.branches();
        let full = token(&host, Rights::ALL);
        let told = client(&host, Some(full.clone())).abilities(true).await;
        assert_eq!((told.reachable, told.readable), (Ability::Yes, Ability::Yes), "{kind:?}");
        assert!(may_push(&host, full).await, "{kind:?}");
        let reader = token(&host, Rights::READ);
        assert_eq!(may_push(&host, reader.clone()).await, kind == HostKind::Forgejo, "{kind:?}: as git says");
        let reader = client(&host, Some(reader)).abilities(true).await;
        let told = if kind == HostKind::Gitlab { &reader.pull_requests } else { &reader.writable };
        assert!(told.why_not().is_some(), "{kind:?}: {reader:?}");
        let stranger = client(&host, Some(token(&host, Rights::NONE))).abilities(false).await;
        assert!(matches!(stranger.readable, Ability::No(_)), "{kind:?} {stranger:?}");
        assert!(host.seen().iter().all(|seen| seen.method == "GET"), "{kind:?}");
        assert_eq!(git.branches(), before);
        host.assert_clean();
    }
}

#[tokio::test]
async fn bitbucket_takes_a_persons_token_with_the_address() {
    let (host, _) = fake(HostKind::Bitbucket).await;
    let token = host.token(Rights::ALL);
    let secret = HostSecret::Token { username: Some("writer@acme.example".to_owned()), token: token.into() };
    let client = client(&host, Some(secret.clone()));
    assert_eq!(client.open(&new("feature")).await.unwrap().number, 1);
    assert!(may_push(&host, secret).await);
    host.assert_clean();
}

#[tokio::test]
async fn the_main_branch_is_had_from_git_where_the_interface_does_not_tell() {
    for kind in KINDS {
        let host = FakeHost::start(kind).await;
        let git = GitRepo::new([("index.md", "# Docs\n")]);
        git.git(&["branch", "-m", "main", "trunk"]);
        host.add("acme/docs", git);
        let secret = Some(token(&host, Rights::ALL));
        assert_eq!(connect(&host, kind, secret).default_branch().await.unwrap(), "trunk", "{kind:?}");
        assert!(host.seen().iter().all(|seen| !seen.path.contains("info/refs")), "{kind:?}: the interface says it");
        let by_git = connect(&host, HostKind::Git, None).default_branch().await;
        assert_eq!(by_git.unwrap(), "trunk", "{kind:?}");
        assert!(host.seen().iter().any(|seen| seen.path.contains("info/refs")), "{kind:?}");
        host.make_private("acme/docs");
        let hidden = connect(&host, kind, None).default_branch().await.unwrap_err();
        assert_eq!(hidden.kind, ForgeErrorKind::Lasting, "{kind:?} {hidden}");
        host.assert_clean();
    }
}
