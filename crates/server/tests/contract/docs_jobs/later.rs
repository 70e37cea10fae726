//! What becomes of work that did not go out at once, and of jobs that were changed meanwhile.

use copydesk_agent::EditFailure;
use copydesk_domain::OnFindings;
use copydesk_testkit::{GitRepo, TestEditor, eventually};
use serde_json::{Value, json};

use super::{app_with, branch, diff, ended, hold_pushes, id, of, open, page, project_on, site};
use crate::stage::Stage;

behaviours! {
    what_was_cancelled_does_not_go_out_later,
    work_that_met_somebody_elses_is_done_again,
    a_word_of_thanks_does_not_take_the_pull_request_away,
    a_refused_change_is_shown_until_something_follows,
    what_could_not_be_pushed_goes_out_with_the_next_message,
    what_could_not_be_pushed_goes_out_even_if_nothing_is_added,
    a_later_round_that_could_not_be_pushed_is_not_lost,
    a_push_that_was_applied_but_not_recorded_is_taken_up,
    a_branch_that_was_deleted_is_made_again,
    what_somebody_else_pushed_is_kept,
    a_failed_prompt_is_not_tried_again_with_the_next,
    a_refused_change_is_not_on_the_page,
    nothing_is_opened_for_a_job_that_was_archived,
    a_follow_up_that_fails_leaves_the_pull_request_and_says_so,
    a_follow_up_updates_what_is_open_and_keeps_its_title,
    what_changes_nothing_is_not_told_as_an_edit,
}

const NOT_CLOSED: &str = "This did not close the pull request of the job.";

async fn a_follow_up_that_fails_leaves_the_pull_request_and_says_so(stage: &Stage) {
    let repo = site();
    let (editor, mut gate) = TestEditor::writing().gated();
    let project = project_on(stage, &repo, editor).await;
    // Without a pull request there is nothing to say of one.
    let first = project.create("src/a.rs = x").await["id"].as_str().unwrap().to_owned();
    gate.arrived().await;
    gate.open();
    let failed = project.until(&first, "failed").await;
    assert!(failed["prLink"].is_null() && !failed["message"].as_str().unwrap().contains(NOT_CLOSED), "{failed:?}");

    let id = project.create("docs/one.md = # One\\n").await["id"].as_str().unwrap().to_owned();
    gate.arrived().await;
    gate.open();
    let good = project.until(&id, "completed").await;
    assert!(!good["message"].as_str().unwrap().contains(NOT_CLOSED));
    project.message(&id, "src/a.rs = x").await.expect(200);
    gate.arrived().await;
    gate.open();
    let failed = project.until(&id, "failed").await;
    assert_eq!((&failed["outcome"], &failed["prLink"]), (&json!("error"), &good["prLink"]));
    assert_eq!(failed["title"], good["title"]);
    let message = failed["message"].as_str().unwrap();
    assert!(message.starts_with("Refused: ") && message.ends_with(NOT_CLOSED), "{message}");
    project.message(&id, "docs/two.md = # Two\\n").await.expect(200);
    gate.arrived().await;
    project.cancel(&id).await.expect(200);
    let cancelled = project.until(&id, "failed").await;
    assert_eq!(cancelled["message"], format!("The job was cancelled.\n\n{NOT_CLOSED}"));
    assert_eq!(cancelled["pullRequest"]["state"], "open");
}

async fn a_follow_up_updates_what_is_open_and_keeps_its_title(stage: &Stage) {
    let repo = site();
    let editor = TestEditor::new("titled", |workspace, prompt| {
        let text = format!("# {prompt}\n");
        workspace.write("docs/new.md", text).map_err(|error| EditFailure::Fatal(error.to_string()))?;
        Ok((format!("Say {prompt}"), "I wrote it.".to_owned()))
    });
    let project = project_on(stage, &repo, editor).await;
    let first = ended(&project, "one", "completed").await;
    project.message(id(&first), "two").await.expect(200);
    let second = project.until(id(&first), "completed").await;
    assert_eq!([&first["title"], &second["title"]], [&json!("Say one"); 2]);
    let page = page(&project, second.json()).await;
    assert!(page.contains("<h1>Say one") || page.contains("Say one</h1>"), "{page}");
    let told = project.event_types(id(&first)).await;
    let of_pull: Vec<&String> = told.iter().filter(|it| ["opened", "updated"].contains(&it.as_str())).collect();
    assert_eq!(of_pull, ["opened", "updated"]);
}

