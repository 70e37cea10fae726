//! From a prompt to a pull request, on a real repository.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use copydesk_agent::{EditFailure, Editor};
use copydesk_domain::Repository;
use copydesk_testkit::{GitEntry, GitRepo, ProjectClient, TestApp, TestEditor, eventually};
use serde_json::{Value, json};

use crate::stage::Stage;

mod checks;
mod later;

behaviours! {
    a_job_becomes_a_pull_request,
    a_change_that_changes_nothing_leaves_no_branch,
    a_follow_up_adds_to_the_same_pull_request,
    a_message_that_comes_in_meanwhile_is_taken_in_as_well,
    a_job_may_leave_its_change_to_be_looked_at,
    a_job_without_a_pull_request_can_be_followed_up,
    another_machine_goes_on_with_what_was_not_pushed,
    another_machine_goes_on_from_a_merge,
    only_a_completed_change_can_be_opened,
    a_job_starts_from_the_branch_it_names,
    a_branch_that_is_not_there_fails_the_job,
    a_repository_that_is_not_there_is_said,
    a_repository_that_refuses_the_push_is_quoted,
    a_cancelled_job_leaves_nothing_behind,
    a_job_cancelled_in_the_middle_of_a_push_opens_nothing,
    many_jobs_at_once_keep_apart,
    a_failed_job_can_be_tried_again,
    an_editor_that_fails_for_now_is_tried_again,
    the_page_of_a_pull_request_shows_only_text,
    a_link_to_a_pull_request_ends_when_it_is_revoked_or_the_job_archived,
    a_link_is_not_revoked_under_the_hands_of_a_worker,
    a_prompt_in_a_pull_request_calls_nobody,
}

/// A site without faults.
fn site() -> GitRepo {
    GitRepo::new([
        ("docs/index.md", "# Welcome\n\nSee the [guide](guide.md).\n"),
        ("docs/guide.md", "# Guide\n\n## Install\n\nAs usual.\n"),
        ("src/main.rs", "fn main() {}\n"),
    ])
}

/// A server with two workers on `editor`, and a project on `repo`.
async fn project_on(stage: &Stage, repo: &GitRepo, editor: impl Editor + 'static) -> ProjectClient {
    app_with(stage, editor).await.project_with("Docs", |new| new.repository = of(repo)).await
}

async fn app_with(stage: &Stage, editor: impl Editor + 'static) -> Arc<TestApp> {
    stage.app_with(|setup| setup.editors(2, vec![Arc::new(editor)])).await
}

fn of(repo: &GitRepo) -> Repository {
    Repository::parse(&repo.address(), repo.path()).unwrap()
}

async fn ended(project: &ProjectClient, prompt: &str, status: &str) -> Value {
    let id = project.create(prompt).await["id"].as_str().unwrap().to_owned();
    project.until(&id, status).await.json().clone()
}

fn id(job: &Value) -> &str {
    job["id"].as_str().unwrap()
}

/// The one branch of the job.
fn branch(repo: &GitRepo) -> String {
    let mut branches = repo.branches();
    branches.retain(|branch| branch.starts_with("copydesk/"));
    assert_eq!(branches.len(), 1, "{branches:?}");
    branches.remove(0)
}

fn no_branch(repo: &GitRepo) {
    assert_eq!(repo.branches(), ["main"]);
}

async fn diff(project: &ProjectClient, id: &str) -> String {
    project.client().get(&project.job_path(id, "/diff")).send().await.expect(200).text()
}

async fn open(project: &ProjectClient, id: &str) -> copydesk_testkit::Answer {
    project.client().post(&project.job_path(id, "/pull-request")).send().await
}

/// Lets the repository's hook of that name hold every push up until the file with `.go` behind its name is there, or for
/// half a minute; the file that is given says that a push has come to it.
fn hold_pushes(repo: &GitRepo, hook: &str) -> PathBuf {
    let mark = repo.path().join("held");
    let wait = "n=0\nwhile [ ! -e \"$mark.go\" ] && [ $n -lt 300 ]; do sleep 0.1; n=$((n+1)); done\n";
    repo.hook(hook, &format!("#!/bin/sh\nmark='{}'\ntouch \"$mark\"\n{wait}", mark.display()));
    mark
}

