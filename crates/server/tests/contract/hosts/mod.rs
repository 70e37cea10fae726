//! Jobs whose pull requests live on a code host, from the first push to the merge.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use copydesk_domain::{HostKind, HostSettings, PullRequestState, Repository};
use copydesk_forge::HostSecret;
use copydesk_store::ProjectChange;
use copydesk_testkit::hosts::{FakeHost, Fault, Holder, Pause, Pull, Rights};
use copydesk_testkit::{Backend, GitEntry, GitRepo, ProjectClient, Setup, TestApp, TestEditor, eventually};
use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::stage::Stage;

behaviours! {
    a_job_lives_on_every_host,
    the_job_shows_how_its_pull_request_stands,
    a_host_tells_by_itself,
    a_work_branch_is_brought_up_to_date,
    a_conflict_is_resolved_once_or_said,
    commits_of_others_are_kept,
    a_branch_that_is_only_behind_is_brought_up_to_date_too,
    what_one_side_has_deleted_is_for_people,
    a_branch_that_was_taken_back_stays_there,
    nothing_is_added_to_what_is_merged_or_closed,
    nothing_is_pushed_for_what_is_merged_meanwhile,
    another_repository_says_nothing_about_old_jobs,
    an_answer_that_was_lost_opens_no_second_one,
    what_is_missing_is_one_clear_sentence_and_leaves_no_branch,
    what_is_archived_or_switched_off_is_told_before_anything_is_made,
    a_branch_without_a_pull_request_is_taken_back,
    a_branch_that_somebody_has_added_to_stays,
    a_host_that_is_being_stopped_is_tried_again_but_not_for_ever,
    a_host_that_is_away_is_waited_for,
    a_host_that_stays_away_is_given_up,
    a_host_may_be_waited_for_no_longer_than_anything_else,
    a_merge_that_deletes_the_branch_during_a_follow_up_is_final,
    commits_that_come_too_late_for_a_merge_leave_no_branch,
    a_host_may_tell_in_a_form,
    an_address_that_does_not_tell_its_kind_says_that_no_pull_request_is_opened,
}

const KINDS: [HostKind; 4] = [HostKind::Github, HostKind::Gitlab, HostKind::Forgejo, HostKind::Bitbucket];
const REPOSITORY: &str = "acme/docs";

/// A project whose repository is on a code host of its own.
struct Place {
    host: FakeHost,
    git: Arc<GitRepo>,
    app: Arc<TestApp>,
    project: ProjectClient,
}

impl Place {
    async fn new(stage: &Stage, kind: HostKind, editor: TestEditor) -> Self {
        Self::on(app(stage, editor).await, kind, Rights::ALL).await
    }

    /// One on each kind of host.
    async fn all(stage: &Stage) -> Vec<(HostKind, Self)> {
        let app = app(stage, TestEditor::writing()).await;
        join_all(KINDS.map(async |kind| (kind, Self::on(app.clone(), kind, Rights::ALL).await))).await
    }

    async fn on(app: Arc<TestApp>, kind: HostKind, rights: Rights) -> Self {
        let host = FakeHost::start(kind).await;
        let git = host.add(REPOSITORY, GitRepo::new([("docs/a.md", "# A\n\nOne.\n"), ("docs/b.md", "# B\n\nOne.\n")]));
        host.make_private(REPOSITORY);
        let holder = match kind {
            HostKind::Bitbucket => Holder::Repository,
            _ => Holder::User { login: "writer".to_owned(), email: "writer@acme.example".to_owned() },
        };
        let token = host.token_of(holder, rights);
        let settings = HostSettings { kind: Some(kind), api_url: Some(host.api_url()), ..HostSettings::default() };
        let repository = Repository::parse(&host.address(REPOSITORY), Path::new("/")).unwrap();
        let project = app.project_with(kind.as_str(), |new| (new.repository, new.host) = (repository, settings)).await;
        app.set_secret(&project.id, &HostSecret::Token { username: None, token: token.into() }).await;
        Self { host, git, app, project }
    }

    fn pulls(&self) -> Vec<Pull> {
        self.host.pulls(REPOSITORY)
    }

    /// Creates a job and waits for its end.
    async fn ended(&self, prompt: &str, status: &str) -> Value {
        let id = self.project.create(prompt).await["id"].as_str().unwrap().to_owned();
        self.project.until(&id, status).await.json().clone()
    }

