use std::time::Duration;

use copydesk_domain::Scope;
use copydesk_testkit::Answer;

use super::Site;
use crate::stage::Stage;

async fn what_is_wrong_is_named_and_nothing_is_clamped(stage: &Stage) {
    let site = Site::new(stage).await;
    for (query, field) in [
        ("limit=0", "limit"),
        ("limit=251", "limit"),
        ("limit=", "limit"),
        ("limit=ten", "limit"),
        ("limit=1.0", "limit"),
        ("limit=%2B1", "limit"),
        ("limit=5&limit=5", "limit"),
        ("offset=-1", "offset"),
        ("offset=", "offset"),
        ("offset=0&offset=0", "offset"),
        ("dateFrom=", "dateFrom"),
        ("dateFrom=yesterday", "dateFrom"),
        ("dateFrom=2026-02-30", "dateFrom"),
        ("dateFrom=2026-3-1", "dateFrom"),
        ("dateTo=2026-13-01", "dateTo"),
        ("dateTo=2026-03-01[America/New_York]", "dateTo"),
        ("dateTo=2026-03-01T00:00:00[America/New_York]", "dateTo"),
        ("dateTo=2026-03-01&dateTo=2026-03-01", "dateTo"),
        ("dateFrom=2026-03-02&dateTo=2026-03-01", "dateFrom"),
    ] {
        site.get(&format!("?{query}")).await.refused(400, "invalid_request").names(&[field]);
    }
    let all = site.get("?limit=0&offset=x&dateTo=y").await.refused(400, "invalid_request");
    all.names(&["dateTo", "limit", "offset"]);
    site.get("?colour=red&colour=blue&limit=250").await.expect(200);
}

async fn a_key_is_needed_and_one_that_reads_is_enough(stage: &Stage) {
    let site = Site::new(stage).await;
    for rest in ["views", "views/series", "views/agents"] {
        let path = format!("/v1/analytics/{}/{rest}", &site.project.id);
        let refused = site.project.client().without_key().get(&path).send().await.refused(401, "unauthorized");
        assert_eq!(refused.header("www-authenticate"), Some("Bearer"));
        let key = site.app.key(Some(&site.project.id), Scope::Read, None).await;
        site.project.client().with_key(&key.secret).get(&path).send().await.expect(200);
        let key = site.app.key(None, Scope::Read, None).await;
        let client = site.project.client().with_key(&key.secret);
        client.get(&path).send().await.expect(200);
        client.get(&format!("/v1/analytics/nobody/{rest}")).send().await.refused(404, "project_not_found");
        let wrong = client.request(reqwest::Method::DELETE, &path).send().await.refused(405, "method_not_allowed");
        assert!(wrong.header("allow").unwrap().contains("GET"));
    }
}

fn standing(answer: &Answer) -> [u64; 3] {
    ["ratelimit-limit", "ratelimit-remaining", "ratelimit-reset"].map(|name| answer.number(name))
}

async fn a_key_has_so_many_requests_a_minute(stage: &Stage) {
    let app = stage.app_with(|setup| setup.views(|views| views.per_minute = 3)).await;
    let project = app.project("Docs").await;
    let site = Site { app, project };
    assert_eq!(standing(&site.get("").await.expect(200)), [3, 2, 60]);
    stage.advance(Duration::from_secs(20));
    assert_eq!(standing(&site.get("/series").await.expect(200)), [3, 1, 40]);
    assert_eq!(standing(&site.get("/agents").await.expect(200)), [3, 0, 40]);
    let refused = site.get("").await.refused(429, "rate_limited");
    assert_eq!(standing(&refused), [3, 0, 40]);
    assert_eq!(refused.number("retry-after"), 40);
    stage.advance(Duration::from_secs(60));
    let wrong = site.get("?limit=0").await.refused(400, "invalid_request");
    assert_eq!(standing(&wrong), [3, 2, 60], "a mistake counts, and says so");
    let key = site.app.key(Some(&site.project.id), Scope::Read, None).await;
    let path = format!("/v1/analytics/{}/views", &site.project.id);
    let other = site.project.client().with_key(&key.secret).get(&path).send().await.expect(200);
    assert_eq!(standing(&other), [3, 2, 60], "another key has its own");
}

/// A 503 says that nothing was kept, so a request that is being kept must not be given up.
async fn what_is_being_kept_is_waited_for(stage: &Stage) {
    const LIMIT: Duration = Duration::from_secs(2);
    let app = stage.app_with(|setup| setup.http(|limits| limits.request_time = LIMIT)).await;
    let project = app.project("Docs").await;
    let path = format!("/v1/analytics/{}/events", project.id);
    let slow = app.views().slow_down().await;
    let event = serde_json::json!({ "path": "/a", "userAgent": "ChatGPT-User/1.0" });
    let call = project.client().post(&path).json(&event).send();
    let mut call = std::pin::pin!(call);
    let begun = async {
        tokio::select! {
            answer = &mut call => panic!("answered before it was kept: {}", answer.text()),
            () = app.views().somebody_waits() => {}
        }
        tokio::time::timeout(LIMIT + Duration::from_secs(1), &mut call).await.expect_err("it is not given up");
    };
    begun.await;
    drop(slow);
    assert_eq!(call.await.expect(200)["accepted"], 1);
    assert_eq!(app.views().all(&project.id).await, 1);
}

async fn without_a_limit_nothing_is_said_of_it(stage: &Stage) {
    let site = Site::new(stage).await;
    let answer = site.get("").await.expect(200);
    assert!(answer.headers.keys().all(|name| !name.as_str().starts_with("ratelimit")));
}

behaviours!(
    what_is_wrong_is_named_and_nothing_is_clamped,
    a_key_is_needed_and_one_that_reads_is_enough,
    a_key_has_so_many_requests_a_minute,
    without_a_limit_nothing_is_said_of_it,
    what_is_being_kept_is_waited_for,
);
