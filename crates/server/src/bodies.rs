//! The memory of all request bodies that are there at a moment, and who of those that send gives way when it is used up.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use crate::signal::Signal;

/// The part of the memory that is for bodies of which nobody knows yet whose they are: one in so many.
const STRANGERS: usize = 4;
/// A body of no more than this is small: one part in so many of the memory is for these alone, so that they never wait.
const SMALL: usize = 64 * 1024;
const FOR_SMALL: usize = 8;
/// How fast somebody sends is told by what came in the last two spans of this length.
const SPAN: Duration = Duration::from_secs(1);
/// How long one waits for memory, and for how long before it is looked again who can give way.
const PATIENCE: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(50);

/// The bounds of bodies.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BodyBounds {
    /// Bytes that all of them may take up.
    pub(crate) memory: usize,
    /// Bytes that have to come in a second.
    pub(crate) rate: u32,
}

/// Whose body it is, as far as that is known before it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whose {
    /// Somebody with a key or a secret.
    Known,
    /// Anybody, or somebody whose proof is a signature of the body.
    Stranger,
}

/// There is no memory for it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NoRoom;

/// The memory of bodies: one part for those who are known, one for strangers, so that these cannot use up all of it.
#[derive(Clone)]
pub(crate) struct Bodies {
    known: Arc<Purse>,
    strangers: Arc<Purse>,
    rate: u32,
}

impl Bodies {
    pub(crate) fn new(bounds: BodyBounds) -> Self {
        let strangers = bounds.memory / STRANGERS;
        let (known, strangers) = (Purse::new(bounds.memory - strangers), Purse::new(strangers));
        Self { known: Arc::new(known), strangers: Arc::new(strangers), rate: bounds.rate.max(1) }
    }

    /// A share of the memory for a body, of nothing so far.
    pub(crate) fn share(&self, whose: Whose) -> Share {
        let purse = match whose {
            Whose::Known => self.known.clone(),
            Whose::Stranger => self.strangers.clone(),
        };
        let gives_way = Arc::new(Signal::default());
        let mut open = purse.lock();
        let number = open.next;
        open.next += 1;
        open.shares.insert(number, Held { bytes: 0, pace: Some(Pace::new()), gives_way: gives_way.clone() });
        drop(open);
        Share { purse, number, gives_way }
    }

    /// Bytes of a body that have to come in a second.
    pub(crate) fn rate(&self) -> u32 {
        self.rate
    }
}

struct Purse {
    most: usize,
    open: Mutex<Open>,
    freed: Notify,
}

#[derive(Default)]
struct Open {
    next: u64,
    total: usize,
    shares: BTreeMap<u64, Held>,
}

struct Held {
    bytes: usize,
    /// None once all has come.
    pace: Option<Pace>,
    gives_way: Arc<Signal>,
}

/// How much came lately.
struct Pace {
    begun: Instant,
    span: Instant,
    now: usize,
    before: usize,
}

impl Pace {
    fn new() -> Self {
        let now = Instant::now();
        Self { begun: now, span: now, now: 0, before: 0 }
    }

    fn turn(&mut self) {
        let gone = self.span.elapsed();
        if gone >= SPAN {
            self.before = if gone < SPAN * 2 { self.now } else { 0 };
            (self.now, self.span) = (0, Instant::now());
        }
    }

    /// What came in the last spans; none if it has hardly begun.
    fn lately(&mut self) -> Option<usize> {
        self.turn();
        (self.begun.elapsed() >= SPAN).then_some(self.before + self.now)
    }
}

impl Purse {
    fn new(most: usize) -> Self {
        Self { most, open: Mutex::default(), freed: Notify::new() }
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    /// The slowest of all that have had a second to show how fast they are.
    fn slowest(&mut self) -> Option<u64> {
        let slow = self.shares.iter_mut().filter(|(_, held)| held.bytes > 0);
        slow.filter_map(|(number, held)| Some((held.pace.as_mut()?.lately()?, *number))).min().map(|(_, number)| number)
    }
}

/// What a body holds of the memory, until it is dropped.
pub(crate) struct Share {
    purse: Arc<Purse>,
    number: u64,
    gives_way: Arc<Signal>,
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut open = self.purse.lock();
        if let Some(held) = open.shares.remove(&self.number) {
            open.total -= held.bytes;
        }
        drop(open);
        self.purse.freed.notify_waiters();
    }
}

impl Share {
    /// So much came.
    pub(crate) fn came(&self, bytes: usize) {
        let mut open = self.purse.lock();
        if let Some(pace) = open.shares.get_mut(&self.number).and_then(|held| held.pace.as_mut()) {
            pace.turn();
            pace.now += bytes;
        }
    }