    /// Sends a message to a job and waits for its end.
    async fn followed(&self, job: &Value, prompt: &str, status: &str) -> Value {
        let id = job["id"].as_str().unwrap();
        self.project.message(id, prompt).await.expect(200);
        self.project.until(id, status).await.json().clone()
    }

    /// Creates a job and waits for its end; whenever it is put back, the clock goes on by `step`.
    async fn reached(&self, prompt: &str, status: &str, stage: &Stage, step: Duration) -> Value {
        let id = self.project.create(prompt).await["id"].as_str().unwrap().to_owned();
        let job = self.until_put_back_so_often(&id, usize::MAX, stage, step).await;
        assert_eq!(job["status"], status, "{job}");
        job
    }

    /// Waits until a job has ended or was put back so often. Each time before that, the clock goes on by `step`.
    async fn until_put_back_so_often(&self, id: &str, times: usize, stage: &Stage, step: Duration) -> Value {
        let mut seen = 0;
        eventually("the job is put back or ends", async || {
            let told = self.project.event_types(id).await;
            let put_back = told.iter().filter(|kind| ["waiting", "retrying"].contains(&kind.as_str())).count();
            let job = self.project.get(id).await.expect(200).json().clone();
            if put_back >= times || job["status"] != "active" {
                return Some(job);
            }
            if put_back > seen {
                seen = put_back;
                stage.advance(step);
            }
            None
        })
        .await
    }

    fn commit(&self, branch: &str, path: &str, text: &str) {
        self.git.commit(branch, "By somebody else", [(path.to_owned(), GitEntry::File(text.into()))]);
    }
}

async fn app(stage: &Stage, editor: TestEditor) -> Arc<TestApp> {
    stage.app_with(|setup| setup.editors(2, vec![Arc::new(editor)])).await
}

fn branch(job: &Value) -> &str {
    job["branch"].as_str().unwrap()
}

async fn a_job_lives_on_every_host(stage: &Stage) {
    for (kind, place) in Place::all(stage).await {
        let job = place.ended("docs/a.md = # A\\n\\nTwo.\\n", "completed").await;
        assert_eq!(job["outcome"], "pr_created", "{kind:?}: {job}");
        let [pull] = place.pulls().try_into().unwrap();
        assert_eq!((pull.head.as_str(), pull.base.as_str()), (branch(&job), "main"), "{kind:?}");
        assert!(pull.body.contains("I wrote it."), "{kind:?}: {}", pull.body);
        let shown = &job["pullRequest"];
        assert_eq!(
            (&shown["number"], &shown["state"], &shown["draft"], &shown["mergedAt"], &shown["url"]),
            (&json!(1), &json!("open"), &json!(false), &json!(null), &job["prLink"]),
            "{kind:?}"
        );
        assert!(job["prLink"].as_str().unwrap().starts_with(place.host.url()), "{kind:?}: {job}");
        let again = place.followed(&job, "docs/b.md = # B\\n\\nTwo.\\n", "completed").await;
        assert_eq!((&again["prLink"], &again["outcome"]), (&job["prLink"], &json!("pr_created")), "{kind:?}");
        assert_eq!(place.pulls().len(), 1, "{kind:?}");
        assert_eq!(place.git.commits(branch(&job), "main").len(), 2, "{kind:?}");
        assert_eq!(place.git.branches().len(), 2, "{kind:?}");
        place.host.assert_clean();
    }
}

async fn the_job_shows_how_its_pull_request_stands(stage: &Stage) {
    for (kind, place) in Place::all(stage).await {
        let job = place.ended("docs/a.md = # A\\n\\nTwo.\\n", "completed").await;
        let id = job["id"].as_str().unwrap();
        place.host.merge(REPOSITORY, 1).await;
        let before = place.host.seen().len();
        assert_eq!(place.project.get(id).await["pullRequest"]["state"], "open", "{kind:?}: it was just asked");
        assert_eq!(place.host.seen().len(), before, "{kind:?}");
        stage.advance(Duration::from_secs(61));
        let merged = place.project.get(id).await;
        assert_eq!(merged["pullRequest"]["state"], "merged", "{kind:?}");
        assert_eq!(merged["pullRequest"]["mergedAt"].is_string(), kind != HostKind::Bitbucket, "{kind:?}");
        assert_eq!(merged["status"], "completed", "{kind:?}");
        let asked = place.host.seen().len();
        stage.advance(Duration::from_secs(61));
        place.project.get(id).await.expect(200);
        assert_eq!(place.host.seen().len(), asked, "{kind:?}: a merge is final");
        assert_eq!(place.project.event_types(id).await.last().unwrap(), "pull_request", "{kind:?}");
    }
}