async fn what_changes_nothing_is_not_told_as_an_edit(stage: &Stage) {
    let repo = site();
    let editor = TestEditor::new("idle", |_, _| Ok((String::new(), "There was nothing to do.".to_owned())));
    let project = project_on(stage, &repo, editor).await;
    let job = ended(&project, "Do nothing.", "completed").await;
    assert_eq!(project.event_types(id(&job)).await, ["created", "claimed", "prepared", "unchanged", "completed"]);
}

/// A repository that takes no pushes until `open_repository`.
fn close_repository(repo: &GitRepo) {
    repo.hook("pre-receive", "#!/bin/sh\necho closed >&2\nexit 1\n");
}

fn open_repository(repo: &GitRepo) {
    std::fs::remove_file(repo.path().join("hooks/pre-receive")).unwrap();
}

async fn what_could_not_be_pushed_goes_out_with_the_next_message(stage: &Stage) {
    let repo = site();
    close_repository(&repo);
    let project = project_on(stage, &repo, TestEditor::writing()).await;
    let failed = ended(&project, "docs/one.md = # One\\n", "failed").await;
    open_repository(&repo);
    project.message(id(&failed), "docs/two.md = # Two\\n").await.expect(200);
    let job = project.until(id(&failed), "completed").await;
    assert_eq!(job["outcome"], "pr_created");
    let branch = branch(&repo);
    assert!(repo.text(&branch, "docs/one.md").is_some() && repo.text(&branch, "docs/two.md").is_some());
}

async fn what_could_not_be_pushed_goes_out_even_if_nothing_is_added(stage: &Stage) {
    let repo = site();
    close_repository(&repo);
    let project = project_on(stage, &repo, TestEditor::writing()).await;
    let failed = ended(&project, "docs/one.md = # One\\n", "failed").await;
    open_repository(&repo);
    project.message(id(&failed), "try again").await.expect(200);
    let job = project.until(id(&failed), "completed").await;
    assert_eq!((&job["outcome"], &job["branch"]), (&json!("pr_created"), &json!(branch(&repo))));
    assert!(job["prLink"].is_string());
}

async fn a_later_round_that_could_not_be_pushed_is_not_lost(stage: &Stage) {
    let repo = site();
    let project = project_on(stage, &repo, TestEditor::writing()).await;
    let first = ended(&project, "docs/one.md = # One\\n", "completed").await;
    close_repository(&repo);
    project.message(id(&first), "docs/two.md = # Two\\n").await.expect(200);
    project.until(id(&first), "failed").await;
    open_repository(&repo);
    project.message(id(&first), "docs/three.md = # Three\\n").await.expect(200);
    let job = project.until(id(&first), "completed").await;
    assert_eq!(job["prLink"], first["prLink"]);
    let branch = branch(&repo);
    for path in ["docs/one.md", "docs/two.md", "docs/three.md"] {
        assert!(repo.text(&branch, path).is_some(), "{path} is lost");
    }
    assert_eq!(repo.commits(&branch, "main").len(), 3);
}

async fn a_push_that_was_applied_but_not_recorded_is_taken_up(stage: &Stage) {
    let repo = site();
    // By then the branch is there; git waits for the hook.
    let mark = hold_pushes(&repo, "post-receive");
    let project = project_on(stage, &repo, TestEditor::writing()).await;
    let id = project.create("docs/one.md = # One\\n").await["id"].as_str().unwrap().to_owned();
    eventually("the push is applied", async || mark.exists().then_some(())).await;
    project.cancel(&id).await.expect(200);
    let job = project.until(&id, "failed").await;
    assert_eq!((&job["outcome"], &job["prLink"]), (&json!("cancelled"), &Value::Null));
    std::fs::remove_file(repo.path().join("hooks/post-receive")).unwrap();
    project.message(&id, "docs/two.md = # Two\\n").await.expect(200);
    let job = project.until(&id, "completed").await;
    let branch = branch(&repo);
    assert_eq!((&job["outcome"], &job["branch"]), (&json!("pr_created"), &json!(branch)));
    assert_eq!(repo.text(&branch, "docs/two.md").unwrap(), "# Two\n");
}

