use copydesk_domain::HostKind;
use copydesk_forge::{Abilities, Ability};
use serde_json::{Value, json};

use crate::server::{Reply, Server, hosts, json_reply, with};

/// A host whose git server greets with `git` and whose interface shows the repository so.
async fn abilities(kind: HostKind, git: u16, repository: Value, scopes: Option<&'static str>) -> Abilities {
    let server = Server::start(move |seen, _| {
        assert_eq!(seen.method, "GET", "nothing is written");
        if seen.path.contains("/info/refs") {
            assert!(seen.path.ends_with("service=git-receive-pack"));
            return Reply::Say(git, Vec::new(), String::new());
        }
        if seen.path.ends_with("/personal_access_tokens/self") {
            return json_reply(200, &json!({ "scopes": [scopes.unwrap_or_default()] }));
        }
        let reply = json_reply(200, &repository);
        scopes.map_or(json_reply(200, &repository), |scopes| with(reply, "x-oauth-scopes", scopes))
    })
    .await;
    server.host(kind).abilities().await
}

fn is_no(ability: &Ability, words: &str) -> bool {
    matches!(ability, Ability::No(why) if why.contains(words))
}

fn is_unknown(ability: &Ability, words: &str) -> bool {
    matches!(ability, Ability::Unknown(why) if why.contains(words))
}

fn github(push: bool) -> Value {
    json!({ "default_branch": "main", "owner": { "login": "acme" }, "permissions": { "push": push } })
}

#[tokio::test]
async fn github_tells_by_scopes_and_by_its_git_server() {
    let able = abilities(HostKind::Github, 200, github(true), Some("repo, workflow")).await;
    assert_eq!(able, Abilities::all(&Ability::Yes));
    let weak = abilities(HostKind::Github, 403, github(true), Some("gist")).await;
    assert!(is_no(&weak.push, "push to acme/docs") && is_no(&weak.pull_requests, "scope `repo`"), "{weak:?}");
    let fine = abilities(HostKind::Github, 404, github(true), None).await;
    assert!(is_unknown(&fine.push, "status 404") && is_unknown(&fine.pull_requests, "fine-grained"), "{fine:?}");
    let guest = abilities(HostKind::Github, 500, github(false), None).await;
    assert!(is_no(&guest.push, "may not write to acme/docs"), "{guest:?}");
    let mut old = github(true);
    old["archived"] = json!(true);
    let old = abilities(HostKind::Github, 200, old, Some("repo")).await;
    assert!(is_no(&old.push, "archived") && is_no(&old.pull_requests, "archived") && old.readable == Ability::Yes);
}

#[tokio::test]
async fn gitlab_tells_by_roles_and_by_what_the_token_says_of_itself() {
    let project =
        |level: u32| json!({ "permissions": { "project_access": null, "group_access": { "access_level": level } } });
    assert_eq!(abilities(HostKind::Gitlab, 404, project(30), Some("api")).await, Abilities::all(&Ability::Yes));
    let reader = abilities(HostKind::Gitlab, 404, project(20), Some("api")).await;
    assert!(is_no(&reader.push, "may not write") && is_no(&reader.pull_requests, "the role Developer"), "{reader:?}");
    let weak = abilities(HostKind::Gitlab, 200, project(40), Some("read_api")).await;
    assert!(weak.push == Ability::Yes && is_no(&weak.pull_requests, "scope `api`"), "{weak:?}");
    let off = json!({ "merge_requests_access_level": "disabled" });
    assert!(is_no(&abilities(HostKind::Gitlab, 200, off, Some("api")).await.pull_requests, "switched off"));
}

#[tokio::test]
async fn forgejo_tells_by_its_git_server() {
    let repository = json!({ "default_branch": "main", "permissions": { "push": true } });
    assert_eq!(abilities(HostKind::Forgejo, 200, repository.clone(), None).await, Abilities::all(&Ability::Yes));
    let refused = abilities(HostKind::Forgejo, 403, repository, None).await;
    assert!(is_no(&refused.push, "push") && is_unknown(&refused.pull_requests, "write:repository"), "{refused:?}");
    let off = json!({ "has_pull_requests": false });
    assert!(is_no(&abilities(HostKind::Forgejo, 200, off, None).await.pull_requests, "switched off"));
}

#[tokio::test]
async fn bitbucket_tells_by_scopes() {
    let repository = json!({ "mainbranch": { "name": "main" } });
    let able = abilities(HostKind::Bitbucket, 404, repository.clone(), Some("pullrequest:write, account")).await;
    assert_eq!(able, Abilities::all(&Ability::Yes));
    let weak = abilities(HostKind::Bitbucket, 404, repository, Some("repository, pullrequest")).await;
    assert!(is_no(&weak.push, "repository:write") && is_no(&weak.pull_requests, "pullrequest:write"), "{weak:?}");
}

#[tokio::test]
async fn a_host_that_does_not_answer_or_hides_the_repository_is_said_to() {
    let hidden = Server::start(|_, _| json_reply(404, &json!({ "message": "Not Found" }))).await;
    for kind in [HostKind::Github, HostKind::Gitlab, HostKind::Forgejo, HostKind::Bitbucket] {
        let found = hidden.host(kind).abilities().await;
        assert!(
            found.reachable == Ability::Yes && is_no(&found.readable, "shows no repository acme/docs"),
            "{found:?}"
        );
        assert!(is_unknown(&found.push, "was not asked"), "{found:?}");
    }
    let down = Server::start(|_, _| json_reply(500, &json!({}))).await;
    let found = down.host(HostKind::Gitlab).abilities().await;
    assert!(is_no(&found.reachable, "internal error"), "{found:?}");
}

#[tokio::test]
async fn without_a_token_no_pull_request_can_be_opened() {
    let server = Server::start(|_, _| json_reply(200, &github(false))).await;
    let host = server.connect(&hosts(), HostKind::Github, None).code_host().unwrap();
    assert!(is_no(&host.abilities().await.pull_requests, "without a token"));
    assert!(server.seen().iter().all(|seen| seen.authorization.is_none()));
}

#[tokio::test]
async fn a_plain_git_server_is_asked_through_git_alone() {
    let server = Server::start(|seen, _| match seen.path.ends_with("git-upload-pack") {
        true => Reply::Say(200, Vec::new(), "001e# service=git-upload-pack\n".to_owned()),
        false => Reply::Say(403, Vec::new(), String::new()),
    })
    .await;
    let found = server.host(HostKind::Git).abilities().await;
    assert!(found.readable == Ability::Yes && is_no(&found.push, "push"), "{found:?}");
    assert!(is_no(&found.pull_requests, "a link to it is given"), "{found:?}");
}
