use copydesk_domain::HostKind;
use copydesk_testkit::hosts::{Access, FakeHost, Rights};
use reqwest::Method;
use serde_json::{Value, json};

use super::{KINDS, get, host, host_with_pull, json, opening, post, request, token};

/// Where it is said what somebody may do in the repository.
async fn asking(host: &FakeHost, token: &str, login: &str) -> String {
    match host.kind() {
        HostKind::Gitlab => {
            let (_, users) = get(host, token, &format!("/users?username={login}")).await;
            format!("/projects/acme%2Fdocs/members/all/{}", users[0]["id"])
        }
        HostKind::Bitbucket => {
            let id = host.person_id(login);
            format!("/repositories/acme/docs/permissions-config/users/557058:{id}")
        }
        _ => format!("/repos/acme/docs/collaborators/{login}/permission"),
    }
}

#[tokio::test]
async fn hosts_say_what_people_may_do() {
    for kind in KINDS {
        let (host, _) = host(kind).await;
        host.make_private("acme/docs");
        let all = [("ann", Access::Admin), ("will", Access::Write), ("rita", Access::Read), ("noel", Access::None)];
        all.iter().for_each(|(login, access)| host.person("acme/docs", login, *access));
        let admin = token(&host, Rights::ADMIN);
        let mut said = Vec::new();
        for (login, _) in all {
            let (status, answer) = get(&host, &admin, &asking(&host, &admin, login).await).await;
            let value = if kind == HostKind::Gitlab { &answer["access_level"] } else { &answer["permission"] };
            said.push(if status == 200 { value.clone() } else { json!(status) });
        }
        let expected = match kind {
            HostKind::Gitlab => json!([40, 30, 20, 404]),
            HostKind::Bitbucket => json!(["admin", "write", "read", 404]),
            _ => json!(["admin", "write", "read", "none"]),
        };
        assert_eq!(Value::Array(said), expected, "{kind:?}");
        host.assert_clean();
    }
}

#[tokio::test]
async fn not_everybody_may_ask() {
    for kind in KINDS {
        let (host, _) = host(kind).await;
        host.person("acme/docs", "will", Access::Write);
        let (push, read) = (token(&host, Rights::ALL), token(&host, Rights::READ));
        let path = asking(&host, &push, "will").await;
        let (by_writer, by_reader) = (get(&host, &push, &path).await, get(&host, &read, &path).await);
        let words = match kind {
            HostKind::Github => "Must have push access to view collaborator permission.",
            HostKind::Forgejo => "Only admins can query all permissions",
            HostKind::Bitbucket => "repository:admin",
            _ => "",
        };
        let expected = match kind {
            HostKind::Github => (200, 403),
            HostKind::Gitlab => (200, 200),
            _ => (403, 403),
        };
        assert_eq!((by_writer.0, by_reader.0), expected, "{kind:?}");
        assert!(by_reader.1.to_string().contains(words), "{kind:?} {}", by_reader.1);
        if matches!(kind, HostKind::Github | HostKind::Forgejo) {
            let admin = token(&host, Rights::ADMIN);
            let nobody = get(&host, &admin, &asking(&host, &admin, "nobody").await).await;
            assert_eq!(nobody.0, 404, "{kind:?} {}", nobody.1);
            // Whoever holds a token is somebody, and may ask for himself; in a public repository everybody reads.
            let own = get(&host, &push, &asking(&host, &push, "docs-writer").await).await;
            assert_eq!((own.0, &own.1["permission"]), (200, &json!("admin")), "{kind:?}");
            host.person("acme/docs", "noel", Access::None);
            let noel = get(&host, &admin, &asking(&host, &admin, "noel").await).await;
            assert_eq!(noel.1["permission"], "read", "{kind:?}");
        }
        host.assert_clean();
    }
}

#[tokio::test]
async fn forgejo_lists_who_may_write() {
    let (host, _) = host(HostKind::Forgejo).await;
    host.person("acme/docs", "will", Access::Write);
    host.person("acme/docs", "rita", Access::Read);
    let token = token(&host, Rights::ALL);
    let (status, list) = get(&host, &token, "/repos/acme/docs/assignees").await;
    let logins: Vec<&str> = list.as_array().unwrap().iter().filter_map(|user| user["login"].as_str()).collect();
    assert_eq!((status, logins), (200, vec!["docs-writer", "will"]));
    assert_eq!(get(&host, &token, "/repos/acme/docs/teams").await.0, 405, "no organisation's");
    host.assert_clean();
}