/// The page of a pull request, fetched as a browser would.
async fn page(project: &ProjectClient, job: &Value) -> String {
    let link = job["prLink"].as_str().expect("there is a link");
    let path = link.strip_prefix(project.client().base()).expect("the link leads to the server");
    let answer = project.client().without_key().get(path).send().await.expect(200);
    assert!(answer.header("content-type").unwrap().starts_with("text/html"));
    assert!(answer.header("content-security-policy").unwrap().contains("default-src 'none'"));
    answer.text()
}

async fn a_job_becomes_a_pull_request(stage: &Stage) {
    let repo = site();
    let project = project_on(stage, &repo, TestEditor::writing()).await;
    let job = ended(&project, "docs/guide.md = # Guide\\n\\n## Install\\n\\nRun it.\\n", "completed").await;
    assert_eq!((&job["outcome"], &job["title"]), (&json!("pr_created"), &json!("Write what was said")));
    assert_eq!(job["message"], "I wrote it.");
    let branch = branch(&repo);
    assert_eq!([&job["source"]["ref"], &job["branch"]], [&json!(branch); 2]);
    assert!(branch.ends_with("-write-what-was-said"), "{branch}");
    assert_eq!(repo.text(&branch, "docs/guide.md").unwrap(), "# Guide\n\n## Install\n\nRun it.\n");
    assert_eq!(repo.commits(&branch, "main").len(), 1);
    assert!(repo.message(&branch).contains(&format!("Copydesk-Job: {}", id(&job))));
    repo.git(&["fsck", "--strict"]);
    let types = project.event_types(id(&job)).await;
    let steps = ["created", "claimed", "prepared", "edited", "committed", "pushed", "opened", "completed"];
    assert_eq!(types, steps);
    let diff = diff(&project, id(&job)).await;
    assert!(diff.contains("--- a/docs/guide.md\n+++ b/docs/guide.md\n"), "{diff}");
    assert!(diff.contains("\n-As usual.\n+Run it.\n"), "{diff}");
    let page = page(&project, &job).await;
    for part in ["Write what was said", "I wrote it.", branch.as_str(), "Run it."] {
        assert!(page.contains(part), "{part} is not in {page}");
    }
    let checks = job["checks"].as_array().unwrap();
    let check = |name: &str| checks.iter().find(|check| check["check"] == name).unwrap();
    assert_eq!((&check("syntax")["ran"], &check("syntax")["judged"]), (&json!(true), &json!(1)));
    // There is no link in the page: nothing was found, and nothing was judged.
    assert_eq!((&check("links")["ran"], &check("links")["notJudged"]), (&json!(false), &json!([])));
}

async fn a_change_that_changes_nothing_leaves_no_branch(stage: &Stage) {
    let repo = site();
    let editor = TestEditor::new("idle", |_, _| Ok((String::new(), "There was nothing to do.".to_owned())));
    let project = project_on(stage, &repo, editor).await;
    let job = ended(&project, "Do nothing.", "completed").await;
    assert_eq!((&job["outcome"], &job["prLink"]), (&json!("no_changes"), &Value::Null));
    assert_eq!(job["message"], "There was nothing to do.");
    assert_eq!([&job["branch"], &job["source"]["ref"]], [&Value::Null; 2]);
    assert_eq!(diff(&project, id(&job)).await, "");
    no_branch(&repo);
    let refused = open(&project, id(&job)).await.expect(409);
    assert_eq!(refused["code"], "nothing_changed");
}

async fn a_follow_up_adds_to_the_same_pull_request(stage: &Stage) {
    let repo = site();
    let project = project_on(stage, &repo, TestEditor::writing()).await;
    let first = ended(&project, "docs/new.md = # New\\n", "completed").await;
    let id = id(&first);
    project.message(id, "docs/newer.md = # Newer\\n").await.expect(200);
    let second = project.until(id, "completed").await;
    let branch = branch(&repo);
    assert_eq!((&second["prLink"], &second["branch"]), (&first["prLink"], &json!(branch)));
    assert_eq!(repo.commits(&branch, "main").len(), 2);
    assert_eq!(repo.text(&branch, "docs/new.md").unwrap(), "# New\n");
    assert_eq!(repo.text(&branch, "docs/newer.md").unwrap(), "# Newer\n");
    let diff = diff(&project, id).await;
    assert!(diff.contains("+# New\n") && diff.contains("+# Newer\n"), "against the base, not the turn before: {diff}");
    project.message(id, "nothing at all").await.expect(200);
    let third = project.until(id, "completed").await;
    assert_eq!((&third["outcome"], &third["prLink"]), (&json!("no_changes"), &first["prLink"]));
    assert_eq!(repo.commits(&branch, "main").len(), 2);
}