async fn a_branch_that_was_deleted_is_made_again(stage: &Stage) {
    let repo = site();
    let project = project_on(stage, &repo, TestEditor::writing()).await;
    let first = ended(&project, "docs/one.md = # One\\n", "completed").await;
    let branch = branch(&repo);
    repo.git(&["branch", "-D", &branch]);
    project.message(id(&first), "docs/two.md = # Two\\n").await.expect(200);
    let job = project.until(id(&first), "completed").await;
    assert_eq!((&job["branch"], &job["prLink"]), (&json!(branch), &first["prLink"]));
    assert_eq!(repo.text(&branch, "docs/two.md").unwrap(), "# Two\n");
}

async fn what_somebody_else_pushed_is_kept(stage: &Stage) {
    let repo = site();
    let project = project_on(stage, &repo, TestEditor::writing()).await;
    let first = ended(&project, "docs/one.md = # One\\n", "completed").await;
    let branch = branch(&repo);
    let theirs = [("docs/theirs.md".to_owned(), copydesk_testkit::GitEntry::File(b"# Theirs\n".to_vec()))];
    repo.commit(&branch, "Add a page by hand", theirs);
    project.message(id(&first), "docs/two.md = # Two\\n").await.expect(200);
    project.until(id(&first), "completed").await;
    for path in ["docs/one.md", "docs/theirs.md", "docs/two.md"] {
        assert!(repo.text(&branch, path).is_some(), "{path} is lost");
    }
    assert_eq!(repo.commits(&branch, "main").len(), 3);
}

async fn a_failed_prompt_is_not_tried_again_with_the_next(stage: &Stage) {
    let repo = site();
    let (editor, mut gate) = TestEditor::writing().gated();
    let project = project_on(stage, &repo, editor).await;
    let id = project.create("src/a.rs = x").await["id"].as_str().unwrap().to_owned();
    gate.arrived().await;
    project.message(&id, "src/b.rs = x").await.expect(200);
    project.cancel(&id).await.expect(200);
    project.until(&id, "failed").await;
    project.message(&id, "docs/new.md = # New\\n").await.expect(200);
    gate.arrived().await;
    gate.open();
    let job = project.until(&id, "completed").await;
    assert_eq!(job["outcome"], "pr_created");
    assert_eq!(repo.text(&branch(&repo), "docs/new.md").unwrap(), "# New\n");
}

async fn a_refused_change_is_not_on_the_page(stage: &Stage) {
    let repo = site();
    let app = app_with(stage, TestEditor::writing()).await;
    let project = app
        .project_with("Docs", |new| {
            new.repository = of(&repo);
            new.on_findings = OnFindings::Fail;
        })
        .await;
    let first = ended(&project, "docs/new.md = # New\\n", "completed").await;
    project.message(id(&first), "docs/new.md = # New\\n\\n[Broken](planted-and-refused.md)\\n").await.expect(200);
    let job = project.until(id(&first), "failed").await;
    assert_eq!(job["outcome"], "checks_failed");
    assert!(diff(&project, id(&first)).await.contains("planted-and-refused"));
    let page = page(&project, &first).await;
    assert!(page.contains("<ins>New</ins>") && !page.contains("planted-and-refused"), "{page}");
}

async fn nothing_is_opened_for_a_job_that_was_archived(stage: &Stage) {
    let repo = site();
    let project = project_on(stage, &repo, TestEditor::writing()).await;
    let body = json!({ "prompt": "docs/new.md = # New\\n", "openPullRequest": false });
    let id = project.try_create(body).await.expect(201)["id"].as_str().unwrap().to_owned();
    project.until(&id, "completed").await;
    let mark = hold_pushes(&repo, "pre-receive");
    let opening = async { open(&project, &id).await };
    let archiving = async {
        eventually("the push has begun", async || mark.exists().then_some(())).await;
        project.archive(&id).await.expect(200);
        std::fs::write(mark.with_extension("go"), "").unwrap();
    };
    let (answer, ()) = tokio::join!(opening, archiving);
    assert_ne!(answer.status, 200, "{}", answer.text());
    let job = project.get(&id).await.expect(200);
    assert_eq!((&job["status"], &job["prLink"]), (&json!("archived"), &Value::Null));
    assert_eq!(project.event_types(&id).await.last().unwrap(), "archived");
}

