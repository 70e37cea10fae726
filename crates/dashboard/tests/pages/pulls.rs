//! Pull requests that Copydesk keeps: looked at, merged, closed.

use std::time::Duration;

use copydesk_domain::{JobId, PullRequestState, Role};
use copydesk_store::DeedFilter;
use copydesk_testkit::{GitEntry, GitRepo, ProjectClient, TestEditor};

use crate::browser::Browser;
use crate::jobs::site;
use crate::stage::Stage;

behaviours! {
    a_pull_request_is_merged_for_real_and_once,
    a_base_that_has_moved_is_merged_into,
    a_conflict_is_said_and_changes_nothing,
    who_was_killed_after_the_push_has_merged,
    what_was_merged_by_hand_is_noticed,
    a_merge_by_hand_is_noticed_before_anything_is_added,
    what_takes_itself_back_is_not_merged,
    a_pull_request_is_closed_and_opened_again,
    nothing_is_added_to_what_is_merged,
    a_branch_that_is_checked_out_is_said,
    a_link_is_for_whoever_has_it,
    pull_requests_elsewhere_are_listed_with_their_links,
    a_follow_up_that_fails_takes_no_pull_request_away,
}

/// A project on a repository, an editor of it, and the job whose pull request is open.
struct Open {
    stage: Stage,
    repo: GitRepo,
    project: ProjectClient,
    browser: Browser,
    job: JobId,
}

const PROMPT: &str = "docs/guide.md = # Guide\\n\\n## Install\\n\\nAs usual, sign in to Acme Sky first.\\n";

async fn open(stage: Stage) -> Open {
    let stage = stage.working(TestEditor::writing()).await;
    let repo = site();
    let project = stage.project_on(&repo).await;
    let browser = stage.member(&project.id, Role::Editor).await;
    let id = project.create(PROMPT).await["id"].as_str().unwrap().to_owned();
    project.until(&id, "completed").await;
    Open { stage, repo, project, browser, job: id.as_str().into() }
}

async fn a_follow_up_that_fails_takes_no_pull_request_away(stage: Stage) {
    let it = open(stage).await;
    let project = format!("/p/{}", it.project.id);
    let job = format!("{project}/jobs/{}", it.job);
    it.project.message(&it.job, "docs/guide.md = # Guide\\n").await.expect(200);
    it.project.until(&it.job, "completed").await;
    it.browser.get(&job).await.is(200).shows("Pull request opened</strong>").shows("Pull request updated</strong>");
    it.project.message(&it.job, "src/main.rs = x").await.expect(200);
    it.project.until(&it.job, "failed").await;
    let badge = "<span class=\"badge warn\">follow-up failed</span>";
    let shown = it.browser.get(&job).await;
    shown.is(200).shows(badge).shows("Refused: ").shows("This did not close the pull request of the job.");
    shown.shows("Look at the pull request #1").shows("<span class=\"badge good\">pull request</span>");
    it.browser.get(&format!("{project}/jobs")).await.is(200).shows(badge);
    it.browser.get(&project).await.is(200).shows("A follow-up to job “Write what was said” failed");
    it.browser.get(&it.page("")).await.is(200).shows("Merge");
}

impl Open {
    fn page(&self, end: &str) -> String {
        format!("/p/{}/pulls/1{end}", self.project.id)
    }

    async fn state(&self) -> PullRequestState {
        let job = self.stage.app.store().job(&self.project.id, &self.job).await.unwrap().unwrap();
        let kept = self.stage.app.store().local_pull_of(&self.project.id, 1).await.unwrap().unwrap();
        let state = job.pull_request.unwrap().state;
        assert_eq!(kept.state, state, "both say the same");
        state
    }

    fn main(&self) -> String {
        self.repo.git(&["rev-parse", "main"]).trim().to_owned()
    }

    fn head(&self) -> String {
        self.repo.branches().into_iter().find(|branch| branch.starts_with("copydesk/")).unwrap()
    }

    fn commit(&self, path: &str, text: &str) {
        self.repo.commit("main", "Somebody else", [(path.to_owned(), GitEntry::File(text.into()))]);
    }

