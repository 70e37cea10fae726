//! How far a job has come, so that whoever takes it over goes on from there. Every step is written by the holder of the
//! lease, together with the events that tell of it.

use copydesk_boxed::boxed;
use copydesk_domain::{CheckSummary, Job, JobId, PullRequest, Timestamp};
use serde_json::json;

use crate::conn::{Column, Conn, FromRow, Result, Row, Value, plain_text, to_json, values};
use crate::database::Store;
use crate::events::{self, NewEvent};
use crate::lease::{self, Lease, LeaseError};
use crate::sources::RoundSources;
use crate::{jobs, pull_state};

/// One way from prompts to a commit on the job's branch. A job has another one when prompts come in after it.
#[derive(Debug, Clone, PartialEq)]
pub struct Round {
    /// 1, and one more for each.
    pub number: u32,
    /// The run of the job in which it began.
    pub run: u32,
    /// The number of the first prompt that is new in it.
    pub first_message: u32,
    /// The commit of the base branch that the job started from.
    pub base_commit: String,
    /// The commit that the edits are made on.
    pub parent_commit: String,
    /// Where the work branch was when the base branch was brought into it; none if it was not. The commit that the
    /// edits are made on is then that merge.
    pub merged: Option<Merged>,
    /// Where the code sources were.
    pub sources: RoundSources,
    /// What came out of it, once it is edited.
    pub edit: Option<Edit>,
    /// The branch, once there is a commit.
    pub branch: Option<String>,
    pub commit: Option<String>,
    /// Whether the branch is on the code host.
    pub pushed: bool,
    /// Whether the commit is not to go out any more: the job was cancelled, or its prompts were done again.
    pub dropped: bool,
}

impl Round {
    /// Whether it has a commit that is, or is to go, on the code host.
    pub fn is_kept(&self) -> bool {
        self.commit.is_some() && !self.dropped
    }
}

/// A work branch into which the base branch was brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged {
    /// Where the work branch was.
    pub from: String,
    /// The files that both had changed at the same place. They are full of marks until the editor has resolved them.
    pub conflicts: Vec<String>,
}

/// What came out of a round.
#[derive(Debug, Clone, PartialEq)]
pub struct Edit {
    /// What the change is called; empty if nothing was changed.
    pub title: String,
    /// What is said to the user.
    pub summary: String,
    /// What of the prompts could not be done and why, a sentence each.
    pub not_done: Vec<String>,
    /// The number of the last prompt that was taken in.
    pub taken_through: u32,
    /// What the docs checks say of it.
    pub verdict: Verdict,
    pub checks: Vec<CheckSummary>,
    /// The changed files, in the words of whoever wrote them.
    pub changes: Vec<u8>,
    /// All that the job has changed so far against its base, as a diff.
    pub diff: Vec<u8>,
    /// When it was made.
    pub made_at: Timestamp,
}

/// What is to become of an edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Unchanged,
    /// It may be opened.
    Good,
    /// It may be opened, as a draft.
    Draft,
    /// It may not be opened.
    Refused,
}

impl Verdict {
    const ALL: [Self; 4] = [Self::Unchanged, Self::Good, Self::Draft, Self::Refused];

    fn as_str(self) -> &'static str {
        match self {
            Self::Unchanged => "unchanged",
            Self::Good => "good",
            Self::Draft => "draft",
            Self::Refused => "refused",
        }
    }
}

impl Column for Verdict {
    fn from_value(value: Value) -> Option<Self> {
        let word = String::from_value(value)?;
        Self::ALL.into_iter().find(|verdict| verdict.as_str() == word)
    }
}

/// What a job has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// As a unified diff.
    pub diff: Vec<u8>,
    /// The commit that it is held against.
    pub base_commit: String,
    /// The commit that has it; none if that was refused and is not kept.
    pub commit: Option<String>,
}

