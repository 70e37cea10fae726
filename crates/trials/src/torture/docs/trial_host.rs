//! A code host with one repository, on which the pull request of a job lives.

use std::sync::Arc;
use std::time::Duration;

use copydesk_domain::{Ask, HostKind, Person, ProjectId, PullRequestState, Status};
use copydesk_store::Store;
use copydesk_testkit::hosts::{Access, FakeHost, Holder, Rights};
use copydesk_testkit::{GitEntry, GitRepo};

use super::seen::SeenPull;
use super::story::{Asked, BASE, MOVED, Story};

/// Who asks for something there.
const ASKER: &str = "ada";
/// The label that makes a job of an issue.
pub(super) const LABEL: &str = "docs";
/// Where the repository is on its host.
pub(super) const REPOSITORY: &str = "acme/docs";

pub(super) struct TrialHost {
    pub(super) host: Arc<FakeHost>,
    /// What a worker shows to it.
    pub(super) token: String,
    /// Whether what the pull request says may be older than what the job has done.
    pub(super) may_be_old: bool,
}

impl TrialHost {
    /// A host, and its repository, which nobody sees without the token. Its base branch may move on after the first push
    /// of a job.
    pub(super) async fn new(kind: HostKind, moves: bool) -> (Self, Arc<GitRepo>) {
        let host = Arc::new(FakeHost::start(kind).await);
        let git = tokio::task::spawn_blocking(|| GitRepo::new(BASE)).await.unwrap();
        let repo = host.add(REPOSITORY, git);
        if moves {
            move_on_after_a_push(&repo);
        }
        host.make_private(REPOSITORY);
        host.person(REPOSITORY, ASKER, Access::Write);
        let token = match kind {
            // Only administrators are told by Bitbucket who may do what.
            HostKind::Bitbucket => host.token_of(Holder::Repository, Rights::ADMIN),
            _ => host.token(Rights::ALL),
        };
        (Self { host, token, may_be_old: false }, repo)
    }

    pub(super) fn pulls(&self) -> Vec<SeenPull> {
        let pulls = self.host.pulls(REPOSITORY).into_iter();
        let url = |number| self.host.pull_url(REPOSITORY, number);
        pulls.map(|pull| SeenPull { number: pull.number, head: pull.head, url: url(pull.number) }).collect()
    }

    /// What is wrong with the pull request itself, and with how the host was spoken to.
    pub(super) fn verify(&self, story: &Story) -> Vec<String> {
        let title = self.host.kind().title();
        let mut wrong = self.host.take_violations();
        for pull in self.host.pulls(REPOSITORY) {
            if pull.state != PullRequestState::Open || pull.draft || pull.base != "main" {
                wrong.push(format!("the pull request is {:?}, draft: {}, for {}", pull.state, pull.draft, pull.base));
            }
            let forgotten = story.prompts.iter().filter(|prompt| !pull.body.contains(*prompt)).count();
            if forgotten > 0 && !self.may_be_old {
                wrong.push(format!("the pull request does not tell of {forgotten} prompts: {}", pull.body));
            }
        }
        let replies = self.replies(story);
        if story.asked != Asked::Nothing && replies != 1 {
            wrong.push(format!("{replies} replies were given instead of one"));
        }
        wrong.into_iter().map(|wrong| format!("{title}, {}: {wrong}", story.tag)).collect()
    }

    fn replies(&self, story: &Story) -> usize {
        let said = match story.asked {
            Asked::Job => self.host.issue_comments(REPOSITORY, 1),
            _ => self
                .host
                .pulls(REPOSITORY)
                .iter()
                .flat_map(|pull| self.host.comments(REPOSITORY, pull.number))
                .collect(),
        };
        said.iter().filter(|comment| copydesk_forge::text::is_reply(&comment.body)).count()
    }

    /// Opens an issue with the label, and gives what it asks for.
    pub(super) fn issue(&self, prompt: &str) -> Ask {
        let issue = self.host.issue(REPOSITORY, ASKER, prompt, "");
        self.host.label(REPOSITORY, issue, LABEL);
        let id = match self.host.kind() {
            HostKind::Gitlab => self.host.person_id(ASKER).to_string(),
            _ => ASKER.to_owned(),
        };
        Ask::Labelled { issue, by: Person { id, name: ASKER.to_owned() }, said: None }
    }

    /// Comments on the pull request as soon as the job has ended, and tells of it twice, as a server would whom the host
    /// has told.
    pub(super) fn comment_later(&self, store: Store, project: ProjectId, job: String, prompt: String) {
        let host = self.host.clone();
        tokio::spawn(async move {
            loop {
                match store.job(&project, &job.as_str().into()).await {
                    Ok(Some(job)) if job.status == Status::Completed => break,
                    Ok(Some(_)) => tokio::time::sleep(Duration::from_millis(20)).await,
                    // The world has ended.
                    _ => return,
                }
            }
            let Some(pull) = host.pulls(REPOSITORY).first().map(|pull| pull.number) else { return };
            let id = host.comment(REPOSITORY, pull, ASKER, &format!("@copydesk {prompt}"));
            for _ in 0..2 {
                let _ = store.hear(&project, vec![Ask::Comment { pull, id }]).await;
            }
        });
    }
}

/// Lets a commit of somebody else come to the base branch as soon as anything is pushed.
fn move_on_after_a_push(repo: &GitRepo) {
    repo.git(&["branch", "next", "main"]);
    let (path, text) = MOVED;
    repo.commit("next", "By somebody else", [(path.to_owned(), GitEntry::File(text.into()))]);
    let next = repo.git(&["rev-parse", "next"]);
    repo.git(&["branch", "-D", "next"]);
    repo.hook("post-receive", &format!("#!/bin/sh\ngit update-ref refs/heads/main {}\n", next.trim()));
}
