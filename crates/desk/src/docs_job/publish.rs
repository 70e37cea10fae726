//! From a commit in the mirror to an open pull request. Also for a job that has ended without one.

use std::time::Duration;

use copydesk_boxed::boxed;
use copydesk_domain::{Ask, Job, JobId, Project, PullRequest, PullRequestState, Status, TRACE_TARGET};
use copydesk_forge::{
    CodeHost, CommitId, Connection, FileSummary, ForgeErrorKind, Mirror, NewPullRequest, PullWords, text,
};
use copydesk_store::{Edit, LeaseError, Permit, Publishing, Round, Step, Store, StoreError, Verdict};
use tracing::Instrument;

use super::failure::{aside, commit_id};
use super::furnish::furnish;
use super::local_host::LocalHost;
use super::refresh::{standing, still_open};
use super::round::{is_own, restore};
use super::{Bench, Workshop, review};
use crate::runner::{Failure, as_sentence};

/// How long somebody who opens the pull request of an ended job may take before another may try.
const TIME: Duration = Duration::from_secs(120);
/// After this long it is given up, well before that.
const GIVE_UP: Duration = Duration::from_secs(90);

/// Why the pull request of a job that has ended was not opened.
#[derive(Debug)]
pub enum NotPublished {
    NotFound,
    /// The job stands so; only a completed one can be opened.
    NotCompleted(Status),
    NothingChanged,
    /// Somebody else is about to open it.
    Busy,
    /// Somebody has archived the job or sent it a message meanwhile.
    Overtaken,
    /// It may work later; why, as one sentence.
    NotNow(String),
    /// It will not work until somebody changes something; why, as one sentence.
    Failed(String),
    /// This process opens no pull requests.
    NotHere,
    Store(StoreError),
    /// The work on it ended unexpectedly.
    Broken(String),
}

impl From<StoreError> for NotPublished {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<LeaseError> for NotPublished {
    fn from(error: LeaseError) -> Self {
        match error {
            LeaseError::Lost(_) => Self::Overtaken,
            LeaseError::Store(error) => Self::Store(error),
        }
    }
}

impl From<Failure> for NotPublished {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Retry(why) | Failure::Away(why) => Self::NotNow(as_sentence(&why)),
            Failure::Fatal(why) | Failure::Refused(why) => Self::Failed(as_sentence(&why)),
            Failure::Lost(_) => Self::Overtaken,
        }
    }
}

impl Bench<'_> {
    /// Pushes the last round and opens the pull request; gives its link.
    pub(super) async fn open(&self, rounds: &[Round]) -> Result<String, Failure> {
        let permit = Permit::Lease(self.task.lease().clone());
        let publication = Publication {
            workshop: self.workshop,
            store: self.task.store(),
            project: self.project,
            job: self.task.job,
            // Anew: what was shown to the host when the job began may have run out while the editor worked.
            mirror: &self.workshop.mirror(self.connection).await?,
            connection: self.connection,
            host: self.host,
            permit: &permit,
        };
        let prompts: Vec<&str> = self.task.messages.iter().map(|message| message.prompt.as_str()).collect();
        let pull = publication.publish(rounds, &prompts).await?;
        let link = pull.url.clone();
        self.task.advance(Step::Opened { pull }, Vec::new()).await?;
        Ok(link)
    }
}

/// Opens the pull request of a job that has ended without one. Again gives the same.
#[boxed]
pub async fn publish(
    workshop: &Workshop,
    store: &Store,
    project: &Project,
    job_id: &JobId,
) -> Result<Job, NotPublished> {
    let begun = store.begin_publishing(&project.id, job_id, TIME).await?;
    let (permit, job) = match begun.ok_or(NotPublished::NotFound)? {
        Publishing::Begun(permit, job) => (permit, job),
        Publishing::Done(job) => return Ok(*job),
        Publishing::NotCompleted(status) => return Err(NotPublished::NotCompleted(status)),
        Publishing::NothingChanged => return Err(NotPublished::NothingChanged),
        Publishing::Busy => return Err(NotPublished::Busy),
    };
    let opened = tokio::time::timeout(GIVE_UP, open_ended(workshop, store, project, &job, &permit)).await;
    let opened = opened.unwrap_or_else(|_| Err(Failure::Retry("the code host took too long".to_owned())));
    let pull = opened.as_ref().ok().cloned();
    let job = store.end_publishing(&permit, pull).await?;
    opened?;
    Ok(job)
}

