//! The life of a process that works on one job, and what is counted of many such lives.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::time::Duration;

use rustix::process::Signal;

use super::verify::wasted_calls;
use super::world::World;

/// How long one life may take.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// What came out of some worlds.
#[derive(Default)]
pub(super) struct Tally {
    pub(super) worlds: usize,
    pub(super) kills: usize,
    /// How often a kill came behind which step.
    pub(super) behind: BTreeMap<String, usize>,
    /// Calls of the model whose answers were lost with a process.
    pub(super) wasted: usize,
    pub(super) violations: Vec<String>,
}

impl Tally {
    pub(super) fn join(&mut self, other: Self) {
        self.worlds += other.worlds;
        self.kills += other.kills;
        self.wasted += other.wasted;
        self.violations.extend(other.violations);
        for (step, count) in other.behind {
            *self.behind.entry(step).or_default() += count;
        }
    }
}

/// Looks at what became of a world, and ends it.
pub(super) async fn conclude(world: World, tally: &mut Tally) {
    let mut wrong = world.verify().await;
    if let Some(wrong) = wrong.first_mut() {
        let events = world.look().await.map(|seen| seen.events).unwrap_or_default();
        let kinds: Vec<String> = events.into_iter().map(|event| event.kind).collect();
        wrong.push_str(&format!(" [events: {}]", kinds.join(" ")));
    }
    tally.violations.extend(wrong);
    tally.wasted += world.look().await.as_ref().map_or(0, wasted_calls);
    world.end().await;
}

/// Lets a process live: true if it came to its end, false if it was killed.
pub(super) async fn live(mut command: tokio::process::Command) -> Result<bool, String> {
    let mut child = command.spawn().map_err(|error| format!("a worker cannot be started: {error}"))?;
    // Its end is the end of the process, so it has to stay open.
    let _stdin = child.stdin.take();
    match tokio::time::timeout(PATIENCE, child.wait()).await {
        Ok(Ok(ended)) if ended.success() => Ok(true),
        Ok(Ok(ended)) if ended.signal() == Some(Signal::KILL.as_raw()) => Ok(false),
        Ok(ended) => Err(format!("a worker ended with {ended:?}")),
        Err(_) => Err(format!("a worker was not done after {PATIENCE:?}")),
    }
}
