use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::signal::Signal;

/// What a connection is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Phase {
    /// Nothing was received yet.
    Fresh,
    /// A request's head has begun.
    Head,
    /// A request is being answered.
    Busy,
    /// The body of somebody is being read who has not proved to be anybody.
    StrangersBody,
    /// The answer is made, and not yet all of it is taken.
    Sending,
    /// The last request was answered, and the next has not begun.
    Idle,
}

impl Phase {
    fn from(number: u8) -> Self {
        match number {
            0 => Self::Fresh,
            1 => Self::Head,
            3 => Self::StrangersBody,
            4 => Self::Sending,
            5 => Self::Idle,
            _ => Self::Busy,
        }
    }
}

/// One connection, as those see it who decide which is to end. Written on every request, so without a lock.
#[derive(Debug)]
pub(crate) struct Line {
    born: Instant,
    phase: AtomicU8,
    /// Since when, in milliseconds since it was born.
    since: AtomicU64,
    /// Since when nothing that we have to say is taken, likewise; [`FLOWS`] if it is.
    stalled: AtomicU64,
    over: Signal,
}

const FLOWS: u64 = u64::MAX;

impl Line {
    pub(super) fn new() -> Self {
        Self {
            born: Instant::now(),
            phase: AtomicU8::new(Phase::Fresh as u8),
            since: AtomicU64::new(0),
            stalled: AtomicU64::new(FLOWS),
            over: Signal::default(),
        }
    }

    pub(crate) fn phase(&self) -> Phase {
        Phase::from(self.phase.load(Ordering::Relaxed))
    }

    pub(crate) fn enter(&self, phase: Phase) {
        self.since.store(self.age(), Ordering::Relaxed);
        self.phase.store(phase as u8, Ordering::Relaxed);
    }

    /// All that we had to say is taken.
    pub(super) fn is_said(&self) {
        if self.phase() == Phase::Sending {
            self.enter(Phase::Idle);
        }
    }

    /// Whether what we say is taken.
    pub(super) fn flows(&self, flows: bool) {
        if flows {
            self.stalled.store(FLOWS, Ordering::Relaxed);
        } else if self.stalled.load(Ordering::Relaxed) == FLOWS {
            self.stalled.store(self.age(), Ordering::Relaxed);
        }
    }

    /// For how long it has been in its phase.
    pub(super) fn waited(&self) -> Duration {
        Duration::from_millis(self.age().saturating_sub(self.since.load(Ordering::Relaxed)))
    }

    /// For how long nothing that we say has been taken.
    pub(super) fn stalled(&self) -> Duration {
        match self.stalled.load(Ordering::Relaxed) {
            FLOWS => Duration::ZERO,
            since => Duration::from_millis(self.age().saturating_sub(since)),
        }
    }

    fn age(&self) -> u64 {
        u64::try_from(self.born.elapsed().as_millis()).unwrap_or(FLOWS - 1)
    }

    /// Ends it. Whoever holds it learns so from [`Line::ended`].
    pub(super) fn end(&self) {
        self.over.give();
    }

    /// Waits for its end.
    pub(crate) async fn ended(&self) {
        self.over.given().await;
    }
}
