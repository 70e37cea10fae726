//! Questions that take much memory: they share it, wait for each other, and share an answer where they ask for the same.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use copydesk_views::Bucket;
use copydesk_views::store::{Question, Ranking, ViewsError};
use tokio::sync::{OnceCell, OwnedSemaphorePermit, Semaphore};

use super::project::Project;

/// A project with fewer pages than this is answered for at once: that takes milliseconds and a few megabytes.
pub(super) const MANY_PAGES: usize = 100_000;
/// Memory is counted in units of so many bytes.
const UNIT: usize = 64 * 1024;
/// What an answer takes for each page while it is made: its counts, its place in the order, and the two states that its
/// range is the difference of.
const BYTES_A_PAGE: usize = 64;
/// How long a question waits for memory, usually.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

/// Which answer it is: what is asked about a project in one state.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Asked {
    project: Arc<str>,
    question: Question,
    /// The last record that is counted, the last file, where the views begin, and how often it was removed.
    state: (u64, u64, Bucket, u64),
}

impl Asked {
    pub(super) fn new(project: &Project, question: Question) -> Self {
        let state = project.state();
        let now = (state.last_record(), state.manifest.next, state.floor(), state.removals);
        Self { project: Arc::clone(&project.id), question, state: now }
    }
}

type Answer = Arc<OnceCell<Arc<Ranking>>>;

/// The questions that are being answered.
pub(super) struct Questions {
    room: Arc<Semaphore>,
    units: u32,
    patience: Duration,
    under_way: Mutex<HashMap<Asked, Answer>>,
}

impl Questions {
    /// Questions that may take so many bytes together, and wait so long for them.
    pub(super) fn new(bytes: usize, patience: Duration) -> Self {
        let units = u32::try_from(bytes / UNIT).unwrap_or(u32::MAX).max(1);
        let room = Arc::new(Semaphore::new((units as usize).min(Semaphore::MAX_PERMITS)));
        Self { room, units, patience, under_way: Mutex::default() }
    }

    /// Room for a question about so many pages. One that needs more than there is has all of it to itself.
    pub(super) async fn room(&self, pages: usize) -> Result<OwnedSemaphorePermit, ViewsError> {
        let units = u32::try_from(pages.saturating_mul(BYTES_A_PAGE) / UNIT).unwrap_or(u32::MAX).clamp(1, self.units);
        if let Ok(room) = Arc::clone(&self.room).try_acquire_many_owned(units) {
            return Ok(room);
        }
        let waited = tokio::time::timeout(self.patience, Arc::clone(&self.room).acquire_many_owned(units)).await;
        let busy = || ViewsError::Unavailable("too many questions about page views at once".into());
        waited.map_err(|_| busy())?.map_err(|_| busy())
    }

    /// The answer that `make` makes, or that is being made for somebody who asked the same. If they give up, `make` does.
    pub(super) async fn shared<F>(&self, asked: Asked, make: impl FnOnce() -> F) -> Result<Arc<Ranking>, ViewsError>
    where
        F: Future<Output = Result<Arc<Ranking>, ViewsError>>,
    {
        // Leaves after it has let go of the answer: whoever does so last finds the list's alone.
        let leaving = Leaving { questions: self, asked };
        let answer = self.lock().entry(leaving.asked.clone()).or_default().clone();
        answer.get_or_try_init(make).await.cloned()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Asked, Answer>> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Somebody who has an answer, or has given up: the last one takes it off the list.
struct Leaving<'a> {
    questions: &'a Questions,
    asked: Asked,
}

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        let mut under_way = self.questions.lock();
        if under_way.get(&self.asked).is_some_and(|answer| Arc::strong_count(answer) == 1) {
            under_way.remove(&self.asked);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::task::{Context, Poll, Waker};

    use super::*;

    fn asked(record: u64) -> Asked {
        let question = Question { from: Bucket::MIN, to: Bucket::MAX, sources: Default::default() };
        Asked { project: "p".into(), question, state: (record, 0, Bucket::MIN, 0) }
    }

    #[tokio::test]
    async fn those_who_ask_the_same_share_an_answer_unless_something_was_counted_meanwhile() {
        let questions = Questions::new(UNIT, PATIENCE);
        let (finish, finished) = tokio::sync::oneshot::channel::<()>();
        let first = questions.shared(asked(1), || async {
            let _ = finished.await;
            Ok(Arc::default())
        });
        let same = questions.shared(asked(1), || async { panic!("it was asked for already") });
        let later = async {
            let answer = questions.shared(asked(2), || async { Ok(Arc::default()) }).await.unwrap();
            finish.send(()).unwrap();
            answer
        };
        let (first, same, later) = tokio::join!(first, same, later);
        let first = first.unwrap();
        assert!(Arc::ptr_eq(&first, &same.unwrap()) && !Arc::ptr_eq(&first, &later));
        assert!(questions.lock().is_empty(), "nothing is left behind");
    }

    #[test]
    fn those_who_leave_at_once_leave_nothing_behind() {
        let questions = Questions::new(UNIT, PATIENCE);
        let joined = AtomicU64::new(0);
        // Nobody sleeps, so that both have the answer at the same moment.
        let ask = |record: u64| {
            let both_are_there = |_: &mut Context<'_>| {
                if joined.load(Ordering::SeqCst) >= 2 * (record + 1) { Poll::Ready(()) } else { Poll::Pending }
            };
            let mut asking = std::pin::pin!(questions.shared(asked(record), || async {
                std::future::poll_fn(both_are_there).await;
                Ok(Arc::default())
            }));
            joined.fetch_add(1, Ordering::SeqCst);
            while asking.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending() {
                std::thread::yield_now();
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| (0..50_000).for_each(ask));
            }
        });
        assert_eq!(questions.lock().len(), 0);
    }

    #[tokio::test]
    async fn questions_wait_for_room_and_give_up_in_the_end() {
        let questions = Questions::new(4 * UNIT, Duration::from_millis(1));
        let all = questions.room(usize::MAX).await.unwrap();
        assert!(matches!(questions.room(1).await, Err(ViewsError::Unavailable(_))));
        drop(all);
        let _one = questions.room(1).await.unwrap();
        let _three = questions.room(3 * UNIT / BYTES_A_PAGE).await.unwrap();
        assert!(questions.room(1).await.is_err());
    }
}
