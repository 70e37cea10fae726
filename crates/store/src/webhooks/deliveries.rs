use std::time::Duration;

use copydesk_boxed::boxed;
use copydesk_domain::{ProjectId, Timestamp, new_id};

use crate::conn::{Conn, FromRow, Result, Row, Value, values};
use crate::database::Store;
use crate::deeds;
use crate::hub::Change;

/// How long a delivery can be looked at, and sent again.
const KEPT: Duration = Duration::from_secs(30 * 24 * 3600);
/// How many of a webhook can; older ones go earlier if they are done with.
const KEPT_OF_ONE: i64 = 10_000;
/// How many are deleted in one transaction, and how many transactions are made of it at a time.
const AT_ONCE: i64 = 2000;
const ROUNDS: u32 = 50;

const COLUMNS: &str = "d.id, d.endpoint_id, d.event_id, d.kind, d.payload, d.created_at, d.tries, d.not_before, \
     d.last_tried_at, d.last_status, d.last_answer, d.last_error, d.last_ms, d.delivered_at, d.given_up_at";

/// An event on its way to a webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookDelivery {
    pub id: String,
    pub endpoint_id: String,
    /// The event, by which a receiver knows it again.
    pub event_id: String,
    /// What the event is called.
    pub kind: String,
    pub payload: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// How often it was tried.
    pub tries: u32,
    /// When it is tried next; none if it was delivered or given up.
    pub next_try_at: Option<Timestamp>,
    /// When it was last tried.
    pub last_tried_at: Option<Timestamp>,
    /// The status of the last answer.
    pub last_status: Option<u32>,
    /// The beginning of the last answer.
    pub last_answer: Option<String>,
    /// Why there was no answer.
    pub last_error: Option<String>,
    /// How long the last try took, in milliseconds.
    pub last_ms: Option<u32>,
    /// When it was delivered.
    pub delivered_at: Option<Timestamp>,
    /// When it was given up.
    pub given_up_at: Option<Timestamp>,
}

/// Which deliveries to list.
#[derive(Debug, Clone, Default)]
pub struct DeliveryFilter {
    /// Only those whose last try failed.
    pub failed: bool,
    /// Only those older than the one of this id.
    pub before: Option<String>,
    /// How many at the most.
    pub limit: u32,
}

/// What is still to be told.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Events and deliveries that wait, without those of paused webhooks.
    pub waiting: u32,
    /// When the oldest of them came up.
    pub oldest: Option<Timestamp>,
}

#[boxed]
impl Store {
    /// The deliveries of a webhook, newest first.
    pub async fn deliveries(&self, endpoint_id: &str, filter: DeliveryFilter) -> Result<Vec<WebhookDelivery>> {
        let endpoint_id = endpoint_id.to_owned();
        self.read(move |c| Box::pin(list(c, endpoint_id, filter))).await
    }

    /// The delivery of that id.
    pub async fn delivery(&self, id: &str) -> Result<Option<WebhookDelivery>> {
        let id = id.to_owned();
        self.read(move |c| Box::pin(get(c, id))).await
    }

    /// Delivers again: one that waits is due at once, one that is done with gets a second one of the same event. None
    /// if there is no such delivery.
    pub async fn redeliver(&self, id: &str) -> Result<Option<WebhookDelivery>> {
        let (id, now) = (id.to_owned(), self.now());
        self.write(move |c| Box::pin(redeliver(c, id, now))).await
    }

    /// How much is still to be told.
    pub async fn delivery_backlog(&self) -> Result<Backlog> {
        self.read(|c| Box::pin(backlog(c))).await
    }

    /// Forgets deliveries of long ago, and those that are too many.
    pub(crate) async fn purge_deliveries(&self) -> Result<u64> {
        let now = self.now();
        let mut sum = self.purge_in_rounds(move |c| Box::pin(purge_old(c, now))).await?;
        for endpoint in self.webhooks(None).await? {
            let id = endpoint.id;
            sum += self
                .purge_in_rounds(move |c| {
                    let id = id.clone();
                    Box::pin(async move { purge_many(c, &id).await })
                })
                .await?;
        }
        Ok(sum)
    }

    /// In transactions of a bounded size, so that nobody waits long for one.
    async fn purge_in_rounds<F>(&self, purge: F) -> Result<u64>
    where
        F: for<'c> Fn(&'c mut dyn Conn) -> futures_util::future::BoxFuture<'c, Result<u64>> + Clone + Send + 'static,
    {
        let mut sum = 0;
        for _ in 0..ROUNDS {
            let purged = self.write(purge.clone()).await?;
            sum += purged;
            if purged < AT_ONCE.unsigned_abs() {
                break;
            }
        }
        Ok(sum)
    }
}

