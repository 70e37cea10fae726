use copydesk_domain::{HostKind, PullRequestState};
use copydesk_testkit::hosts::Rights;
use reqwest::Method;
use serde_json::{Value, json};

use super::{KINDS, host, json, opening, request, token};

#[tokio::test]
async fn a_pull_request_lives_and_is_merged_in_the_repository_too() {
    for kind in KINDS {
        let (host, git) = host(kind).await;
        let token = token(&host, Rights::ALL);
        let (path, body) = opening(kind, "feature", "main");
        let (status, pull) = json(request(&host, &token, Method::POST, path).json(&body).send().await.unwrap()).await;
        assert_eq!(status, 201, "{kind:?} {pull}");
        host.merge("acme/docs", 1).await;
        assert_eq!(git.text("main", "more.md").as_deref(), Some("# More\n"), "{kind:?}");
        let (status, pull) =
            json(request(&host, &token, Method::GET, &format!("{path}/1")).send().await.unwrap()).await;
        assert_eq!(status, 200, "{kind:?} {pull}");
        let merged = match kind {
            HostKind::Gitlab => pull["state"] == "merged" && pull["merged_at"].is_string(),
            HostKind::Bitbucket => pull["state"] == "MERGED" && pull["merge_commit"]["hash"].is_string(),
            _ => pull["state"] == "closed" && pull["merged"] == true && pull["merged_at"].is_string(),
        };
        assert!(merged, "{kind:?} {pull}");
        assert_eq!(host.pulls("acme/docs")[0].state, PullRequestState::Merged);
        host.assert_clean();
    }
}

#[tokio::test]
async fn what_cannot_be_opened_is_refused_in_the_hosts_words() {
    // Head, base, and for each host the status and something of what it says. None: it is opened all the same.
    type Said = Option<(u16, &'static str)>;
    let cases: [(&str, &str, [Said; 4]); 4] = [
        (
            "gone",
            "main",
            [
                Some((422, r#""field":"head""#)),
                Some((400, r#""source_branch":["does not exist"]"#)),
                Some((404, "The target couldn't be found.")),
                Some((400, "source: branch not found: gone")),
            ],
        ),
        (
            "feature",
            "gone",
            [
                Some((422, r#""field":"base""#)),
                Some((400, r#""target_branch":["does not exist"]"#)),
                Some((404, "The target couldn't be found.")),
                Some((400, "destination: branch not found: gone")),
            ],
        ),
        (
            "same",
            "main",
            [
                Some((422, "No commits between main and same")),
                None,
                None,
                Some((400, "There are no changes to be pulled")),
            ],
        ),
        (
            "main",
            "main",
            [
                Some((422, "No commits between main and main")),
                Some((422, "You can't use same project/branch")),
                Some((422, "There are no changes between the head and the base")),
                Some((400, "There are no changes to be pulled")),
            ],
        ),
    ];
    for (at, kind) in KINDS.into_iter().enumerate() {
        let (host, _) = host(kind).await;
        let token = token(&host, Rights::ALL);
        for (head, base, said) in &cases {
            let (path, body) = opening(kind, head, base);
            let answer = request(&host, &token, Method::POST, path).json(&body).send().await.unwrap();
            let (status, body) = json(answer).await;
            let (expected, words) = said[at].unwrap_or((201, ""));
            assert_eq!(status, expected, "{kind:?} {head} {base} {body}");
            assert!(body.to_string().contains(words), "{kind:?} {head} {base} {body}");
        }
    }
}

#[tokio::test]
async fn a_second_one_from_the_same_branch_is_not_opened() {
    for kind in KINDS {
        let (host, _) = host(kind).await;
        let token = token(&host, Rights::ALL);
        let (path, body) = opening(kind, "feature", "main");
        request(&host, &token, Method::POST, path).json(&body).send().await.unwrap();
        let (status, said) = json(request(&host, &token, Method::POST, path).json(&body).send().await.unwrap()).await;
        let words = match kind {
            HostKind::Github => (422, "A pull request already exists for acme:feature."),
            HostKind::Gitlab => (409, "Another open merge request already exists for this source branch: !1"),
            HostKind::Forgejo => (409, "pull request already exists for these targets"),
            // It changes the first.
            _ => (201, r#""id":1"#),
        };
        assert!(status == words.0 && said.to_string().contains(words.1), "{kind:?} {status} {said}");
        assert_eq!(host.pulls("acme/docs").len(), 1, "{kind:?}");
        host.close("acme/docs", 1).await;
        let (status, said) = json(request(&host, &token, Method::POST, path).json(&body).send().await.unwrap()).await;
        assert_eq!(status, 201, "{kind:?} {said}");
        assert_eq!(host.pulls("acme/docs").len(), 2, "{kind:?}");
    }
}

#[tokio::test]
async fn lists_come_in_pages() {
    for kind in KINDS {
        let (host, git) = host(kind).await;
        let token = token(&host, Rights::ALL);
        for number in 0..3 {
            let branch = format!("page-{number}");
            git.git(&["branch", &branch, "feature"]);
            let (path, body) = opening(kind, &branch, "main");
            request(&host, &token, Method::POST, path).json(&body).send().await.unwrap();
        }
        let (path, _) = opening(kind, "", "");
        let size = match kind {
            HostKind::Forgejo => "limit",
            HostKind::Bitbucket => "pagelen",
            _ => "per_page",
        };
        let page =
            |number: usize| request(&host, &token, Method::GET, &format!("{path}?{size}=2&page={number}")).send();
        let first = page(1).await.unwrap();
        let link = first.headers().get("link").map(|link| link.to_str().unwrap().to_owned());
        let (_, first) = json(first).await;
        let (_, second) = json(page(2).await.unwrap()).await;
        let items = |value: &Value| value.as_array().or(value["values"].as_array()).map_or(0, Vec::len);
        assert_eq!((items(&first), items(&second)), (2, 1), "{kind:?}");
        match kind {
            HostKind::Bitbucket => {
                assert!(first["next"].as_str().unwrap().contains("page=2") && second["next"].is_null())
            }
            _ => assert!(link.unwrap().contains("page=2>; rel=\"next\""), "{kind:?}"),
        }
    }
}

#[tokio::test]
async fn drafts_are_drafts_by_the_rules_of_the_host() {
    for kind in KINDS {
        let (host, _) = host(kind).await;
        let token = token(&host, Rights::ALL);
        let (path, mut body) = opening(kind, "feature", "main");
        match kind {
            HostKind::Gitlab => body["title"] = json!("Draft: Say more"),
            HostKind::Forgejo => body["title"] = json!("WIP: Say more"),
            _ => body["draft"] = json!(true),
        }
        let (_, pull) = json(request(&host, &token, Method::POST, path).json(&body).send().await.unwrap()).await;
        assert_eq!(pull["draft"], true, "{kind:?} {pull}");
        assert!(host.pulls("acme/docs")[0].draft);
    }
}
