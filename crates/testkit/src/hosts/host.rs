use std::sync::{Mutex, MutexGuard};

use super::dialect::Dialect;
use super::state::State;

/// What all connections of a fake share.
pub(super) struct Host {
    pub(super) dialect: Box<dyn Dialect>,
    pub(super) state: Mutex<State>,
    pub(super) origin: String,
}

impl Host {
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        // A test that failed while it held the lock must not hide its own message.
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