async fn a_message_that_comes_in_meanwhile_is_taken_in_as_well(stage: &Stage) {
    let repo = site();
    let (editor, mut gate) = TestEditor::writing().gated();
    let project = project_on(stage, &repo, editor).await;
    let id = project.create("docs/one.md = # One\\n").await["id"].as_str().unwrap().to_owned();
    gate.arrived().await;
    project.message(&id, "docs/two.md = # Two\\n").await.expect(200);
    gate.open();
    assert!(gate.arrived().await.contains("two.md"), "the message is another round");
    gate.open();
    let job = project.until(&id, "completed").await;
    let branch = branch(&repo);
    assert_eq!(job["branch"], branch);
    assert!(repo.text(&branch, "docs/one.md").is_some() && repo.text(&branch, "docs/two.md").is_some());
    assert_eq!(repo.commits(&branch, "main").len(), 2);
}

async fn a_job_may_leave_its_change_to_be_looked_at(stage: &Stage) {
    let repo = site();
    let project = project_on(stage, &repo, TestEditor::writing()).await;
    let body = json!({ "prompt": "docs/new.md = # New\\n", "openPullRequest": false });
    let created = project.try_create(body).await.expect(201);
    let id = created["id"].as_str().unwrap();
    let job = project.until(id, "completed").await;
    assert_eq!(
        (&job["outcome"], &job["prLink"], &job["branch"]),
        (&json!("changes_ready"), &Value::Null, &Value::Null)
    );
    assert!(diff(&project, id).await.contains("+# New\n"));
    no_branch(&repo);
    let opened = open(&project, id).await.expect(200);
    assert_eq!((&opened["outcome"], &opened["status"]), (&json!("pr_created"), &json!("completed")));
    let branch = branch(&repo);
    assert_eq!(opened["branch"], branch);
    assert_eq!(repo.text(&branch, "docs/new.md").unwrap(), "# New\n");
    page(&project, opened.json()).await;
    let again = open(&project, id).await.expect(200);
    assert_eq!(again["prLink"], opened["prLink"]);
    project.message(id, "docs/newer.md = # Newer\\n").await.expect(200);
    let followed = project.until(id, "completed").await;
    assert_eq!(followed["prLink"], opened["prLink"]);
    assert_eq!(repo.commits(&branch, "main").len(), 2);
}

async fn a_job_without_a_pull_request_can_be_followed_up(stage: &Stage) {
    let repo = site();
    let project = project_on(stage, &repo, TestEditor::writing()).await;
    let body = json!({ "prompt": "docs/new.md = # New\\n", "openPullRequest": false });
    let id = project.try_create(body).await.expect(201)["id"].as_str().unwrap().to_owned();
    project.until(&id, "completed").await;
    project.message(&id, "docs/newer.md = # Newer\\n").await.expect(200);
    project.until(&id, "completed").await;
    no_branch(&repo);
    let diff = diff(&project, &id).await;
    assert!(diff.contains("+# New\n") && diff.contains("+# Newer\n"), "{diff}");
    open(&project, &id).await.expect(200);
    assert_eq!(repo.commits(&branch(&repo), "main").len(), 2);
}

async fn another_machine_goes_on_with_what_was_not_pushed(stage: &Stage) {
    let repo = site();
    let first = app_with(stage, TestEditor::writing()).await;
    let project = first.project_with("Docs", |new| new.repository = of(&repo)).await;
    let body = json!({ "prompt": "docs/new.md = # New\\n", "openPullRequest": false });
    let id = project.try_create(body).await.expect(201)["id"].as_str().unwrap().to_owned();
    project.until(&id, "completed").await;
    first.stop().await;
    // Every server has mirrors of its own, so nothing of the first is there for the second.
    let second = app_with(stage, TestEditor::writing()).await;
    let client = second.client().with_key(&project.key.secret);
    let message = json!({ "prompt": "docs/newer.md = # Newer\\n" });
    client.post(&project.job_path(&id, "/message")).json(&message).send().await.expect(200);
    eventually("the follow-up is done", async || {
        let job = client.get(&project.job_path(&id, "")).send().await.expect(200);
        assert_ne!(job["status"], "failed", "{}", job["message"]);
        (job["status"] == "completed").then_some(())
    })
    .await;
    second.stop().await;
    let third = app_with(stage, TestEditor::writing()).await;
    let client = third.client().with_key(&project.key.secret);
    client.post(&project.job_path(&id, "/pull-request")).send().await.expect(200);
    let branch = branch(&repo);
    assert_eq!(repo.commits(&branch, "main").len(), 2);
    assert!(repo.text(&branch, "docs/new.md").is_some() && repo.text(&branch, "docs/newer.md").is_some());
}

