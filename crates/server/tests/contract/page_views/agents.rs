use copydesk_testkit::Who;
use serde_json::json;

use super::Site;
use crate::stage::Stage;

async fn machines_are_named_with_what_they_read_and_why(stage: &Stage) {
    let site = Site::new(stage).await;
    site.saw("/a", "2026-03-14T10:00:00Z", Who::Assistant, 2).await;
    site.saw("/b", "2026-03-14T10:00:00Z", Who::Assistant, 3).await;
    site.saw("/b", "2026-03-14T10:00:00Z", Who::Crawler, 9).await;
    site.saw("/b", "2026-03-14T10:00:00Z", Who::Person, 7).await;
    let answer = site.get("/agents?pages=1").await.expect(200);
    assert_eq!(
        answer["agents"],
        json!([
            {
                "agent": "GPTBot", "class": "training_crawler", "countsAs": "other", "evidence": "token",
                "rule": "token:GPTBot", "views": 9, "pages": 1, "mostRead": [{ "path": "/b", "views": 9 }]
            },
            {
                "agent": "ChatGPT-User", "class": "assistant", "countsAs": "ai", "evidence": "token",
                "rule": "token:ChatGPT-User", "views": 5, "pages": 2, "mostRead": [{ "path": "/b", "views": 3 }]
            },
        ])
    );
    assert_eq!(
        answer["classes"],
        json!([
            { "class": "assistant", "countsAs": "ai", "views": 5 },
            { "class": "training_crawler", "countsAs": "other", "views": 9 },
        ])
    );
    let one = site.get("/agents?path=/a&dateFrom=2026-03-14&dateTo=2026-03-15").await.expect(200);
    assert_eq!(one["agents"].as_array().unwrap().len(), 1);
    assert_eq!(one["agents"][0]["views"], 2);
    let page = site.get("/agents?limit=1&offset=1").await.expect(200);
    assert_eq!((&page["agents"][0]["agent"], &page["hasMore"]), (&"ChatGPT-User".into(), &false.into()));
    assert_eq!(site.get("/agents?dateTo=2026-03-14").await.expect(200)["agents"], json!([]));
}

async fn what_is_wrong_is_named(stage: &Stage) {
    let site = Site::new(stage).await;
    for (query, field) in [("limit=0", "limit"), ("offset=x", "offset"), ("pages=101", "pages"), ("path=x", "path")] {
        site.get(&format!("/agents?{query}")).await.refused(400, "invalid_request").names(&[field]);
    }
}

behaviours!(machines_are_named_with_what_they_read_and_why, what_is_wrong_is_named);
