//! Code hosts that refuse, are switched off, or are not there.

use std::sync::Arc;
use std::time::Duration;

use copydesk_domain::HostKind;
use copydesk_testkit::hosts::{Fault, Rights};
use copydesk_testkit::{Setup, TestEditor};
use serde_json::json;

use super::{KINDS, Place, REPOSITORY, app};
use crate::stage::Stage;

behaviours! {
    what_is_missing_is_one_clear_sentence_and_leaves_no_branch,
    what_is_archived_or_switched_off_is_told_before_anything_is_made,
    a_host_that_is_being_stopped_is_tried_again_but_not_for_ever,
    a_host_that_is_away_is_waited_for,
    a_host_that_stays_away_is_given_up,
    a_host_may_be_waited_for_no_longer_than_anything_else,
}

async fn what_is_missing_is_one_clear_sentence_and_leaves_no_branch(stage: &Stage) {
    let app = app(stage, TestEditor::writing()).await;
    for kind in KINDS {
        for (rights, word) in
            [(Rights::PUSH, "pull request"), (Rights::READ, "credential"), (Rights::NONE, "credential")]
        {
            let place = Place::on(app.clone(), kind, rights).await;
            let failed = place.ended("docs/a.md = # A\\n\\nTwo.\\n", "failed").await;
            let message = failed["message"].as_str().unwrap();
            let says = message.to_lowercase().replace("merge request", "pull request");
            assert!(
                [word, "permission", "scope", "only read", "may not see it"].iter().any(|word| says.contains(word)),
                "{kind:?}: {message}"
            );
            assert!(!message.contains('\n') && message.len() < 700, "{kind:?}: {message}");
            assert!(place.pulls().is_empty(), "{kind:?}");
            assert_eq!(place.git.branches(), ["main"], "{kind:?}: {message}");
            let pushes = if rights == Rights::PUSH { place.host.pushes() } else { 0 };
            assert_eq!(place.host.pushes(), pushes, "{kind:?}: what cannot be pushed is not tried");
            place.host.take_violations();
        }
    }
}

async fn what_is_archived_or_switched_off_is_told_before_anything_is_made(stage: &Stage) {
    let (editor, mut gate) = TestEditor::writing().gated();
    let app = app(stage, editor).await;
    gate.open();
    for kind in [HostKind::Github, HostKind::Gitlab, HostKind::Forgejo] {
        let place = Place::on(app.clone(), kind, Rights::ALL).await;
        place.host.archive(REPOSITORY, true);
        let failed = place.ended("docs/a.md = # A\\n\\nTwo.\\n", "failed").await;
        assert!(failed["message"].as_str().unwrap().contains("archived"), "{kind:?}: {failed}");
        place.host.archive(REPOSITORY, false);
        if kind != HostKind::Github {
            place.host.take_pulls(REPOSITORY, false);
            let failed = place.ended("docs/a.md = # A\\n\\nTwo.\\n", "failed").await;
            assert!(failed["message"].as_str().unwrap().contains("switched off"), "{kind:?}: {failed}");
        }
        assert_eq!((place.host.pushes(), place.git.branches().len()), (0, 1), "{kind:?}");
    }
    assert!(!gate.has_arrived(), "no editor was asked");
}

async fn a_host_that_is_being_stopped_is_tried_again_but_not_for_ever(stage: &Stage) {
    let place = Place::new(stage, HostKind::Forgejo, TestEditor::writing()).await;
    let stopping = Fault::Hook("Internal Server Connection Error");
    place.host.fail(2, "POST", "/git-receive-pack", stopping.clone());
    let job = place.reached("docs/a.md = # A\\n\\nTwo.\\n", "completed", stage, Duration::from_secs(5)).await;
    assert_eq!(job["outcome"], "pr_created", "{job}");
    place.host.fail(usize::MAX, "POST", "/git-receive-pack", stopping);
    let job = place.reached("docs/b.md = # B\\n\\nTwo.\\n", "failed", stage, Duration::from_secs(5)).await;
    let message = job["message"].as_str().unwrap();
    assert!(
        message.contains("stopped after 3 attempts") && message.contains("Internal Server Connection"),
        "{message}"
    );
    place.host.recover();
}

async fn a_host_that_is_away_is_waited_for(stage: &Stage) {
    let place = Place::new(stage, HostKind::Forgejo, TestEditor::writing()).await;
    place.host.fail(usize::MAX, "*", "", Fault::Status(503));
    let id = place.project.create("docs/a.md = # A\\n\\nTwo.\\n").await["id"].as_str().unwrap().to_owned();
    let step = Duration::from_secs(2);
    let waiting = place.until_put_back_so_often(&id, 1, stage, step).await;
    assert_eq!((&waiting["status"], &waiting["outcome"]), (&json!("active"), &json!(null)), "{waiting}");
    let message = waiting["message"].as_str().unwrap();
    assert!(message.starts_with("Waiting for the code host until ") && message.contains("internal error"), "{message}");
    // More often than a job is tried, and longer than it may run.
    let waiting = place.until_put_back_so_often(&id, 5, stage, step).await;
    assert_eq!(waiting["status"], "active", "{waiting}");
    stage.advance(Duration::from_secs(40 * 60));
    let waiting = place.until_put_back_so_often(&id, 6, stage, Duration::ZERO).await;
    assert_eq!(waiting["status"], "active", "{waiting}");
    place.host.recover();
    stage.advance(Duration::from_secs(300));
    let job = place.project.until(&id, "completed").await;
    assert_eq!((&job["status"], &job["message"]), (&json!("completed"), &json!("I wrote it.")), "{:?}", job.json());
    assert_eq!(place.pulls().len(), 1);
}

async fn a_host_that_stays_away_is_given_up(stage: &Stage) {
    let editors = |setup: Setup| setup.editors(2, vec![Arc::new(TestEditor::writing())]);
    let app = stage.app_with(|setup| editors(setup).terms(|terms| terms.host_wait = Duration::from_secs(600))).await;
    let place = Place::on(app, HostKind::Gitlab, Rights::ALL).await;
    place.host.fail(usize::MAX, "*", "", Fault::Status(502));
    let job = place.reached("docs/a.md = # A\\n\\nTwo.\\n", "failed", stage, Duration::from_secs(400)).await;
    let message = job["message"].as_str().unwrap();
    assert!(
        message.starts_with("The code host was not available for ") && message.ends_with("try again later."),
        "{message}"
    );
    assert_eq!(job["outcome"], "error");
    place.host.recover();
}

async fn a_host_may_be_waited_for_no_longer_than_anything_else(stage: &Stage) {
    let editors = |setup: Setup| setup.editors(2, vec![Arc::new(TestEditor::writing())]);
    let app = stage.app_with(|setup| editors(setup).terms(|terms| terms.host_wait = Duration::ZERO)).await;
    let place = Place::on(app, HostKind::Github, Rights::ALL).await;
    place.host.fail(usize::MAX, "*", "", Fault::Status(503));
    let job = place.reached("docs/a.md = # A\\n\\nTwo.\\n", "failed", stage, Duration::from_secs(5)).await;
    assert!(job["message"].as_str().unwrap().contains("stopped after 3 attempts"), "{job}");
    place.host.recover();
}
