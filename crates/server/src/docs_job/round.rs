//! A round: where it starts from, the work of the editor, and what is kept of it.

use std::sync::Arc;

use copydesk_agent::{Assignment, EditFailure, Edited, Editor};
use copydesk_checks::Scope;
use copydesk_domain::Job;
use copydesk_forge::{CommitId, FileChange, Workspace, branch_name, commit_message};
use copydesk_store::{Edit, Round, Step, Verdict};

use super::notebook::JobNotebook;
use super::{Bench, changes, review};
use crate::runner::Failure;

impl Bench<'_> {
    /// All rounds of the job, of which the last is edited and has taken in what there was to take in when it began.
    pub(super) async fn rounds(&self, editor: &dyn Editor) -> Result<Vec<Round>, Failure> {
        let mut rounds = self.task.store().rounds(&self.task.job.id).await?;
        if rounds.last().is_none_or(|last| self.is_over(last)) {
            let next = self.prepare(&rounds).await?;
            rounds.push(next);
        }
        let (last, before) = match rounds.split_last_mut() {
            Some((last, before)) if last.edit.is_none() => (last, &*before),
            _ => return Ok(rounds),
        };
        *last = self.edit(editor, last.clone(), before).await?;
        Ok(rounds)
    }

    /// Whether there is nothing left to do in a round, or nobody wants it any more.
    fn is_over(&self, round: &Round) -> bool {
        let job = self.task.job;
        let Some(edit) = &round.edit else { return round.turn < job.turn };
        let news = self.task.last_message() > edit.taken_through;
        let done = match edit.verdict {
            Verdict::Unchanged | Verdict::Refused => true,
            Verdict::Good | Verdict::Draft => !job.open_pull_request || (round.pushed && job.pr_link.is_some()),
        };
        // A job that has failed since then has another prompt: what was committed goes out with what is made of that.
        news && (done || round.turn < job.turn)
    }

    /// Begins a round after those `before`.
    async fn prepare(&self, before: &[Round]) -> Result<Round, Failure> {
        let task = self.task;
        let last_commit = before.iter().rev().find(|round| round.commit.is_some());
        let (base, parent) = match last_commit {
            Some(last) => (last.base_commit.clone(), self.tip(before, last).await?),
            None => {
                let base = self.mirror.fetch(&task.job.base_ref).await?.to_string();
                (base.clone(), base)
            }
        };
        let taken = before.iter().map(|round| round.edit.as_ref().map_or(round.first_message, |it| it.taken_through));
        let seen = task.store().answers(&task.job.id).await?.into_iter().map(|answer| answer.seen_through);
        let first_message = (taken.chain(seen).max().unwrap_or(0) + 1).min(task.last_message().max(1));
        let round = Round {
            number: before.last().map_or(0, |round| round.number) + 1,
            turn: task.job.turn,
            first_message,
            base_commit: base,
            parent_commit: parent,
            edit: None,
            branch: last_commit.and_then(|round| round.branch.clone()),
            commit: None,
            pushed: false,
        };
        task.advance(Step::Prepared(round.clone()), Vec::new()).await?;
        Ok(round)
    }

    /// The commit to go on from: where the branch is on the code host, should somebody have added to it, else the last
    /// commit of the job.
    async fn tip(&self, before: &[Round], last: &Round) -> Result<String, Failure> {
        if let Some(branch) = last.branch.as_deref().filter(|_| before.iter().any(|round| round.pushed))
            && let Some(tip) = self.mirror.find_branch(branch).await?
        {
            return Ok(tip.to_string());
        }
        Ok(restore(self.mirror, self.task.job, before, last).await?.to_string())
    }

    async fn edit(&self, editor: &dyn Editor, round: Round, before: &[Round]) -> Result<Round, Failure> {
        let notebook = JobNotebook::new(self.task.store(), self.task.lease());
        let parent = commit_id(&round.parent_commit)?;
        if !self.mirror.has_commit(&parent) {
            self.fetch_again(&round, before).await?;
        }
        let scope = Arc::new(self.workshop.limits.scope(&self.project.docs_paths));
        let workspace = Workspace::new(self.mirror.tree(&parent)?, guard(&scope));
        let assignment = Assignment {
            project_id: &self.project.id,
            turn: round.number,
            first_message: round.first_message,
            messages: self.task.messages,
            workspace,
            base: self.mirror.tree(&commit_id(&round.base_commit)?)?,
            docs_paths: &self.project.docs_paths,
            notebook: &notebook,
        };
        let edited = tokio::select! {
            edited = editor.edit(assignment) => edited,
            stopped = notebook.keep_writing() => return Err(stopped),
        };
        let edited = match edited {
            Ok(edited) => edited,
            Err(EditFailure::Stopped(_)) => return Err(notebook.why_stopped()),
            Err(failure) => {
                // What was told so far is worth keeping, also of work that came to nothing.
                self.task.tell(notebook.take_told()).await?;
                return Err(match failure {
                    EditFailure::Retry(why) => Failure::Retry(why),
                    EditFailure::Fatal(why) => Failure::Fatal(why),
                    EditFailure::Stopped(_) => notebook.why_stopped(),
                });
            }
        };
        self.keep(edited, round, before, &scope, &notebook).await
    }

    /// The commit to work on is not in this machine's mirror: gets it from the code host, or makes it again.
    async fn fetch_again(&self, round: &Round, before: &[Round]) -> Result<(), Failure> {
        if round.number == 1 || round.parent_commit == round.base_commit {
            self.mirror.fetch(&self.task.job.base_ref).await?;
        } else if let Some(last) = before.iter().rev().find(|round| round.commit.is_some()) {
            self.tip(before, last).await?;
        }
        if self.mirror.has_commit(&commit_id(&round.parent_commit)?) {
            return Ok(());
        }
        Err(Failure::Fatal(format!("The commit {} that the job started from is gone.", round.parent_commit)))
    }

    /// Checks what the editor made, commits it into the mirror and records both.
    async fn keep(
        &self,
        edited: Edited,
        mut round: Round,
        before: &[Round],
        scope: &Arc<Scope>,
        notebook: &JobNotebook<'_>,
    ) -> Result<Round, Failure> {
        let made_at = self.task.store().now();
        let clean = |text: &str| text.replace('\0', "\u{fffd}");
        let mut edit = Edit {
            title: clean(edited.title.trim()),
            summary: clean(edited.summary.trim()),
            taken_through: edited.taken_through,
            verdict: Verdict::Unchanged,
            checks: Vec::new(),
            changes: Vec::new(),
            diff: Vec::new(),
            made_at,
        };
        let mut commit = None;
        if !edited.workspace.is_unchanged() {
            let changed = edited.workspace.changes();
            let reviewed = review::review(self, &round, before, edited.workspace, scope).await?;
            if edit.title.is_empty() {
                edit.title = "Update the documentation".to_owned();
            }
            edit.verdict = reviewed.verdict;
            edit.checks = reviewed.checks;
            edit.changes = changes::to_bytes(&changed)?;
            let id = write_commit(self.mirror, &self.task.job.id, &round.parent_commit, &edit, &changed)?;
            edit.diff = self.mirror.diff(&commit_id(&round.base_commit)?, &id)?.text;
            let branch = round.branch.clone().unwrap_or_else(|| branch_name(&self.task.job.id, &edit.title));
            commit = (edit.verdict != Verdict::Refused).then(|| (branch, id.to_string()));
        }
        let step = Step::Edited { round: round.number, edit: Box::new(edit.clone()), commit: commit.clone() };
        self.task.advance(step, notebook.take_told()).await?;
        if let Some((branch, id)) = commit {
            (round.branch, round.commit) = (Some(branch), Some(id));
        }
        round.edit = Some(edit);
        Ok(round)
    }
}