async fn another_machine_goes_on_from_a_merge(stage: &Stage) {
    let repo = site();
    let (editor, mut gate) = TestEditor::writing().gated();
    let first = app_with(stage, editor).await;
    let project = first.project_with("Docs", |new| new.repository = of(&repo)).await;
    let id = project.create("docs/new.md = # New\\n").await["id"].as_str().unwrap().to_owned();
    gate.arrived().await;
    gate.open();
    project.until(&id, "completed").await;
    repo.commit("main", "Move on", [("docs/moved.md".to_owned(), GitEntry::File(b"# Moved\n".to_vec()))]);
    project.message(&id, "docs/newer.md = # Newer\\n").await.expect(200);
    // The base branch is merged by now, and only this machine has the merge.
    gate.arrived().await;
    first.stop().await;
    let second = app_with(stage, TestEditor::writing()).await;
    let client = second.client().with_key(&project.key.secret);
    eventually("the follow-up is done", async || {
        let job = client.get(&project.job_path(&id, "")).send().await.expect(200);
        assert_ne!(job["status"], "failed", "{}", job["message"]);
        (job["status"] == "completed").then_some(())
    })
    .await;
    let branch = branch(&repo);
    for path in ["docs/new.md", "docs/newer.md", "docs/moved.md"] {
        assert!(repo.text(&branch, path).is_some(), "{path}");
    }
}

async fn only_a_completed_change_can_be_opened(stage: &Stage) {
    let repo = site();
    let (editor, mut gate) = TestEditor::writing().gated();
    let project = project_on(stage, &repo, editor).await;
    let id = project.create("docs/new.md = # New\\n").await["id"].as_str().unwrap().to_owned();
    gate.arrived().await;
    assert_eq!(open(&project, &id).await.expect(409)["code"], "job_not_completed");
    project.cancel(&id).await.expect(200);
    project.until(&id, "failed").await;
    assert_eq!(open(&project, &id).await.expect(409)["code"], "job_not_completed");
    open(&project, "0198f7a2-0000-7000-8000-000000000000").await.expect(404);
    no_branch(&repo);
}

async fn a_job_starts_from_the_branch_it_names(stage: &Stage) {
    let repo = site();
    repo.git(&["branch", "next", "main"]);
    repo.commit("next", "Go on", [("docs/next.md".to_owned(), GitEntry::File(b"# Next\n".to_vec()))]);
    let project = project_on(stage, &repo, TestEditor::writing()).await;
    let body = json!({ "prompt": "docs/new.md = # New\\n", "baseRef": "next" });
    let id = project.try_create(body).await.expect(201)["id"].as_str().unwrap().to_owned();
    let job = project.until(&id, "completed").await;
    let branch = job["branch"].as_str().unwrap();
    assert!(repo.text(branch, "docs/next.md").is_some());
    assert_eq!(repo.commits(branch, "next").len(), 1);
}

async fn a_branch_that_is_not_there_fails_the_job(stage: &Stage) {
    let repo = site();
    let project = project_on(stage, &repo, TestEditor::writing()).await;
    let body = json!({ "prompt": "docs/new.md = # New\\n", "baseRef": "nowhere" });
    let id = project.try_create(body).await.expect(201)["id"].as_str().unwrap().to_owned();
    let job = project.until(&id, "failed").await;
    assert_eq!(job["outcome"], "error");
    assert!(job["message"].as_str().unwrap().contains("nowhere"), "{}", job["message"]);
}

async fn a_repository_that_is_not_there_is_said(stage: &Stage) {
    let app = app_with(stage, TestEditor::writing()).await;
    let repo = site();
    let gone = of(&repo);
    drop(repo);
    let project = app.project_with("Docs", |new| new.repository = gone).await;
    let job = ended(&project, "docs/new.md = # New\\n", "failed").await;
    assert_eq!(job["outcome"], "error");
    assert!(job["message"].as_str().unwrap().to_lowercase().contains("repository"), "{}", job["message"]);
}