    fn merges(&self) -> usize {
        self.repo.git(&["rev-list", "--merges", "--count", "main"]).trim().parse().unwrap()
    }
}

async fn a_pull_request_is_merged_for_real_and_once(stage: Stage) {
    let it = open(stage).await;
    let shown = it.browser.get(&it.page("")).await;
    shown.is(200).shows("Write what was said").shows("<span class=\"badge good\">open</span>").shows("Merge into main");
    shown.shows("<del>Cloud</del><ins>Sky</ins>").shows("git merge --no-ff");
    it.browser
        .get(&format!("/p/{}/pulls", it.project.id))
        .await
        .is(200)
        .shows("/pulls/1\"")
        .shows("pull request</span>");
    let viewer = it.stage.member(&it.project.id, Role::Viewer).await;
    viewer.get(&it.page("")).await.is(200).hides("Merge into main");
    viewer.post(&it.page("/merge"), &[]).await.is(403);
    let before = it.main();
    let merged = it.browser.post_and_follow(&it.page("/merge"), &[]).await;
    merged.is(200).shows("<span class=\"badge good\">merged</span>").shows("It is part of").hides("Merge into main");
    assert!(it.repo.text("main", "docs/guide.md").unwrap().contains("Acme Sky"));
    let parents = it.repo.git(&["rev-list", "--parents", "-n", "1", "main"]);
    assert!(parents.contains(&before) && parents.contains(it.repo.git(&["rev-parse", &it.head()]).trim()), "{parents}");
    assert!(it.repo.message("main").starts_with("Merge pull request #1 from copydesk/"), "{}", it.repo.message("main"));
    it.repo.git(&["fsck", "--strict"]);
    assert_eq!(it.state().await, PullRequestState::Merged);
    let after = it.main();
    assert_eq!(it.browser.post(&it.page("/merge"), &[]).await.leads_to(), it.page(""), "again is the same");
    assert_eq!((it.main(), it.merges()), (after, 1));
    it.browser.post(&it.page("/close"), &[]).await.is(409).shows("It is already merged.");
    let deeds = it.stage.app.store().deeds(DeedFilter { limit: 100, ..DeedFilter::default() }).await.unwrap();
    let merges: Vec<_> = deeds.iter().filter(|deed| deed.action == "pull_request.merge").collect();
    let by = format!("editor-of-{}@example.com", it.project.id);
    assert_eq!((merges.len(), &merges[0].actor_name), (1, &by));
    let job = it.browser.get(&format!("/p/{}/jobs/{}", it.project.id, it.job)).await;
    job.is(200).shows("<span class=\"badge good\">merged</span>").shows("Pull request is merged");
    it.browser.get(&format!("/p/{}/pulls", it.project.id)).await.is(200).shows("None is open");
    it.browser.get(&format!("/p/{}/pulls?state=merged", it.project.id)).await.is(200).shows("/pulls/1\"");
    let told = it.project.get(it.job.as_str()).await;
    assert_eq!(told["pullRequest"]["state"], "merged");
}

async fn a_base_that_has_moved_is_merged_into(stage: Stage) {
    let it = open(stage).await;
    it.commit("docs/other.md", "# Other\n");
    it.browser.post_and_follow(&it.page("/merge"), &[]).await.is(200).shows("merged</span>");
    assert_eq!(it.repo.text("main", "docs/other.md").as_deref(), Some("# Other\n"));
    assert!(it.repo.text("main", "docs/guide.md").unwrap().contains("Acme Sky"));
    assert_eq!(it.merges(), 1);
}

async fn a_conflict_is_said_and_changes_nothing(stage: Stage) {
    let it = open(stage).await;
    it.commit("docs/guide.md", "# Guide\n\n## Install\n\nAs usual, sign in to Acme Fog first.\n");
    let before = it.main();
    let shown = it.browser.post(&it.page("/merge"), &[]).await;
    shown.is(409).shows("cannot be merged as they are").shows("<code>docs/guide.md</code>").shows("Merge into main");
    assert_eq!((it.main(), it.state().await), (before, PullRequestState::Open));
    let kept = it.stage.app.store().local_pull_of(&it.project.id, 1).await.unwrap().unwrap();
    assert_eq!(kept.merged_commit, None);
}

