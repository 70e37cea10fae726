use copydesk_domain::HostKind;
use copydesk_testkit::hosts::{FakeHost, Rights};
use reqwest::Method;
use serde_json::{Value, json};

use super::{KINDS, get, host, host_with_pull, opening, post, request, token};

/// Where the conversation of the pull request 1 is, and the body that adds to it.
fn saying(kind: HostKind, words: &str) -> (&'static str, Value) {
    match kind {
        HostKind::Gitlab => ("/projects/acme%2Fdocs/merge_requests/1/notes", json!({ "body": words })),
        HostKind::Bitbucket => {
            ("/repositories/acme/docs/pullrequests/1/comments", json!({ "content": { "raw": words } }))
        }
        _ => ("/repos/acme/docs/issues/1/comments", json!({ "body": words })),
    }
}

/// Where one comment is.
fn place(kind: HostKind, id: u64) -> String {
    match kind {
        HostKind::Github | HostKind::Forgejo => format!("/repos/acme/docs/issues/comments/{id}"),
        _ => format!("{}/{id}", saying(kind, "").0),
    }
}

/// What a comment says and who by, as the host writes it.
fn read(kind: HostKind, comment: &Value) -> (String, String) {
    let (words, by) = match kind {
        HostKind::Gitlab => (&comment["body"], &comment["author"]["username"]),
        HostKind::Bitbucket => (&comment["content"]["raw"], &comment["user"]["nickname"]),
        _ => (&comment["body"], &comment["user"]["login"]),
    };
    (words.as_str().unwrap_or_default().to_owned(), by.as_str().unwrap_or_default().to_owned())
}

/// Who the token of these tests belongs to.
fn writer(kind: HostKind) -> &'static str {
    if kind == HostKind::Bitbucket { "docs-token" } else { "docs-writer" }
}

#[tokio::test]
async fn comments_are_kept_edited_and_deleted() {
    for kind in KINDS {
        let (host, token) = host_with_pull(kind).await;
        let (path, body) = saying(kind, "Done.");
        let (status, said) = post(&host, &token, path, &body).await;
        assert_eq!((status, read(kind, &said)), (201, ("Done.".to_owned(), writer(kind).to_owned())), "{said}");
        let id = host.comment("acme/docs", 1, "mona", "Shorter,\nplease.");
        let kept: Vec<_> = host.comments("acme/docs", 1).into_iter().map(|there| (there.id, there.by)).collect();
        assert_eq!(kept, [(said["id"].as_u64().unwrap(), writer(kind).to_owned()), (id, "mona".to_owned())]);
        let (status, one) = get(&host, &token, &place(kind, id)).await;
        let (words, by) = read(kind, &one);
        assert_eq!((status, by.as_str()), (200, "mona"), "{kind:?} {one}");
        // As browsers write it, where a form is sent.
        let form = matches!(kind, HostKind::Github | HostKind::Forgejo);
        assert_eq!(words, if form { "Shorter,\r\nplease." } else { "Shorter,\nplease." }, "{kind:?}");
        host.edit_comment("acme/docs", id, "Longer.");
        assert_eq!(read(kind, &get(&host, &token, &place(kind, id)).await.1).0, "Longer.", "{kind:?}");
        host.delete_comment("acme/docs", id);
        let (status, gone) = get(&host, &token, &place(kind, id)).await;
        match kind {
            HostKind::Bitbucket => assert_eq!((status, &gone["deleted"]), (200, &json!(true)), "{gone}"),
            _ => assert_eq!(status, 404, "{kind:?} {gone}"),
        }
        assert_eq!(host.comments("acme/docs", 1).len(), 1, "{kind:?}");
        host.assert_clean();
    }
}