async fn a_repository_that_refuses_the_push_is_quoted(stage: &Stage) {
    let repo = site();
    repo.hook("pre-receive", "#!/bin/sh\necho 'branches are closed on Fridays' >&2\nexit 1\n");
    let project = project_on(stage, &repo, TestEditor::writing()).await;
    let job = ended(&project, "docs/new.md = # New\\n", "failed").await;
    assert!(job["message"].as_str().unwrap().contains("branches are closed on Fridays"), "{}", job["message"]);
    assert_eq!(job["prLink"], Value::Null);
    no_branch(&repo);
}

async fn a_cancelled_job_leaves_nothing_behind(stage: &Stage) {
    let repo = site();
    let (editor, mut gate) = TestEditor::writing().gated();
    let project = project_on(stage, &repo, editor).await;
    let id = project.create("docs/new.md = # New\\n").await["id"].as_str().unwrap().to_owned();
    gate.arrived().await;
    project.cancel(&id).await.expect(200);
    let job = project.until(&id, "failed").await;
    assert_eq!(job["outcome"], "cancelled");
    gate.open();
    no_branch(&repo);
    assert_eq!(diff(&project, &id).await, "");
}

async fn a_job_cancelled_in_the_middle_of_a_push_opens_nothing(stage: &Stage) {
    let repo = site();
    let mark = hold_pushes(&repo, "pre-receive");
    let project = project_on(stage, &repo, TestEditor::writing()).await;
    let id = project.create("docs/new.md = # New\\n").await["id"].as_str().unwrap().to_owned();
    eventually("the push has begun", async || mark.exists().then_some(())).await;
    project.cancel(&id).await.expect(200);
    let job = project.until(&id, "failed").await;
    assert_eq!((&job["outcome"], &job["prLink"]), (&json!("cancelled"), &Value::Null));
    let types = project.event_types(&id).await;
    assert!(!types.contains(&"pushed".to_owned()) && !types.contains(&"opened".to_owned()), "{types:?}");
    std::fs::write(mark.with_extension("go"), "").unwrap();
}

async fn many_jobs_at_once_keep_apart(stage: &Stage) {
    let repo = site();
    let app = stage.app_with(|setup| setup.editors(8, vec![Arc::new(TestEditor::writing())])).await;
    let project = app.project_with("Docs", |new| new.repository = of(&repo)).await;
    let mut ids = Vec::new();
    for number in 0..12 {
        let prompt = format!("docs/page-{number}.md = # Page {number}\\n");
        ids.push(project.create(&prompt).await["id"].as_str().unwrap().to_owned());
    }
    let mut branches = Vec::new();
    let mut links = Vec::new();
    for (number, id) in ids.iter().enumerate() {
        let job = project.until(id, "completed").await;
        let branch = job["branch"].as_str().unwrap().to_owned();
        assert_eq!(repo.text(&branch, &format!("docs/page-{number}.md")).unwrap(), format!("# Page {number}\n"));
        assert_eq!(repo.commits(&branch, "main").len(), 1);
        branches.push(branch);
        links.push(job["prLink"].as_str().unwrap().to_owned());
    }
    branches.sort();
    branches.dedup();
    links.sort();
    links.dedup();
    assert_eq!((branches.len(), links.len(), repo.branches().len()), (12, 12, 13));
}

async fn a_failed_job_can_be_tried_again(stage: &Stage) {
    let repo = site();
    let project = project_on(stage, &repo, TestEditor::writing()).await;
    let failed = ended(&project, "src/main.rs = x", "failed").await;
    project.message(id(&failed), "docs/new.md = # New\\n").await.expect(200);
    let job = project.until(id(&failed), "completed").await;
    assert_eq!(job["outcome"], "pr_created");
    assert_eq!(repo.text(&branch(&repo), "docs/new.md").unwrap(), "# New\n");
}

async fn an_editor_that_fails_for_now_is_tried_again(stage: &Stage) {
    let repo = site();
    let tries = std::sync::atomic::AtomicU32::new(0);
    let editor = TestEditor::new("shaky", move |workspace, _| {
        if tries.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == 0 {
            return Err(EditFailure::Retry("the model is asleep".to_owned()));
        }
        workspace.write("docs/new.md", "# New\n".to_owned()).unwrap();
        Ok(("Add a page".to_owned(), "I added it.".to_owned()))
    });
    let project = project_on(stage, &repo, editor).await;
    let id = project.create("Add a page.").await["id"].as_str().unwrap().to_owned();
    eventually("the job waits for its next try", async || {
        project.event_types(&id).await.contains(&"retrying".to_owned()).then_some(())
    })
    .await;
    stage.advance(Duration::from_secs(2));
    let job = project.until(&id, "completed").await;
    assert_eq!(job["outcome"], "pr_created");
    let types = project.event_types(&id).await;
    assert_eq!(types.iter().filter(|kind| *kind == "prepared").count(), 1, "the round goes on: {types:?}");
}

