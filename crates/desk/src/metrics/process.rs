//! What the process itself takes, by the names that Prometheus' own libraries give to it. Where the system does not tell,
//! as it does on Linux, there is nothing.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;

use copydesk_domain::{Clock, SystemClock};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use rustix::fs::statvfs;
use rustix::param::{clock_ticks_per_second, page_size};
use rustix::process::{Resource, getrlimit};

pub(super) struct Process {
    cpu: Counter<f64, AtomicU64>,
    memory: Gauge,
    open_files: Gauge,
    most_files: Gauge,
    /// The folder for everything that is stored on disk, and what is free and what there is where it is.
    data: Option<PathBuf>,
    free: Gauge,
    size: Gauge,
}

impl Process {
    pub(super) fn new(registry: &mut Registry, data: Option<PathBuf>) -> Self {
        let process = Self {
            cpu: Counter::default(),
            memory: Gauge::default(),
            open_files: Gauge::default(),
            most_files: Gauge::default(),
            data,
            free: Gauge::default(),
            size: Gauge::default(),
        };
        let started: Gauge = Gauge::default();
        started.set(SystemClock.now().as_millis() / 1000);
        registry.register("process_start_time_seconds", "When the process started, since 1970", started);
        // What is not told would read as 0.
        if cpu_seconds().is_some() {
            registry.register("process_cpu_seconds", "Time that processors worked for it", process.cpu.clone());
            registry.register("process_resident_memory_bytes", "Memory that it holds", process.memory.clone());
            registry.register("process_open_fds", "Open files and connections", process.open_files.clone());
            registry.register("process_max_fds", "The most of them that it may have", process.most_files.clone());
        }
        if process.data.as_deref().and_then(space).is_some() {
            registry.register("copydesk_data_free_bytes", "Free space where the data folder is", process.free.clone());
            registry.register("copydesk_data_size_bytes", "Space where the data folder is", process.size.clone());
        }
        process
    }

    /// Looks.
    pub(super) fn look(&self) {
        if let Some(seconds) = cpu_seconds() {
            let before = self.cpu.get();
            if seconds > before {
                self.cpu.inc_by(seconds - before);
            }
        }
        if let Some(bytes) = resident_bytes() {
            self.memory.set(bytes);
        }
        if let Ok(files) = std::fs::read_dir("/proc/self/fd") {
            self.open_files.set(whole(files.count() as u64));
        }
        if let Some(most) = getrlimit(Resource::Nofile).current {
            self.most_files.set(whole(most));
        }
        if let Some((free, size)) = self.data.as_deref().and_then(space) {
            self.free.set(whole(free));
            self.size.set(whole(size));
        }
    }
}

fn whole(amount: u64) -> i64 {
    i64::try_from(amount).unwrap_or(i64::MAX)
}

/// The time in the system and outside of it: the 14th and 15th field, counted from before the name, which may hold anything.
fn cpu_seconds() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let (_, behind_name) = stat.rsplit_once(") ")?;
    let mut fields = behind_name.split(' ').skip(11);
    let ticks = fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?;
    Some(ticks as f64 / clock_ticks_per_second() as f64)
}

fn resident_bytes() -> Option<i64> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split(' ').nth(1)?.parse().ok()?;
    Some(whole(pages.saturating_mul(page_size() as u64)))
}

fn space(folder: &Path) -> Option<(u64, u64)> {
    let told = statvfs(folder).ok()?;
    Some((told.f_bavail.saturating_mul(told.f_frsize), told.f_blocks.saturating_mul(told.f_frsize)))
}
