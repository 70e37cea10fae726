use copydesk_domain::{HostKind, HostSettings, PullRequestState, Repository};
use copydesk_forge::{ForgeErrorKind, HostSecret};
use serde_json::{Value, json};

use crate::server::{Server, hosts, json_reply, new_pull, token, with};

fn merge_request(iid: u64, state: &str, source: Option<u64>) -> Value {
    json!({
        "iid": iid,
        "web_url": format!("https://gitlab.example/g/s/docs.v2/-/merge_requests/{iid}"),
        "state": state,
        "draft": true,
        "merged_at": null,
        "source_branch": "copydesk/x",
        "source_project_id": source,
        "target_project_id": 1,
    })
}

#[tokio::test]
async fn gitlab_is_asked_for_merge_requests_of_projects_in_groups() {
    let server = Server::start(|seen, _| match seen.method.as_str() {
        "POST" => json_reply(409, &json!({ "message": ["Another open merge request already exists: !7"] })),
        "PUT" => json_reply(200, &merge_request(7, "opened", Some(1))),
        _ if seen.path.contains("/merge_requests?") => {
            let list = [
                merge_request(9, "opened", Some(5)),
                merge_request(8, "opened", None),
                merge_request(7, "opened", Some(1)),
            ];
            json_reply(200, &json!(list))
        }
        _ if seen.path.ends_with("/merge_requests/7") => json_reply(200, &merge_request(7, "merged", Some(1))),
        _ => json_reply(200, &json!({ "default_branch": "trunk" })),
    })
    .await;
    let address = format!("{}/g/s/docs.v2.git", server.url);
    let repository = Repository::parse(&address, std::path::Path::new("/")).unwrap();
    let of_gitlab = HostSettings { kind: Some(HostKind::Gitlab), ..HostSettings::default() };
    let host = hosts().connect(&repository, &of_gitlab, token()).unwrap().interface().unwrap();
    assert_eq!(host.default_branch().await.unwrap(), "trunk");
    assert_eq!(host.open(&new_pull(true)).await.unwrap().number, 7);
    assert!(host.update(7, &new_pull(false)).await.unwrap().draft);
    assert_eq!(host.read(7).await.unwrap().state, PullRequestState::Merged);

    let seen = server.seen();
    let project = "/api/v4/projects/g%2Fs%2Fdocs.v2";
    assert!(seen.iter().all(|seen| seen.path.starts_with(project)));
    assert!(seen.iter().all(|seen| seen.authorization.as_deref() == Some("Bearer planted-secret")));
    let posted = &seen[1];
    assert!(posted.is("POST", &format!("{project}/merge_requests")));
    assert_eq!(
        posted.body,
        json!({ "source_branch": "copydesk/x", "target_branch": "main", "title": "Draft: Explain it", "description": "Because." })
    );
    assert_eq!(seen[2].query("source_branch").as_deref(), Some("copydesk/x"));
    assert_eq!(seen[3].body["title"], "Explain it");
}

fn forgejo_pull(number: u64, repo: i64, branch_is_there: bool) -> Value {
    let reference = if branch_is_there { "copydesk/x".to_owned() } else { format!("refs/pull/{number}/head") };
    json!({
        "number": number,
        "html_url": format!("https://codeberg.example/acme/docs/pulls/{number}"),
        "state": if branch_is_there { "open" } else { "closed" },
        "title": "WIP: Explain it",
        "merged": !branch_is_there,
        "merged_at": if branch_is_there { Value::Null } else { json!("2026-11-14T10:00:00+01:00") },
        "head": { "label": "copydesk/x", "ref": reference, "repo_id": repo },
        "base": { "label": "main", "ref": "main", "repo_id": 1 },
    })
}

#[tokio::test]
async fn forgejo_is_searched_page_by_page_also_for_branches_that_are_gone() {
    let server = Server::start(|seen, _| match seen.query("page").as_deref() {
        None => {
            let next = format!("<http://{}{}&page=2>; rel=\"next\"", seen.host, seen.path);
            with(json_reply(200, &json!([forgejo_pull(9, 2, true), forgejo_pull(8, -1, true)])), "link", next)
        }
        Some(_) => json_reply(200, &json!([forgejo_pull(7, 1, false), forgejo_pull(6, 1, true)])),
    })
    .await;
    let pull = server.host(HostKind::Forgejo).find("copydesk/x").await.unwrap().unwrap();
    assert_eq!((pull.number, pull.state, pull.draft), (7, PullRequestState::Merged, true));
    assert_eq!(pull.merged_at.unwrap().to_string(), "2026-11-14T09:00:00.000Z");
    let seen = server.seen();
    assert_eq!(seen.len(), 2);
    assert!(seen[0].is("GET", "/api/v1/repos/acme/docs/pulls"));
    assert_eq!(seen[0].authorization.as_deref(), Some("token planted-secret"));
}

