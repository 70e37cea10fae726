//! A code host with one repository, on which the pull request of a job lives.

use std::sync::Arc;

use copydesk_domain::{HostKind, PullRequestState};
use copydesk_testkit::hosts::{FakeHost, Holder, Rights};
use copydesk_testkit::{GitEntry, GitRepo};

use super::seen::SeenPull;
use super::story::{BASE, MOVED, Story};

/// Where the repository is on its host.
pub(super) const REPOSITORY: &str = "acme/docs";

pub(super) struct TrialHost {
    pub(super) host: FakeHost,
    /// What a worker shows to it.
    pub(super) token: String,
    /// Whether what the pull request says may be older than what the job has done.
    pub(super) may_be_old: bool,
}

impl TrialHost {
    /// A host, and its repository, which nobody sees without the token. Its base branch may move on after the first push
    /// of a job.
    pub(super) async fn new(kind: HostKind, moves: bool) -> (Self, Arc<GitRepo>) {
        let host = FakeHost::start(kind).await;
        let git = tokio::task::spawn_blocking(|| GitRepo::new(BASE)).await.unwrap();
        let repo = host.add(REPOSITORY, git);
        if moves {
            move_on_after_a_push(&repo);
        }
        host.make_private(REPOSITORY);
        let token = match kind {
            HostKind::Bitbucket => host.token_of(Holder::Repository, Rights::ALL),
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
        wrong.into_iter().map(|wrong| format!("{title}, {}: {wrong}", story.tag)).collect()
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
