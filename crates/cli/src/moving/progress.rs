//! Waiting for what runs, and telling how far it is.

use std::io::IsTerminal;
use std::time::Duration;

use copydesk_store::Store;
use indicatif::{ProgressBar, ProgressStyle};

use crate::failure::Failure;
use crate::output::{self, counted};

const LOOK: Duration = Duration::from_millis(500);

/// Waits until nobody works on a job of the old place any more.
pub(super) async fn wait(store: &Store) -> Result<(), Failure> {
    let mut told = 0;
    loop {
        let running = store.jobs_in_hand().await?;
        if running == 0 {
            return Ok(());
        }
        if running != told {
            told = running;
            output::line(&format!(
                "Waiting for {} to end; no other one begins. Ctrl-C ends the waiting, and the same command goes on with it.",
                counted(running, "running job")
            ));
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// How far a copy is: a line on a terminal, nothing elsewhere.
pub(super) struct Bar(Option<ProgressBar>);

impl Bar {
    pub(super) fn new() -> Self {
        let bar = std::io::stderr().is_terminal().then(ProgressBar::new_spinner);
        if let (Some(bar), Ok(style)) = (&bar, ProgressStyle::with_template("{spinner} {msg}")) {
            bar.set_style(style);
        }
        Self(bar)
    }

    pub(super) fn tell(&mut self, what: &str, count: u64) {
        if let Some(bar) = &self.0 {
            bar.set_message(format!("{what}: {count}"));
            bar.tick();
        }
    }

    pub(super) fn end(self) {
        if let Some(bar) = self.0 {
            bar.finish_and_clear();
        }
    }
}
