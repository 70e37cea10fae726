//! A round: where it starts from, the work of the editor, and what is kept of it.

use std::collections::HashMap;
use std::sync::Arc;

use copydesk_agent::{Assignment, EditFailure, Edited, Editor, WorkspaceFiles, seated};
use copydesk_checks::{Scope, Until};
use copydesk_domain::{Budgets, Job};
use copydesk_forge::{CommitId, FileChange, Mirror, Workspace, branch_name, commit_message, is_kept_back};
use copydesk_store::{Edit, Merged, Permit, Round, Step, Verdict};

use super::failure::{aside, commit_id};
use super::notebook::JobNotebook;
use super::refresh::still_open;
use super::sources::RoundHistory;
use super::update::marks;
use super::{Bench, changes, review, update};
use crate::docs_folder;
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
        let Some(edit) = &round.edit else { return round.run < job.run };
        let news = self.task.last_message() > edit.taken_through;
        let done = match edit.verdict {
            Verdict::Unchanged | Verdict::Refused => true,
            Verdict::Good | Verdict::Draft => !job.open_pull_request || (round.pushed && job.pr_link.is_some()),
        };
        // A job that has failed since then has another prompt: what was committed goes out with what is made of that.
        news && (done || round.run < job.run)
    }

    /// Whether what will be made can go out, as far as that can be known before anything is made: nobody wants to pay a
    /// model for what cannot be pushed. Whoever has a pull request was let through before.
    async fn ask_leave(&self) -> Result<(), Failure> {
        let job = self.task.job;
        if !job.open_pull_request || job.pull_request.is_some() || self.host.is_none() {
            return Ok(());
        }
        self.connection.check().await?;
        Ok(self.mirror.check_push().await?)
    }

    /// Begins a round after those `before`.
    async fn prepare(&self, before: &[Round]) -> Result<Round, Failure> {
        let task = self.task;
        self.ask_leave().await?;
        let last_commit = before.iter().rev().find(|round| round.is_kept());
        let (base, start) = match last_commit {
            Some(last) => self.go_on(before, last).await?,
            None => {
                let base = self.mirror.fetch(&task.job.base_ref).await?;
                self.check_docs(&base).await?;
                let base = base.to_string();
                (base.clone(), Start { parent: base, merged: None, again: None })
            }
        };
        let taken = before.iter().filter_map(|round| Some(round.edit.as_ref()?.taken_through));
        let seen = task.store().answers(&task.job.id).await?.into_iter().map(|answer| answer.seen_through);
        let next = (taken.chain(seen).max().unwrap_or(0) + 1).max(task.job.run_message);
        let first_message = start.again.unwrap_or(next).min(task.last_message().max(1));
        let sources = self.prepare_sources(before).await?;
        let round = Round {
            number: before.last().map_or(0, |round| round.number) + 1,
            run: task.job.run,
            first_message,
            base_commit: base,
            parent_commit: start.parent.clone(),
            merged: start.merged.clone(),
            sources,
            edit: None,
            // Also that of a round whose commit was dropped: a job has one branch.
            branch: before.iter().rev().find_map(|round| round.branch.clone()),
            commit: None,
            pushed: false,
            dropped: false,
        };
        let begin = if start.again.is_some() { Step::PreparedAgain } else { Step::Prepared };
        task.advance(begin(round.clone()), Vec::new()).await?;
        Ok(round)
    }

    /// Documentation that is somewhere else than the project says is not looked for, and not what is in formats that are not
    /// read: a job would find no page, do nothing and say that all is well. Where there is none anywhere, the job may be to write the first page.
    async fn check_docs(&self, base: &CommitId) -> Result<(), Failure> {
        let (tree, paths) = (self.mirror.tree(base)?, self.project.docs_paths.clone());
        let branch = self.task.job.base_ref.clone();
        match aside(move || Ok(docs_folder::in_tree(&*tree, &paths, &branch)?)).await? {
            Some(missing) if missing.is_fatal(self.project) => Err(Failure::Fatal(missing.why)),
            _ => Ok(()),
        }
    }

    /// Where a round after `last` starts, and the commit of the base branch that it is held against. After a follow-up
    /// to a job that had ended, the work branch is brought up to date first.
    async fn go_on(&self, before: &[Round], last: &Round) -> Result<(String, Start), Failure> {
        let (job, task_store) = (self.task.job, self.task.store());
        if last.run == job.run {
            return Ok((last.base_commit.clone(), self.tip(before, last).await?));
        }
        still_open(self.host, task_store, self.project, job).await?;
        let start = self.tip(before, last).await?;
        let (work, base) = (commit_id(&start.parent)?, self.mirror.fetch(&job.base_ref).await?);
        if base.to_string() == last.base_commit || self.mirror.contains(&work, &base).await? {
            return Ok((base.to_string(), start));
        }
        let merge = update::merge(self.mirror, job, &work, &base).await?;
        update::check_scope(&*self.scope(&base).await?, job, &merge.conflicts)?;
        update::check_marked(&*self.mirror.tree(&merge.commit)?, &marks(&work, &base), job, &merge.conflicts)?;
        let merged = Merged { from: start.parent, conflicts: merge.conflicts };
        Ok((base.to_string(), Start { parent: merge.commit.to_string(), merged: Some(merged), again: start.again }))
    }

    /// Where to go on from: the last commit of the job, also if that has not gone out yet. If somebody else has added to
    /// the branch, what they left; what has not gone out by then has to be done again.
    async fn tip(&self, before: &[Round], last: &Round) -> Result<Start, Failure> {
        let there = match &last.branch {
            Some(branch) => self.mirror.find_branch(branch).await?,
            None => None,
        };
        match there.filter(|tip| !is_own(before, tip)) {
            None => {
                let parent = restore(self.mirror, self.task.job, before, last).await?.to_string();
                if last.commit.as_ref() != Some(&parent) {
                    let permit = Permit::Lease(self.task.lease().clone());
                    self.task.store().record_remade(&permit, last.number, &parent).await?;
                }
                Ok(Start { parent, merged: None, again: None })
            }
            Some(tip) => {
                let waiting = before.iter().filter(|round| round.is_kept() && !round.pushed);
                let again = waiting.map(|round| round.first_message).min();
                Ok(Start { parent: tip.to_string(), merged: None, again })
            }
        }
    }

    /// What may be written, by what the repository says at the commit that the job started from.
    async fn scope(&self, base: &CommitId) -> Result<Arc<Scope>, Failure> {
        let scope = self.workshop.limits.scope(self.project);
        let tree = self.mirror.tree(base)?;
        let read = seated(move |is_enough| scope.on(&Until::new(&WorkspaceFiles::Base(&*tree), is_enough)));
        let scope = read.await.map_err(|_| Failure::Retry("the repository could not be read".to_owned()))??;
        Ok(Arc::new(scope))
    }

    async fn edit(&self, editor: &dyn Editor, round: Round, before: &[Round]) -> Result<Round, Failure> {
        let notebook = JobNotebook::new(self.task.store(), self.task.lease(), self.task.metrics());
        let parent = commit_id(&round.parent_commit)?;
        if !self.mirror.has_commit(&parent) {
            self.fetch_again(&round, before).await?;
        }
        let scope = self.scope(&commit_id(&round.base_commit)?).await?;
        let workspace = Workspace::new(self.mirror.tree(&parent)?, guard(&scope));
        let sources = self.open_sources(&round).await?;
        let changes = sources.asked_range().await?;
        let history = RoundHistory { mirror: self.mirror, commit: &parent, sources: &sources };
        let assignment = Assignment {
            project_id: &self.project.id,
            round: round.number,
            first_message: round.first_message,
            messages: self.task.messages,
            workspace,
            base: self.mirror.tree(&commit_id(&round.base_commit)?)?,
            conflicts: round.merged.as_ref().map_or(&[], |merged| &merged.conflicts),
            docs_paths: &self.project.docs_paths,
            scope: Arc::clone(&scope),
            max_files: self.workshop.limits.files as usize,
            notebook: &notebook,
            history: &history,
            budgets: Budgets { server: None, project: self.project.job_cost, job: self.task.job.max_cost },
            sources: sources.files()?,
            changes: changes.as_ref(),
        };
        let edited = tokio::select! {
            edited = editor.edit(assignment) => edited,
            stopped = notebook.keep_writing() => return Err(stopped),
        };
        let failure = match edited {
            Ok(edited) => return self.keep(edited, round, before, &scope, &notebook).await,
            Err(EditFailure::Stopped(_)) => return Err(notebook.why_stopped()),
            Err(EditFailure::Retry(why)) => Failure::Retry(why),
            Err(EditFailure::Fatal(why)) => Failure::Fatal(why),
            Err(EditFailure::Refused(why)) => Failure::Refused(why),
        };
        // What was told so far is worth keeping, also of work that came to nothing.
        self.task.tell(notebook.take_told()).await?;
        Err(failure)
    }

    /// The commit to work on is not in this machine's mirror: gets it from the code host, or makes it again.
    async fn fetch_again(&self, round: &Round, before: &[Round]) -> Result<(), Failure> {
        if round.number == 1 || round.parent_commit == round.base_commit {
            self.mirror.fetch(&self.task.job.base_ref).await?;
        } else if let Some(last) = before.iter().rev().find(|round| round.is_kept()) {
            if let Some(branch) = &last.branch {
                // Whether it is still there does not matter.
                self.mirror.find_branch(branch).await?;
            }
            restore(self.mirror, self.task.job, before, last).await?;
        }
        if let Some(merged) = &round.merged {
            let (work, base) = (commit_id(&merged.from)?, commit_id(&round.base_commit)?);
            update::merge_again(self.mirror, self.task.job, &work, &base).await?;
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
            not_done: edited.not_done.iter().map(|item| clean(item.trim())).collect(),
            taken_through: edited.taken_through,
            verdict: Verdict::Unchanged,
            checks: Vec::new(),
            changes: Vec::new(),
            diff: Vec::new(),
            made_at,
        };
        if let Some(merged) = &round.merged {
            let marks = marks(&commit_id(&merged.from)?, &commit_id(&round.base_commit)?);
            update::check_resolved(&edited.workspace, &marks, &merged.conflicts)?;
        }
        let mut commit = None;
        let is_merge = round.merged.as_ref().is_some_and(|merged| merged.conflicts.is_empty());
        if edited.workspace.is_unchanged() && is_merge {
            // The branch is up to date now, and that is worth having.
            edit.verdict = Verdict::Good;
            edit.title = format!("Merge {}", self.task.job.base_ref);
            let (mirror, base, id) =
                (self.mirror.clone(), commit_id(&round.base_commit)?, commit_id(&round.parent_commit)?);
            edit.diff = aside(move || Ok(mirror.diff(&base, &id)?.text)).await?;
            let branch = round.branch.clone().unwrap_or_else(|| branch_name(&self.task.job.id, &edit.title));
            commit = Some((branch, round.parent_commit.clone()));
        } else if !edited.workspace.is_unchanged() {
            let changed = edited.workspace.changes();
            let reviewed = review::review(self, &round, before, edited.workspace, scope).await?;
            if edit.title.is_empty() {
                edit.title = "Update the documentation".to_owned();
            }
            // A part of what was asked for is for somebody to look at first.
            let is_part = reviewed.verdict == Verdict::Good && !edit.not_done.is_empty();
            edit.verdict = if is_part { Verdict::Draft } else { reviewed.verdict };
            edit.checks = reviewed.checks;
            if edit.verdict != Verdict::Refused {
                edit.changes = changes::to_bytes(&changed)?;
            }
            let (mirror, job_id, base) =
                (self.mirror.clone(), self.task.job.id.clone(), commit_id(&round.base_commit)?);
            let (start, unfinished) = (round.clone(), edit.clone());
            let (id, diff) = aside(move || {
                let id = write_commit(&mirror, &job_id, &start.parent_commit, &start, &unfinished, &changed)?;
                Ok((id, mirror.diff(&base, &id)?.text))
            })
            .await?;
            edit.diff = diff;
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

/// Where a round goes on from.
struct Start {
    parent: String,
    /// Whether that brings the base branch in.
    merged: Option<Merged>,
    /// The first prompt to do again, because what was made of it cannot be used.
    again: Option<u32>,
}

/// Whether a commit is this job's own and nobody has taken the branch back to it: the last one that went out, or one that
/// went out without being recorded.
pub(super) fn is_own(rounds: &[Round], tip: &CommitId) -> bool {
    let tip = tip.to_string();
    let last = rounds.iter().rev().find(|round| round.pushed && round.is_kept());
    rounds.iter().any(|round| {
        let is_last = last.is_some_and(|last| last.number == round.number);
        round.commit.as_ref() == Some(&tip) && (!round.pushed || is_last)
    })
}

/// The scope guard as the workspace wants it.
fn guard(scope: &Arc<Scope>) -> copydesk_forge::Guard {
    let scope = scope.clone();
    // What is not shown is not written either: it could be read by writing it.
    let is_shown = |path: &str| match is_kept_back(path) {
        true => Err(format!("{path:?} may hold secrets, or has nothing to do with documentation")),
        false => Ok(()),
    };
    Arc::new(move |path: &str| scope.may_write(path).and_then(|()| is_shown(path)))
}

fn write_commit(
    mirror: &Mirror,
    job_id: &str,
    parent: &str,
    round: &Round,
    edit: &Edit,
    changed: &[FileChange],
) -> Result<CommitId, Failure> {
    let message = commit_message(&edit.title, &edit.summary, job_id);
    let parent = commit_id(parent)?;
    if round.merged.as_ref().is_some_and(|merged| !merged.conflicts.is_empty()) {
        return Ok(mirror.resolve(&parent, changed, &message, edit.made_at)?);
    }
    Ok(mirror.commit(&parent, changed, &message, edit.made_at)?)
}

/// Makes sure that the commit of `round` is in `mirror`, and with it all that it builds upon. This machine may never have
/// seen any of it: then it is fetched, or made again from what the store has kept.
pub(super) async fn restore(mirror: &Mirror, job: &Job, rounds: &[Round], round: &Round) -> Result<CommitId, Failure> {
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
    let mut merges = Merges::new();
    for merged in rounds.iter().filter(|one| one.merged.is_some() && one.number <= round.number) {
        restore_merge(mirror, job, rounds, merged, &mut merges).await?;
    }
    let (mirror, job_id, rounds, round) = (mirror.clone(), job.id.clone(), rounds.to_vec(), round.clone());
    aside(move || make_again(&mirror, &job_id, &rounds, &round, &merges)).await
}

/// Merges that were made again, by the ids that they had: those change with the author who is configured.
type Merges = HashMap<String, CommitId>;

/// Makes the merge that `round` starts from again, unless it is there.
async fn restore_merge(
    mirror: &Mirror,
    job: &Job,
    rounds: &[Round],
    round: &Round,
    merges: &mut Merges,
) -> Result<(), Failure> {
    let Some(merged) = &round.merged else { return Ok(()) };
    if mirror.has_commit(&commit_id(&round.parent_commit)?) {
        return Ok(());
    }
    let mut work = commit_id(&merged.from)?;
    if let Some(from) = rounds.iter().find(|one| one.commit.as_ref() == Some(&merged.from)).cloned() {
        let (mirror, job_id, rounds, merges) = (mirror.clone(), job.id.clone(), rounds.to_vec(), merges.clone());
        work = aside(move || make_again(&mirror, &job_id, &rounds, &from, &merges)).await?;
    }
    if let Some(again) = update::merge_again(mirror, job, &work, &commit_id(&round.base_commit)?).await? {
        merges.insert(round.parent_commit.clone(), again);
    }
    Ok(())
}

/// Makes the commit of `round` from what the store has kept of it and those before, unless it is there. One that has not
/// gone out yet may get another id than it had: another author may be configured by now.
fn make_again(
    mirror: &Mirror,
    job_id: &str,
    rounds: &[Round],
    round: &Round,
    merges: &Merges,
) -> Result<CommitId, Failure> {
    let gone = || Failure::Fatal("The commit of the job is gone and cannot be made again.".to_owned());
    let id = commit_id(round.commit.as_deref().ok_or_else(gone)?)?;
    if mirror.has_commit(&id) {
        return Ok(id);
    }
    let parent = match rounds.iter().find(|one| one.commit.as_ref() == Some(&round.parent_commit)) {
        Some(parent) if parent.number < round.number => make_again(mirror, job_id, rounds, parent, merges)?.to_string(),
        _ => merges.get(&round.parent_commit).map_or_else(|| round.parent_commit.clone(), CommitId::to_string),
    };
    if round.commit.as_ref() == Some(&round.parent_commit) {
        // Nothing but the merge.
        return commit_id(&parent);
    }
    let edit = round.edit.as_ref().ok_or_else(gone)?;
    let again = write_commit(mirror, job_id, &parent, round, edit, &changes::from_bytes(&edit.changes)?)?;
    if again == id || !round.pushed { Ok(again) } else { Err(gone()) }
}