async fn who_was_killed_after_the_push_has_merged(stage: Stage) {
    let it = open(stage).await;
    // As far as a process comes that is killed between the push and its record.
    let tree = it.repo.git(&["rev-parse", &format!("{}^{{tree}}", it.head())]);
    let (base, head) = (it.main(), it.head());
    let author = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com"];
    let merge = ["commit-tree", tree.trim(), "-p", &base, "-p", &head, "-m", "Merge"];
    let commit = it.repo.git(&[&author[..], &merge[..]].concat()).trim().to_owned();
    let store = it.stage.app.store();
    store.begin_merge(&it.project.id, 1, &commit, false).await.unwrap();
    it.repo.git(&["update-ref", "refs/heads/main", &commit, &base]);
    it.repo.git(&["update-ref", "-d", &format!("refs/heads/{head}")]);
    assert_eq!(it.state().await, PullRequestState::Open);
    // Whoever looks at it later sees that it is merged.
    it.stage.clock.advance(Duration::from_secs(61));
    it.browser.get(&it.page("")).await.is(200);
    it.browser.post_and_follow(&it.page("/merge"), &[]).await.is(200).shows(&commit);
    assert_eq!((it.main(), it.merges(), it.state().await), (commit, 1, PullRequestState::Merged));
}

async fn what_was_merged_by_hand_is_noticed(stage: Stage) {
    let it = open(stage).await;
    it.repo.git(&["update-ref", "refs/heads/main", &format!("refs/heads/{}", it.head())]);
    it.stage.clock.advance(Duration::from_secs(61));
    it.browser.get(&it.page("")).await.is(200).shows("<span class=\"badge good\">merged</span>");
    assert_eq!(it.state().await, PullRequestState::Merged);
}

async fn a_merge_by_hand_is_noticed_before_anything_is_added(stage: Stage) {
    let it = open(stage).await;
    let head = it.head();
    // Squashed, as many do, and the branch is gone.
    it.commit("docs/other.md", "# Other\n");
    let tree = it.repo.git(&["merge-tree", "--write-tree", "main", &head]);
    let somebody = ["-c", "user.name=A", "-c", "user.email=a@example.com"];
    let commit = ["commit-tree", tree.trim(), "-p", "main", "-m", "Squashed"];
    let squashed = it.repo.git(&[&somebody[..], &commit].concat());
    it.repo.git(&["update-ref", "refs/heads/main", squashed.trim()]);
    it.repo.git(&["update-ref", "-d", &format!("refs/heads/{head}")]);
    it.project.message(it.job.as_str(), "docs/more.md = # More\\n").await.expect(409);
    assert_eq!((it.state().await, it.repo.branches()), (PullRequestState::Merged, vec!["main".to_owned()]));
}

async fn what_takes_itself_back_is_not_merged(stage: Stage) {
    let it = open(stage).await;
    let before = it.repo.text("main", "docs/guide.md").unwrap().replace('\n', "\\n");
    it.project.message(it.job.as_str(), &format!("docs/guide.md = {before}")).await.expect(200);
    it.project.until(it.job.as_str(), "completed").await;
    it.stage.clock.advance(Duration::from_secs(61));
    it.browser.get(&it.page("")).await.is(200);
    assert_eq!(it.state().await, PullRequestState::Open);
}

async fn a_pull_request_is_closed_and_opened_again(stage: Stage) {
    let it = open(stage).await;
    let closed = it.browser.post_and_follow(&it.page("/close"), &[]).await;
    closed.is(200).shows("closed</span>").shows("Open it again").hides("Merge into main");
    assert_eq!(it.state().await, PullRequestState::Closed);
    it.browser.post(&it.page("/merge"), &[]).await.is(409).shows("It is already closed.");
    let message = it.project.message(it.job.as_str(), "docs/more.md = # More\\n").await.expect(200);
    assert_eq!(message["status"], "active");
    let job = it.project.until(it.job.as_str(), "failed").await;
    assert!(job["message"].as_str().unwrap().contains("is closed; reopen it"), "{}", job["message"]);
    it.browser.post_and_follow(&it.page("/reopen"), &[]).await.is(200).shows("Merge into main");
    it.project.message(it.job.as_str(), "docs/more.md = # More\\n").await.expect(200);
    it.project.until(it.job.as_str(), "completed").await;
    it.browser.post_and_follow(&it.page("/merge"), &[]).await.is(200).shows("merged</span>");
    assert_eq!(it.repo.text("main", "docs/more.md").as_deref(), Some("# More\n"));
}