#[tokio::test]
async fn conversations_come_in_the_hosts_order_and_pages() {
    for kind in KINDS {
        let (host, token) = host_with_pull(kind).await;
        for number in 1..=3 {
            host.comment("acme/docs", 1, "mona", &format!("No {number}"));
        }
        let size = if kind == HostKind::Bitbucket { "pagelen" } else { "per_page" };
        let path = match kind {
            HostKind::Forgejo => saying(kind, "").0.to_owned(),
            _ => format!("{}?{size}=2", saying(kind, "").0),
        };
        let answer = request(&host, &token, Method::GET, &path).send().await.unwrap();
        let link = answer.headers().get("link").map(|link| link.to_str().unwrap().to_owned());
        let list: Value = answer.json().await.unwrap();
        let items = list.as_array().or(list["values"].as_array()).unwrap();
        let words: Vec<String> = items.iter().map(|comment| read(kind, comment).0).collect();
        match kind {
            // Forgejo gives all at once, GitLab the newest first.
            HostKind::Forgejo => assert_eq!((words.len(), &link), (3, &None)),
            HostKind::Gitlab => assert_eq!(words, ["No 3", "No 2"]),
            _ => assert_eq!(words, ["No 1", "No 2"]),
        }
        let next = list["next"].as_str().map(str::to_owned).or(link).unwrap_or_default();
        assert_eq!(next.contains("page=2"), kind != HostKind::Forgejo, "{kind:?} {next}");
        host.assert_clean();
    }
}

#[tokio::test]
async fn comments_are_refused_by_the_hosts_rules() {
    for kind in KINDS {
        let (host, all) = host_with_pull(kind).await;
        let (path, body) = saying(kind, "Done.");
        let read = token(&host, Rights::READ);
        assert_eq!(post(&host, &read, path, &body).await.0, 403, "{kind:?}");
        assert_eq!(post(&host, "wrong", path, &body).await.0, 401, "{kind:?}");
        let expected = match kind {
            HostKind::Github => (422, "wasn't supplied"),
            HostKind::Gitlab => (400, "body is missing"),
            HostKind::Forgejo => (422, "[Body]: Required"),
            _ => (400, "content: This field is required."),
        };
        let (status, said) = post(&host, &all, path, &json!({})).await;
        assert!(status == expected.0 && said.to_string().contains(expected.1), "{kind:?} {status} {said}");
        assert_eq!(get(&host, &all, &place(kind, 1)).await.0, 404, "{kind:?}");
        assert_eq!(host.comments("acme/docs", 1), [], "{kind:?}");
        host.assert_clean();
        let mut strange = body.clone();
        strange["colour"] = json!("red");
        post(&host, &all, path, &strange).await;
        get(&host, &all, &format!("{path}?colour=red")).await;
        let violations = host.take_violations();
        for sign in ["no field \"colour\"", "no parameter \"colour\""] {
            assert!(violations.iter().any(|violation| violation.contains(sign)), "{kind:?} {sign} {violations:?}");
        }
    }
}

#[tokio::test]
async fn forgejo_wants_a_scope_for_comments_and_gitlab_carries_commands_out() {
    let (forgejo, _) = host_with_pull(HostKind::Forgejo).await;
    let narrow = token(&forgejo, Rights { issues: false, ..Rights::ALL });
    let (path, body) = saying(HostKind::Forgejo, "Done.");
    let (status, said) = post(&forgejo, &narrow, path, &body).await;
    assert!(status == 403 && said.to_string().contains("[write:issue]"), "{said}");
    assert_eq!(get(&forgejo, &narrow, path).await.0, 403);
    // They do not look whether the number is there.
    let full = token(&forgejo, Rights::ALL);
    assert_eq!(post(&forgejo, &full, "/repos/acme/docs/issues/9/comments", &body).await.0, 500);

    let (gitlab, token) = host_with_pull(HostKind::Gitlab).await;
    let harmless = "As in\n```\n/merge\n```\nor /merge, see\n/docs/index.md";
    let (path, body) = saying(HostKind::Gitlab, harmless);
    post(&gitlab, &token, path, &body).await;
    gitlab.assert_clean();
    post(&gitlab, &token, path, &saying(HostKind::Gitlab, "Fine.\n/merge").1).await;
    assert_eq!(gitlab.take_violations().len(), 1);
}

/// A review of the only line of the file that the branch adds.
fn reviewed(host: &FakeHost) -> u64 {
    host.review("acme/docs", 1, "mona", "Nearly.", &[("more.md", 1, "Say *less*.")])
}

