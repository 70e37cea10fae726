use copydesk_domain::HostKind;
use copydesk_forge::{Abilities, Ability};
use serde_json::{Value, json};

use crate::server::{Server, hosts, json_reply, with};

/// What a host says that lets everything be done; not all say who may write.
fn assert_able(abilities: &Abilities) {
    let Abilities { reachable, readable, writable, pull_requests } = abilities;
    assert_eq!([reachable, readable, pull_requests], [&Ability::Yes; 3], "{abilities:?}");
    assert_eq!(writable.why_not(), None);
}

/// A host whose interface shows the repository so; git may push with the token or not.
async fn abilities(kind: HostKind, pushes: bool, repository: Value, scopes: Option<&'static str>) -> Abilities {
    let server = Server::start(move |seen, _| {
        assert_eq!(seen.method, "GET", "nothing is written");
        if seen.path.ends_with("/personal_access_tokens/self") {
            return json_reply(200, &json!({ "scopes": [scopes.unwrap_or_default()] }));
        }
        let reply = json_reply(200, &repository);
        scopes.map_or(json_reply(200, &repository), |scopes| with(reply, "x-oauth-scopes", scopes))
    })
    .await;
    server.host(kind).abilities(pushes).await
}

fn is_no(ability: &Ability, words: &str) -> bool {
    matches!(ability, Ability::No(why) if why.contains(words))
}

fn is_unknown(ability: &Ability, words: &str) -> bool {
    matches!(ability, Ability::Unknown(why) if why.contains(words))
}

fn github() -> Value {
    json!({ "default_branch": "main", "owner": { "login": "acme" } })
}

#[tokio::test]
async fn github_tells_by_scopes() {
    assert_able(&abilities(HostKind::Github, true, github(), Some("repo, workflow")).await);
    let weak = abilities(HostKind::Github, false, github(), Some("gist")).await;
    assert!(is_no(&weak.pull_requests, "scope `repo`"), "{weak:?}");
    let fine = abilities(HostKind::Github, true, github(), None).await;
    assert!(is_unknown(&fine.pull_requests, "fine-grained"), "{fine:?}");
    let mut old = github();
    old["archived"] = json!(true);
    let old = abilities(HostKind::Github, true, old, Some("repo")).await;
    assert!(is_no(&old.pull_requests, "archived") && old.readable == Ability::Yes);
}

#[tokio::test]
async fn gitlab_tells_by_roles_and_by_what_the_token_says_of_itself() {
    let project =
        |level: u32| json!({ "permissions": { "project_access": null, "group_access": { "access_level": level } } });
    assert_able(&abilities(HostKind::Gitlab, true, project(30), Some("api")).await);
    let reader = abilities(HostKind::Gitlab, false, project(20), Some("api")).await;
    assert!(is_unknown(&reader.pull_requests, "the role Developer"), "more by way of another group? {reader:?}");
    assert!(is_unknown(&reader.writable, "does not say"), "{reader:?}");
    let weak = abilities(HostKind::Gitlab, false, project(20), Some("read_api")).await;
    assert!(is_no(&weak.pull_requests, "scope `api`"), "{weak:?}");
    let weak = abilities(HostKind::Gitlab, true, project(40), Some("read_api")).await;
    assert!(is_no(&weak.pull_requests, "scope `api`"), "{weak:?}");
    let off = json!({ "merge_requests_access_level": "disabled" });
    assert!(is_no(&abilities(HostKind::Gitlab, true, off, Some("api")).await.pull_requests, "switched off"));
}

#[tokio::test]
async fn forgejo_tells_by_whether_git_may_push() {
    let repository = json!({ "default_branch": "main" });
    assert_able(&abilities(HostKind::Forgejo, true, repository.clone(), None).await);
    let refused = abilities(HostKind::Forgejo, false, repository, None).await;
    assert!(is_unknown(&refused.pull_requests, "write:repository"), "{refused:?}");
    let off = json!({ "has_pull_requests": false });
    assert!(is_no(&abilities(HostKind::Forgejo, true, off, None).await.pull_requests, "switched off"));
}

#[tokio::test]
async fn an_account_that_may_only_read_is_told_whatever_its_token_may() {
    let reads = |mut repository: Value| {
        repository["permissions"] = json!({ "admin": false, "push": false, "pull": true });
        repository
    };
    for (kind, repository, scopes) in [
        (HostKind::Github, reads(github()), Some("repo")),
        (HostKind::Forgejo, reads(json!({ "default_branch": "main" })), None),
        (HostKind::Bitbucket, json!({}), Some("repository, write:pullrequest:bitbucket")),
    ] {
        let reader = abilities(kind, true, repository, scopes).await;
        assert!(is_no(&reader.writable, "may only read acme/docs; it needs"), "{kind:?}: {reader:?}");
    }
    let mut writer = github();
    writer["permissions"] = json!({ "push": true });
    assert_eq!(abilities(HostKind::Github, true, writer, Some("repo")).await.writable, Ability::Yes);
    let shared = json!({ "permissions": { "project_access": null, "group_access": null } });
    let shared = abilities(HostKind::Gitlab, true, shared, Some("api")).await;
    assert!(is_unknown(&shared.writable, "does not say"), "let in by another group: {shared:?}");
}

#[tokio::test]
async fn bitbucket_tells_by_scopes() {
    let repository = json!({ "mainbranch": { "name": "main" } });
    let able = abilities(HostKind::Bitbucket, true, repository.clone(), Some("pullrequest:write, account")).await;
    assert_able(&able);
    let weak = abilities(HostKind::Bitbucket, true, repository, Some("repository, pullrequest")).await;
    assert!(is_no(&weak.pull_requests, "pullrequest:write"), "{weak:?}");
}

#[tokio::test]
async fn a_host_that_does_not_answer_or_hides_the_repository_is_said_to() {
    let hidden = Server::start(|_, _| json_reply(404, &json!({ "message": "Not Found" }))).await;
    for kind in [HostKind::Github, HostKind::Gitlab, HostKind::Forgejo, HostKind::Bitbucket] {
        let found = hidden.host(kind).abilities(false).await;
        assert!(
            found.reachable == Ability::Yes && is_no(&found.readable, "shows no repository acme/docs"),
            "{found:?}"
        );
        assert!(is_unknown(&found.pull_requests, "was not asked"), "{found:?}");
    }
    let down = Server::start(|_, _| json_reply(500, &json!({}))).await;
    let found = down.host(HostKind::Gitlab).abilities(false).await;
    assert!(is_no(&found.reachable, "internal error"), "{found:?}");
}

#[tokio::test]
async fn without_a_token_no_pull_request_can_be_opened() {
    let server = Server::start(|_, _| json_reply(200, &github())).await;
    let host = server.connect(&hosts(), HostKind::Github, None).interface().unwrap();
    assert!(is_no(&host.abilities(true).await.pull_requests, "without a token"));
    assert!(server.seen().iter().all(|seen| seen.authorization.is_none()));
}