async fn nothing_is_added_to_what_is_merged(stage: Stage) {
    let it = open(stage).await;
    it.browser.post(&it.page("/merge"), &[]).await.leads_to();
    let branch = it.repo.git(&["rev-parse", &it.head()]);
    let refused = it.project.message(it.job.as_str(), "docs/more.md = # More\\n").await.expect(409);
    assert_eq!(refused["code"], "pull_request_merged");
    assert!(refused["error"].as_str().unwrap().contains("is merged, so nothing can be added"), "{}", refused["error"]);
    let job = it.project.until(it.job.as_str(), "completed").await;
    assert_eq!(job["outcome"], "pr_created", "a job that went well does not fail over it");
    assert_eq!(it.repo.git(&["rev-parse", &it.head()]), branch);
    assert_eq!(it.state().await, PullRequestState::Merged);
}

async fn a_branch_that_is_checked_out_is_said(stage: Stage) {
    let it = open(stage).await;
    it.repo.git(&["config", "core.bare", "false"]);
    let before = it.main();
    let shown = it.browser.post(&it.page("/merge"), &[]).await;
    shown.is(409).shows("has main checked out").shows("git merge --no-ff");
    assert_eq!((it.main(), it.state().await), (before, PullRequestState::Open));
}

async fn a_link_is_for_whoever_has_it(stage: Stage) {
    let it = open(stage).await;
    let job = it.stage.app.store().job(&it.project.id, &it.job).await.unwrap().unwrap();
    let link = job.pr_link.unwrap();
    let link = &link[link.find("/pull/").unwrap()..];
    let nobody = it.stage.browser();
    let shown = nobody.get(link).await;
    shown
        .is(200)
        .shows("Write what was said")
        .shows("<ins>Sky</ins>")
        .shows("git merge --no-ff")
        .hides("Merge into main");
    shown.hides("in the dashboard").hides("/p/");
    nobody.get(&format!("{link}/changes/1?view=unified")).await.is(200).shows("docs/guide.md");
    it.browser.get(link).await.is(200).shows("in the dashboard");
    it.browser.post(&it.page("/merge"), &[]).await.leads_to();
    nobody.get(link).await.is(200).shows("merged</span>").shows("It was merged");
    let odd = "/pull/abcdefghijkmnopqrstuvwxyz0123456";
    nobody.get(odd).await.is(404).shows("\"code\":\"not_found\"");
    let asked = nobody.request(reqwest::Method::GET, odd).header("accept", "text/html,*/*");
    nobody.send(asked).await.is(404).shows("There is nothing here");
}

async fn pull_requests_elsewhere_are_listed_with_their_links(stage: Stage) {
    let project = stage.project("Docs").await;
    let viewer = stage.member(&project.id, Role::Viewer).await;
    viewer.get(&format!("/p/{}/pulls", project.id)).await.is(200).shows("None is open");
    let id = JobId::from(project.job().await.as_str());
    for (url, is_shown) in [("https://example.com/acme/docs/pull/7", true), ("javascript:alert(1)", false)] {
        let pull = copydesk_domain::PullRequest {
            number: 7,
            url: url.to_owned(),
            state: PullRequestState::Open,
            draft: true,
            merged_at: None,
        };
        stage.app.store().record_pull(&id, &pull).await.unwrap();
        let shown = viewer.get(&format!("/p/{}/pulls", project.id)).await;
        assert_eq!(shown.html.contains(&format!("href=\"{url}\"")), is_shown, "{}", shown.html);
        viewer.get(&format!("/p/{}/jobs/{id}", project.id)).await.is(200).hides("href=\"javascript");
    }
    viewer.get(&format!("/p/{}/pulls/7", project.id)).await.is(404);
}
