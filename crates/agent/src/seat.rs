use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

use tokio::sync::Semaphore;
use tokio::task::JoinError;

static SEATS: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(seats())));

/// Enough for every processor, and a few more for those who wait for the disk.
fn seats() -> usize {
    let processors = std::thread::available_parallelism().map_or(2, usize::from);
    (2 * processors).max(8)
}

/// Runs work that keeps a processor busy on a thread of its own, and tells it when nobody waits for it any more. There
/// are only so many seats, and one is given back when the work has really ended: what is left of cancelled jobs cannot
/// pile up.
pub async fn seated<T: Send + 'static>(work: impl FnOnce(&AtomicBool) -> T + Send + 'static) -> Result<T, JoinError> {
    // It is never closed, so there is always a seat in the end.
    let seat = Arc::clone(&SEATS).acquire_owned().await;
    let waiting = Waiting::default();
    let is_enough = Arc::clone(&waiting.is_over);
    let working = tokio::task::spawn_blocking(move || {
        let _seat = seat;
        work(&is_enough)
    });
    working.await
}

/// Lives as long as somebody waits.
#[derive(Default)]
struct Waiting {
    is_over: Arc<AtomicBool>,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::time::Duration;

    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn work_that_nobody_waits_for_keeps_its_seat() {
        static RUNNING: AtomicUsize = AtomicUsize::new(0);
        static MOST: AtomicUsize = AtomicUsize::new(0);
        let work = |_: &AtomicBool| {
            let now = RUNNING.fetch_add(1, Ordering::SeqCst) + 1;
            MOST.fetch_max(now, Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(30));
            RUNNING.fetch_sub(1, Ordering::SeqCst);
        };
        for _ in 0..seats() * 4 {
            // Dropped at once, as by a cancellation.
            let _ = tokio::time::timeout(Duration::from_millis(1), seated(work)).await;
        }
        assert!((1..=seats()).contains(&MOST.load(Ordering::SeqCst)), "{MOST:?} at once with {} seats", seats());
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn work_is_told_that_nobody_waits() {
        let (told, hears) = std::sync::mpsc::channel();
        let (started, has_started) = tokio::sync::oneshot::channel();
        let work = seated(move |is_enough: &AtomicBool| {
            let _ = started.send(());
            while !is_enough.load(Ordering::Relaxed) {
                std::thread::yield_now();
            }
            told.send(()).expect("somebody hears");
        });
        tokio::select! {
            _ = work => panic!("it ended by itself"),
            _ = has_started => {}
        }
        hears.recv_timeout(Duration::from_secs(60)).expect("it stops");
    }
}
