//! Memory for answers: small ones take what they need, of large ones there is one at a time.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::{Fault, Result};

/// What every answer may take.
const SMALL: usize = 4 * 1024 * 1024;
/// How long a large answer waits for the one before it, usually.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) struct Room {
    large: Arc<Semaphore>,
    most: usize,
    patience: Duration,
}

impl Room {
    /// Room for one large answer of so many bytes; the next one waits so long.
    pub(crate) fn new(most: usize, patience: Duration) -> Self {
        Self { large: Arc::new(Semaphore::new(1)), most: most.max(SMALL), patience }
    }

    pub(crate) fn taken(&self) -> Taken<'_> {
        Taken { room: self, bytes: 0, large: None }
    }
}

/// What one answer takes. It is given back when this is dropped.
pub(crate) struct Taken<'a> {
    room: &'a Room,
    bytes: usize,
    large: Option<OwnedSemaphorePermit>,
}

impl Taken<'_> {
    /// Takes so many bytes more, waiting if that makes it a large answer.
    pub(crate) async fn take(&mut self, bytes: usize) -> Result<()> {
        self.bytes += bytes;
        if self.bytes <= SMALL {
            return Ok(());
        }
        if self.bytes > self.room.most {
            return Err(Fault::unavailable(
                "the answer about page views needs more memory than views.question_memory allows; ask about less, or raise \
                 it",
            ));
        }
        if self.large.is_none() {
            let waiting = Arc::clone(&self.room.large).acquire_owned();
            let busy = || Fault::unavailable("too many large questions about page views at once");
            self.large =
                Some(tokio::time::timeout(self.room.patience, waiting).await.map_err(|_| busy())?.map_err(|_| busy())?);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn large_answers_come_one_at_a_time_and_have_a_bound() {
        let room = Room::new(3 * SMALL, Duration::from_millis(10));
        let (mut first, mut second, mut third) = (room.taken(), room.taken(), room.taken());
        first.take(SMALL + 1).await.unwrap();
        second.take(SMALL).await.unwrap();
        assert!(second.take(1).await.is_err(), "it waited in vain");
        drop(first);
        second.take(1).await.unwrap();
        assert!(third.take(3 * SMALL + 1).await.is_err(), "nobody may take so much");
    }
}
