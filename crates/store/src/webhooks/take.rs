//! Deliveries in somebody's hands.

use std::time::Duration;

use copydesk_boxed::boxed;
use copydesk_domain::{EventKind, ProjectId, Timestamp, new_id};

use super::deliveries::{self, WebhookDelivery, insert};
use crate::conn::{Conn, Result, values};
use crate::database::Store;
use crate::dormancy;
use crate::error::StoreError;

/// Webhooks looked at in one go.
const MOST_ENDPOINTS: u32 = 1000;

/// A webhook for which something is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueEndpoint {
    pub id: String,
    /// Whether its last delivery failed.
    pub failing: bool,
}

/// A delivery to make now.
#[derive(Clone)]
pub struct DueDelivery {
    pub delivery: WebhookDelivery,
    /// Whose webhook it is.
    pub project_id: ProjectId,
    pub url: String,
}

#[boxed]
impl Store {
    /// The webhooks for which something is due, those that have waited longest first.
    pub async fn due_webhooks(&self) -> Result<Vec<DueEndpoint>> {
        let now = self.now();
        self.read(move |c| Box::pin(due(c, now))).await
    }

    /// What is due for a webhook, oldest first, at most `limit`. It is hidden from others for `hold`; whoever dies
    /// with it in hand leaves it to them after that.
    pub async fn take_deliveries(&self, endpoint_id: &str, limit: u32, hold: Duration) -> Result<Vec<DueDelivery>> {
        let (endpoint_id, now) = (endpoint_id.to_owned(), self.now());
        self.write(move |c| Box::pin(take(c, endpoint_id, limit, now, now.plus(hold)))).await
    }

    /// A delivery that tries a webhook out, in the hands of the caller. None if there is no such webhook.
    pub async fn take_test(
        &self,
        endpoint_id: &str,
        render: impl FnOnce(Timestamp) -> String + Send + 'static,
        hold: Duration,
    ) -> Result<Option<DueDelivery>> {
        let (endpoint_id, now) = (endpoint_id.to_owned(), self.now());
        let payload = render(now);
        self.write(move |c| Box::pin(take_test(c, endpoint_id, payload, now, now.plus(hold)))).await
    }
}

async fn due(c: &mut dyn Conn, now: Timestamp) -> Result<Vec<DueEndpoint>> {
    // One look into an index for each webhook, however many deliveries wait there.
    let sql = "SELECT id, failing_since FROM (SELECT e.id, e.failing_since, (SELECT MIN(d.not_before) \
         FROM webhook_deliveries d WHERE d.endpoint_id = e.id AND d.not_before IS NOT NULL) AS due \
         FROM webhook_endpoints e WHERE e.paused_at IS NULL) AS waiting WHERE due <= $1 \
         AND NOT EXISTS (SELECT 1 FROM dormancy UNION ALL SELECT 1 FROM moving WHERE at_rest = 1) ORDER BY due, id LIMIT $2";
    let rows: Vec<(String, Option<Timestamp>)> = c.rows(sql, values![now, MOST_ENDPOINTS]).await?;
    Ok(rows.into_iter().map(|(id, since)| DueEndpoint { id, failing: since.is_some() }).collect())
}

async fn take(
    c: &mut dyn Conn,
    endpoint_id: String,
    limit: u32,
    now: Timestamp,
    until: Timestamp,
) -> Result<Vec<DueDelivery>> {
    let sql = "SELECT project_id, url FROM webhook_endpoints WHERE id = $1 AND paused_at IS NULL \
               AND NOT EXISTS (SELECT 1 FROM dormancy UNION ALL SELECT 1 FROM moving WHERE at_rest = 1)";
    let endpoint: Option<(ProjectId, String)> = c.row(sql, values![&endpoint_id]).await?;
    let Some((project_id, url)) = endpoint else { return Ok(Vec::new()) };
    let sql = format!(
        "SELECT d.id FROM webhook_deliveries d WHERE d.endpoint_id = $1 AND d.not_before <= $2 \
         ORDER BY d.not_before, d.id LIMIT $3 {}",
        c.skip_locked()
    );
    let ids: Vec<String> = c.rows(sql, values![&endpoint_id, now, limit]).await?;
    let mut taken = Vec::with_capacity(ids.len());
    for id in ids {
        let Some(delivery) = in_hand(c, id, until).await? else { continue };
        taken.push(DueDelivery { delivery, project_id: project_id.clone(), url: url.clone() });
    }
    Ok(taken)
}

async fn take_test(
    c: &mut dyn Conn,
    endpoint_id: String,
    payload: String,
    now: Timestamp,
    until: Timestamp,
) -> Result<Option<DueDelivery>> {
    if let Some(dormancy) = dormancy::get(c).await? {
        return Err(StoreError::Dormant(dormancy.sentence()));
    }
    let sql = "SELECT project_id, url FROM webhook_endpoints WHERE id = $1";
    let Some((project_id, url)) = c.row_held(sql, values![&endpoint_id]).await? else { return Ok(None) };
    let id = insert(c, &endpoint_id, &new_id(now), EventKind::TEST, &payload, now).await?;
    let Some(delivery) = in_hand(c, id, until).await? else { return Ok(None) };
    Ok(Some(DueDelivery { delivery, project_id, url }))
}

async fn in_hand(c: &mut dyn Conn, id: String, until: Timestamp) -> Result<Option<WebhookDelivery>> {
    let sql = "UPDATE webhook_deliveries SET not_before = $1, tries = tries + 1 WHERE id = $2";
    c.run(sql, values![until, &id]).await?;
    deliveries::get(c, id).await
}
