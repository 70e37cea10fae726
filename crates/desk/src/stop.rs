use copydesk_boxed::boxed;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

/// By which everything that runs in a process learns that it is to come to its end. Clones are the same token.
#[derive(Clone)]
pub struct Stop {
    asked: Arc<watch::Sender<bool>>,
    time: Duration,
}

#[boxed]
impl Stop {
    /// A token that nobody has used; once it is, what runs has so much time.
    pub fn new(time: Duration) -> Self {
        Self { asked: Arc::new(watch::Sender::new(false)), time }
    }

    pub fn ask(&self) {
        self.asked.send_replace(true);
    }

    pub fn is_asked(&self) -> bool {
        *self.asked.borrow()
    }

    /// Waits for [`Stop::ask`].
    pub async fn asked(&self) {
        // Fails only when the sender is gone, and `self` holds it.
        let _ = self.asked.subscribe().wait_for(|asked| *asked).await;
    }

    /// How long a shutdown may take.
    pub fn time(&self) -> Duration {
        self.time
    }

    /// How long work in the background may go on after the stop; the other half is for putting things away.
    pub(crate) fn time_for_work(&self) -> Duration {
        self.time / 2
    }
}