async fn a_host_tells_by_itself(stage: &Stage) {
    for (kind, place) in Place::all(stage).await {
        let job = place.ended("docs/a.md = # A\\n\\nTwo.\\n", "completed").await;
        let id = job["id"].as_str().unwrap();
        let address = format!("{}/hooks/{}", place.app.client().base(), place.project.id);
        place.host.hook(REPOSITORY, &address, &place.app.hook_secret(&place.project.id).await);
        place.host.hook(REPOSITORY, &address, "another secret");
        place.host.hook(REPOSITORY, &format!("{address}-other"), &place.app.hook_secret(&place.project.id).await);
        assert_eq!(place.host.close(REPOSITORY, 1).await, [Some(202), Some(403), Some(403)], "{kind:?}");
        eventually("the job shows that it is closed", async || {
            let job = place.project.get(id).await.expect(200);
            (job["pullRequest"]["state"] == "closed").then_some(())
        })
        .await;
    }
}

async fn a_work_branch_is_brought_up_to_date(stage: &Stage) {
    let place = Place::new(stage, HostKind::Github, TestEditor::writing()).await;
    let job = place.ended("docs/a.md = # A\\n\\nTwo.\\n", "completed").await;
    place.commit("main", "docs/b.md", "# B\n\nMoved on.\n");
    let again = place.followed(&job, "docs/c.md = # C\\n", "completed").await;
    let branch = branch(&job);
    assert_eq!(again["outcome"], "pr_created", "{again}");
    assert_eq!(place.git.text(branch, "docs/b.md").unwrap(), "# B\n\nMoved on.\n");
    assert_eq!(place.git.text(branch, "docs/a.md").unwrap(), "# A\n\nTwo.\n");
    assert_eq!(place.git.text(branch, "docs/c.md").unwrap(), "# C\n");
    let changed = place.git.git(&["diff", "--name-only", &format!("main...{branch}")]);
    assert_eq!(changed, "docs/a.md\ndocs/c.md\n", "only what the job did is in the pull request");
    assert_eq!(place.git.git(&["rev-list", "--merges", "--count", branch]).trim(), "1");
    assert_eq!(place.pulls().len(), 1);
    place.git.git(&["fsck", "--strict"]);
    let diff = place.project.client().get(&place.project.job_path(job["id"].as_str().unwrap(), "/diff")).send().await;
    assert!(!diff.expect(200).text().contains("Moved on"), "what others did is not the job's");
    // Nothing has moved since: no further merge.
    place.followed(&job, "docs/d.md = # D\\n", "completed").await;
    assert_eq!(place.git.git(&["rev-list", "--merges", "--count", branch]).trim(), "1");
}

async fn a_conflict_is_resolved_once_or_said(stage: &Stage) {
    // Keeps both sides, unless it is told to leave the marks.
    let editor = TestEditor::new("resolver", |workspace, prompt| {
        let text = workspace.text("docs/a.md").unwrap();
        let is_mark = |line: &&str| ["<<<<<<<", "=======", ">>>>>>>"].iter().any(|mark| line.starts_with(mark));
        let resolved: Vec<&str> = text.lines().filter(|line| !is_mark(line)).collect();
        if prompt != "Leave it." {
            workspace.write("docs/a.md", format!("{}\n{prompt}\n", resolved.join("\n"))).unwrap();
        } else {
            workspace.write("docs/b.md", "# B\n\nElse.\n".to_owned()).unwrap();
        }
        Ok(("Add a line".to_owned(), "I added it.".to_owned()))
    });
    let place = Place::new(stage, HostKind::Gitlab, editor).await;
    let job = place.ended("Two.", "completed").await;
    place.commit("main", "docs/a.md", "# A\n\nOne.\nTheirs.\n");
    let branch = branch(&job);
    let before = place.git.git(&["rev-parse", branch]);
    let failed = place.followed(&job, "Leave it.", "failed").await;
    let message = failed["message"].as_str().unwrap();
    assert!(message.contains("docs/a.md") && message.contains("by hand"), "{message}");
    assert_eq!(place.git.git(&["rev-parse", branch]), before, "nothing went out");
    let again = place.followed(&job, "Three.", "completed").await;
    assert_eq!(again["outcome"], "pr_created", "{again}");
    assert_eq!(place.git.text(branch, "docs/a.md").unwrap(), "# A\n\nOne.\nTwo.\nTheirs.\nThree.\n");
    assert!(!place.git.git(&["log", "-p", "-m", branch]).contains("+<<<<<<<"), "the marks never went out");
    assert_eq!(place.pulls().len(), 1);
}

