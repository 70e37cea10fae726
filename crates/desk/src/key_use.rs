use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use copydesk_domain::{KeyRecord, Timestamp};

/// How exactly the last use of a key is noted.
const NOTED_EVERY: Duration = Duration::from_secs(60);

/// Collects when keys were used, so that reading does not turn into writing.
#[derive(Clone, Default)]
pub struct KeyUse(Arc<Mutex<HashMap<String, Timestamp>>>);

impl KeyUse {
    pub fn note(&self, key: &KeyRecord, now: Timestamp) {
        if key.last_used_at.is_none_or(|last| now.since(last) >= NOTED_EVERY) {
            self.lock().entry(key.id.clone()).or_insert(now);
        }
    }

    /// What was collected since the last time.
    pub(crate) fn take(&self) -> Vec<(String, Timestamp)> {
        self.lock().drain().collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Timestamp>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
