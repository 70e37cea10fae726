//! What people ask for at code hosts, once each however often it is told of.
//!
//! An ask is `heard`; it is looked at by whoever takes it, for a time; then it is `granted`, in the transaction that makes
//! the job or the follow-up, or `refused`. One that is granted is due again when its job has ended, and `answered` then.

use std::time::Duration;

use copydesk_boxed::boxed;
use copydesk_domain::{Ask, JobId, ProjectId, Prompt, Timestamp, Window};

use crate::admission::Admission;
use crate::conn::{Conn, FromRow, Result, Row, plain_text, to_json, values};
use crate::create::{self, NewJob, Render};
use crate::database::Store;
use crate::hub::Change;

/// How many of a project may wait. More than that at once is nobody's work.
const MOST_WAITING: i64 = 1000;
/// How long comments are remembered: no host tells of one so late.
const KEPT: Duration = Duration::from_secs(180 * 24 * 3600);
/// How much of a reason is kept.
const MOST_NOTE: usize = 500;
const COLUMNS: &str = "a.project_id, a.key, a.ask, a.state, a.note, a.job_id, a.message, a.tries, a.heard_at";

/// An ask and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    pub project_id: ProjectId,
    pub key: String,
    pub ask: Ask,
    pub state: AskState,
    /// Why it was refused, or why it still waits.
    pub note: Option<String>,
    /// The job that was made of it, or that it was a follow-up to.
    pub job_id: Option<JobId>,
    /// Which of the job's messages it is.
    pub message: Option<u32>,
    /// How often it was taken to be looked at.
    pub tries: u32,
    /// When it was last told of.
    pub heard_at: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AskState {
    /// To be looked at.
    Heard,
    /// It is a job or a follow-up now.
    Granted,
    Refused,
    /// Its job has ended, and whoever asked was told.
    Answered,
}

impl AskState {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Heard => "heard",
            Self::Granted => "granted",
            Self::Refused => "refused",
            Self::Answered => "answered",
        }
    }
}

/// What an ask becomes.
#[derive(Debug, Clone)]
pub enum Grant {
    Job(NewJob),
    FollowUp(JobId, Prompt),
}

#[boxed]
impl Store {
    /// Writes down what a code host has told of. False, and nothing is written, if too many wait already.
    pub async fn hear(&self, project_id: &ProjectId, asks: Vec<Ask>) -> Result<bool> {
        let (project_id, now) = (project_id.clone(), self.now());
        self.write(move |c| Box::pin(hear(c, project_id, asks, AGAIN, now))).await
    }

    /// The same for what may have been there before: what is known is not looked at again.
    pub async fn hear_new(&self, project_id: &ProjectId, asks: Vec<Ask>) -> Result<bool> {
        let (project_id, now) = (project_id.clone(), self.now());
        self.write(move |c| Box::pin(hear(c, project_id, asks, "DO NOTHING", now))).await
    }

    /// Takes the next ask that is due; nobody else gets it for so long.
    pub async fn take_ask(&self, hold: Duration) -> Result<Option<Asked>> {
        let now = self.now();
        // Looked at first, so that a server to which nothing is told writes nothing.
        if !self.read(move |c| Box::pin(is_any_due(c, now))).await? {
            return Ok(None);
        }
        self.write(move |c| Box::pin(take(c, now, now.plus(hold)))).await
    }

    /// Makes the job or the follow-up. None if it was done before, by somebody else.
    pub async fn grant_ask(
        &self,
        asked: &Asked,
        grant: Grant,
        window: Window,
        render: Render,
    ) -> Result<Option<Admission>> {
        let (asked, now) = (asked.clone(), self.now());
        self.write(move |c| Box::pin(give(c, asked, grant, window, render, now))).await
    }

    /// Refuses it. If it was told of once more meanwhile, it is looked at again instead.
    pub async fn refuse_ask(&self, asked: &Asked, why: &str) -> Result<()> {
        let sql = "UPDATE asks SET state = 'refused', note = $1, due_at = NULL \
                   WHERE project_id = $2 AND key = $3 AND state = 'heard' AND heard_at = $4";
        self.unless_told_again(asked, sql, Some(note(why))).await
    }