#[derive(Debug, Clone)]
pub enum Step {
    /// A round begins, on these commits.
    Prepared(Round),
    /// A round begins that does again what has not gone out; that is dropped.
    PreparedAgain(Round),
    /// The editor is done, and the change, if there is one, is committed.
    Edited {
        round: u32,
        /// What came out of it.
        edit: Box<Edit>,
        /// The branch and the commit.
        commit: Option<(String, String)>,
    },
    /// The branch is on the code host.
    Pushed { round: u32 },
    /// No pull request takes what was pushed, from this round on, and it is off the code host again.
    TakenBack { from: u32 },
    /// The pull request is open, or has what is new.
    Opened {
        /// As the code host tells of it.
        pull: PullRequest,
    },
}

#[boxed]
impl Store {
    /// The rounds of a job, oldest first.
    pub async fn rounds(&self, job_id: &JobId) -> Result<Vec<Round>> {
        let job_id = job_id.clone();
        self.read(move |c| Box::pin(list(c, job_id))).await
    }

    /// What a job has changed against its base, as a diff; none if it has not changed anything.
    pub async fn diff(&self, job_id: &JobId) -> Result<Option<Vec<u8>>> {
        let values = values![job_id];
        self.read(move |c| Box::pin(c.row(format!("SELECT e.diff {SHOWN}"), values))).await
    }

    /// The same with the commits on both sides of it.
    pub async fn change(&self, job_id: &JobId) -> Result<Option<Change>> {
        self.change_by(job_id, SHOWN).await
    }

    /// What of that is on the code host.
    pub async fn published_change(&self, job_id: &JobId) -> Result<Option<Change>> {
        self.change_by(job_id, PUBLISHED).await
    }

    async fn change_by(&self, job_id: &JobId, which: &'static str) -> Result<Option<Change>> {
        let values = values![job_id];
        let sql = format!("SELECT e.diff, r.base_commit, r.commit_id {which}");
        self.read(move |c| Box::pin(c.row(sql, values))).await
    }

    /// Records a step with the events that tell of it. Refused once the job is cancelled or lost.
    pub async fn advance(&self, lease: &Lease, step: Option<Step>, told: Vec<NewEvent>) -> Result<(), LeaseError> {
        let (lease, now) = (lease.clone(), self.now());
        self.write(move |c| Box::pin(advance(c, lease, step, told, now))).await
    }
}

/// One that was refused is shown as long as nothing came after it.
const SHOWN: &str = "FROM edits e JOIN rounds r ON r.job_id = e.job_id AND r.number = e.round \
     WHERE e.job_id = $1 AND ((r.commit_id IS NOT NULL AND r.dropped_at IS NULL) OR (e.verdict = 'refused' \
     AND NOT EXISTS (SELECT 1 FROM edits n WHERE n.job_id = e.job_id AND n.round > e.round))) \
     ORDER BY e.round DESC LIMIT 1";

const PUBLISHED: &str = "FROM edits e JOIN rounds r ON r.job_id = e.job_id AND r.number = e.round \
     WHERE e.job_id = $1 AND r.pushed_at IS NOT NULL ORDER BY e.round DESC LIMIT 1";

async fn list(c: &mut dyn Conn, job_id: JobId) -> Result<Vec<Round>> {
    let sql = "SELECT number, turn, first_message, base_commit, parent_commit, branch, commit_id, pushed_at, dropped_at, \
         sources, merged_commit, conflicts FROM rounds WHERE job_id = $1 ORDER BY number";
    let mut rounds: Vec<Round> = c.rows(sql, values![&job_id]).await?;
    let sql = "SELECT round, title, summary, not_done, taken_through, verdict, checks, changes, diff, made_at FROM edits \
         WHERE job_id = $1 ORDER BY round";
    for (number, edit) in c.rows::<(u32, Edit)>(sql, values![job_id]).await? {
        if let Some(round) = rounds.iter_mut().find(|round| round.number == number) {
            round.edit = Some(edit);
        }
    }
    Ok(rounds)
}

