//! Webhooks over HTTP: made, seen, changed and removed by those who may.

use copydesk_domain::Scope;
use copydesk_testkit::{Receiver, Reply};
use serde_json::{Value, json};

use super::{add, base, try_add};
use crate::stage::Stage;

async fn a_webhook_is_made_shown_and_removed(stage: &Stage) {
    let project = stage.project().await;
    let wish = json!({
        "url": "https://example.com/hooks?x=1",
        "events": ["job.failed", "job.completed", "job.failed"],
        "description": " For the chat. "
    });
    let made = try_add(&project, wish).await.expect(201);
    let id = made["id"].as_str().unwrap();
    assert_eq!(made.header("location"), Some(format!("{}/{id}", base(&project)).as_str()));
    assert!(made["secret"].as_str().unwrap().starts_with("whsec_"));
    let mut wanted = made.json().clone();
    wanted.as_object_mut().unwrap().remove("secret");
    let shown = project.client().get(&format!("{}/{id}", base(&project))).send().await.expect(200);
    assert_eq!(*shown.json(), wanted, "the secret is shown once");
    assert_eq!(shown["events"], json!(["job.completed", "job.failed"]));
    assert_eq!((&shown["description"], &shown["pausedAt"]), (&json!("For the chat."), &json!(null)));
    let receiver = Receiver::start().await;
    let second = add(&project, &receiver).await;
    let list = project.client().get(&base(&project)).send().await.expect(200);
    let ids: Vec<_> = list["webhooks"].as_array().unwrap().iter().map(|it| it["id"].as_str().unwrap()).collect();
    assert_eq!(ids, [id, &second.id]);
    assert_eq!(second.delete().await.expect(204).bytes.len(), 0);
    second.delete().await.refused(404, "webhook_not_found");
}

async fn what_cannot_be_a_webhook_is_refused_by_field(stage: &Stage) {
    let project = stage.project().await;
    for url in [
        "",
        "example.com",
        "ftp://example.com/",
        "https://user:password@example.com/",
        "https://10.0.0.1/",
        "https://[::1]/",
        "https://169.254.169.254/latest/meta-data",
        "http://192.168.1.1/",
        "https://2130706434/",
        &format!("https://example.com/{}", "x".repeat(2048)),
    ] {
        try_add(&project, json!({ "url": url })).await.names(&["url"]);
    }
    let url = "https://example.com/";
    try_add(&project, json!({})).await.names(&["url"]);
    try_add(&project, json!({ "url": 5 })).await.names(&["url"]);
    try_add(&project, json!({ "url": url, "event": [] })).await.names(&["event"]);
    let events = json!({ "url": url, "events": ["job.created", "job.exploded", "webhook.test"] });
    try_add(&project, events).await.names(&["events[1]", "events[2]"]);
    try_add(&project, json!({ "url": url, "description": "x".repeat(201) })).await.names(&["description"]);
    try_add(&project, json!({ "url": url, "description": "a\u{0}b" })).await.names(&["description"]);
    project.client().post(&base(&project)).body("{}").send().await.refused(415, "unsupported_media_type");
    let list = project.client().get(&base(&project)).send().await.expect(200);
    assert_eq!(list["webhooks"], json!([]), "nothing was made");
}

async fn a_project_has_at_most_twenty(stage: &Stage) {
    let project = stage.project().await;
    for at in 0..20 {
        try_add(&project, json!({ "url": format!("https://example.com/{at}") })).await.expect(201);
    }
    try_add(&project, json!({ "url": "https://example.com/20" })).await.refused(409, "too_many_webhooks");
}