/// Puts a delivery on its way, due at once.
pub(crate) async fn insert(
    c: &mut dyn Conn,
    endpoint_id: &str,
    event_id: &str,
    kind: &str,
    payload: &str,
    now: Timestamp,
) -> Result<String> {
    let id = new_id(now);
    c.run(
        "INSERT INTO webhook_deliveries (id, endpoint_id, event_id, kind, payload, created_at, tries, not_before) \
         VALUES ($1, $2, $3, $4, $5, $6, 0, $7)",
        values![&id, endpoint_id, event_id, kind, payload, now, now],
    )
    .await?;
    Ok(id)
}

pub(super) async fn get(c: &mut dyn Conn, id: String) -> Result<Option<WebhookDelivery>> {
    let sql = format!("SELECT {COLUMNS} FROM webhook_deliveries d WHERE d.id = $1");
    c.row(sql, values![id]).await
}

async fn list(c: &mut dyn Conn, endpoint_id: String, filter: DeliveryFilter) -> Result<Vec<WebhookDelivery>> {
    let mut sql = format!("SELECT {COLUMNS} FROM webhook_deliveries d WHERE d.endpoint_id = $1");
    let mut values = values![endpoint_id];
    if filter.failed {
        sql.push_str(" AND d.delivered_at IS NULL AND d.last_tried_at IS NOT NULL");
    }
    if let Some(before) = filter.before {
        values.push(Value::from(before));
        sql.push_str(&format!(" AND d.id < ${}", values.len()));
    }
    values.push(filter.limit.into());
    sql.push_str(&format!(" ORDER BY d.id DESC LIMIT ${}", values.len()));
    c.rows(sql, values).await
}

async fn redeliver(c: &mut dyn Conn, id: String, now: Timestamp) -> Result<Option<WebhookDelivery>> {
    let Some(old) = get(c, id).await? else { return Ok(None) };
    // It may be removed while it is waited for.
    if !c.hold("webhook_endpoints", &old.endpoint_id).await? {
        return Ok(None);
    }
    let sql = "UPDATE webhook_deliveries SET not_before = $1 WHERE id = $2 AND not_before IS NOT NULL";
    let waits = c.run(sql, values![now, &old.id]).await? > 0;
    let id =
        if waits { old.id } else { insert(c, &old.endpoint_id, &old.event_id, &old.kind, &old.payload, now).await? };
    c.announce(Change::Outbox);
    let project: Option<ProjectId> =
        c.row("SELECT project_id FROM webhook_endpoints WHERE id = $1", values![&old.endpoint_id]).await?;
    deeds::record(c, "webhook.redeliver", project.as_ref(), &old.endpoint_id, &old.kind).await?;
    get(c, id).await
}

async fn backlog(c: &mut dyn Conn) -> Result<Backlog> {
    let deliveries = "SELECT count(*), MIN(d.created_at) FROM webhook_deliveries d \
         JOIN webhook_endpoints e ON e.id = d.endpoint_id WHERE d.not_before IS NOT NULL AND e.paused_at IS NULL";
    let mut backlog = Backlog::default();
    for sql in ["SELECT count(*), MIN(created_at) FROM outbox", deliveries] {
        let (waiting, oldest): (u32, Option<Timestamp>) = c.only_row(sql, vec![]).await?;
        backlog.waiting = backlog.waiting.saturating_add(waiting);
        backlog.oldest = [backlog.oldest, oldest].into_iter().flatten().min();
    }
    Ok(backlog)
}

async fn purge_old(c: &mut dyn Conn, now: Timestamp) -> Result<u64> {
    let sql = format!(
        "DELETE FROM webhook_deliveries WHERE id IN (SELECT id FROM webhook_deliveries WHERE created_at <= $1 \
         ORDER BY created_at LIMIT {AT_ONCE} {})",
        c.skip_locked()
    );
    c.run(sql, values![now.minus(KEPT)]).await
}

async fn purge_many(c: &mut dyn Conn, endpoint_id: &str) -> Result<u64> {
    let first = format!(
        "SELECT id FROM webhook_deliveries WHERE endpoint_id = $1 ORDER BY id DESC LIMIT 1 OFFSET {KEPT_OF_ONE}"
    );
    let Some(first): Option<String> = c.row(first, values![endpoint_id]).await? else { return Ok(0) };
    let sql = format!(
        "DELETE FROM webhook_deliveries WHERE id IN (SELECT id FROM webhook_deliveries WHERE endpoint_id = $1 \
         AND id <= $2 AND not_before IS NULL ORDER BY id LIMIT {AT_ONCE} {})",
        c.skip_locked()
    );
    c.run(sql, values![endpoint_id, first]).await
}

impl FromRow for WebhookDelivery {
    fn from_row(row: &mut Row) -> Result<Self> {
        Ok(Self {
            id: row.next()?,
            endpoint_id: row.next()?,
            event_id: row.next()?,
            kind: row.next()?,
            payload: row.next()?,
            created_at: row.next()?,
            tries: row.next()?,
            next_try_at: row.next()?,
            last_tried_at: row.next()?,
            last_status: row.next()?,
            last_answer: row.next()?,
            last_error: row.next()?,
            last_ms: row.next()?,
            delivered_at: row.next()?,
            given_up_at: row.next()?,
        })
    }
}