/// The scope guard as the workspace wants it.
fn guard(scope: &Arc<Scope>) -> copydesk_forge::Guard {
    let scope = scope.clone();
    Arc::new(move |path: &str| scope.may_write(path))
}

pub(super) fn commit_id(text: &str) -> Result<CommitId, Failure> {
    text.parse().map_err(|_| Failure::Fatal(format!("{text:?} is not the id of a commit.")))
}

fn write_commit(
    mirror: &copydesk_forge::Mirror,
    job_id: &str,
    parent: &str,
    edit: &Edit,
    changed: &[FileChange],
) -> Result<CommitId, Failure> {
    let message = commit_message(&edit.title, &edit.summary, job_id);
    Ok(mirror.commit(&commit_id(parent)?, changed, &message, edit.made_at)?)
}

/// Makes sure that the commit of `round` is in `mirror`, and with it all that it builds upon. This machine may never have
/// seen any of it: then it is fetched, or made again from what the store has kept.
pub(super) async fn restore(
    mirror: &copydesk_forge::Mirror,
    job: &Job,
    rounds: &[Round],
    round: &Round,
) -> Result<CommitId, Failure> {
    let base = commit_id(&round.base_commit)?;
    let made = round.commit.as_deref().and_then(|commit| commit.parse().ok());
    if made.is_none_or(|commit| !mirror.has_commit(&commit))
        && let Some(branch) = round.branch.as_deref().filter(|_| rounds.iter().any(|round| round.pushed))
    {
        // Whether it is still there does not matter.
        mirror.find_branch(branch).await?;
    }
    if !mirror.has_commit(&base) {
        mirror.fetch(&job.base_ref).await?;
    }
    make_again(mirror, &job.id, rounds, round)
}

/// Makes the commit of `round` from what the store has kept of it and those before, unless it is there.
fn make_again(
    mirror: &copydesk_forge::Mirror,
    job_id: &str,
    rounds: &[Round],
    round: &Round,
) -> Result<CommitId, Failure> {
    let gone = || Failure::Fatal("The commit of the job is gone and cannot be made again.".to_owned());
    let id = commit_id(round.commit.as_deref().ok_or_else(gone)?)?;
    if mirror.has_commit(&id) {
        return Ok(id);
    }
    if let Some(parent) = rounds.iter().find(|one| one.commit.as_ref() == Some(&round.parent_commit)) {
        make_again(mirror, job_id, rounds, parent)?;
    }
    let edit = round.edit.as_ref().ok_or_else(gone)?;
    let again = write_commit(mirror, job_id, &round.parent_commit, edit, &changes::from_bytes(&edit.changes)?)?;
    if again == id { Ok(id) } else { Err(gone()) }
}