async fn commits_of_others_are_kept(stage: &Stage) {
    let place = Place::new(stage, HostKind::Forgejo, TestEditor::writing()).await;
    let job = place.ended("docs/a.md = # A\\n\\nTwo.\\n", "completed").await;
    place.commit(branch(&job), "docs/b.md", "# B\n\nBy hand.\n");
    place.followed(&job, "docs/c.md = # C\\n", "completed").await;
    assert_eq!(place.git.text(branch(&job), "docs/b.md").unwrap(), "# B\n\nBy hand.\n");
    assert_eq!(place.git.text(branch(&job), "docs/c.md").unwrap(), "# C\n");
    assert_eq!(place.git.commits(branch(&job), "main").len(), 3);
}

async fn a_branch_that_is_only_behind_is_brought_up_to_date_too(stage: &Stage) {
    let editor = TestEditor::new("once", |workspace, prompt| {
        if prompt == "Begin." {
            workspace.write("docs/a.md", "# A\n\nTwo.\n".to_owned()).unwrap();
            return Ok(("Say two".to_owned(), "I said two.".to_owned()));
        }
        Ok((String::new(), "There was nothing to do.".to_owned()))
    });
    let place = Place::new(stage, HostKind::Github, editor).await;
    let job = place.ended("Begin.", "completed").await;
    place.commit("main", "docs/b.md", "# B\n\nMoved on.\n");
    let again = place.followed(&job, "Bring it up to date.", "completed").await;
    assert_eq!((&again["outcome"], &again["prLink"]), (&json!("pr_created"), &job["prLink"]), "{again}");
    assert_eq!(place.git.text(branch(&job), "docs/b.md").unwrap(), "# B\n\nMoved on.\n");
    assert_eq!(place.git.git(&["rev-list", "--merges", "--count", branch(&job)]).trim(), "1");
    let pushes = place.host.pushes();
    let third = place.followed(&job, "Bring it up to date.", "completed").await;
    assert_eq!(third["outcome"], "no_changes", "there is nothing to bring: {third}");
    assert_eq!(place.host.pushes(), pushes);
}

async fn what_one_side_has_deleted_is_for_people(stage: &Stage) {
    let place = Place::new(stage, HostKind::Github, TestEditor::writing()).await;
    let job = place.ended("docs/a.md = # A\\n\\nTwo.\\n", "completed").await;
    place.git.delete("main", "docs/a.md");
    let before = place.git.git(&["rev-parse", branch(&job)]);
    let failed = place.followed(&job, "docs/c.md = # C\\n", "failed").await;
    let message = failed["message"].as_str().unwrap();
    assert!(message.contains("docs/a.md") && message.contains("deleting") && message.contains("by hand"), "{message}");
    assert_eq!(place.git.git(&["rev-parse", branch(&job)]), before, "nothing went out");
}

async fn a_branch_that_was_taken_back_stays_there(stage: &Stage) {
    let place = Place::new(stage, HostKind::Github, TestEditor::writing()).await;
    let job = place.ended("docs/a.md = # A\\n\\nTwo.\\n", "completed").await;
    let first = place.git.git(&["rev-parse", branch(&job)]);
    place.followed(&job, "docs/b.md = # B\\n\\nUnwanted.\\n", "completed").await;
    place.git.git(&["update-ref", &format!("refs/heads/{}", branch(&job)), first.trim()]);
    place.followed(&job, "docs/c.md = # C\\n", "completed").await;
    assert_eq!(place.git.text(branch(&job), "docs/b.md").unwrap(), "# B\n\nOne.\n", "it was taken back by a person");
    assert_eq!(place.git.text(branch(&job), "docs/c.md").unwrap(), "# C\n");
}

