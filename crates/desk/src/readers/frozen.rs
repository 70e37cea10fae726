//! The order of pages as it was when a client began to page through it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use copydesk_domain::ProjectId;
use copydesk_views::store::{Question, Ranking};

use super::CallerId;

/// How long an order is kept after it was last asked for.
const KEPT: Duration = Duration::from_secs(300);
/// What all of them may take up together.
const MEMORY: usize = 64 * 1024 * 1024;

/// Orders that clients are paging through.
#[derive(Default)]
pub(super) struct Frozen(Mutex<HashMap<FrozenKey, Kept>>);

/// Whose order it is, and of what.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct FrozenKey {
    pub(super) project: ProjectId,
    pub(super) caller: CallerId,
    pub(super) question: Question,
}

struct Kept {
    ranking: Arc<Ranking>,
    bytes: usize,
    used: Instant,
}

impl Frozen {
    /// The order that this caller is paging through.
    pub(super) fn find(&self, key: &FrozenKey) -> Option<Arc<Ranking>> {
        let mut kept = self.lock();
        let found = kept.get_mut(key).filter(|it| it.used.elapsed() < KEPT)?;
        found.used = Instant::now();
        Some(found.ranking.clone())
    }

    /// Keeps an order, in the place of the one before. What was not asked for the longest gives way.
    pub(super) fn keep(&self, key: FrozenKey, ranking: Arc<Ranking>) {
        // Some for the entry itself.
        let bytes = ranking.bytes() + 512;
        let mut kept = self.lock();
        kept.retain(|_, it| it.used.elapsed() < KEPT);
        kept.remove(&key);
        let mut total: usize = kept.values().map(|it| it.bytes).sum();
        while total + bytes > MEMORY {
            let oldest = kept.iter().min_by_key(|(_, it)| it.used).map(|(key, _)| key.clone());
            let Some(oldest) = oldest else { break };
            total -= kept.remove(&oldest).map_or(0, |it| it.bytes);
        }
        kept.insert(key, Kept { ranking, bytes, used: Instant::now() });
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<FrozenKey, Kept>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