#[tokio::test]
async fn forgejo_lists_readers_of_an_organisation_too() {
    let (host, _) = host(HostKind::Forgejo).await;
    host.team("acme/docs", "readers", Access::Read, &["rita"]);
    host.team("acme/docs", "writers", Access::Write, &["will"]);
    let token = token(&host, Rights::ALL);
    let (_, list) = get(&host, &token, "/repos/acme/docs/assignees").await;
    let logins: Vec<&str> = list.as_array().unwrap().iter().filter_map(|user| user["login"].as_str()).collect();
    assert_eq!(logins, ["docs-writer", "rita", "will"]);
    let (status, teams) = get(&host, &token, "/repos/acme/docs/teams").await;
    let may = |at: usize| (&teams[at]["name"], &teams[at]["units_map"]["repo.code"]);
    assert_eq!(
        (status, may(0), may(1)),
        (200, (&json!("readers"), &json!("read")), (&json!("writers"), &json!("write")))
    );
    host.assert_clean();
}

#[tokio::test]
async fn reviewers_are_asked_by_the_hosts_rules() {
    let path = "/repos/acme/docs/pulls/1/requested_reviewers";
    for kind in [HostKind::Github, HostKind::Forgejo] {
        let (host, token) = host_with_pull(kind).await;
        host.make_private("acme/docs");
        host.person("acme/docs", "rita", Access::Read);
        host.person("acme/docs", "noel", Access::None);
        let ask = async |names: Value| post(&host, &token, path, &json!({ "reviewers": names })).await;
        let (author, stranger, unknown) =
            (ask(json!(["docs-writer"])).await, ask(json!(["rita", "noel"])).await, ask(json!(["nobody"])).await);
        let words = match kind {
            HostKind::Github => ["from pull request author", "is not a collaborator of the acme/docs repository"],
            _ => ["poster of pr can't be reviewer", "Reviewer can't read"],
        };
        assert_eq!((author.0, stranger.0), (422, 422), "{kind:?}");
        assert!(author.1.to_string().contains(words[0]), "{kind:?} {}", author.1);
        assert!(stranger.1.to_string().contains(words[1]), "{kind:?} {}", stranger.1);
        assert_eq!(unknown.0, if kind == HostKind::Github { 422 } else { 404 }, "{kind:?}");
        assert!(host.pulls("acme/docs")[0].reviewers.is_empty(), "{kind:?}");
        let (status, answer) = ask(json!(["Rita"])).await;
        assert_eq!((status, &host.pulls("acme/docs")[0].reviewers), (201, &vec!["rita".to_owned()]), "{answer}");
        if kind == HostKind::Forgejo {
            assert_eq!(answer[0]["state"], "REQUEST_REVIEW");
            let (_, reviews) = get(&host, &token, "/repos/acme/docs/pulls/1/reviews").await;
            assert_eq!(reviews[0]["state"], "REQUEST_REVIEW", "what is asked for is listed too");
        }
        host.review("acme/docs", 1, "rita", "Fine.", &[]);
        assert!(host.pulls("acme/docs")[0].reviewers.is_empty(), "{kind:?}");
        let reader = super::token(&host, Rights::READ);
        assert_eq!(post(&host, &reader, path, &json!({ "reviewers": ["rita"] })).await.0, 403, "{kind:?}");
        host.assert_clean();
    }
}

#[tokio::test]
async fn gitlab_takes_labels_and_reviewers_with_a_merge_request() {
    let (host, _) = host(HostKind::Gitlab).await;
    host.person("acme/docs", "rita", Access::Read);
    let token = token(&host, Rights::ALL);
    let (path, mut body) = opening(HostKind::Gitlab, "feature", "main");
    body["labels"] = json!("docs, new");
    body["reviewer_ids"] = json!(["rita"]);
    assert_eq!(post(&host, &token, path, &body).await.0, 400);
    // Who is not known is left out without a word.
    body["reviewer_ids"] = json!([host.person_id("rita"), 7]);
    let (status, view) = post(&host, &token, path, &body).await;
    assert_eq!(
        (status, &view["labels"], &view["reviewers"][0]["username"]),
        (201, &json!(["docs", "new"]), &json!("rita"))
    );
    let change = json!({ "add_labels": "more", "remove_labels": "new", "reviewer_ids": [] });
    let one = format!("{path}/1");
    let answer = request(&host, &token, Method::PUT, &one).json(&change).send().await.unwrap();
    assert_eq!(json(answer).await.1["labels"], json!(["docs", "more"]));
    let pull = &host.pulls("acme/docs")[0];
    assert_eq!((pull.labels.as_slice(), pull.reviewers.len()), (["docs".to_owned(), "more".to_owned()].as_slice(), 0));
    host.assert_clean();
}