impl FromRow for Round {
    fn from_row(row: &mut Row) -> Result<Self> {
        Ok(Self {
            number: row.next()?,
            run: row.next()?,
            first_message: row.next()?,
            base_commit: row.next()?,
            parent_commit: row.next()?,
            edit: None,
            branch: row.next()?,
            commit: row.next()?,
            pushed: row.next::<Option<Timestamp>>()?.is_some(),
            dropped: row.next::<Option<Timestamp>>()?.is_some(),
            sources: row.next_json_or_null()?.unwrap_or_default(),
            merged: match row.next()? {
                Some(from) if row.next_is_null() => Some(Merged { from, conflicts: Vec::new() }),
                Some(from) => Some(Merged { from, conflicts: row.next_json()? }),
                None => None,
            },
        })
    }
}

impl FromRow for Change {
    fn from_row(row: &mut Row) -> Result<Self> {
        Ok(Self { diff: row.next()?, base_commit: row.next()?, commit: row.next()? })
    }
}

impl FromRow for Edit {
    fn from_row(row: &mut Row) -> Result<Self> {
        Ok(Self {
            title: row.next()?,
            summary: row.next()?,
            not_done: row.next_json()?,
            taken_through: row.next()?,
            verdict: row.next()?,
            checks: row.next_json()?,
            changes: row.next()?,
            diff: row.next()?,
            made_at: row.next()?,
        })
    }
}

async fn advance(
    c: &mut dyn Conn,
    lease: Lease,
    step: Option<Step>,
    told: Vec<NewEvent>,
    now: Timestamp,
) -> Result<(), LeaseError> {
    let job = lease::hold_active(c, &lease).await?;
    let own = match step {
        Some(step) => {
            jobs::end_wait(c, &job.id).await?;
            take(c, &job, step, now).await?
        }
        None => Vec::new(),
    };
    c.run("UPDATE jobs SET updated_at = $1 WHERE id = $2", values![now, &job.id]).await?;
    Ok(events::append_all(c, &job.id, told.into_iter().chain(own), now).await?)
}

/// Writes a step down and says what is told of it.
async fn take(c: &mut dyn Conn, job: &Job, step: Step, now: Timestamp) -> Result<Vec<NewEvent>> {
    let job_id = &job.id;
    match step {
        Step::PreparedAgain(round) => {
            drop_unpushed(c, job_id, None, now).await?;
            Box::pin(take(c, job, Step::Prepared(round), now)).await
        }
        Step::Prepared(round) => {
            insert_round(c, job_id, &round).await?;
            let mut data = json!({ "round": round.number, "base": round.base_commit, "parent": round.parent_commit });
            if !round.sources.is_empty() {
                data["sources"] = round.sources.told();
            }
            Ok(std::iter::once(NewEvent::new("prepared", data)).chain(round.sources.unread()).collect())
        }
        Step::Edited { round, edit, commit } => {
            insert_edit(c, job_id, round, &edit).await?;
            let data = json!({ "round": round, "title": edit.title, "verdict": edit.verdict.as_str() });
            let kind = if edit.verdict == Verdict::Unchanged { "unchanged" } else { "edited" };
            let mut told = vec![NewEvent::new(kind, data)];
            if let Some((branch, commit)) = commit {
                c.run(
                    "UPDATE rounds SET branch = $1, commit_id = $2 WHERE job_id = $3 AND number = $4",
                    values![&branch, &commit, job_id, round],
                )
                .await?;
                told.push(NewEvent::new("committed", json!({ "round": round, "branch": branch, "commit": commit })));
            }
            Ok(told)
        }
        Step::Pushed { round } => pushed(c, job_id, round, now).await,
        Step::TakenBack { from } => taken_back(c, job_id, from).await,
        Step::Opened { pull } => {
            pull_state::write(c, job_id, &pull, now).await?;
            let kind = if job.pr_link.is_some() { "updated" } else { "opened" };
            Ok(vec![NewEvent::new(kind, json!({ "prLink": pull.url }))])
        }
    }
}

