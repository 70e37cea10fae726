//! `POST …/message`: follow-ups. What a worker makes of them is in `running`.

use std::time::Duration;

use serde_json::{Value, json};

use crate::stage::Stage;

async fn a_waiting_job_takes_a_message_and_stays_active(stage: &Stage) {
    let project = stage.project().await;
    let created = project.create("Fix the broken links.").await;
    let id = created["id"].as_str().unwrap();
    stage.advance(Duration::from_secs(5));
    let answer = project.message(id, "And the titles.").await.expect(200);
    assert_eq!(answer.header("location"), None, "nothing was created");
    let mut expected = created.json().clone();
    expected["updatedAt"] = json!("2026-03-15T12:00:05.000Z");
    assert_eq!(answer.json(), &expected);
    assert_eq!(project.get(id).await.expect(200).json(), answer.json());
    assert_eq!(project.event_types(id).await, ["created", "message"]);
}

async fn every_prompt_is_kept_in_order_and_trimmed(stage: &Stage) {
    let project = stage.project().await;
    let id = project.create("  One. ").await["id"].as_str().unwrap().to_owned();
    project.message(&id, "\nTwo.\n").await.expect(200);
    project.message(&id, "Three \u{0}.").await.expect(200);
    let store = stage.db.open(stage.clock.clone()).await;
    let prompts: Vec<_> =
        store.messages(&id.as_str().into()).await.unwrap().into_iter().map(|it| (it.number, it.prompt)).collect();
    assert_eq!(prompts, [(1, "One.".to_owned()), (2, "Two.".to_owned()), (3, "Three \u{0}.".to_owned())]);
}

async fn a_failed_job_becomes_active_again(stage: &Stage) {
    let project = stage.project().await;
    let id = project.job().await;
    let failed = project.cancel(&id).await.expect(200);
    assert_eq!((&failed["status"], &failed["outcome"]), (&json!("failed"), &json!("cancelled")));
    let again = project.message(&id, "Do it after all.").await.expect(200);
    assert_eq!(
        (&again["status"], &again["outcome"], &again["message"]),
        (&json!("active"), &Value::Null, &Value::Null)
    );
    assert_eq!(project.get(&id).await.expect(200)["status"], "active");
    project.cancel(&id).await.expect(200);
}

async fn an_archived_job_takes_none(stage: &Stage) {
    let project = stage.project().await;
    let id = project.job().await;
    let archived = project.archive(&id).await.expect(200);
    stage.advance(Duration::from_secs(5));
    project.message(&id, "One more thing.").await.refused(400, "job_archived");
    assert_eq!(project.get(&id).await.expect(200).json(), archived.json(), "nothing of it changed");
    assert!(!project.event_types(&id).await.contains(&"message".to_owned()));
}

async fn prompts_obey_the_same_rules_as_the_first(stage: &Stage) {
    let project = stage.project().await;
    let id = project.job().await;
    project.message(&id, &"a".repeat(65_536)).await.expect(200);
    project.message(&id, &format!(" {}\n", "ä".repeat(32_768))).await.expect(200);
    for bad in ["a".repeat(65_537), "ä".repeat(32_769), String::new(), " \u{3000}\n".to_owned()] {
        project.message(&id, &bad).await.names(&["prompt"]);
    }
    assert_eq!(project.event_types(&id).await, ["created", "message", "message"]);
}

/// What can be said at the creation only is an unknown field here.
async fn a_message_has_a_prompt_and_nothing_else(stage: &Stage) {
    let project = stage.project().await;
    let id = project.job().await;
    for field in ["baseRef", "model", "draft", "openPullRequest", "clientReference", "maxCost"] {
        let mut body = json!({ "prompt": "x" });
        body[field] = Value::Null;
        project.follow_up(&id).json(&body).send().await.names(&[field]);
    }
}

behaviours!(
    a_waiting_job_takes_a_message_and_stays_active,
    every_prompt_is_kept_in_order_and_trimmed,
    a_failed_job_becomes_active_again,
    an_archived_job_takes_none,
    prompts_obey_the_same_rules_as_the_first,
    a_message_has_a_prompt_and_nothing_else,
);
