//! Which projects have jobs that wait: one row for each and each model, so that a look for a job does not depend on how many
//! wait behind it.

use std::time::Duration;

use copydesk_boxed::boxed;
use copydesk_domain::{JobId, ProjectId, Timestamp};

use crate::conn::{Conn, Result, places, values};
use crate::database::Store;

/// By how much the clocks of two machines may differ: a turn that is later than this is not looked at.
pub(crate) const CLOCKS: Duration = Duration::from_secs(60);

/// The jobs of one project for one model.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Lane {
    pub(crate) project_id: ProjectId,
    pub(crate) model: String,
}

/// Which of two places in the queue comes first, for an upsert. The turn of a lane that is there stays, unless it is later than
/// that of the job.
const EARLIER: &str = "ON CONFLICT (project_id, model) DO UPDATE SET next_at = excluded.next_at, next_id = excluded.next_id, \
                       turn_at = CASE WHEN excluded.turn_at < lanes.turn_at THEN excluded.turn_at ELSE lanes.turn_at END \
                       WHERE excluded.next_at < lanes.next_at OR (excluded.next_at = lanes.next_at \
                       AND excluded.next_id < lanes.next_id)";

#[boxed]
impl Store {
    /// Finds lanes for jobs that wait in none, brings forward those whose turn is far too late, and says how many there were. A
    /// program of an earlier version beside this one knows of no lanes or no turns, and a clock may be wrong. Removes lanes whose
    /// jobs have all ended without a worker: many of them would stand before those that wait, and of a model that nobody runs any
    /// more for ever.
    pub async fn mend_lanes(&self) -> Result<u64> {
        let lost = self.read(|c| Box::pin(lost(c))).await?;
        let now = self.now();
        let mut mended = 0;
        if self.read(move |c| Box::pin(is_any_too_late(c, now))).await? {
            mended += self.write(move |c| Box::pin(bring_forward(c, now))).await?;
        }
        for (project_id, model) in lost {
            let lane = Lane { project_id, model };
            mended += self.write(move |c| Box::pin(settle(c, lane))).await?;
        }
        let any_empty = format!("SELECT 1 FROM lanes WHERE {EMPTY} LIMIT 1");
        if self.read(|c| Box::pin(c.exists(any_empty, values![]))).await? {
            self.write(|c| Box::pin(remove_empty(c))).await?;
        }
        Ok(mended)
    }
}

/// Puts a job that waits from now on into its lane. Whoever makes a job wait calls it.
pub(crate) async fn enter(c: &mut dyn Conn, job_id: &JobId) -> Result<()> {
    let sql = format!(
        "INSERT INTO lanes (project_id, model, next_at, next_id, turn_at) \
         SELECT project_id, model, not_before, id, not_before FROM jobs \
         WHERE id = $1 AND status = 'active' AND worker IS NULL {EARLIER}"
    );
    c.run(sql, values![job_id]).await.map(drop)
}

/// Puts all jobs that wait into their lanes.
pub(crate) async fn enter_all(c: &mut dyn Conn) -> Result<()> {
    for (project_id, model) in lost(c).await? {
        settle(c, Lane { project_id, model }).await?;
    }
    Ok(())
}

/// Sets a lane to the first of its jobs, and says whether it is there.
async fn settle(c: &mut dyn Conn, lane: Lane) -> Result<u64> {
    let first: Option<(Timestamp, JobId)> = c
        .row(
            "SELECT not_before, id FROM jobs WHERE project_id = $1 AND model = $2 AND status = 'active' AND worker IS NULL \
             ORDER BY not_before, id LIMIT 1",
            values![&lane.project_id, &lane.model],
        )
        .await?;
    let Some((_, first)) = first else { return Ok(0) };
    enter(c, &first).await?;
    Ok(1)
}

/// Sets lanes that the caller has held since before it looked for the first job of each: a job that enters meanwhile waits for the
/// caller, and is not overlooked. The turn of each comes again at the instant given last, or when that job may run.
pub(crate) async fn set(c: &mut dyn Conn, lanes: Vec<(Lane, (Timestamp, JobId), Timestamp)>) -> Result<()> {
    if lanes.is_empty() {
        return Ok(());
    }
    let rows: Vec<String> = (0..lanes.len()).map(|at| format!("({})", places(5 * at + 1, 5))).collect();
    let row = |(lane, (next_at, next_id), turn_at): (Lane, (Timestamp, JobId), Timestamp)| {
        values![lane.project_id, lane.model, next_at, next_id, turn_at.max(next_at)]
    };
    let values = lanes.into_iter().flat_map(row).collect();
    // They are there: this is an update of many rows, which each are found by their key.
    let sql = format!(
        "INSERT INTO lanes (project_id, model, next_at, next_id, turn_at) VALUES {} ON CONFLICT (project_id, model) \
         DO UPDATE SET next_at = excluded.next_at, next_id = excluded.next_id, turn_at = excluded.turn_at",
        rows.join(", ")
    );
    c.run(sql, values).await.map(drop)
}

/// Removes a lane in which no job is left. The caller holds it as for [`set`].
pub(crate) async fn remove(c: &mut dyn Conn, lane: &Lane) -> Result<()> {
    let sql = "DELETE FROM lanes WHERE project_id = $1 AND model = $2";
    c.run(sql, values![&lane.project_id, &lane.model]).await.map(drop)
}

/// Where everything has moved away, nothing is written any more.
const EMPTY: &str = "NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.project_id = lanes.project_id AND jobs.model = lanes.model \
                     AND jobs.status = 'active' AND jobs.worker IS NULL) AND NOT EXISTS (SELECT 1 FROM moving WHERE at_rest = 1)";

/// As many as are not many for one transaction.
async fn remove_empty(c: &mut dyn Conn) -> Result<()> {
    let hold = c.skip_locked();
    let lanes: Vec<(ProjectId, String)> =
        c.rows(format!("SELECT project_id, model FROM lanes WHERE {EMPTY} LIMIT 1000 {hold}"), values![]).await?;
    for (project_id, model) in lanes {
        // Looked at again now that it is held: a job may have come in before that.
        let sql = format!("DELETE FROM lanes WHERE project_id = $1 AND model = $2 AND {EMPTY}");
        c.run(sql, values![project_id, model]).await?;
    }
    Ok(())
}

const TOO_LATE: &str = "turn_at > $1 AND next_at <= $2";

async fn is_any_too_late(c: &mut dyn Conn, now: Timestamp) -> Result<bool> {
    c.exists(format!("SELECT 1 FROM lanes WHERE {TOO_LATE}"), values![now.plus(CLOCKS), now]).await
}

async fn bring_forward(c: &mut dyn Conn, now: Timestamp) -> Result<u64> {
    c.run(format!("UPDATE lanes SET turn_at = next_at WHERE {TOO_LATE}"), values![now.plus(CLOCKS), now]).await
}

/// The lanes that are missing or later than a job in them.
async fn lost(c: &mut dyn Conn) -> Result<Vec<(ProjectId, String)>> {
    c.rows(
        "SELECT j.project_id, j.model FROM jobs j LEFT JOIN lanes l ON l.project_id = j.project_id AND l.model = j.model \
         WHERE j.status = 'active' AND j.worker IS NULL GROUP BY j.project_id, j.model, l.next_at \
         HAVING l.next_at IS NULL OR MIN(j.not_before) < l.next_at",
        vec![],
    )
    .await
}
