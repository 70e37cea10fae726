use std::sync::Arc;
use std::time::Duration;

use copydesk_boxed::boxed;
use copydesk_store::Store;
use futures_util::future::BoxFuture;

use crate::key_use::KeyUse;
use crate::retention::{Retention, forget_old_jobs};
use crate::stop::Stop;
use crate::views::{Chores, Views, forget_gone, forget_old, tell_first_views};

/// How often the use of keys is written down.
const KEY_USE_EVERY: Duration = Duration::from_secs(10);
/// How often what nobody needs any more is thrown away, in rounds of the above.
const PURGE_EVERY: u32 = 360;
/// How often is looked for page views of projects that are gone, in the same rounds.
const GONE_EVERY: u32 = 6;

/// The chores of a server, until it stops.
/// Boxed, so that this crate compiles it once, and not every program and test that starts it.
pub fn keep_up(
    store: Store,
    key_use: KeyUse,
    views: Option<Arc<Views>>,
    retention: Retention,
    stop: Stop,
) -> BoxFuture<'static, ()> {
    Box::pin(async move {
        let mut round = 0;
        let mut chores = Chores::default();
        loop {
            let stopping = wait(&store, views.as_deref(), &stop).await;
            note_key_use(&store, &key_use).await;
            if stopping {
                return;
            }
            if let Some(views) = &views {
                chores.lists(views).await;
            }
            throw_away(&store, views.as_deref(), retention, round, &stop).await;
            round += 1;
        }
    })
}

/// Throws away what its time is over for, until the server stops; what is left then has its turn another time. Not everything
/// is looked at in every round. Of a dormant copy nothing goes: it is there to be looked at, and time stands still in it.
#[boxed]
pub async fn throw_away(store: &Store, views: Option<&Views>, retention: Retention, round: u32, stop: &Stop) {
    tokio::select! {
        () = throw_all_away(store, views, retention, round) => {}
        () = stop.asked() => {}
    }
}

async fn throw_all_away(store: &Store, views: Option<&Views>, retention: Retention, round: u32) {
    match store.dormancy().await {
        Ok(None) => {}
        Ok(Some(_)) => return,
        Err(error) => return tracing::warn!(%error, "cannot tell whether this copy is dormant"),
    }
    let is_time = round.is_multiple_of(PURGE_EVERY);
    if let Some(views) = views.filter(|_| round.is_multiple_of(GONE_EVERY)) {
        forget_gone(views, store).await;
    }
    if !is_time {
        return;
    }
    if let Err(error) = store.purge().await {
        tracing::warn!(%error, "cannot delete expired data");
    }
    if let Some(views) = views {
        forget_old(views, store).await;
    }
    forget_jobs(store, retention).await;
}

async fn forget_jobs(store: &Store, retention: Retention) {
    match forget_old_jobs(store, retention).await {
        Ok((0, 0)) => {}
        Ok((jobs, events)) => tracing::info!(jobs, events, "forgot jobs and events that are older than they are kept"),
        Err(error) => tracing::warn!(%error, "cannot forget old jobs; trying again later"),
    }
}

/// Waits for the next round, or for the stop, of which it tells. First page views are told of at once.
async fn wait(store: &Store, views: Option<&Views>, stop: &Stop) -> bool {
    let mut round = std::pin::pin!(tokio::time::sleep(KEY_USE_EVERY));
    let Some(views) = views else { return tokio::time::timeout(KEY_USE_EVERY, stop.asked()).await.is_ok() };
    loop {
        // Those that another process has kept, or that a killed one has not told of, are found here.
        tell_first_views(views, store).await;
        tokio::select! {
            biased;
            () = stop.asked() => return true,
            () = &mut round => return false,
            () = views.news() => {}
        }
    }
}

async fn note_key_use(store: &Store, key_use: &KeyUse) {
    let used = key_use.take();
    if !used.is_empty()
        && let Err(error) = store.touch_keys(used).await
    {
        tracing::warn!(%error, "cannot record when keys were last used");
    }
}
