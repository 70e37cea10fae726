//! Takes what is due and sees that it is tried, so many at a time and so many to one webhook.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use copydesk_store::{Change, DueEndpoint, Store, StoreError};
use futures_util::future::BoxFuture;
use tokio::task::JoinSet;

use super::{Webhooks, deliver, fan_out};
use crate::metrics::Metrics;
use crate::stop::Stop;

/// How often is looked without a wake-up; pauses between tries are longer than that.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Delivers until the stop. Tries that are under way then have half of the shutdown time; what has not ended is tried
/// again by whoever comes next.
/// Boxed, so that this crate compiles it once, and not every program and test that starts it.
pub fn deliver_forever(store: Store, webhooks: Arc<Webhooks>, metrics: Metrics, stop: Stop) -> BoxFuture<'static, ()> {
    Box::pin(async move {
        let mut changes = store.changes_for_sender();
        let mut worker = Worker { store, webhooks, metrics, hands: Hands::default(), running: JoinSet::new() };
        while !stop.is_asked() {
            if let Err(error) = worker.look().await {
                tracing::warn!(%error, "cannot look for deliveries; trying again");
            }
            tokio::select! {
                () = changes.wait_for(|change| *change == Change::Outbox) => {}
                Some(ended) = worker.running.join_next() => report_end(ended),
                () = tokio::time::sleep(LOOK_EVERY) => {}
                () = stop.asked() => {}
            }
        }
        let all = async {
            while let Some(ended) = worker.running.join_next().await {
                report_end(ended)
            }
        };
        let _ = tokio::time::timeout(stop.time_for_work(), all).await;
    })
}

struct Worker {
    store: Store,
    webhooks: Arc<Webhooks>,
    metrics: Metrics,
    hands: Hands,
    running: JoinSet<()>,
}

impl Worker {
    async fn look(&mut self) -> Result<(), StoreError> {
        while let Some(ended) = self.running.try_join_next() {
            report_end(ended);
        }
        fan_out::fan_out(&self.store).await?;
        if self.running.len() >= self.webhooks.settings.at_once {
            return Ok(());
        }
        for endpoint in self.store.due_webhooks().await? {
            self.take(&endpoint).await?;
        }
        Ok(())
    }

    /// Takes as much for a webhook as there is room for.
    async fn take(&mut self, endpoint: &DueEndpoint) -> Result<(), StoreError> {
        let settings = &self.webhooks.settings;
        // One that fails gets one at a time, so that many that are slow cannot take up all the room.
        let most = if endpoint.failing { 1 } else { settings.at_once_to_one };
        let free = settings.at_once.saturating_sub(self.running.len());
        let room = most.saturating_sub(self.hands.count(&endpoint.id)).min(free);
        if room == 0 {
            return Ok(());
        }
        let limit = u32::try_from(room).unwrap_or(u32::MAX);
        for due in self.store.take_deliveries(&endpoint.id, limit, self.webhooks.hold()).await? {
            let (store, webhooks, metrics) = (self.store.clone(), self.webhooks.clone(), self.metrics.clone());
            let hand = self.hands.take(&endpoint.id);
            self.running.spawn(async move {
                let _hand = hand;
                match deliver::deliver(&webhooks, &store, &due).await {
                    Ok(Some(tried)) => metrics.delivery(deliver::outcome(&tried)),
                    // The webhook was removed meanwhile.
                    Ok(None) => {}
                    Err(error) => {
                        tracing::warn!(%error, delivery = due.delivery.id, "cannot record the result of a delivery");
                    }
                }
            });
        }
        Ok(())
    }
}

fn report_end(ended: Result<(), tokio::task::JoinError>) {
    if let Err(error) = ended {
        tracing::error!(%error, "a delivery ended unexpectedly");
    }
}

/// How many deliveries to each webhook are under way.
#[derive(Clone, Default)]
struct Hands(Arc<Mutex<HashMap<String, usize>>>);

/// One that is; however its task ends, it is counted out.
struct Hand(Hands, String);

impl Hands {
    fn count(&self, endpoint_id: &str) -> usize {
        self.lock().get(endpoint_id).copied().unwrap_or(0)
    }

    fn take(&self, endpoint_id: &str) -> Hand {
        *self.lock().entry(endpoint_id.to_owned()).or_default() += 1;
        Hand(self.clone(), endpoint_id.to_owned())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Hand {
    fn drop(&mut self) {
        let mut counts = self.0.lock();
        if let Some(count) = counts.get_mut(&self.1) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.1);
            }
        }
    }
}
