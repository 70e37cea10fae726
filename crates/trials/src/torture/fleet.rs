//! The worker processes: started, killed, held still and started again.

use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use copydesk_domain::random_fraction;
use rustix::process::{Pid, Signal, kill_process};

use super::journal::monotonic;

/// One process, from its start to its death, in nanoseconds of the shared clock.
#[derive(Debug, Clone, Default)]
pub(super) struct Life {
    pub(super) pid: u32,
    pub(super) born: u64,
    /// When it was certainly dead.
    pub(super) died: Option<u64>,
    /// When it was held still, from and until.
    pub(super) stops: Vec<(u64, u64)>,
}

/// How long a process may need until it listens for signals, in nanoseconds.
const SETTLING: u64 = 2_000_000_000;

/// How worker processes are started.
#[derive(Clone)]
pub(super) struct Start {
    /// The command of the process with this number. It ends when its standard input does.
    pub(super) command: Arc<dyn Fn(usize) -> Command + Send + Sync>,
    pub(super) lease: Duration,
}

struct Worker {
    child: Child,
    life: Life,
    resume_at: Option<Instant>,
}

/// The processes that run, and the lives of those that no longer do.
pub(super) struct Fleet {
    start: Start,
    running: Vec<Worker>,
    past: Vec<Life>,
    pub(super) kills: usize,
    /// What processes did that nobody asked for.
    pub(super) complaints: Vec<String>,
}

impl Fleet {
    pub(super) fn new(start: Start, processes: usize) -> Self {
        let running = (0..processes).map(|slot| start.spawn(slot)).collect();
        Self { start, running, past: Vec::new(), kills: 0, complaints: Vec::new() }
    }

    /// Kills one of the processes that `wanted` says yes to, or else any, and puts another in its place at once.
    pub(super) fn kill_one(&mut self, wanted: impl Fn(u32) -> bool) {
        let Some(slot) = self.choose(wanted).or_else(|| self.choose(|_| true)) else { return };
        let worker = &mut self.running[slot];
        worker.child.kill().unwrap();
        let ended = worker.child.wait().unwrap();
        if ended.signal() == Some(Signal::KILL.as_raw()) {
            self.kills += 1;
            self.replace(slot);
        } else {
            self.unplanned(slot, ended);
        }
    }

    /// Holds still one of the processes that `wanted` says yes to, for longer than it keeps its leases.
    pub(super) fn stop_one(&mut self, wanted: impl Fn(u32) -> bool) {
        let Some(slot) = self.choose(wanted) else { return };
        let worker = &mut self.running[slot];
        let pause = self.start.lease + Duration::from_millis(500) + Duration::from_secs(1).mul_f64(random_fraction());
        worker.life.stops.push((monotonic(), u64::MAX));
        worker.resume_at = Some(Instant::now() + pause);
        worker.send(Signal::STOP);
    }

    /// Lets those go on that have been held still for long enough, or all.
    pub(super) fn resume(&mut self, all: bool) {
        for worker in &mut self.running {
            if worker.resume_at.is_some_and(|at| all || at <= Instant::now()) {
                worker.resume_at = None;
                worker.send(Signal::CONT);
                if let Some(stop) = worker.life.stops.last_mut() {
                    stop.1 = monotonic();
                }
            }
        }
    }

    /// Replaces processes that ended by themselves, which none should.
    pub(super) fn mind(&mut self) {
        for slot in 0..self.running.len() {
            if let Ok(Some(ended)) = self.running[slot].child.try_wait() {
                self.unplanned(slot, ended);
            }
        }
    }

    /// Asks all to stop, waits for them, and gives the lives of all there were.
    pub(super) async fn finish(mut self, patience: Duration) -> Ended {
        self.resume(true);
        let asked = monotonic();
        self.running.iter().for_each(|worker| worker.send(Signal::TERM));
        let give_up = Instant::now() + patience;
        for mut worker in std::mem::take(&mut self.running) {
            let pid = worker.life.pid;
            match worker.ended_by(give_up).await {
                Some(ended) if ended.success() => {}
                // One that was only just started in place of a killed one does not listen for it yet.
                Some(ended) if ended.signal() == Some(15) && asked < worker.life.born + SETTLING => {}
                Some(ended) => self.complaints.push(format!("worker {pid}, asked to stop, ended with {ended}")),
                None => self.complaints.push(format!("worker {pid} did not stop within {patience:?} of SIGTERM")),
            }
            worker.end();
            self.past.push(worker.life.clone());
        }
        Ended {
            lives: std::mem::take(&mut self.past),
            kills: self.kills,
            complaints: std::mem::take(&mut self.complaints),
        }
    }

    /// A random one of those that are not held still and that `wanted` says yes to.
    fn choose(&self, wanted: impl Fn(u32) -> bool) -> Option<usize> {
        let free = |worker: &Worker| worker.resume_at.is_none() && wanted(worker.life.pid);
        let slots: Vec<usize> = (0..self.running.len()).filter(|slot| free(&self.running[*slot])).collect();
        slots.get((random_fraction() * slots.len() as f64) as usize).copied()
    }

    fn unplanned(&mut self, slot: usize, ended: ExitStatus) {
        self.complaints.push(format!("worker {} ended by itself with {ended}", self.running[slot].life.pid));
        self.replace(slot);
    }

    fn replace(&mut self, slot: usize) {
        let mut old = std::mem::replace(&mut self.running[slot], self.start.spawn(slot));
        old.life.died = Some(monotonic());
        self.past.push(old.life.clone());
    }
}

/// What is left of a fleet.
pub(super) struct Ended {
    pub(super) lives: Vec<Life>,
    pub(super) kills: usize,
    pub(super) complaints: Vec<String>,
}

impl Start {
    fn spawn(&self, slot: usize) -> Worker {
        let born = monotonic();
        let child = (self.command)(slot).stdin(Stdio::piped()).spawn().unwrap();
        let life = Life { pid: child.id(), born, ..Life::default() };
        Worker { child, life, resume_at: None }
    }
}

impl Worker {
    /// The child has not been waited for, so the number is still its own.
    fn send(&self, signal: Signal) {
        let _ = kill_process(Pid::from_child(&self.child), signal);
    }

    async fn ended_by(&mut self, give_up: Instant) -> Option<ExitStatus> {
        loop {
            if let Ok(Some(ended)) = self.child.try_wait() {
                return Some(ended);
            }
            if Instant::now() >= give_up {
                return None;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Makes sure that it is dead.
    fn end(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.life.died.get_or_insert_with(monotonic);
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.end();
    }
}