    /// Lets the same be asked for again. One whose job still runs is answered nevertheless, under another key.
    pub async fn release_ask(&self, asked: &Asked) -> Result<()> {
        let key = asked.job_id.as_ref().filter(|_| asked.state == AskState::Granted);
        let Some(key) = key.map(|job| format!("{} of {job}", asked.key)) else { return self.forget_ask(asked).await };
        let sql = "UPDATE asks SET key = $1 WHERE project_id = $2 AND key = $3 AND heard_at = $4";
        let values = values![key, &asked.project_id, &asked.key, asked.heard_at];
        self.write(move |c| Box::pin(async move { c.run(sql, values).await.map(drop) })).await
    }

    /// Forgets that it was told of.
    pub async fn forget_ask(&self, asked: &Asked) -> Result<()> {
        let sql = "DELETE FROM asks WHERE project_id = $1 AND key = $2 AND heard_at = $3";
        self.unless_told_again(asked, sql, None).await
    }

    async fn unless_told_again(&self, asked: &Asked, sql: &'static str, note: Option<String>) -> Result<()> {
        let (asked, now) = (asked.clone(), self.now());
        self.write(move |c| {
            Box::pin(async move {
                let mut values = values![&asked.project_id, &asked.key, asked.heard_at];
                if let Some(note) = note {
                    values.insert(0, note.into());
                }
                if c.run(sql, values).await? == 0 {
                    let again = "UPDATE asks SET due_at = $1 WHERE project_id = $2 AND key = $3 AND state = 'heard'";
                    c.run(again, values![now, &asked.project_id, &asked.key]).await?;
                }
                Ok(())
            })
        })
        .await
    }

    /// Looks at it again later, and says why.
    pub async fn put_off_ask(&self, asked: &Asked, until: Timestamp, why: &str) -> Result<()> {
        let sql = "UPDATE asks SET due_at = $1, note = $2 WHERE project_id = $3 AND key = $4 AND due_at IS NOT NULL";
        let values = values![until, note(why), &asked.project_id, &asked.key];
        self.write(move |c| Box::pin(async move { c.run(sql, values).await.map(drop) })).await
    }

    /// Whoever asked was told what became of it, or cannot be.
    pub async fn end_ask(&self, asked: &Asked, why: Option<&str>) -> Result<()> {
        let sql = "UPDATE asks SET state = 'answered', note = $1, due_at = NULL \
                   WHERE project_id = $2 AND key = $3 AND state = 'granted'";
        let values = values![why.map(note), &asked.project_id, &asked.key];
        self.write(move |c| Box::pin(async move { c.run(sql, values).await.map(drop) })).await
    }

    /// The ask of that key.
    pub async fn ask(&self, project_id: &ProjectId, key: &str) -> Result<Option<Asked>> {
        let sql = format!("SELECT {COLUMNS} FROM asks a WHERE a.project_id = $1 AND a.key = $2");
        let values = values![project_id, key];
        self.read(move |c| Box::pin(c.row(sql, values))).await
    }

    /// The latest asks of a project, the newest first.
    pub async fn asks(&self, project_id: &ProjectId, limit: u32) -> Result<Vec<Asked>> {
        let sql =
            format!("SELECT {COLUMNS} FROM asks a WHERE a.project_id = $1 ORDER BY a.heard_at DESC, a.key LIMIT $2");
        let values = values![project_id, limit];
        self.read(move |c| Box::pin(c.rows(sql, values))).await
    }

    /// The ask that a job was made of, if it was.
    pub async fn ask_of_job(&self, job_id: &JobId) -> Result<Option<Asked>> {
        let sql = format!("SELECT {COLUMNS} FROM asks a WHERE a.job_id = $1 AND a.message = 1");
        let values = values![job_id];
        self.read(move |c| Box::pin(c.row(sql, values))).await
    }
}

/// What is granted stays so. What waits or was refused is looked at with what is told now; the time tells whoever is looking at
/// it that there is more to see.
const AGAIN: &str = "DO UPDATE SET ask = excluded.ask, state = 'heard', \
     heard_at = CASE WHEN asks.heard_at >= excluded.heard_at THEN asks.heard_at + 1 ELSE excluded.heard_at END, \
     due_at = CASE WHEN asks.state = 'heard' THEN asks.due_at ELSE excluded.due_at END \
     WHERE asks.state IN ('heard', 'refused')";