#[tokio::test]
async fn forgejo_opens_marks_drafts_and_gives_what_is_there() {
    let server = Server::start(|seen, before| match (seen.method.as_str(), before) {
        ("POST", 0) => json_reply(201, &forgejo_pull(3, 1, true)),
        ("POST", _) => json_reply(409, &json!({ "message": "pull request already exists for these targets" })),
        _ if seen.path.ends_with("/pulls/main/copydesk%2Fx") => json_reply(200, &forgejo_pull(3, 1, true)),
        _ => json_reply(200, &json!([])),
    })
    .await;
    let host = server.host(HostKind::Forgejo);
    assert_eq!(host.open(&new_pull(true)).await.unwrap().number, 3);
    assert_eq!(host.open(&new_pull(false)).await.unwrap().number, 3);
    let seen = server.seen();
    let body = json!({ "title": "WIP: Explain it", "body": "Because.", "head": "copydesk/x", "base": "main" });
    assert_eq!(seen[0].body, body);
    assert_eq!(seen[1].body["title"], "Explain it");
}

#[tokio::test]
async fn forgejo_does_not_say_which_branch_is_missing_so_it_is_looked_for() {
    for (missing, trouble, words) in [
        ("main", ForgeErrorKind::Lasting, "no branch `main`"),
        ("copydesk%2Fx", ForgeErrorKind::Passing, "the branch `copydesk/x`"),
    ] {
        let server = Server::start(move |seen, _| match seen.method.as_str() {
            "GET" if !seen.path.ends_with(missing) => json_reply(200, &json!({})),
            _ => json_reply(404, &json!({ "message": "The target couldn't be found." })),
        })
        .await;
        let error = server.host(HostKind::Forgejo).open(&new_pull(false)).await.unwrap_err();
        assert_eq!(error.kind, trouble, "{error}");
        assert!(error.message.contains(words), "{error}");
    }
}

fn bitbucket_pull(id: u64, state: &str, from: Option<&str>) -> Value {
    json!({
        "id": id,
        "state": state,
        "draft": true,
        "links": { "html": { "href": format!("https://bitbucket.org/acme/docs/pull-requests/{id}") } },
        "source": { "branch": { "name": "copydesk/x" }, "repository": from.map(|name| json!({ "full_name": name })) },
        "destination": { "branch": { "name": "main" }, "repository": { "full_name": "acme/docs" } },
    })
}

#[tokio::test]
async fn bitbucket_pages_in_its_own_way_and_knows_users() {
    let server = Server::start(|seen, _| match seen.method.as_str() {
        "POST" | "PUT" => json_reply(201, &bitbucket_pull(5, "OPEN", Some("acme/docs"))),
        _ if seen.query("page").is_some() => {
            json_reply(200, &json!({ "values": [bitbucket_pull(4, "DECLINED", Some("Acme/docs"))] }))
        }
        _ if seen.path.contains("/pullrequests?") => {
            let next = format!("http://{}{}&page=2", seen.host, seen.path);
            let fork = [bitbucket_pull(6, "OPEN", Some("other/docs")), bitbucket_pull(7, "OPEN", None)];
            json_reply(200, &json!({ "values": fork, "next": next }))
        }
        _ => json_reply(200, &json!({ "mainbranch": { "name": "main" } })),
    })
    .await;
    let secret = HostSecret::Token { username: Some("me@example.com".to_owned()), token: "planted-secret".into() };
    let host = server.connect(&hosts(), HostKind::Bitbucket, Some(secret)).interface().unwrap();
    let found = host.find("copydesk/x").await.unwrap().unwrap();
    assert_eq!((found.number, found.state), (4, PullRequestState::Closed));
    let pull = host.open(&new_pull(true)).await.unwrap();
    assert_eq!((pull.number, pull.draft), (5, true));
    host.update(5, &new_pull(false)).await.unwrap();
    assert_eq!(host.default_branch().await.unwrap(), "main");

    let seen = server.seen();
    // `me@example.com:planted-secret`.
    let basic = Some("Basic bWVAZXhhbXBsZS5jb206cGxhbnRlZC1zZWNyZXQ=");
    assert!(seen.iter().all(|seen| seen.authorization.as_deref() == basic));
    assert_eq!(seen[0].query("q").as_deref(), Some("source.branch.name = \"copydesk/x\""));
    assert_eq!(seen[0].path.matches("state=").count(), 4);
    let posted = seen.iter().find(|seen| seen.is("POST", "/2.0/repositories/acme/docs/pullrequests")).unwrap();
    assert_eq!(posted.body["source"], json!({ "branch": { "name": "copydesk/x" } }));
    assert_eq!(posted.body["draft"], true);
    let put = seen.iter().find(|seen| seen.method == "PUT").unwrap();
    assert_eq!(put.body, json!({ "title": "Explain it", "description": "Because.", "draft": false }));
}

#[tokio::test]
async fn a_plain_git_server_gets_a_branch_and_a_link() {
    let server = Server::start(|_, _| json_reply(500, &json!({}))).await;
    let connection = server.connect(&hosts(), HostKind::Git, token());
    assert!(connection.interface().is_none());
    let host = connection.code_host().unwrap();
    let pull = host.open(&new_pull(false)).await.unwrap();
    assert_eq!((pull.number, pull.url), (0, format!("{}/acme/docs#copydesk%2Fx", server.url)));
    assert_eq!(host.find("copydesk/x").await.unwrap(), None);
    assert!(host.read(0).await.is_err());
    assert!(server.seen().is_empty());
}
