//! What came of a delivery that was tried.

use std::time::Duration;

use copydesk_boxed::boxed;
use copydesk_domain::Timestamp;

use super::deliveries::{self, WebhookDelivery};
use super::endpoints;
use crate::conn::{Conn, Result, plain_text, values};
use crate::database::Store;

/// How a try went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// The status of the answer, if there was one.
    pub status: Option<u16>,
    /// The beginning of the answer.
    pub answer: Option<String>,
    /// Why there was none.
    pub error: Option<String>,
    /// How long it took.
    pub took: Duration,
}

/// What is to become of the delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum After {
    /// It was taken in.
    Delivered,
    /// It is tried again then.
    Again(Timestamp),
    /// It is not tried again.
    GiveUp,
}

/// What a failure says of the webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Blame {
    /// Nothing: somebody only tried it out.
    None,
    /// It fails. One that has failed for so long, without a success between, is paused.
    Failing {
        patience: Duration,
        /// What to say then.
        why: String,
    },
    /// It is paused at once, and this is why.
    Gone(String),
}

#[boxed]
impl Store {
    /// Writes down how a try went. A failure that is told too late, when somebody else has the delivery in hand
    /// already, changes nothing; a success always counts. Gives the delivery as it then is; none if it is gone.
    pub async fn record_attempt(
        &self,
        tried: &WebhookDelivery,
        attempt: Attempt,
        after: After,
        blame: Blame,
    ) -> Result<Option<WebhookDelivery>> {
        let (tried, now) = (tried.clone(), self.now());
        self.write(move |c| Box::pin(record(c, tried, attempt, after, blame, now))).await
    }
}

async fn record(
    c: &mut dyn Conn,
    tried: WebhookDelivery,
    attempt: Attempt,
    after: After,
    blame: Blame,
    now: Timestamp,
) -> Result<Option<WebhookDelivery>> {
    let sql = "SELECT failing_since FROM webhook_endpoints WHERE id = $1";
    let Some(failing_since) = c.row_held(sql, values![&tried.endpoint_id]).await? else { return Ok(None) };
    let (next, delivered, given_up) = match after {
        After::Delivered => (None, Some(now), None),
        After::Again(at) => (Some(at), None, None),
        After::GiveUp => (None, None, Some(now)),
    };
    let millis = u32::try_from(attempt.took.as_millis()).unwrap_or(u32::MAX);
    let written = c
        .run(
            "UPDATE webhook_deliveries SET not_before = $1, delivered_at = $2, given_up_at = $3, last_tried_at = $4, \
             last_status = $5, last_answer = $6, last_error = $7, last_ms = $8 \
             WHERE id = $9 AND delivered_at IS NULL AND ($10 = 1 OR (tries = $11 AND not_before IS NOT NULL))",
            values![
                next,
                delivered,
                given_up,
                now,
                attempt.status.map(u32::from),
                attempt.answer.as_deref().map(plain_text),
                attempt.error.as_deref().map(plain_text),
                millis,
                &tried.id,
                after == After::Delivered,
                tried.tries,
            ],
        )
        .await?;
    if written > 0 {
        match after {
            After::Delivered => succeeded(c, &tried.endpoint_id, now).await?,
            After::Again(_) | After::GiveUp => failed(c, &tried.endpoint_id, failing_since, blame, now).await?,
        }
    }
    deliveries::get(c, tried.id).await
}

async fn succeeded(c: &mut dyn Conn, endpoint_id: &str, now: Timestamp) -> Result<()> {
    let sql = "UPDATE webhook_endpoints SET failing_since = NULL, last_success_at = $1 WHERE id = $2";
    c.run(sql, values![now, endpoint_id]).await.map(drop)
}

async fn failed(
    c: &mut dyn Conn,
    endpoint_id: &str,
    failing_since: Option<Timestamp>,
    blame: Blame,
    now: Timestamp,
) -> Result<()> {
    let since = failing_since.unwrap_or(now);
    let why = match blame {
        Blame::None => return Ok(()),
        Blame::Gone(why) => Some(why),
        Blame::Failing { patience, why } => (now.since(since) >= patience).then_some(why),
    };
    let sql = "UPDATE webhook_endpoints SET failing_since = $1 WHERE id = $2";
    c.run(sql, values![since, endpoint_id]).await?;
    match why {
        Some(why) => endpoints::pause(c, endpoint_id, &why, now).await,
        None => Ok(()),
    }
}