async fn hear(
    c: &mut dyn Conn,
    project_id: ProjectId,
    asks: Vec<Ask>,
    if_known: &'static str,
    now: Timestamp,
) -> Result<bool> {
    let waiting = "SELECT count(*) FROM asks WHERE project_id = $1 AND state = 'heard'";
    let waiting: i64 = c.only_row(waiting, values![&project_id]).await?;
    if waiting >= MOST_WAITING {
        return Ok(false);
    }
    for ask in asks {
        let sql = format!(
            "INSERT INTO asks (project_id, key, ask, state, tries, heard_at, due_at) \
             VALUES ($1, $2, $3, 'heard', 0, $4, $5) ON CONFLICT (project_id, key) {if_known}"
        );
        c.run(sql, values![&project_id, ask.key(), to_json(&ask), now, now]).await?;
    }
    c.announce(Change::Asked);
    Ok(true)
}

const IS_DUE: &str = "a.due_at <= $1 AND (a.state = 'heard' OR \
     EXISTS (SELECT 1 FROM jobs j WHERE j.id = a.job_id AND j.status <> 'active'))";

async fn is_any_due(c: &mut dyn Conn, now: Timestamp) -> Result<bool> {
    let sql = format!(
        "SELECT 1 FROM asks a WHERE {IS_DUE} AND NOT EXISTS (SELECT 1 FROM dormancy UNION ALL SELECT 1 FROM moving WHERE at_rest = 1) LIMIT 1"
    );
    c.exists(sql, values![now]).await
}

async fn take(c: &mut dyn Conn, now: Timestamp, until: Timestamp) -> Result<Option<Asked>> {
    let sql =
        format!("SELECT {COLUMNS} FROM asks a WHERE {IS_DUE} ORDER BY a.due_at, a.key LIMIT 1 {}", c.skip_locked());
    let Some(mut asked) = c.row::<Asked>(sql, values![now]).await? else { return Ok(None) };
    let sql = "UPDATE asks SET due_at = $1, tries = tries + 1 WHERE project_id = $2 AND key = $3";
    c.run(sql, values![until, &asked.project_id, &asked.key]).await?;
    asked.tries += 1;
    Ok(Some(asked))
}

async fn give(
    c: &mut dyn Conn,
    asked: Asked,
    grant: Grant,
    window: Window,
    render: Render,
    now: Timestamp,
) -> Result<Option<Admission>> {
    // The project first, as those do who make jobs.
    c.hold("projects", &asked.project_id).await?;
    let sql = "SELECT state FROM asks WHERE project_id = $1 AND key = $2";
    let state: Option<String> = c.row_held(sql, values![&asked.project_id, &asked.key]).await?;
    if state.as_deref() != Some("heard") {
        return Ok(None);
    }
    let admission = match grant {
        Grant::Job(new) => create::create(c, new, None, window, None, render, now).await?,
        Grant::FollowUp(job_id, prompt) => {
            create::message(c, asked.project_id.clone(), job_id, prompt, window, None, render, now).await?
        }
    };
    if let Admission::Done { job_id, .. } = &admission {
        // It is due when the job has ended.
        let sql = "UPDATE asks SET state = 'granted', note = NULL, tries = 0, due_at = $1, job_id = $2, \
                   message = (SELECT MAX(number) FROM messages WHERE job_id = $2) WHERE project_id = $3 AND key = $4";
        c.run(sql, values![now, job_id, &asked.project_id, &asked.key]).await?;
    }
    Ok(Some(admission))
}

/// What no host tells of again. Labels are remembered for as long as their issues may have them.
pub(crate) async fn forget(c: &mut dyn Conn, now: Timestamp) -> Result<u64> {
    let sql =
        "DELETE FROM asks WHERE due_at IS NULL AND heard_at < $1 AND (state = 'refused' OR key NOT LIKE 'issue %')";
    c.run(sql, values![now.minus(KEPT)]).await
}

fn note(why: &str) -> String {
    plain_text(&why.chars().take(MOST_NOTE).collect::<String>())
}

impl FromRow for Asked {
    fn from_row(row: &mut Row) -> Result<Self> {
        Ok(Self {
            project_id: row.next()?,
            key: row.next()?,
            ask: row.next_json()?,
            state: match row.next::<String>()?.as_str() {
                "granted" => AskState::Granted,
                "refused" => AskState::Refused,
                "answered" => AskState::Answered,
                _ => AskState::Heard,
            },
            note: row.next()?,
            job_id: row.next()?,
            message: row.next()?,
            tries: row.next()?,
            heard_at: row.next()?,
        })
    }
}
