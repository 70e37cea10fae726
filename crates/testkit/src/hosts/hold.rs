//! A request that waits until a test says what becomes of it.

use std::io;

use tokio::sync::oneshot;

/// When a request is held up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pause {
    /// It has arrived, and nothing is done.
    Before,
    /// It is done, and the answer has not gone out.
    After,
}

/// A request that is held up when it comes. If this is dropped, its connection breaks.
pub struct Hold {
    arrived: oneshot::Receiver<()>,
    go_on: oneshot::Sender<()>,
    over: oneshot::Receiver<()>,
}

impl Hold {
    /// Waits until the request is held up.
    pub async fn arrived(&mut self) {
        let arrived = (&mut self.arrived).await;
        arrived.expect("the host was stopped, or was told to hold another request");
    }

    /// Lets the request go on, and waits until it is done.
    pub async fn go_on(self) {
        // If nobody waits any more, then nobody tells of an end either.
        let _ = self.go_on.send(());
        let _ = self.over.await;
    }
}

/// The host's end of it.
pub(super) struct Held {
    /// How many requests come before, of those that fit.
    before: usize,
    /// The method (`*` for any) and what the path and query hold.
    fits: (String, String),
    pause: Pause,
    arrived: oneshot::Sender<()>,
    go_on: oneshot::Receiver<()>,
    over: oneshot::Sender<()>,
}

impl Held {
    /// For the request with this number, from 1, of those with this method (`*` for any) and this in their path.
    pub(super) fn new(number: usize, method: &str, path: &str, pause: Pause) -> (Self, Hold) {
        let (arrived, has_arrived) = oneshot::channel();
        let (go_on, may_go_on) = oneshot::channel();
        let (over, is_over) = oneshot::channel();
        let fits = (method.to_owned(), path.to_owned());
        let held = Self { before: number - 1, fits, pause, arrived, go_on: may_go_on, over };
        (held, Hold { arrived: has_arrived, go_on, over: is_over })
    }

    /// Does `work`, or not, as the test wants it.
    pub(super) async fn wait<T>(self, work: impl Future<Output = T>) -> io::Result<T> {
        let Self { pause, arrived, go_on, over, .. } = self;
        let broken = |_| io::Error::other("the test breaks the connection");
        let wait = async move {
            // A test that does not look has dropped its end, which is its answer.
            let _ = arrived.send(());
            go_on.await.map_err(broken)
        };
        let done = match pause {
            Pause::Before => {
                wait.await?;
                work.await
            }
            Pause::After => {
                let done = work.await;
                wait.await?;
                done
            }
        };
        let _ = over.send(());
        Ok(done)
    }
}

/// What holds this request up, if anything does.
pub(super) fn strike(waiting: &mut Option<Held>, method: &str, path: &str) -> Option<Held> {
    match waiting {
        Some(Held { fits: (wanted, part), .. })
            if (wanted != "*" && wanted != method) || !path.contains(part.as_str()) =>
        {
            None
        }
        Some(held) if held.before > 0 => {
            held.before -= 1;
            None
        }
        _ => waiting.take(),
    }
}