async fn nothing_is_pushed_for_what_is_merged_meanwhile(stage: &Stage) {
    let (editor, mut gate) = TestEditor::writing().gated();
    let place = Place::new(stage, HostKind::Gitlab, editor).await;
    gate.open();
    let job = place.ended("docs/a.md = # A\\n\\nTwo.\\n", "completed").await;
    gate.arrived().await;
    let id = job["id"].as_str().unwrap();
    place.project.message(id, "docs/b.md = # B\\n\\nTwo.\\n").await.expect(200);
    gate.arrived().await;
    place.host.merge(REPOSITORY, 1).await;
    place.git.git(&["update-ref", "-d", &format!("refs/heads/{}", branch(&job))]);
    let pushes = place.host.pushes();
    gate.open();
    let failed = place.project.until(id, "failed").await;
    assert!(failed["message"].as_str().unwrap().contains("merged"), "{:?}", failed.json());
    assert_eq!((place.host.pushes(), place.pulls().len()), (pushes, 1));
    assert_eq!(place.git.branches(), ["main"], "no branch that nobody looks at");
}

async fn another_repository_says_nothing_about_old_jobs(stage: &Stage) {
    let place = Place::new(stage, HostKind::Github, TestEditor::writing()).await;
    let job = place.ended("docs/a.md = # A\\n\\nTwo.\\n", "completed").await;
    place.host.add("acme/other", GitRepo::new([("docs/a.md", "# A\n")]));
    let repository = Repository::parse(&place.host.address("acme/other"), Path::new("/")).unwrap();
    let change = ProjectChange { repository: Some(repository), ..ProjectChange::default() };
    place.app.store().update_project(&place.project.id, change).await.unwrap().unwrap();
    stage.advance(Duration::from_secs(61));
    let seen = place.host.seen().len();
    let shown = place.project.get(job["id"].as_str().unwrap()).await.expect(200);
    assert_eq!((&shown["prLink"], &shown["pullRequest"]), (&job["prLink"], &job["pullRequest"]));
    assert_eq!(place.host.seen().len(), seen, "nobody was asked");
}

async fn nothing_is_added_to_what_is_merged_or_closed(stage: &Stage) {
    for (kind, place) in Place::all(stage).await {
        let merged = place.ended("docs/a.md = # A\\n\\nTwo.\\n", "completed").await;
        let closed = place.ended("docs/b.md = # B\\n\\nTwo.\\n", "completed").await;
        place.host.merge(REPOSITORY, 1).await;
        place.host.close(REPOSITORY, 2).await;
        let pushes = place.host.pushes();
        for (job, word) in [(&merged, "merged"), (&closed, "closed")] {
            let failed = place.followed(job, "docs/c.md = # C\\n", "failed").await;
            let message = failed["message"].as_str().unwrap();
            assert!(message.contains(word) && message.contains("create a new job"), "{kind:?}: {message}");
            assert_eq!(failed["pullRequest"]["state"], word, "{kind:?}");
        }
        assert_eq!((place.pulls().len(), place.host.pushes()), (2, pushes), "{kind:?}");
    }
}