#[tokio::test]
async fn bitbucket_takes_reviewers_by_their_ids() {
    let (host, _) = host(HostKind::Bitbucket).await;
    host.person("acme/docs", "rita", Access::Read);
    let (token, admin) = (token(&host, Rights::ALL), token(&host, Rights::ADMIN));
    let rita = get(&host, &admin, &asking(&host, &admin, "rita").await).await.1["user"]["uuid"].clone();
    let (path, mut body) = opening(HostKind::Bitbucket, "feature", "main");
    for wrong in [json!(["rita"]), json!([{ "uuid": "{00000000-0000-4000-8000-000000000000}" }])] {
        body["reviewers"] = wrong;
        let (status, said) = post(&host, &token, path, &body).await;
        assert!(status == 400 && said.to_string().contains("Malformed reviewers list"), "{said}");
    }
    body["reviewers"] = json!([{ "uuid": rita }]);
    let (status, view) = post(&host, &token, path, &body).await;
    assert_eq!((status, &view["reviewers"][0]["nickname"]), (201, &json!("rita")), "{view}");
    assert_eq!(host.pulls("acme/docs")[0].reviewers, ["rita"]);
    host.assert_clean();
}

#[tokio::test]
async fn labels_are_made_by_github_and_passed_over_by_forgejo() {
    let path = "/repos/acme/docs/issues/1/labels";
    let (github, token) = host_with_pull(HostKind::Github).await;
    let (status, labels) = post(&github, &token, path, &json!({ "labels": ["docs"] })).await;
    assert_eq!((status, &labels[0]["name"]), (200, &json!("docs")));
    assert_eq!(post(&github, &token, path, &json!({ "labels": [7] })).await.0, 422);
    assert_eq!(github.pulls("acme/docs")[0].labels, ["docs"]);

    let (forgejo, token) = host_with_pull(HostKind::Forgejo).await;
    let (docs, _) = (forgejo.new_label("acme/docs", "docs"), forgejo.new_label("acme/docs", "more"));
    let (status, list) = get(&forgejo, &token, "/repos/acme/docs/labels?limit=1").await;
    assert_eq!((status, &list[0]["id"], list[1].is_null()), (200, &json!(docs), true));
    let add = async |labels: Value| post(&forgejo, &token, path, &json!({ "labels": labels })).await;
    let (status, worn) = add(json!(["new"])).await;
    assert_eq!((status, worn), (200, json!([])), "what is not there is passed over");
    assert_eq!(add(json!([docs, "more"])).await.0, 400, "either ids or names");
    assert_eq!(add(json!([docs])).await.0, 200);
    assert_eq!(add(json!(["more"])).await.1.as_array().map(Vec::len), Some(2));
    assert_eq!(forgejo.pulls("acme/docs")[0].labels, ["docs", "more"]);
    let missing = post(&forgejo, &token, "/repos/acme/docs/issues/9/labels", &json!({ "labels": [docs] })).await;
    assert_eq!(missing.0, 404);
    for host in [&github, &forgejo] {
        host.assert_clean();
    }
}

#[tokio::test]
async fn github_asks_for_a_permission_of_issues() {
    let (host, _) = host_with_pull(HostKind::Github).await;
    let issue = host.issue("acme/docs", "mona", "It is wrong", "");
    let narrow = token(&host, Rights { issues: false, ..Rights::ALL });
    let say = async |number: u64| {
        let path = format!("/repos/acme/docs/issues/{number}/comments");
        post(&host, &narrow, &path, &json!({ "body": "Seen." })).await
    };
    let (on_pull, on_issue) = (say(1).await, say(issue).await);
    assert_eq!((on_pull.0, on_issue.0), (201, 403), "{}", on_issue.1);
    assert!(on_issue.1.to_string().contains("Resource not accessible by personal access token"));
}

#[tokio::test]
async fn forgejo_names_a_branch_that_is_gone_by_its_label() {
    let (host, git) = host(HostKind::Forgejo).await;
    let token = token(&host, Rights::ALL);
    let (path, body) = opening(HostKind::Forgejo, "feature", "main");
    let (_, made) = post(&host, &token, path, &body).await;
    assert_eq!((&made["head"]["label"], &made["head"]["ref"]), (&json!("feature"), &json!("feature")));
    git.git(&["branch", "-D", "feature"]);
    let (_, pull) = get(&host, &token, "/repos/acme/docs/pulls/1").await;
    assert_eq!((&pull["head"]["label"], &pull["head"]["ref"]), (&json!("feature"), &json!("refs/pull/1/head")));
    host.assert_clean();
}
