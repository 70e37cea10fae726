use std::time::Duration;

use crate::App;
use crate::views::{Chores, forget_old};

/// How often the use of keys is written down.
const KEY_USE_EVERY: Duration = Duration::from_secs(10);
/// How often what nobody needs any more is thrown away, in rounds of the above.
const PURGE_EVERY: u32 = 360;

/// The chores of a server, until it stops.
pub async fn keep_up(app: App) {
    let mut round = 0;
    let mut chores = Chores::default();
    loop {
        let stopping = tokio::time::timeout(KEY_USE_EVERY, app.stopped()).await.is_ok();
        note_key_use(&app).await;
        if stopping {
            return;
        }
        if round % PURGE_EVERY == 0
            && let Err(error) = app.store().purge().await
        {
            tracing::warn!(%error, "cannot throw away what has expired");
        }
        chores.lists(&app).await;
        if round % PURGE_EVERY == 0 {
            forget_old(&app).await;
        }
        round += 1;
    }
}

async fn note_key_use(app: &App) {
    let used = app.key_use().take();
    if !used.is_empty()
        && let Err(error) = app.store().touch_keys(used).await
    {
        tracing::warn!(%error, "cannot note when keys were used");
    }
}