async fn the_page_of_a_pull_request_shows_only_text(stage: &Stage) {
    let repo = site();
    let editor = TestEditor::new("sly", |workspace, _| {
        workspace.write("docs/new.md", "<script>alert(1)</script>\n".to_owned()).unwrap();
        Ok(("<script>alert(2)</script>".to_owned(), "<img src=x onerror=alert(3)>".to_owned()))
    });
    let project = project_on(stage, &repo, editor).await;
    let job = ended(&project, "Be sly.", "completed").await;
    let page = page(&project, &job).await;
    assert_eq!(page.matches("<script").count(), 1, "the dashboard's own, from a file: {page}");
    assert!(page.contains("<script type=\"module\" src=\"/assets/") && !page.contains("<img"), "{page}");
    assert!(page.contains("&#60;<ins>script") || page.contains("<ins>&#60;script&#62;alert(1)"), "{page}");
    for path in ["/pull/", "/pull/x", "/pull/abcdefghijkmnopqrstuvwxyz0123456", "/pull/%00"] {
        project.client().without_key().get(path).send().await.expect(404);
    }
}

async fn a_link_to_a_pull_request_ends_when_it_is_revoked_or_the_job_archived(stage: &Stage) {
    let repo = site();
    let project = project_on(stage, &repo, TestEditor::writing()).await;
    let job = ended(&project, "docs/new.md = # New\\n", "completed").await;
    let link = |job: &Value| {
        let link = job["prLink"].as_str().unwrap();
        link[link.find("/pull/").unwrap()..].to_owned()
    };
    let shown = async |path: &str| project.client().without_key().get(path).send().await.status;
    let first = link(&job);
    assert_eq!(shown(&first).await, 200);
    let revoke = project.job_path(id(&job), "/revoke-link");
    project.client().without_key().post(&revoke).send().await.expect(401);
    let revoked = project.client().post(&revoke).send().await.expect(200).json().clone();
    let second = link(&revoked);
    assert_eq!((shown(&first).await, shown(&second).await), (404, 200));
    // What is added goes to the page of the new link.
    project.message(id(&job), "docs/more.md = # More\\n").await.expect(200);
    let again = project.until(id(&job), "completed").await;
    assert_eq!(link(again.json()), second);
    assert_eq!((shown(&first).await, shown(&second).await), (404, 200));
    project.client().post(&project.job_path(id(&job), "/archive")).send().await.expect(200);
    assert_eq!((shown(&first).await, shown(&second).await), (404, 404));
    project.client().post(&revoke).send().await.refused(409, "no_link");
}

async fn a_link_is_not_revoked_under_the_hands_of_a_worker(stage: &Stage) {
    let repo = site();
    let (editor, mut gate) = TestEditor::writing().gated();
    let project = project_on(stage, &repo, editor).await;
    gate.open();
    let job = ended(&project, "docs/new.md = # New\\n", "completed").await;
    gate.arrived().await;
    let revoke = project.job_path(id(&job), "/revoke-link");
    project.message(id(&job), "docs/more.md = # More\\n").await.expect(200);
    gate.arrived().await;
    project.client().post(&revoke).send().await.refused(409, "job_busy");
    gate.open();
    let again = project.until(id(&job), "completed").await;
    assert_eq!(again["prLink"], job["prLink"]);
    project.client().post(&revoke).send().await.expect(200);
}

async fn a_prompt_in_a_pull_request_calls_nobody(stage: &Stage) {
    let repo = site();
    let editor = TestEditor::new("quoter", |workspace, _| {
        workspace.write("docs/new.md", "# New\n".to_owned()).unwrap();
        Ok(("Add a page for @maintainer".to_owned(), "Fixes #12, thanks @maintainer.".to_owned()))
    });
    let project = project_on(stage, &repo, editor).await;
    let prompt = "Add a page. Closes #12 <!-- hidden --> @maintainer";
    let job = ended(&project, prompt, "completed").await;
    let app = project.client();
    assert!(app.base().starts_with("http"));
    let message = repo.message(&branch(&repo));
    assert!(!message.contains("@maintainer") && !message.contains("Fixes #12"), "{message}");
    let page = page(&project, &job).await;
    assert!(!page.contains("Fixes #12"), "{page}");
}
