//! A copy that was restored from a backup is dormant: it answers, and nothing of it goes out. The original may still run,
//! and both would do the same jobs and tell the same people.

use copydesk_boxed::boxed;
use copydesk_domain::Timestamp;

use crate::conn::{Conn, Result, values};
use crate::database::Store;
use crate::hub::Change;
use crate::{deeds, guard, lanes};

/// Since when a copy is dormant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dormancy {
    /// The moment that the backup shows.
    pub backup_at: Timestamp,
    pub restored_at: Timestamp,
}

impl Dormancy {
    /// What there is to say about it.
    pub fn sentence(&self) -> String {
        format!(
            "This copy was restored from a backup of {} and is dormant: no job runs, and nothing is pushed, delivered or \
             answered, until `copydesk wake`.",
            self.backup_at
        )
    }
}

#[boxed]
impl Store {
    /// Whether this copy is dormant, and since when.
    pub async fn dormancy(&self) -> Result<Option<Dormancy>> {
        self.read(|c| Box::pin(get(c))).await
    }

    /// Makes this copy dormant. Jobs that a worker had when the backup was made are handed back: that worker has another
    /// copy.
    pub async fn make_dormant(&self, backup_at: Timestamp) -> Result<()> {
        let now = self.now();
        self.write(move |c| Box::pin(begin(c, backup_at, now))).await
    }

    /// Ends that. The time since the backup does not count against the jobs that waited. None if it was not dormant.
    pub async fn wake(&self) -> Result<Option<Dormancy>> {
        let now = self.now();
        self.write(move |c| Box::pin(end(c, now))).await
    }
}

/// Whether nothing may go out: of a dormant copy, or while a move waits for what runs.
pub(crate) async fn is_dormant(c: &mut dyn Conn) -> Result<bool> {
    c.exists("SELECT 1 FROM dormancy UNION ALL SELECT 1 FROM moving WHERE at_rest = 1", vec![]).await
}

pub(crate) async fn get(c: &mut dyn Conn) -> Result<Option<Dormancy>> {
    let row: Option<(Timestamp, Timestamp)> =
        c.row("SELECT backup_at, restored_at FROM dormancy WHERE id = 1", vec![]).await?;
    Ok(row.map(|(backup_at, restored_at)| Dormancy { backup_at, restored_at }))
}

async fn begin(c: &mut dyn Conn, backup_at: Timestamp, now: Timestamp) -> Result<()> {
    // A move of the original is none of the copy's.
    guard::open(c).await?;
    c.run("DELETE FROM moving", vec![]).await?;
    // The backup may be one of a copy that was dormant itself; what counts is how old the jobs are.
    let sql = "INSERT INTO dormancy (id, backup_at, restored_at) VALUES (1, $1, $2) \
               ON CONFLICT (id) DO UPDATE SET restored_at = excluded.restored_at";
    c.run(sql, values![backup_at, now]).await?;
    c.run(
        "UPDATE jobs SET worker = NULL, lease_expires_at = NULL, tries = tries - 1 \
         WHERE status = 'active' AND worker IS NOT NULL",
        vec![],
    )
    .await?;
    lanes::enter_all(c).await?;
    deeds::record(c, "installation.restore", None, "", &format!("from a backup of {backup_at}")).await
}

async fn end(c: &mut dyn Conn, now: Timestamp) -> Result<Option<Dormancy>> {
    let Some(dormancy) = get(c).await? else { return Ok(None) };
    if c.run("DELETE FROM dormancy", vec![]).await? == 0 {
        // Somebody else was faster.
        return Ok(None);
    }
    let slept = now.as_millis().saturating_sub(dormancy.backup_at.as_millis()).max(0);
    // What was asked for since then begins to wait now; everything else goes on as if no time had passed.
    c.run(
        "UPDATE jobs SET queued_at = CASE WHEN queued_at > $1 THEN $2 ELSE queued_at + $3 END, \
         deadline_at = deadline_at + $3, away_since = away_since + $3, \
         not_before = CASE WHEN away_since IS NULL THEN not_before ELSE not_before + $3 END \
         WHERE status = 'active'",
        values![dormancy.backup_at, now, slept],
    )
    .await?;
    c.run(
        "UPDATE webhook_deliveries SET created_at = created_at + $1, not_before = not_before + $1 \
         WHERE not_before IS NOT NULL",
        values![slept],
    )
    .await?;
    deeds::record(c, "installation.wake", None, "", &format!("from a backup of {}", dormancy.backup_at)).await?;
    for change in [Change::Ready(None), Change::Outbox, Change::Asked] {
        c.announce(change);
    }
    Ok(Some(dormancy))
}