async fn what_was_cancelled_does_not_go_out_later(stage: &Stage) {
    let repo = site();
    let mark = hold_pushes(&repo, "pre-receive");
    let project = project_on(stage, &repo, TestEditor::writing()).await;
    let id = project.create("docs/one.md = # One\\n").await["id"].as_str().unwrap().to_owned();
    eventually("the push has begun", async || mark.exists().then_some(())).await;
    project.cancel(&id).await.expect(200);
    project.until(&id, "failed").await;
    open_repository(&repo);
    project.message(&id, "what would you have changed?").await.expect(200);
    let job = project.until(&id, "completed").await;
    assert_eq!((&job["outcome"], &job["prLink"]), (&json!("no_changes"), &Value::Null));
    assert_eq!(repo.branches(), ["main"]);
    project.message(&id, "docs/two.md = # Two\\n").await.expect(200);
    project.until(&id, "completed").await;
    let branch = branch(&repo);
    assert_eq!(repo.text(&branch, "docs/one.md"), None, "what was cancelled stays so");
    assert_eq!(repo.text(&branch, "docs/two.md").unwrap(), "# Two\n");
}

async fn work_that_met_somebody_elses_is_done_again(stage: &Stage) {
    let repo = site();
    let project = project_on(stage, &repo, TestEditor::writing()).await;
    let first = ended(&project, "docs/one.md = # One\\n", "completed").await;
    close_repository(&repo);
    project.message(id(&first), "docs/two.md = # Two\\n").await.expect(200);
    project.until(id(&first), "failed").await;
    open_repository(&repo);
    let branch = branch(&repo);
    let theirs = [("docs/theirs.md".to_owned(), copydesk_testkit::GitEntry::File(b"# Theirs\n".to_vec()))];
    repo.commit(&branch, "Add a page by hand", theirs);
    project.message(id(&first), "go on").await.expect(200);
    let job = project.until(id(&first), "completed").await;
    assert_eq!((&job["outcome"], &job["prLink"]), (&json!("pr_created"), &first["prLink"]));
    for path in ["docs/one.md", "docs/theirs.md", "docs/two.md"] {
        assert!(repo.text(&branch, path).is_some(), "{path} is lost");
    }
    project.message(id(&first), "nothing more").await.expect(200);
    let job = project.until(id(&first), "completed").await;
    assert_eq!(job["outcome"], "no_changes", "what was done again does not wait any more: {}", job["message"]);
}

async fn a_word_of_thanks_does_not_take_the_pull_request_away(stage: &Stage) {
    let repo = site();
    let (editor, mut gate) = TestEditor::writing().gated();
    let project = project_on(stage, &repo, editor).await;
    let id = project.create("docs/one.md = # One\\n").await["id"].as_str().unwrap().to_owned();
    gate.arrived().await;
    project.message(&id, "thanks").await.expect(200);
    gate.open();
    gate.arrived().await;
    gate.open();
    let job = project.until(&id, "completed").await;
    assert_eq!((&job["outcome"], &job["title"]), (&json!("pr_created"), &json!("Write what was said")));
    assert!(job["prLink"].is_string() && !job["checks"].as_array().unwrap().is_empty());
}

async fn a_refused_change_is_shown_until_something_follows(stage: &Stage) {
    let repo = site();
    let app = app_with(stage, TestEditor::writing()).await;
    let project = app
        .project_with("Docs", |new| {
            new.repository = of(&repo);
            new.on_findings = OnFindings::Fail;
        })
        .await;
    let first = ended(&project, "docs/new.md = # New\\n", "completed").await;
    project.message(id(&first), "docs/new.md = # New\\n\\n[Broken](refused.md)\\n").await.expect(200);
    let job = project.until(id(&first), "failed").await;
    assert!(job["message"].as_str().unwrap().contains("not added to the pull request"), "{}", job["message"]);
    assert!(diff(&project, id(&first)).await.contains("refused.md"));
    project.message(id(&first), "never mind").await.expect(200);
    project.until(id(&first), "completed").await;
    let diff = diff(&project, id(&first)).await;
    assert!(diff.contains("+# New") && !diff.contains("refused.md"), "{diff}");
}