async fn an_answer_that_was_lost_opens_no_second_one(stage: &Stage) {
    for (kind, place) in Place::all(stage).await {
        let path = match kind {
            HostKind::Gitlab => "/merge_requests",
            HostKind::Bitbucket => "/pullrequests",
            _ => "/pulls",
        };
        place.host.fail(1, "POST", path, Fault::LoseAnswer);
        let id = place.project.create("docs/a.md = # A\\n\\nTwo.\\n").await["id"].as_str().unwrap().to_owned();
        let job = eventually("the job is completed", async || {
            // It may be put back for a moment.
            stage.advance(Duration::from_secs(2));
            let job = place.project.get(&id).await.expect(200);
            (job["status"] == "completed").then_some(job)
        })
        .await;
        assert_eq!(place.pulls().len(), 1, "{kind:?}");
        assert_eq!(job["pullRequest"]["number"], 1, "{kind:?}");
    }
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

async fn a_branch_without_a_pull_request_is_taken_back(stage: &Stage) {
    for (kind, place) in Place::all(stage).await {
        let path = match kind {
            HostKind::Gitlab => "/merge_requests",
            HostKind::Bitbucket => "/pullrequests",
            _ => "/pulls",
        };
        // Nothing said so before.
        place.host.fail(1, "POST", path, Fault::Status(403));
        let failed = place.ended("docs/a.md = # A\\n\\nTwo.\\n", "failed").await;
        assert_eq!(place.git.branches(), ["main"], "{kind:?}: {failed}");
        assert_eq!((&failed["branch"], &failed["prLink"]), (&json!(null), &json!(null)), "{kind:?}: {failed}");
        assert_eq!(place.host.pushes(), 2, "{kind:?}: there and back");
        // What was made is not lost.
        let again = place.followed(&failed, "docs/b.md = # B\\n\\nTwo.\\n", "completed").await;
        assert_eq!(again["outcome"], "pr_created", "{kind:?}: {again}");
        assert_eq!(place.git.text(branch(&again), "docs/a.md").unwrap(), "# A\n\nTwo.\n", "{kind:?}");
        assert_eq!(place.git.branches().len(), 2, "{kind:?}");
    }
}

async fn a_branch_that_somebody_has_added_to_stays(stage: &Stage) {
    let place = Place::new(stage, HostKind::Github, TestEditor::writing()).await;
    place.host.fail(1, "POST", "/pulls", Fault::Status(403));
    // The look for a pull request, before one is opened: the branch is there by then.
    let mut hold = place.host.hold_path("GET", "/pulls?", Pause::Before);
    let id = place.project.create("docs/a.md = # A\\n\\nTwo.\\n").await["id"].as_str().unwrap().to_owned();
    hold.arrived().await;
    let branch = place.git.branches().into_iter().find(|branch| branch != "main").unwrap();
    place.commit(&branch, "docs/b.md", "# B\n\nBy hand.\n");
    hold.go_on().await;
    let failed = place.project.until(&id, "failed").await;
    assert_eq!(place.git.text(&branch, "docs/b.md").unwrap(), "# B\n\nBy hand.\n", "{:?}", failed.json());
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
    assert!(message.contains("given up after 3 tries") && message.contains("Internal Server Connection"), "{message}");
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
    assert!(message.starts_with("The code host was waited for, for ") && message.contains(" in vain."), "{message}");
    assert_eq!(job["outcome"], "error");
    place.host.recover();
}

async fn a_host_may_be_waited_for_no_longer_than_anything_else(stage: &Stage) {
    let editors = |setup: Setup| setup.editors(2, vec![Arc::new(TestEditor::writing())]);
    let app = stage.app_with(|setup| editors(setup).terms(|terms| terms.host_wait = Duration::ZERO)).await;
    let place = Place::on(app, HostKind::Github, Rights::ALL).await;
    place.host.fail(usize::MAX, "*", "", Fault::Status(503));
    let job = place.reached("docs/a.md = # A\\n\\nTwo.\\n", "failed", stage, Duration::from_secs(5)).await;
    assert!(job["message"].as_str().unwrap().contains("given up after 3 tries"), "{job}");
    place.host.recover();
}

async fn a_merge_that_deletes_the_branch_during_a_follow_up_is_final(stage: &Stage) {
    for kind in KINDS {
        let place = Place::new(stage, kind, TestEditor::writing()).await;
        let job = place.ended("docs/a.md = # A\\n\\nTwo.\\n", "completed").await;
        let id = job["id"].as_str().unwrap();
        // The push itself: how the pull request stands was asked just before.
        let mut push = place.host.hold_path("GET", "service=git-receive-pack", Pause::Before);
        place.project.message(id, "docs/b.md = # B\\n\\nTwo.\\n").await.expect(200);
        push.arrived().await;
        place.host.merge(REPOSITORY, 1).await;
        place.git.git(&["update-ref", "-d", &format!("refs/heads/{}", branch(&job))]);
        push.go_on().await;
        let failed = place.project.until(id, "failed").await;
        assert!(failed["message"].as_str().unwrap().contains("is merged"), "{kind:?}: {:?}", failed.json());
        assert_eq!(place.git.branches(), ["main"], "{kind:?}: a branch that was deleted stays so");
    }
}

async fn commits_that_come_too_late_for_a_merge_leave_no_branch(stage: &Stage) {
    for kind in KINDS {
        let place = Place::new(stage, kind, TestEditor::writing()).await;
        let job = place.ended("docs/a.md = # A\\n\\nTwo.\\n", "completed").await;
        let id = job["id"].as_str().unwrap();
        // Git has seen where the branch is; the merge comes before its commits.
        let mut push = place.host.hold_path("POST", "/git-receive-pack", Pause::Before);
        place.project.message(id, "docs/b.md = # B\\n\\nTwo.\\n").await.expect(200);
        push.arrived().await;
        place.host.merge(REPOSITORY, 1).await;
        push.go_on().await;
        let failed = place.project.until(id, "failed").await;
        assert!(failed["message"].as_str().unwrap().contains("is merged"), "{kind:?}: {:?}", failed.json());
        assert_eq!(place.git.branches(), ["main"], "{kind:?}");
        assert_eq!(place.git.text("main", "docs/b.md").unwrap(), "# B\n\nOne.\n", "{kind:?}: it came too late");
    }
}

async fn a_host_may_tell_in_a_form(stage: &Stage) {
    for kind in [HostKind::Github, HostKind::Forgejo] {
        let place = Place::new(stage, kind, TestEditor::writing()).await;
        let job = place.ended("docs/a.md = # A\\n\\nTwo.\\n", "completed").await;
        let address = format!("{}/hooks/{}", place.app.client().base(), place.project.id);
        let secret = place.app.hook_secret(&place.project.id).await;
        place.host.close(REPOSITORY, 1).await;
        let delivery = place.host.delivery(REPOSITORY, 1, &secret);
        let signs_form = (kind == HostKind::Github).then_some(secret.as_str());
        assert_eq!(delivery.clone().as_form(signs_form).send(&address).await, Some(202), "{kind:?}");
        eventually("the job shows that it is closed", async || {
            let job = place.project.get(job["id"].as_str().unwrap()).await.expect(200);
            (job["pullRequest"]["state"] == "closed").then_some(())
        })
        .await;
        let wrong = place.host.delivery(REPOSITORY, 1, "another secret").as_form(signs_form.map(|_| "another secret"));
        assert_eq!(wrong.send(&address).await, Some(403), "{kind:?}");
        let mut other = delivery.as_form(signs_form);
        other.body.push_str("&payload=%7B%7D");
        let answer = other.send(&address).await;
        assert_eq!(answer, Some(if signs_form.is_some() { 403 } else { 202 }), "{kind:?}: only the first field counts");
    }
}

async fn an_address_that_does_not_tell_its_kind_says_that_no_pull_request_is_opened(stage: &Stage) {
    let place = Place::new(stage, HostKind::Forgejo, TestEditor::writing()).await;
    let change = ProjectChange { host: Some(HostSettings::default()), ..ProjectChange::default() };
    place.app.store().update_project(&place.project.id, change).await.unwrap().unwrap();
    let job = place.ended("docs/a.md = # A\\n\\nTwo.\\n", "completed").await;
    let message = job["message"].as_str().unwrap();
    assert!(message.contains("No pull request was opened") && message.contains("`--host`"), "{message}");
    assert!(place.pulls().is_empty());
}

/// Not a behaviour of the database: one is enough.
#[test]
fn a_hundred_jobs_on_one_repository_share_their_fetches() {
    crate::stage::run(Backend::Sqlite, 4, async |stage: &Stage| {
        let app = stage.app_with(|setup| setup.editors(100, vec![Arc::new(TestEditor::writing())])).await;
        let place = Place::on(app, HostKind::Github, Rights::ALL).await;
        let prompts: Vec<String> = (0..100).map(|at| format!("docs/{at}.md = # {at}\\n")).collect();
        let jobs = join_all(prompts.iter().map(|prompt| place.project.create(prompt))).await;
        for job in &jobs {
            let job = place.project.until(job["id"].as_str().unwrap(), "completed").await;
            assert_eq!(job["outcome"], "pr_created");
        }
        let pulls = place.pulls();
        let mut heads: Vec<&str> = pulls.iter().map(|pull| pull.head.as_str()).collect();
        heads.sort_unstable();
        heads.dedup();
        assert_eq!((pulls.len(), heads.len()), (100, 100));
        assert!(pulls.iter().all(|pull| pull.state == PullRequestState::Open));
        assert_eq!(place.host.pushes(), 100);
        let fetches = place.host.fetches();
        // A fetch asks twice: for the branches, and for what is new.
        assert!(fetches <= 40, "{fetches} requests to fetch for 100 jobs that start from the same commit");
    });
}
