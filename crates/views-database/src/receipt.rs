//! Whether a batch was committed, if the connection broke down in that. The server's own number of the transaction would not
//! do: one that crashed gives numbers again that had not reached its disk.

use std::time::Duration;

use copydesk_views::store::ViewsError;
use sqlx::{Postgres, Transaction};
use tokio::time::{Instant, timeout_at};

use crate::database::Database;
use crate::error::{Fault, Result};

/// How long it is asked.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long one answer may take: the connection may be one that nobody answers on any more.
const ANSWER: Duration = Duration::from_secs(4);
const AGAIN: Duration = Duration::from_millis(100);

/// The condition for receipts that nobody asks for any more. All times are the database's.
pub(crate) const OLD: &str = "written < clock_timestamp() - interval '1 hour'";

/// Commits a batch. Whoever is told that nothing was kept, or that it is not known, sends it again.
pub(crate) async fn commit(database: &Database, mut transaction: Transaction<'static, Postgres>) -> Result<()> {
    let sql = "INSERT INTO views_receipts (kept) VALUES (TRUE) RETURNING id::text, written::text";
    let (id, written): (String, String) = sqlx::query_as(sql).fetch_one(&mut *transaction).await?;
    // Whatever it says: a pooler answers for a server that it has lost in the middle.
    let Err(error) = transaction.commit().await else { return Ok(()) };
    tracing::warn!(%error, "page views could not be committed; asking what became of them");
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        match timeout_at(deadline.min(Instant::now() + ANSWER), settle(database, &id, &written)).await {
            Ok(Ok(Some(true))) => return Ok(()),
            Ok(Ok(Some(false))) => return Err(error.into()),
            Ok(Ok(None)) => break,
            Ok(Err(_)) | Err(_) => tokio::time::sleep(AGAIN).await,
        }
    }
    Err(Fault::Views(ViewsError::Unsure(
        "the connection to the database broke down; it is not known whether the page views were kept".to_owned(),
    )))
}

/// Whether the batch was kept: by writing its receipt, which waits for a transaction that is still under way with the same one, and
/// keeps it from being committed if it is not. None long before receipts are forgotten, on a machine that has slept meanwhile.
async fn settle(database: &Database, id: &str, written: &str) -> sqlx::Result<Option<bool>> {
    let sql = "INSERT INTO views_receipts (id, kept) SELECT $1::uuid, FALSE \
               WHERE clock_timestamp() < $2::timestamptz + interval '10 minutes' \
               ON CONFLICT (id) DO UPDATE SET id = excluded.id RETURNING kept";
    sqlx::query_scalar(sql).bind(id).bind(written).fetch_optional(&database.pool).await
}