async fn only_those_who_may_change_webhooks(stage: &Stage) {
    let app = stage.app().await;
    let (project, other) = (app.project("Docs").await, app.project("Other").await);
    let receiver = Receiver::start().await;
    let hook = add(&project, &receiver).await;
    hook.post("/test").await.expect(200);
    let delivery = hook.deliveries("").await.remove(0)["id"].as_str().unwrap().to_owned();
    let redeliver = format!("/deliveries/{delivery}/redeliver");
    let reader = project.with_key(&app.key(Some(&project.id), Scope::Read, None).await);
    for path in [base(&project), hook.path(""), hook.path("/deliveries")] {
        reader.client().get(&path).send().await.expect(200);
        reader.client().without_key().get(&path).send().await.refused(401, "unauthorized");
        other.client().get(&path).send().await.refused(404, "project_not_found");
    }
    let writes = ["/pause", "/resume", "/rotate", "/test", &redeliver];
    for rest in writes {
        reader.client().post(&hook.path(rest)).send().await.refused(403, "forbidden");
        other.client().post(&hook.path(rest)).send().await.refused(404, "project_not_found");
        // With a key of its own, another project finds nothing of this one.
        let path = format!("{}/{}{rest}", base(&other), hook.id);
        other.client().post(&path).send().await.refused(404, "webhook_not_found");
    }
    reader.client().request(reqwest::Method::DELETE, &hook.path("")).send().await.refused(403, "forbidden");
    try_add(&reader, json!({ "url": "https://example.com/" })).await.refused(403, "forbidden");
    let second = add(&project, &receiver).await;
    second.post(&redeliver).await.refused(404, "delivery_not_found");
    hook.post("/deliveries/%00/redeliver").await.refused(404, "delivery_not_found");
    project.client().get(&format!("{}/%00", base(&project))).send().await.refused(404, "webhook_not_found");
    project.client().get(&format!("{}/%ff", base(&project))).send().await.refused(404, "project_not_found");
    assert_eq!(receiver.received().len(), 1, "nothing of this was delivered");
}

async fn a_test_says_what_was_answered(stage: &Stage) {
    let (project, receiver) = (stage.project().await, Receiver::start().await);
    let hook = add(&project, &receiver).await;
    hook.post("/pause").await.expect(200);
    receiver.reply(Reply::Status(418, "A teapot.".to_owned()));
    let tried = hook.post("/test").await.expect(200);
    assert_eq!((&tried["lastStatus"], &tried["lastAnswer"]), (&json!(418), &json!("A teapot.")));
    assert_eq!((&tried["type"], &tried["nextTryAt"]), (&json!("webhook.test"), &json!(null)), "once and not again");
    assert_eq!(hook.get().await["failingSince"], json!(null));
    let body = receiver.expect(1).await[0].json();
    assert_eq!((&body["type"], &body["data"]["webhookId"]), (&json!("webhook.test"), &json!(hook.id)));
}

async fn deliveries_are_listed_in_pages(stage: &Stage) {
    let (project, receiver) = (stage.project().await, Receiver::start().await);
    let hook = add(&project, &receiver).await;
    for _ in 0..5 {
        hook.post("/test").await.expect(200);
    }
    let mut seen: Vec<Value> = Vec::new();
    let mut cursor = String::new();
    for wanted in [2, 2, 1] {
        let path = hook.path(&format!("/deliveries?limit=2{cursor}"));
        let page = project.client().get(&path).send().await.expect(200);
        assert_eq!(page["deliveries"].as_array().unwrap().len(), wanted);
        seen.extend(page["deliveries"].as_array().unwrap().iter().cloned());
        assert_eq!(page["nextCursor"].is_null(), wanted == 1);
        cursor = format!("&cursor={}", page["nextCursor"].as_str().unwrap_or_default());
    }
    assert_eq!(seen, hook.deliveries("").await);
    assert_eq!(hook.deliveries("failed=true").await, [] as [Value; 0]);
    for (query, field) in [
        ("limit=0", "limit"),
        ("limit=101", "limit"),
        ("failed=yes", "failed"),
        ("cursor=x", "cursor"),
        ("limit=1&limit=2", "limit"),
    ] {
        project.client().get(&hook.path(&format!("/deliveries?{query}"))).send().await.names(&[field]);
    }
}

behaviours!(
    a_webhook_is_made_shown_and_removed,
    what_cannot_be_a_webhook_is_refused_by_field,
    a_project_has_at_most_twenty,
    only_those_who_may_change_webhooks,
    a_test_says_what_was_answered,
    deliveries_are_listed_in_pages,
);
