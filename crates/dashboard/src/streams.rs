//! How many pages are watched at once. They last, so they may not take up the connections that everybody else needs.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

#[derive(Debug, Clone)]
pub(crate) struct Streams {
    open: Arc<AtomicUsize>,
    most: usize,
}

/// One of them, until it is dropped.
pub(crate) struct Slot(Arc<AtomicUsize>);

impl Streams {
    pub(crate) fn new(most: usize) -> Self {
        Self { open: Arc::default(), most }
    }

    /// A place for one more; none if there are too many.
    pub(crate) fn take(&self) -> Option<Slot> {
        let room = |open| (open < self.most).then_some(open + 1);
        let taken = self.open.fetch_update(Ordering::AcqRel, Ordering::Acquire, room);
        taken.ok().map(|_| Slot(Arc::clone(&self.open)))
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_no_more_than_there_may_be() {
        let streams = Streams::new(2);
        let (first, _second) = (streams.take(), streams.take());
        assert!(first.is_some() && streams.take().is_none());
        drop(first);
        assert!(streams.take().is_some());
    }
}
