//! Forgetting jobs that ended long ago.

use copydesk_boxed::boxed;
use copydesk_domain::{JobId, Timestamp};

use crate::conn::{Conn, Result, Value, places, values};
use crate::database::Store;
use crate::dormancy::is_dormant;

/// Jobs that ended before `$1` and that nobody waits for: their pull request is not open, nobody opens one at this moment,
/// and nothing is left to be told of them. The newest pull request of a project that Copydesk keeps stays as well: the
/// next one is numbered after it.
const IS_OLD: &str = "j.status IN ('completed', 'failed', 'archived') AND j.updated_at < $1 \
     AND COALESCE(j.pr_state, '') <> 'open' AND COALESCE(j.publisher_until, 0) < $2 \
     AND NOT EXISTS (SELECT 1 FROM pull_requests p WHERE p.job_id = j.id AND (p.state = 'open' OR p.number = \
     (SELECT MAX(n.number) FROM pull_requests n WHERE n.project_id = p.project_id))) \
     AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.job_id = j.id) \
     AND NOT EXISTS (SELECT 1 FROM asks a WHERE a.job_id = j.id AND a.due_at IS NOT NULL)";

/// Which events can go: the first has the trace that a follow-up belongs to as well, those that tell how a run ended are what
/// the agent has said, and the last one is what later ones are numbered after.
const CAN_GO: &str = "e.kind NOT IN ('created', 'completed', 'failed') \
     AND e.number < (SELECT MAX(l.number) FROM events l WHERE l.job_id = e.job_id)";

#[boxed]
impl Store {
    /// Forgets jobs that ended before that, with everything of theirs, at most so many. Gives how many.
    pub async fn forget_jobs(&self, before: Timestamp, limit: u32) -> Result<u64> {
        let now = self.now();
        let old = self.read(move |c| Box::pin(old(c, "1 = 1".to_owned(), before, limit, now))).await?;
        if old.is_empty() {
            return Ok(0);
        }
        self.write(move |c| Box::pin(forget(c, old, before, now))).await
    }

    /// Forgets the events of jobs that ended before that, at most of so many jobs. That they were created stays, what each
    /// run of them came to, and the last event of each. Gives how many were forgotten.
    pub async fn forget_events(&self, before: Timestamp, limit: u32) -> Result<u64> {
        let now = self.now();
        let has_some = format!("EXISTS (SELECT 1 FROM events e WHERE e.job_id = j.id AND {CAN_GO})");
        let old = self.read(move |c| Box::pin(old(c, has_some, before, limit, now))).await?;
        if old.is_empty() {
            return Ok(0);
        }
        self.write(move |c| Box::pin(trim(c, old, before, now))).await
    }
}

/// Looked for outside of the write lock: there may be many jobs.
async fn old(c: &mut dyn Conn, which: String, before: Timestamp, limit: u32, now: Timestamp) -> Result<Vec<JobId>> {
    // A dormant copy is there to be looked at.
    if is_dormant(c).await? {
        return Ok(Vec::new());
    }
    let sql = format!("SELECT j.id FROM jobs j WHERE {IS_OLD} AND {which} ORDER BY j.id LIMIT $3");
    c.rows(sql, values![before, now, limit]).await
}

/// Holds those of the jobs that are still old; what others hold at this moment has its turn later.
async fn held(c: &mut dyn Conn, jobs: Vec<JobId>, before: Timestamp, now: Timestamp) -> Result<Vec<Value>> {
    let mut values = values![before, now];
    values.extend(jobs.iter().map(Value::from));
    let places = places(3, jobs.len());
    let skip = c.skip_locked();
    let sql = format!("SELECT j.id FROM jobs j WHERE {IS_OLD} AND j.id IN ({places}) ORDER BY j.id {skip}");
    let held: Vec<JobId> = c.rows(sql, values).await?;
    Ok(held.iter().map(Value::from).collect())
}

async fn forget(c: &mut dyn Conn, jobs: Vec<JobId>, before: Timestamp, now: Timestamp) -> Result<u64> {
    let jobs = held(c, jobs, before, now).await?;
    if jobs.is_empty() {
        return Ok(0);
    }
    let places = places(1, jobs.len());
    // An issue is remembered for as long as it has its label, or a host that tells of it again would begin another job.
    let sql = format!("UPDATE asks SET job_id = NULL WHERE job_id IN ({places}) AND key LIKE 'issue %'");
    c.run(sql, jobs.clone()).await?;
    c.run(format!("DELETE FROM idempotency WHERE job_id IN ({places})"), jobs.clone()).await?;
    c.run(format!("DELETE FROM jobs WHERE id IN ({places})"), jobs).await
}

async fn trim(c: &mut dyn Conn, jobs: Vec<JobId>, before: Timestamp, now: Timestamp) -> Result<u64> {
    let jobs = held(c, jobs, before, now).await?;
    if jobs.is_empty() {
        return Ok(0);
    }
    let places = places(1, jobs.len());
    let sql = format!("DELETE FROM events AS e WHERE e.job_id IN ({places}) AND {CAN_GO}");
    c.run(sql, jobs).await
}
