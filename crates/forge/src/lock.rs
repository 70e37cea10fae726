use std::sync::{Mutex, MutexGuard, PoisonError};

/// Nothing in this crate leaves a value half changed, so a panic elsewhere is no reason to stop.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
