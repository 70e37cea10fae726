//! What the docs checks and the scope guard make of a change.

use std::sync::Arc;

use copydesk_domain::{OnFindings, WritePaths};
use copydesk_testkit::{GitRepo, TestEditor};
use serde_json::{Value, json};

use super::{app_with, diff, ended, id, no_branch, of, page, project_on, site};
use crate::stage::Stage;

behaviours! {
    new_breakage_makes_a_draft,
    new_breakage_fails_the_job_if_the_project_says_so,
    old_breakage_does_not_count,
    a_draft_can_be_asked_for,
    what_the_scope_forbids_is_refused,
    a_project_opens_paths_and_closes_others,
    too_large_a_change_is_refused,
}

async fn new_breakage_makes_a_draft(stage: &Stage) {
    let repo = site();
    let project = project_on(stage, &repo, TestEditor::writing()).await;
    let job = ended(&project, "docs/index.md = # Welcome\\n\\nSee the [guide](gide.md).\\n", "completed").await;
    assert_eq!(job["outcome"], "pr_created");
    let links = job["checks"].as_array().unwrap().iter().find(|check| check["check"] == "links").unwrap().clone();
    assert_eq!((&links["newFindings"], links["findings"].as_array().unwrap().len()), (&json!(1), 1), "{links}");
    let page = page(&project, &job).await;
    assert!(page.contains("draft") && page.contains("gide.md"), "{page}");
}

async fn new_breakage_fails_the_job_if_the_project_says_so(stage: &Stage) {
    let repo = site();
    let app = app_with(stage, TestEditor::writing()).await;
    let project = app
        .project_with("Docs", |new| {
            new.repository = of(&repo);
            new.on_findings = OnFindings::Fail;
        })
        .await;
    let job = ended(&project, "docs/index.md = # Welcome\\n\\nSee the [guide](gide.md).\\n", "failed").await;
    assert_eq!((&job["outcome"], &job["prLink"]), (&json!("checks_failed"), &Value::Null));
    assert!(job["message"].as_str().unwrap().contains("gide.md"), "{}", job["message"]);
    assert!(diff(&project, id(&job)).await.contains("gide.md"), "what was made can be looked at");
    no_branch(&repo);
    let good = ended(&project, "docs/new.md = # New\\n", "completed").await;
    assert_eq!(good["outcome"], "pr_created");
}

async fn old_breakage_does_not_count(stage: &Stage) {
    let repo = GitRepo::new([("docs/index.md", "# Welcome\n\nSee the [guide](gide.md) and [more](x.md).\n")]);
    let project = project_on(stage, &repo, TestEditor::writing()).await;
    let text = "docs/index.md = # Welcome\\n\\nPlease see the [guide](gide.md).\\n";
    let job = ended(&project, text, "completed").await;
    for check in job["checks"].as_array().unwrap() {
        assert_eq!((&check["newFindings"], &check["findings"]), (&json!(0), &json!([])), "{check}");
    }
    assert!(!page(&project, &job).await.contains("draft"));
}

async fn a_draft_can_be_asked_for(stage: &Stage) {
    let repo = site();
    let project = project_on(stage, &repo, TestEditor::writing()).await;
    let body = json!({ "prompt": "docs/new.md = # New\\n", "draft": true });
    let id = project.try_create(body).await.expect(201)["id"].as_str().unwrap().to_owned();
    let job = project.until(&id, "completed").await;
    assert!(page(&project, job.json()).await.contains("<span class=\"badge warn\">draft</span>"));
}

async fn what_the_scope_forbids_is_refused(stage: &Stage) {
    let repo = site();
    let project = project_on(stage, &repo, TestEditor::writing()).await;
    for path in ["src/main.rs", "../x", ".git/config", "docs/../../x", ".github/workflows/ci.yml", "docs/.git/x"] {
        let job = ended(&project, &format!("{path} = x"), "failed").await;
        assert!(job["message"].as_str().unwrap().starts_with("Refused: "), "{path}: {}", job["message"]);
    }
    no_branch(&repo);
}

async fn a_project_opens_paths_and_closes_others(stage: &Stage) {
    let repo = site();
    let app = app_with(stage, TestEditor::writing()).await;
    let project = app
        .project_with("Docs", |new| {
            new.repository = of(&repo);
            new.write_paths = WritePaths { allow: vec!["data/*.json".to_owned()], deny: vec!["docs/legal".to_owned()] };
        })
        .await;
    let job = ended(&project, "data/prices.json = {}", "completed").await;
    assert_eq!(job["outcome"], "pr_created");
    for path in ["docs/legal/terms.md", "data/deep/prices.json", "data/run.sh"] {
        let job = ended(&project, &format!("{path} = x"), "failed").await;
        assert!(job["message"].as_str().unwrap().starts_with("Refused: "), "{path}: {}", job["message"]);
    }
}

async fn too_large_a_change_is_refused(stage: &Stage) {
    let repo = site();
    let app = stage
        .app_with(|setup| {
            let setup = setup.limits(|limits| limits.files = 2);
            setup.editors(1, vec![Arc::new(TestEditor::writing())])
        })
        .await;
    let project = app.project_with("Docs", |new| new.repository = of(&repo)).await;
    let three = "docs/a.md = # A\\n\ndocs/b.md = # B\\n\ndocs/c.md = # C\\n";
    let job = ended(&project, three, "failed").await;
    assert_eq!(job["outcome"], "checks_failed");
    no_branch(&repo);
}
