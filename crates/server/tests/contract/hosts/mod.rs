//! Jobs whose pull requests live on a code host, from the first push to the merge.

mod asks;
mod branches;
mod told;
mod trouble;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use copydesk_domain::{HostKind, HostSettings, PullRequestState, Repository};
use copydesk_forge::HostSecret;
use copydesk_store::ProjectChange;
use copydesk_testkit::hosts::{FakeHost, Fault, Holder, Pull, Rights};
use copydesk_testkit::{Backend, GitEntry, GitRepo, ProjectClient, TestApp, TestEditor, eventually};
use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::stage::Stage;

behaviours! {
    a_job_lives_on_every_host,
    the_text_tells_of_all_rounds,
    what_people_have_written_stays,
    the_job_shows_how_its_pull_request_stands,
    a_host_tells_by_itself,
    another_repository_says_nothing_about_old_jobs,
    an_answer_that_was_lost_opens_no_second_one,
    a_host_may_tell_in_a_form,
    an_address_that_does_not_tell_its_kind_says_that_no_pull_request_is_opened,
    what_was_closed_is_not_opened_again_for_the_same,
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

fn telling() -> TestEditor {
    TestEditor::new("telling", |workspace, prompt| {
        workspace.write("docs/a.md", format!("# A\n\n{prompt}\n")).unwrap();
        Ok((format!("Say {prompt}"), format!("I said {prompt} because it was asked for.")))
    })
}

async fn the_text_tells_of_all_rounds(stage: &Stage) {
    let app = app(stage, telling()).await;
    for kind in KINDS {
        let place = Place::on(app.clone(), kind, Rights::ALL).await;
        let job = place.ended("one", "completed").await;
        place.followed(&job, "two", "completed").await;
        place.followed(&job, "three", "completed").await;
        let [pull] = place.pulls().try_into().unwrap();
        assert_eq!(pull.title, "Say one", "{kind:?}: the first round is what it is called after");
        let told =
            ["I said one", "**Follow-up 1:** Say two", "I said two", "**Follow-up 2:** Say three", "I said three"];
        let places: Vec<_> = told.iter().map(|words| pull.body.find(words)).collect();
        assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{kind:?}: {places:?} {}", pull.body);
        place.host.assert_clean();
    }
}

async fn what_people_have_written_stays(stage: &Stage) {
    let app = app(stage, telling()).await;
    for kind in KINDS {
        let place = Place::on(app.clone(), kind, Rights::ALL).await;
        let job = place.ended("one", "completed").await;
        let number = place.pulls()[0].number;
        // Only the title: the text goes on being Copydesk's.
        place.host.reword(REPOSITORY, number, Some("docs: say it"), None);
        place.followed(&job, "two", "completed").await;
        let [pull] = place.pulls().try_into().unwrap();
        assert_eq!(pull.title, "docs: say it", "{kind:?}");
        assert!(pull.body.contains("I said one") && pull.body.contains("## Files"), "{kind:?}: {}", pull.body);
        // And the text: what is new comes at its end, once each.
        place.host.reword(REPOSITORY, number, None, Some("## Why\n\nBecause we said so in the meeting."));
        place.followed(&job, "three", "completed").await;
        place.followed(&job, "four", "completed").await;
        let [pull] = place.pulls().try_into().unwrap();
        assert_eq!(pull.title, "docs: say it", "{kind:?}");
        let body = pull.body.replace("\r\n", "\n");
        let wanted = "## Why\n\nBecause we said so in the meeting.\n\n---\n\n**Follow-up 2:** Say three\n\nI said three \
                      because it was asked for.\n\n---\n\n**Follow-up 3:** Say four\n\nI said four because it was asked for.";
        assert_eq!(body.trim(), wanted, "{kind:?}");
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
            // It may be put back for a moment. Time stands still while it runs, or its lease would end.
            if place.project.event_types(&id).await.last().is_some_and(|last| last == "retrying") {
                stage.advance(Duration::from_secs(2));
            }
            let job = place.project.get(&id).await.expect(200);
            (job["status"] == "completed").then_some(job)
        })
        .await;
        assert_eq!(place.pulls().len(), 1, "{kind:?}");
        assert_eq!(job["pullRequest"]["number"], 1, "{kind:?}");
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

async fn what_was_closed_is_not_opened_again_for_the_same(stage: &Stage) {
    let app = app(stage, TestEditor::writing()).await;
    for kind in KINDS {
        let place = Place::on(app.clone(), kind, Rights::ALL).await;
        let same = "docs/a.md = # A\\n\\nTwo.\\n";
        let first = place.ended(same, "completed").await;
        // Nobody tells of it: the host is asked.
        place.host.close(REPOSITORY, 1).await;
        let second = place.ended(same, "completed").await;
        assert_eq!((&second["outcome"], &second["prLink"]), (&json!("changes_ready"), &json!(null)), "{kind:?}");
        let message = second["message"].as_str().unwrap();
        assert!(message.contains(first["prLink"].as_str().unwrap()), "{kind:?}: {message}");
        assert_eq!((place.pulls().len(), place.git.branches().len()), (1, 2), "{kind:?}");
        // In other words, the same change.
        let third = place.ended(&format!("Once more:\n{same}"), "completed").await;
        assert_eq!(third["outcome"], "changes_ready", "{kind:?}");
        // Another page, or another change for another reason, is something else.
        for other in ["docs/b.md = # B\\n\\nTwo.\\n", "docs/a.md = # A\\n\\nThree.\\n"] {
            assert_eq!(place.ended(other, "completed").await["outcome"], "pr_created", "{kind:?}");
        }
        // Whoever wants it nevertheless gets it.
        let path = place.project.job_path(second["id"].as_str().unwrap(), "/pull-request");
        let opened = place.project.client().post(&path).send().await.expect(200);
        assert_eq!(opened["outcome"], "pr_created", "{kind:?}: {opened:?}");
        let again = place.followed(&third, "docs/a.md = # A\\n\\nFour.\\n", "completed").await;
        assert_eq!(again["outcome"], "pr_created", "{kind:?}");
        place.host.assert_clean();
    }
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