async fn insert_round(c: &mut dyn Conn, job_id: &JobId, round: &Round) -> Result<()> {
    c.run(
        "INSERT INTO rounds (job_id, number, turn, first_message, base_commit, parent_commit, branch, merged_commit, \
         conflicts, sources) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        values![
            job_id,
            round.number,
            round.run,
            round.first_message,
            &round.base_commit,
            &round.parent_commit,
            round.branch.clone(),
            round.merged.as_ref().map(|merged| merged.from.as_str()),
            round.merged.as_ref().map(|merged| to_json(&merged.conflicts)),
            (!round.sources.is_empty()).then(|| to_json(&round.sources)),
        ],
    )
    .await
    .map(drop)
}

async fn insert_edit(c: &mut dyn Conn, job_id: &JobId, round: u32, edit: &Edit) -> Result<()> {
    c.run(
        "INSERT INTO edits (job_id, round, title, summary, taken_through, verdict, checks, changes, diff, made_at, not_done) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
        values![
            job_id,
            round,
            plain_text(&edit.title),
            plain_text(&edit.summary),
            edit.taken_through,
            edit.verdict.as_str(),
            to_json(&edit.checks),
            edit.changes.clone(),
            edit.diff.clone(),
            edit.made_at,
            to_json(&edit.not_done.iter().map(|item| plain_text(item)).collect::<Vec<_>>()),
        ],
    )
    .await
    .map(drop)
}

pub(crate) async fn pushed(c: &mut dyn Conn, job_id: &JobId, round: u32, now: Timestamp) -> Result<Vec<NewEvent>> {
    mark_pushed(c, job_id, round, now).await?;
    let branch: Option<String> = c.only_row("SELECT branch FROM jobs WHERE id = $1", values![job_id]).await?;
    Ok(vec![NewEvent::new("pushed", json!({ "round": round, "branch": branch }))])
}

/// What was pushed from that round on is off the code host again and has not gone out after all. Without any round that has,
/// the job shows no branch.
pub(crate) async fn taken_back(c: &mut dyn Conn, job_id: &JobId, from: u32) -> Result<Vec<NewEvent>> {
    let branch: Option<String> = c.only_row("SELECT branch FROM jobs WHERE id = $1", values![job_id]).await?;
    c.run("UPDATE rounds SET pushed_at = NULL WHERE job_id = $1 AND number >= $2", values![job_id, from]).await?;
    c.run(
        "UPDATE jobs SET branch = NULL WHERE id = $1 \
         AND NOT EXISTS (SELECT 1 FROM rounds r WHERE r.job_id = $1 AND r.pushed_at IS NOT NULL)",
        values![job_id],
    )
    .await?;
    Ok(vec![NewEvent::new("taken_back", json!({ "branch": branch, "from": from }))])
}

/// What was committed and has not gone out is not to go out any more; of one run of the job, or of all.
pub(crate) async fn drop_unpushed(c: &mut dyn Conn, job_id: &JobId, run: Option<u32>, now: Timestamp) -> Result<()> {
    c.run(
        "UPDATE rounds SET dropped_at = $1 WHERE job_id = $2 AND pushed_at IS NULL AND commit_id IS NOT NULL \
         AND turn = COALESCE($3, turn)",
        values![now, job_id, run],
    )
    .await
    .map(drop)
}

/// The branch exists from now on, and the job shows it. What the round builds upon has gone out with it.
async fn mark_pushed(c: &mut dyn Conn, job_id: &JobId, round: u32, now: Timestamp) -> Result<()> {
    c.run(
        "UPDATE rounds SET pushed_at = $1 WHERE job_id = $2 AND number <= $3 AND pushed_at IS NULL \
         AND commit_id IS NOT NULL AND dropped_at IS NULL",
        values![now, job_id, round],
    )
    .await?;
    c.run(
        "UPDATE jobs SET branch = (SELECT r.branch FROM rounds r WHERE r.job_id = $1 AND r.number = $2) WHERE id = $1",
        values![job_id, round],
    )
    .await
    .map(drop)
}