    /// Takes so much more. If there is no room, the slowest of all gives way, be it this one.
    pub(crate) async fn grow(&self, bytes: usize) -> Result<(), NoRoom> {
        let give_up = Instant::now() + PATIENCE;
        loop {
            let freed = self.purse.freed.notified();
            {
                let mut open = self.purse.lock();
                let held = open.shares.get(&self.number).map_or(0, |held| held.bytes);
                let for_small = if held + bytes <= SMALL { 0 } else { self.purse.most / FOR_SMALL };
                let most = self.purse.most - for_small;
                if open.total + bytes <= most {
                    open.total += bytes;
                    if let Some(held) = open.shares.get_mut(&self.number) {
                        held.bytes += bytes;
                    }
                    return Ok(());
                }
                let slowest = open.slowest();
                if slowest == Some(self.number) || bytes > most || Instant::now() >= give_up {
                    return Err(NoRoom);
                }
                if let Some(held) = slowest.and_then(|number| open.shares.get(&number)) {
                    held.gives_way.give();
                }
            }
            // Whoever is new now can be the slowest later.
            let _ = tokio::time::timeout(LOOK, freed).await;
        }
    }

    /// All has come, and it is `bytes`: what it holds beyond that is given back, and it need not give way any more.
    pub(crate) fn is_whole(&self, bytes: usize) {
        let mut open = self.purse.lock();
        let Some(held) = open.shares.get_mut(&self.number) else { return };
        let less = held.bytes.saturating_sub(bytes);
        held.bytes -= less;
        held.pace = None;
        open.total -= less;
        drop(open);
        self.purse.freed.notify_waiters();
    }

    /// Waits until it has to give way to others.
    pub(crate) async fn gives_way(&self) {
        self.gives_way.given().await;
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn bodies(memory: usize) -> Bodies {
        Bodies::new(BodyBounds { memory, rate: 1000 })
    }

    /// As if it had begun so long ago and not sent since.
    fn age(share: &Share, seconds: u64) {
        let mut open = share.purse.lock();
        let pace = open.shares.get_mut(&share.number).unwrap().pace.as_mut().unwrap();
        pace.begun -= Duration::from_secs(seconds);
        pace.span -= Duration::from_secs(seconds);
    }

    #[test]
    fn strangers_use_up_only_their_part() {
        let bodies = bodies(400);
        let (stranger, known) = (bodies.share(Whose::Stranger), bodies.share(Whose::Known));
        assert_eq!(stranger.grow(100).now_or_never(), Some(Ok(())));
        assert_eq!(bodies.share(Whose::Stranger).grow(101).now_or_never(), Some(Err(NoRoom)), "more than there is");
        assert_eq!(known.grow(300).now_or_never(), Some(Ok(())));
    }

    #[tokio::test]
    async fn small_bodies_do_not_wait_for_large_ones() {
        let bodies = bodies(4 * FOR_SMALL * SMALL);
        let [large, more, small] = [(); 3].map(|()| bodies.share(Whose::Known));
        assert_eq!(large.grow(3 * (FOR_SMALL - 1) * SMALL).now_or_never(), Some(Ok(())));
        assert_eq!(more.grow(SMALL + 1).now_or_never(), None, "it waits");
        assert_eq!(small.grow(SMALL).now_or_never(), Some(Ok(())));
    }

    #[tokio::test]
    async fn the_slowest_gives_way_and_what_is_dropped_is_free_again() {
        let bodies = bodies(400);
        let [slow, quick, new] = [(); 3].map(|()| bodies.share(Whose::Known));
        slow.grow(200).await.unwrap();
        quick.grow(100).await.unwrap();
        age(&slow, 10);
        age(&quick, 10);
        quick.came(100);
        let growing = new.grow(100);
        let ended = async {
            slow.gives_way().await;
            drop(slow);
        };
        assert_eq!(tokio::join!(growing, ended).0, Ok(()));
        assert!(quick.gives_way().now_or_never().is_none());
    }

    #[tokio::test]
    async fn whoever_is_the_slowest_does_not_push_out_others() {
        let bodies = bodies(400);
        let [slow, quick] = [(); 2].map(|()| bodies.share(Whose::Known));
        slow.grow(100).await.unwrap();
        quick.grow(200).await.unwrap();
        age(&slow, 10);
        age(&quick, 10);
        quick.came(1);
        assert_eq!(slow.grow(1).await, Err(NoRoom));
        assert!(quick.gives_way().now_or_never().is_none());
        slow.is_whole(50);
        assert_eq!(quick.grow(50).now_or_never(), Some(Ok(())));
    }
}
