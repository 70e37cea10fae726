//! The disk is full, again and again: the server says so, loses nothing, and goes on when there is room.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::ViewsOptions;
use super::world::{Senders, World, settings};
use crate::process::{Installation, Server};
use crate::seeded::Seeded;

/// The disk; what a run writes in all must fit, only what is put beside it makes it full.
const SIZE: &str = "size=64m";
/// What is left free at the most when the disk is made full, in bytes.
const LEFT: usize = 768 * 1024;
/// How many requests must be refused until the disk counts as full, and acknowledged until it counts as free.
const ENOUGH: usize = 15;
/// How often the server is killed on a full disk.
const KILLED: f64 = 0.4;
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs it, prints what came out, and says whether all was well.
pub(super) async fn run(options: &ViewsOptions) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let Some(disk) = Disk::mount(folder.path().join("disk")) else {
        println!("views on a full disk: SKIPPED, because a file system cannot be mounted here (that needs root)");
        return true;
    };
    let started = Instant::now();
    let installation = Installation { binary: &options.binary, folder: folder.path(), settings: settings() };
    // Only the page views are on the small disk; the database of projects is not what is tried here.
    fs::create_dir_all(folder.path().join("data")).unwrap();
    symlink(disk.views(), folder.path().join("data/views")).unwrap();
    let world = World::new(&installation, 1, options.seed);
    let mut run =
        Run { installation: &installation, disk: &disk, world, seeded: Seeded::part(options.seed, 2), kills: 0 };
    let rounds = run.all(options.full_disks).await;
    let ledger = run.world.ledger();
    super::show(&ledger.violations);
    let [acknowledged, refused, unknown] = ledger.fates();
    println!(
        "views on a full disk: {rounds} times full, {} kills on it; {acknowledged} requests with {} events acknowledged, {} \
         sent again, {refused} refused, {unknown} without an answer; {} violations, {:.1} s",
        run.kills,
        ledger.certain(),
        ledger.sent_again,
        ledger.violations.len(),
        started.elapsed().as_secs_f64(),
    );
    ledger.violations.is_empty()
}

struct Run<'a> {
    installation: &'a Installation<'a>,
    disk: &'a Disk,
    world: Arc<World>,
    seeded: Seeded,
    kills: usize,
}

impl Run<'_> {
    /// As many rounds as asked for, or until something is wrong.
    async fn all(&mut self, rounds: usize) -> usize {
        let Some(mut server) = self.start().await else { return 0 };
        for round in 0..rounds {
            match self.round(server).await {
                Some(next) => server = next,
                None => return round,
            }
        }
        self.world.settle(server.address, PATIENCE).await;
        self.world.check_all(server.address).await;
        drop(server);
        if let Some(server) = self.start().await {
            self.world.check_all(server.address).await;
        }
        rounds
    }

    /// Full, perhaps killed, and free again. None if something was wrong.
    async fn round(&mut self, mut server: Server) -> Option<Server> {
        let senders = Senders::start(&self.world, server.address, true);
        self.wait_for(&senders, "acknowledged with room on the disk", |senders| senders.acknowledged()).await?;
        self.disk.fill(self.seeded.below(LEFT));
        self.wait_for(&senders, "refused on a full disk", |senders| senders.refusals()).await?;
        if self.seeded.chance(KILLED) {
            // Only a moment in which requests are on their way is worth it.
            self.kills += 1;
            if !server.kill() {
                self.world.complain(["the server had ended by itself on a full disk".to_owned()]);
            }
            senders.finished().await;
            self.world.ledger().cut_off();
            server = self.start().await?;
        } else {
            senders.stop().await;
        }
        self.world.check_totals(server.address).await;
        self.disk.free();
        // By itself: nobody starts it again.
        let senders = Senders::start(&self.world, server.address, true);
        self.wait_for(&senders, "acknowledged after room was made", |senders| senders.acknowledged()).await?;
        senders.stop().await;
        self.world.check_totals(server.address).await;
        self.world.ledger().violations.is_empty().then_some(server)
    }

    /// Starts the server, with as much room as there is.
    async fn start(&mut self) -> Option<Server> {
        let mut server = self.installation.start();
        match server.answers(&self.world.totals_request(0), PATIENCE).await {
            Ok(()) => {
                self.world.check_totals(server.address).await;
                Some(server)
            }
            Err(why) => {
                self.world.complain([format!("the server did not start: {why}")]);
                None
            }
        }
    }

    async fn wait_for(&self, senders: &Senders, what: &str, count: impl Fn(&Senders) -> usize) -> Option<()> {
        let (before, give_up) = (count(senders), Instant::now() + PATIENCE);
        while count(senders) < before + ENOUGH {
            if Instant::now() >= give_up {
                self.world.complain([format!("{ENOUGH} requests were not {what} within {PATIENCE:?}")]);
                return None;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Some(())
    }
}

/// A small file system in memory.
struct Disk(PathBuf);

impl Disk {
    /// None if that is not allowed.
    fn mount(place: PathBuf) -> Option<Self> {
        fs::create_dir_all(&place).unwrap();
        let mut command = Command::new("mount");
        command.args(["-t", "tmpfs", "-o", SIZE, "tmpfs"]).arg(&place).stderr(Stdio::null());
        if !command.status().is_ok_and(|status| status.success()) {
            return None;
        }
        let disk = Self(place);
        fs::create_dir(disk.views()).unwrap();
        Some(disk)
    }

    fn views(&self) -> PathBuf {
        self.0.join("views")
    }

    fn ballast(&self) -> PathBuf {
        self.0.join("ballast")
    }

    /// Fills it up to so many bytes.
    fn fill(&self, left: usize) {
        let mut file = File::create(self.ballast()).unwrap();
        let (mut written, block) = (0, vec![1; 64 * 1024]);
        while let Ok(bytes @ 1..) = file.write(&block) {
            written += bytes;
        }
        file.set_len(written.saturating_sub(left) as u64).unwrap();
    }

    fn free(&self) {
        fs::remove_file(self.ballast()).unwrap();
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        unmount(&self.0);
    }
}

fn unmount(place: &Path) {
    // Lazily: a server that is being stopped may still hold files.
    let _ = Command::new("umount").arg("-l").arg(place).status();
}