async fn open_ended(
    workshop: &Workshop,
    store: &Store,
    project: &Project,
    job: &Job,
    permit: &Permit,
) -> Result<PullRequest, Failure> {
    let connection = workshop.connect(project).await?;
    let mirror = &workshop.mirror(&connection).await?;
    let (host, connection) = (connection.code_host(), &connection);
    let publication = Publication { workshop, store, project, job, mirror, connection, host: host.as_deref(), permit };
    let rounds = store.rounds(&job.id).await?;
    let messages = store.messages(&job.id).await?;
    let prompts: Vec<&str> = messages.iter().map(|message| message.prompt.as_str()).collect();
    publication.publish(&rounds, &prompts).await
}

/// A commit on its way out, with a permit.
struct Publication<'a> {
    workshop: &'a Workshop,
    store: &'a Store,
    project: &'a Project,
    job: &'a Job,
    mirror: &'a Mirror,
    connection: &'a Connection,
    /// Where pull requests live; none: Copydesk keeps them itself.
    host: Option<&'a dyn CodeHost>,
    permit: &'a Permit,
}

impl Publication<'_> {
    /// Brings the last commit to the code host and opens the pull request, or leaves no branch behind.
    async fn publish(&self, rounds: &[Round], prompts: &[&str]) -> Result<PullRequest, Failure> {
        let is_first = self.job.pull_request.is_none() && self.job.pr_link.is_none();
        let (last, _) = self.last(rounds)?;
        // What can be known of the second step before the first is taken: a branch that nothing comes of is of no use.
        let checked = if is_first { self.connection.check().await.map_err(Failure::from) } else { Ok(()) };
        let opened = match checked {
            Ok(()) => self.push_and_open(rounds, prompts).await,
            Err(failure) => Err(failure),
        };
        if matches!(opened, Err(Failure::Fatal(_))) {
            // What may be out there: pushed now, or by whoever was killed before it could say so.
            let made = self.store.rounds(&self.job.id).await?;
            let made =
                made.iter().rev().find(|round| round.number == last.number).and_then(|round| round.commit.clone());
            let made = made.map(|commit| commit_id(&commit)).transpose()?;
            match made {
                Some(commit) if is_first => self.take_back(rounds, &commit).await?,
                Some(commit) if last.run == self.job.run => self.take_back_from_merged(rounds, &commit).await?,
                _ => {}
            }
        }
        opened
    }

    async fn push_and_open(&self, rounds: &[Round], prompts: &[&str]) -> Result<PullRequest, Failure> {
        let commit = self.push(rounds).await?;
        let span = tracing::info_span!(target: TRACE_TARGET, "pull request");
        self.open(rounds, commit, prompts).instrument(span).await
    }

    /// Deletes the branch of a pull request that was merged while commits were on their way to it: they came too late, and
    /// are why the host has not deleted it along with the merge. One that is part of the merge, squashed or not, or
    /// somebody else's, stays.
    async fn take_back_from_merged(&self, rounds: &[Round], commit: &CommitId) -> Result<(), Failure> {
        let (last, branch) = self.last(rounds)?;
        let pull = standing(self.host, self.store, self.project, self.job).await?;
        if pull.is_none_or(|pull| pull.state != PullRequestState::Merged) {
            return Ok(());
        }
        let base = self.mirror.fetch(&self.job.base_ref).await?;
        if self.mirror.find_branch(branch).await? != Some(*commit) {
            return Ok(());
        }
        let is_merged = match self.mirror.has_changes_of(&base, commit).await? {
            Some(is_merged) => is_merged,
            // Changed again at the same place, by the late commit or by somebody after the merge. What the commit was
            // made on tells: after more changes that is not there as it was either.
            None => self.mirror.has_changes_of(&base, &commit_id(came_from(last))?).await? != Some(true),
        };
        if is_merged { Ok(()) } else { self.delete(rounds, commit, last.number).await }
    }

    /// Deletes the branch that this job has pushed and that no pull request was opened from, if it is still as it was
    /// pushed. Done again after a crash in between, it is done once.
    async fn take_back(&self, rounds: &[Round], commit: &CommitId) -> Result<(), Failure> {
        let (Some(host), (last, branch)) = (self.host, self.last(rounds)?) else { return Ok(()) };
        match host.find(branch).await {
            Ok(None) => self.delete(rounds, commit, 1).await,
            // Somebody has opened one by hand.
            Ok(Some(_)) => Ok(()),
            Err(error) if error.may_pass() => Err(error.into()),
            // There is none yet: the branch went out a moment ago, or not at all.
            Err(_) if !last.pushed => self.delete(rounds, commit, 1).await,
            Err(error) => {
                let job = self.job.id.as_str();
                tracing::info!(job, %error, "a branch stays: it cannot be told whether a pull request was opened from it");
                Ok(())
            }
        }
    }

    /// Deletes the branch if it is at that commit, and records that nothing of `from` and later rounds is out there.
    async fn delete(&self, rounds: &[Round], commit: &CommitId, from: u32) -> Result<(), Failure> {
        let (_, branch) = self.last(rounds)?;
        let is_recorded =
            self.store.rounds(&self.job.id).await?.iter().any(|round| round.pushed && round.number >= from);
        let tip = self.mirror.find_branch(branch).await?;
        if tip.is_none() && !is_recorded {
            return Ok(());
        }
        self.check_permit().await?;
        match self.mirror.delete_branch(branch, commit).await {
            Ok(()) => {}
            // A branch that somebody else has added to is theirs; one that may not be deleted stays.
            Err(error) if !error.may_pass() => {
                tracing::info!(job = self.job.id.as_str(), %error, "the branch of a job without a pull request stays");
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        }
        match self.permit {
            Permit::Lease(lease) => self.store.advance(lease, Some(Step::TakenBack { from }), Vec::new()).await?,
            Permit::Publisher { .. } => self.store.record_taken_back(self.permit).await?,
        }
        Ok(())
    }

    /// Brings the last commit of the job to the code host, unless it is there.
    async fn push(&self, rounds: &[Round]) -> Result<CommitId, Failure> {
        let (round, branch) = self.last(rounds)?;
        // Also for a commit that is pushed: the text of the pull request is made from it.
        let commit = restore(self.mirror, self.job, rounds, round).await?;
        if round.pushed {
            return Ok(commit);
        }
        if round.commit.as_deref() != Some(&commit.to_string()) {
            self.store.record_remade(self.permit, round.number, &commit.to_string()).await?;
        }
        let is_first = rounds.iter().filter(|one| one.number < round.number).all(|one| !one.pushed);
        let expect = (!is_first).then(|| commit_id(came_from(round))).transpose()?;
        // What is merged or closed gets no more commits, which nobody would look at.
        still_open(self.host, self.store, self.project, self.job).await?;
        self.check_permit().await?;
        match self.mirror.push(&commit, branch, expect.as_ref()).await {
            Ok(()) => {}
            Err(error) if error.kind == ForgeErrorKind::Moved => self.push_over(rounds, &commit, branch).await?,
            Err(error) => return Err(error.into()),
        }
        self.record_pushed(round.number).await?;
        Ok(commit)
    }

    /// The branch is not where it should be. If what is there is this job's own, from a push that was not recorded, it is
    /// made to be where it should; what somebody else has left is not touched. One that is gone was deleted by somebody,
    /// mostly along with a merge, and is not made again where a pull request tells of that.
    async fn push_over(&self, rounds: &[Round], commit: &CommitId, branch: &str) -> Result<(), Failure> {
        let moved = || {
            Failure::Fatal(format!(
                "Somebody else has pushed to {branch} while the job was running; send a message to go on from there."
            ))
        };
        let tip = self.mirror.find_branch(branch).await?;
        // That took a while.
        self.check_permit().await?;
        let Some(tip) = tip else {
            if still_open(self.host, self.store, self.project, self.job).await?.is_some() {
                return Err(Failure::Fatal(format!(
                    "The branch {branch} was deleted while the job was running; restore it and send the message again, or \
                     create a new job."
                )));
            }
            return Ok(self.mirror.push(commit, branch, None).await?);
        };
        if tip == *commit {
            return Ok(());
        }
        if is_own(rounds, &tip) {
            return Ok(self.mirror.push(commit, branch, Some(&tip)).await?);
        }
        let (there, ours) = (self.mirror.commit_info(&tip)?, self.mirror.commit_info(commit)?);
        let trailer = format!("Copydesk-Job: {}", self.job.id);
        let same = there.parents == ours.parents && there.tree == ours.tree;
        if !same || !there.message.contains(&trailer) {
            return Err(moved());
        }
        Ok(self.mirror.push(commit, branch, Some(&tip)).await?)
    }

    /// Opens the pull request, or brings the one that is there up to date.
    async fn open(&self, rounds: &[Round], commit: CommitId, prompts: &[&str]) -> Result<PullRequest, Failure> {
        let (round, branch) = self.last(rounds)?;
        // All that is in the pull request: the first of its rounds names it, the others add to it.
        let on_branch = |one: &&Round| one.is_kept() && one.branch.as_deref() == Some(branch);
        let edits: Vec<&Edit> = rounds.iter().filter(on_branch).filter_map(|one| one.edit.as_ref()).collect();
        let (Some(first), Some(edit)) = (edits.first(), round.edit.as_ref()) else { return Err(nothing()) };
        let (template, files) = self.surroundings(round, commit).await?;
        let lines = review::lines(edit);
        let link = format!("{}/v2/agent/{}/job/{}", self.workshop.public_url, self.project.id, self.job.id);
        let follow_ups: Vec<text::FollowUp<'_>> =
            edits.iter().enumerate().skip(1).map(|(number, edit)| follow_up(number, edit)).collect();
        let changes = self.job.changes.as_ref().map(ToString::to_string);
        let input = text::PullRequestText {
            summary: &first.summary,
            follow_ups: &follow_ups,
            not_done: &edit.not_done,
            files: &files,
            checks: text::CheckLines {
                new: &lines.new,
                repaired: &lines.repaired,
                passed: &lines.passed,
                not_judged: &lines.not_judged,
            },
            job_link: Some(&link),
            job_id: &self.job.id,
            issue: self.issue().await?,
            prompts,
            changes: changes.as_deref(),
            template: template.as_deref(),
            is_draft_for_findings: edit.verdict == Verdict::Draft && !lines.new.is_empty(),
        };
        let mut new = NewPullRequest {
            head: branch.to_owned(),
            base: self.job.base_ref.clone(),
            title: text::pull_title(&first.title),
            body: text::body(&input),
            draft: self.job.draft || edit.verdict == Verdict::Draft,
        };
        self.check_permit().await?;
        let local = LocalHost {
            store: self.store,
            project_id: &self.project.id,
            public_url: &self.workshop.public_url,
            permit: self.permit,
        };
        let host = self.host.unwrap_or(&local);
        let there = match still_open(self.host, self.store, self.project, self.job).await? {
            Some(known) => Some(known),
            None => host.find(branch).await?,
        };
        let Some(there) = there else {
            // Before it is said, so that it is known whatever comes between. Also asks whether the permit still stands.
            self.record_words(&new).await?;
            let opened = host.open(&new).await?;
            self.record_told(edits.len()).await?;
            self.furnish(&opened).await?;
            return Ok(opened);
        };
        // Opened by a process that was killed before it could say so, and looked at by somebody since.
        if there.state != PullRequestState::Open {
            return Ok(there);
        }
        // Who has marked it as ready meanwhile was right, unless there are new findings; who has made a draft of it, too.
        let was_ours =
            edits.iter().rev().nth(1).is_some_and(|before| before.verdict == Verdict::Draft) && !self.job.draft;
        new.draft = edit.verdict == Verdict::Draft || there.draft && !was_ours;
        if let Some(theirs) = host.words(there.number).await? {
            self.keep_words(theirs, &edits, &mut new, &input).await?;
        }
        let updated = host.update(there.number, &new).await?;
        self.record_told(edits.len()).await?;
        // Opened by a process that was killed before it could do that. One that was recorded as open is long furnished.
        if self.job.pr_link.is_none() {
            self.furnish(&updated).await?;
        }
        Ok(updated)
    }

    /// What a person has written in the pull request stays; what is new is added at the end of their text.
    async fn keep_words(
        &self,
        theirs: PullWords,
        edits: &[&Edit],
        new: &mut NewPullRequest,
        input: &text::PullRequestText<'_>,
    ) -> Result<(), Failure> {
        let known = self.store.words(&self.job.id).await?;
        let is_known = |words: &str| known.contains(&text::digest(words));
        // Nothing was noted before there were notes: what looks like ours is.
        let titles = || edits.iter().any(|edit| text::title(&edit.title) == theirs.title.trim());
        let is_own_title = is_known(&theirs.title) || known.is_empty() && titles();
        let is_own_body = is_known(&theirs.body) || known.is_empty() && text::is_ours(&theirs.body);
        self.record_words(new).await?;
        if !is_own_title {
            new.title = theirs.title;
        }
        if !is_own_body {
            // What was told before and is gone was taken out by them.
            let is_new = |it: &&text::FollowUp<'_>| !known.contains(&told(it.number));
            let follow_ups: Vec<_> = input.follow_ups.iter().filter(is_new).cloned().collect();
            let input = text::PullRequestText { follow_ups: &follow_ups, ..input.clone() };
            new.body = text::with_additions(&theirs.body, &input);
        }
        Ok(())
    }

    async fn furnish(&self, pull: &PullRequest) -> Result<(), Failure> {
        furnish(self.store, self.project, self.job, self.connection, self.permit, pull.number).await
    }

    /// The issue that the job was made of.
    async fn issue(&self) -> Result<Option<u64>, Failure> {
        let asked = self.store.ask_of_job(&self.job.id).await?;
        Ok(asked.and_then(|asked| match asked.ask {
            Ask::Labelled { issue, .. } => Some(issue),
            _ => None,
        }))
    }

    /// Notes that so many rounds were told of.
    async fn record_told(&self, rounds: usize) -> Result<(), Failure> {
        let told: Vec<String> = (1..rounds).map(told).collect();
        if told.is_empty() { Ok(()) } else { Ok(self.store.record_words(self.permit, told).await?) }
    }

    async fn record_words(&self, new: &NewPullRequest) -> Result<(), Failure> {
        let digests = vec![text::digest(&new.title), text::digest(&new.body)];
        Ok(self.store.record_words(self.permit, digests).await?)
    }

    /// The repository's template for pull requests, and the files that differ from the base.
    async fn surroundings(
        &self,
        round: &Round,
        commit: CommitId,
    ) -> Result<(Option<String>, Vec<FileSummary>), Failure> {
        let (mirror, base) = (self.mirror.clone(), commit_id(&round.base_commit)?);
        aside(move || {
            let template = text::find_template(&*mirror.tree(&base)?)?;
            Ok((template, mirror.diff(&base, &commit)?.files))
        })
        .await
    }

    /// The last round with a commit, and its branch.
    fn last<'r>(&self, rounds: &'r [Round]) -> Result<(&'r Round, &'r str), Failure> {
        let last = rounds.iter().rev().find(|round| round.is_kept()).ok_or_else(nothing)?;
        Ok((last, last.branch.as_deref().ok_or_else(nothing)?))
    }

    /// Asks once more whether the job is to go on, before an act outside.
    async fn check_permit(&self) -> Result<(), Failure> {
        match self.permit {
            Permit::Lease(lease) => self.store.check_lease(lease).await?,
            Permit::Publisher { .. } => self.store.check_permit(self.permit).await?,
        }
        Ok(())
    }

    async fn record_pushed(&self, round: u32) -> Result<(), Failure> {
        match self.permit {
            Permit::Lease(lease) => self.store.advance(lease, Some(Step::Pushed { round }), Vec::new()).await?,
            Permit::Publisher { .. } => self.store.record_published(self.permit, round).await?,
        }
        Ok(())
    }
}

/// Where the branch was before the round. A merge with the base branch goes out along with it.
fn came_from(round: &Round) -> &str {
    round.merged.as_ref().map_or(&round.parent_commit, |merged| &merged.from)
}

fn follow_up(number: usize, edit: &Edit) -> text::FollowUp<'_> {
    text::FollowUp { number, title: &edit.title, summary: &edit.summary }
}

/// What is noted, beside digests, when a follow-up was told of.
fn told(number: usize) -> String {
    format!("follow-up {number}")
}

fn nothing() -> Failure {
    Failure::Fatal("The job has no commit to open a pull request from.".to_owned())
}