#[tokio::test]
async fn reviews_stand_at_lines() {
    for kind in KINDS {
        let (host, token) = host_with_pull(kind).await;
        let id = reviewed(&host);
        let comments = host.comments("acme/docs", 1);
        let last = comments.last().unwrap();
        assert_eq!((last.file.as_deref(), last.line, last.by.as_str()), (Some("more.md"), Some(1), "mona"), "{kind:?}");
        match kind {
            HostKind::Gitlab | HostKind::Bitbucket => {
                assert_eq!((comments.len(), id), (2, last.id), "{kind:?}");
                let (_, one) = get(&host, &token, &place(kind, id)).await;
                let at = if kind == HostKind::Gitlab {
                    (&one["position"]["new_path"], &one["position"]["new_line"])
                } else {
                    (&one["inline"]["path"], &one["inline"]["to"])
                };
                assert_eq!(at, (&json!("more.md"), &json!(1)), "{kind:?} {one}");
            }
            _ => {
                assert_eq!(comments.len(), 1, "{kind:?}");
                let path = format!("/repos/acme/docs/pulls/1/reviews/{id}/comments");
                let (status, list) = get(&host, &token, &path).await;
                let (one, line) = (&list[0], if kind == HostKind::Github { "line" } else { "position" });
                assert_eq!((status, &one["path"], &one[line]), (200, &json!("more.md"), &json!(1)), "{kind:?} {list}");
                assert_eq!(one["diff_hunk"], "@@ -0,0 +1 @@\n+# More", "{kind:?}");
                // What stands at a line is not in the conversation.
                assert_eq!(get(&host, &token, saying(kind, "").0).await.1, json!([]), "{kind:?}");
                let hidden = get(&host, &token, &place(kind, last.id)).await.0;
                assert_eq!(hidden, if kind == HostKind::Github { 404 } else { 204 }, "{kind:?}");
                assert_eq!(get(&host, &token, "/repos/acme/docs/pulls/1/reviews/1/comments").await.0, 404, "{kind:?}");
            }
        }
        host.assert_clean();
    }
}

#[tokio::test]
async fn a_review_is_read_by_itself_or_in_a_list() {
    let (github, token) = host_with_pull(HostKind::Github).await;
    let id = reviewed(&github);
    let (status, review) = get(&github, &token, &format!("/repos/acme/docs/pulls/1/reviews/{id}")).await;
    let read = (status, &review["state"], &review["body"], &review["user"]["login"]);
    assert_eq!(read, (200, &json!("COMMENTED"), &json!("Nearly."), &json!("mona")));

    let (forgejo, token) = host_with_pull(HostKind::Forgejo).await;
    let id = reviewed(&forgejo);
    let (status, reviews) = get(&forgejo, &token, "/repos/acme/docs/pulls/1/reviews?page=1&limit=5").await;
    let read = (status, &reviews[0]["id"], &reviews[0]["state"], &reviews[0]["comments_count"]);
    assert_eq!(read, (200, &json!(id), &json!("COMMENT"), &json!(1)), "{reviews}");
}

#[tokio::test]
async fn issues_are_numbered_by_the_hosts_rules() {
    for kind in KINDS {
        let (host, _) = host(kind).await;
        let issue = host.issue("acme/docs", "mona", "It is wrong", "On the *first* page.");
        let token = token(&host, Rights::ALL);
        let (path, body) = opening(kind, "feature", "main");
        post(&host, &token, path, &body).await;
        let together = matches!(kind, HostKind::Github | HostKind::Forgejo);
        assert_eq!((issue, host.pulls("acme/docs")[0].number), (1, if together { 2 } else { 1 }), "{kind:?}");
        assert_eq!(host.issue("acme/docs", "mona", "More", ""), if together { 3 } else { 2 }, "{kind:?}");
        let folder = path.rsplit_once('/').unwrap().0;
        let (status, view) = get(&host, &token, &format!("{folder}/issues/1")).await;
        assert_eq!((status, view["title"].as_str()), (200, Some("It is wrong")), "{kind:?} {view}");
        host.close_issue("acme/docs", 1);
        assert_eq!(get(&host, &token, &format!("{folder}/issues/1")).await.1["state"], "closed", "{kind:?}");
        assert_eq!(get(&host, &token, &format!("{folder}/issues/7")).await.0, 404, "{kind:?}");
        if together {
            let (_, pull) = get(&host, &token, &format!("{folder}/issues/2")).await;
            assert!(view["pull_request"].is_null() && pull["pull_request"].is_object(), "{kind:?} {pull}");
        }
        if kind != HostKind::Bitbucket {
            let notes = if together { "comments" } else { "notes" };
            let answer = post(&host, &token, &format!("{folder}/issues/1/{notes}"), &json!({ "body": "Seen." })).await;
            assert_eq!(answer.0, 201, "{kind:?} {}", answer.1);
            assert_eq!(host.issue_comments("acme/docs", 1)[0].body, "Seen.", "{kind:?}");
        }
        host.assert_clean();
    }
}
