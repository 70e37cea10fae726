use std::time::Duration;

use copydesk_domain::HostKind;
use copydesk_testkit::PATIENCE;
use copydesk_testkit::hosts::{Fault, Rights};
use reqwest::Method;
use serde_json::json;

use super::{KINDS, host, json, opening, request, token};

#[tokio::test]
async fn what_no_client_should_send_is_held_against_it() {
    for kind in KINDS {
        let (host, _) = host(kind).await;
        let token = token(&host, Rights::ALL);
        let (path, mut body) = opening(kind, "feature", "main");
        body["colour"] = json!("red");
        request(&host, &token, Method::POST, path).json(&body).send().await.unwrap();
        let text = opening(kind, "same", "main").1.to_string();
        request(&host, &token, Method::POST, path).body(text).send().await.unwrap();
        request(&host, &token, Method::GET, &format!("{path}?colour=red")).send().await.unwrap();
        request(&host, &token, Method::GET, "/colours").send().await.unwrap();
        request(&host, &token, Method::GET, &format!("{path}?page={token}")).send().await.unwrap();
        let violations = host.take_violations();
        let shown = "a token is shown outside its header";
        for sign in
            [shown, "no field \"colour\"", "the body is said to be", "no parameter \"colour\"", "no such address"]
        {
            assert!(violations.iter().any(|violation| violation.contains(sign)), "{kind:?} {sign} {violations:?}");
        }
    }
}

#[tokio::test]
#[should_panic(expected = "no such address")]
async fn violations_that_nobody_looked_at_fail_the_test() {
    let (host, _) = host(HostKind::Gitlab).await;
    request(&host, "", Method::GET, "/colours").send().await.unwrap();
    let token = token(&host, Rights::ALL);
    request(&host, &token, Method::GET, "/colours").send().await.unwrap();
}

#[tokio::test]
async fn github_wants_to_know_who_asks() {
    let (host, _) = host(HostKind::Github).await;
    let answer = reqwest::Client::new().get(format!("{}/repos/acme/docs", host.api_url())).send().await.unwrap();
    let (status, said) = json(answer).await;
    assert_eq!((status, said.to_string().contains("User-Agent")), (403, true), "{said}");
}

#[tokio::test]
async fn credentials_count() {
    for kind in KINDS {
        let (host, _) = host(kind).await;
        host.make_private("acme/docs");
        let (path, body) = opening(kind, "feature", "main");
        let repo = path.rsplit_once('/').unwrap().0;
        let look = async |token: &str| request(&host, token, Method::GET, repo).send().await.unwrap().status().as_u16();
        let open = async |token: &str| {
            request(&host, token, Method::POST, path).json(&body).send().await.unwrap().status().as_u16()
        };
        let (all, read, none) = (token(&host, Rights::ALL), token(&host, Rights::READ), token(&host, Rights::NONE));
        assert_eq!((look(&read).await, open(&read).await), (200, 403), "{kind:?}");
        assert_eq!((look(&none).await, open(&none).await), (404, 404), "{kind:?}");
        assert_eq!((look("wrong").await, open("wrong").await), (401, 401), "{kind:?}");
        assert_eq!(look(&all).await, 200, "{kind:?}");
        host.revoke(&all);
        assert_eq!((look(&all).await, open(&all).await), (401, 401), "{kind:?}");
    }
}

#[tokio::test]
async fn renamed_repositories_are_found_by_following() {
    for kind in KINDS {
        let (host, _) = host(kind).await;
        host.rename("acme/docs", "acme/handbook");
        let token = token(&host, Rights::ALL);
        let (path, _) = opening(kind, "", "");
        let repo = path.rsplit_once('/').unwrap().0;
        let still = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
        let asked = request(&host, &token, Method::GET, repo).build().unwrap();
        let status = still.execute(asked).await.unwrap().status().as_u16();
        assert!((301..=307).contains(&status), "{kind:?} {status}");
        let (status, body) = json(request(&host, &token, Method::GET, repo).send().await.unwrap()).await;
        assert!(status == 200 && body.to_string().contains("acme/handbook"), "{kind:?} {status} {body}");
    }
}

#[tokio::test]
async fn faults_strike_as_often_as_they_were_queued() {
    for kind in KINDS {
        let (host, _) = host(kind).await;
        let token = token(&host, Rights::ALL);
        let (path, body) = opening(kind, "feature", "main");
        let open = || request(&host, &token, Method::POST, path).json(&body).send();
        host.fail(2, "POST", path, Fault::Status(502));
        host.fail(1, "*", path, Fault::RateLimit(Some(7)));
        host.fail(1, "*", path, Fault::SecondaryLimit(None));
        host.fail(1, "*", path, Fault::Revoked);
        host.fail(1, "*", path, Fault::Break);
        assert_eq!(open().await.unwrap().status(), 502);
        assert_eq!(open().await.unwrap().status(), 502);
        let limited = open().await.unwrap();
        assert_eq!(limited.headers()["retry-after"], "7");
        assert_eq!(limited.status(), if kind == HostKind::Github { 403 } else { 429 });
        assert!(!open().await.unwrap().headers().contains_key("retry-after"));
        assert_eq!(open().await.unwrap().status(), 401);
        assert!(open().await.is_err());
        assert_eq!(host.pulls("acme/docs").len(), 0);
        host.fail(1, "POST", path, Fault::LoseAnswer);
        assert!(open().await.is_err());
        assert_eq!(host.pulls("acme/docs").len(), 1, "{kind:?}: the answer is lost, the work is done");
        host.fail(1, "GET", path, Fault::Hang);
        host.fail(1, "GET", path, Fault::Slow(Duration::from_millis(10)));
        let look = |limit: Duration| request(&host, &token, Method::GET, path).timeout(limit).send();
        assert!(look(Duration::from_secs(1)).await.unwrap_err().is_timeout());
        assert_eq!(look(PATIENCE).await.unwrap().status(), 200);
        assert_eq!((host.count("POST", path), host.count("GET", path)), (7, 2));
        assert_eq!(host.seen().iter().filter(|seen| seen.status.is_none()).count(), 3);
    }
}
