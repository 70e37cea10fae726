//! The server is killed at any moment under full load, and the end of its log is torn.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::ViewsOptions;
use super::torn::{Torn, tear};
use super::world::{Senders, World, settings};
use crate::process::{Installation, Server};
use crate::seeded::Seeded;

const PROJECTS: usize = 3;
/// The time between the server's being ready and its death, in milliseconds.
const LIFE: (usize, usize) = (20, 500);
/// The time to its death in a life in which it hardly gets to be ready.
const SHORT_LIFE: (usize, usize) = (0, 60);
const SHORT_LIVES: f64 = 0.2;
const TORN: f64 = 0.5;
/// How long a start may take, and how long it may take to send everything again.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Default)]
struct Tally {
    kills: usize,
    early: usize,
    /// Kills that met requests which were on their way.
    busy: usize,
    longer: usize,
    spoilt: usize,
    slowest: Duration,
}

/// Runs it, prints what came out, and says whether all was well.
pub(super) async fn run(options: &ViewsOptions) -> bool {
    let started = Instant::now();
    let folder = tempfile::tempdir().unwrap();
    let installation = Installation { binary: &options.binary, folder: folder.path(), settings: settings() };
    let world = World::new(&installation, PROJECTS, options.seed);
    let mut seeded = Seeded::part(options.seed, 1);
    let mut tally = Tally::default();
    while tally.kills < options.kills && world.ledger().violations.is_empty() {
        life(&installation, &world, &mut seeded, &mut tally).await;
        if seeded.chance(TORN) {
            let torn =
                tear(&folder.path().join("data/views/wal"), &mut seeded, |it| world.ledger().is_acknowledged(it));
            tally.longer += usize::from(torn == Torn::Longer);
            tally.spoilt += usize::from(torn == Torn::Spoilt);
        }
    }
    last_look(&installation, &world).await;
    let well = report(&world, &tally, started.elapsed());
    if !well && std::env::var_os("TORTURE_KEEP").is_some() {
        eprintln!("kept: {}", folder.keep().display());
    }
    well
}

/// One life of the server, from its start to its death.
async fn life(installation: &Installation<'_>, world: &Arc<World>, seeded: &mut Seeded, tally: &mut Tally) {
    let born = Instant::now();
    let mut server = installation.start();
    tally.kills += 1;
    if seeded.chance(SHORT_LIVES) {
        tokio::time::sleep(milliseconds(seeded, SHORT_LIFE)).await;
        tally.early += 1;
        return end(world, server);
    }
    if let Err(why) = server.answers(&world.totals_request(0), PATIENCE).await {
        return world.complain([format!("the server did not start after {} kills: {why}", tally.kills - 1)]);
    }
    tally.slowest = tally.slowest.max(born.elapsed());
    world.check_totals(server.address).await;
    let unanswered = |world: &World| world.ledger().fates()[2];
    let before = unanswered(world);
    let senders = Senders::start(world, server.address, true);
    tokio::time::sleep(milliseconds(seeded, LIFE)).await;
    end(world, server);
    senders.finished().await;
    tally.busy += usize::from(unanswered(world) > before);
    world.ledger().cut_off();
}

fn end(world: &World, server: Server) {
    if !server.kill() {
        world.complain(["the server had ended by itself".to_owned()]);
    }
}

/// Everything that can be sent again is; then every path is looked at, also by a server that was started once more.
async fn last_look(installation: &Installation<'_>, world: &Arc<World>) {
    let ready = world.totals_request(0);
    for again in [false, true] {
        let mut server = installation.start();
        if let Err(why) = server.answers(&ready, PATIENCE).await {
            return world.complain([format!("the server did not start in the end: {why}")]);
        }
        if !again {
            world.settle(server.address, PATIENCE).await;
        }
        world.check_all(server.address).await;
    }
}

fn milliseconds(seeded: &mut Seeded, (from, to): (usize, usize)) -> Duration {
    Duration::from_millis(seeded.within(from, to) as u64)
}

fn report(world: &World, tally: &Tally, took: Duration) -> bool {
    let ledger = world.ledger();
    let mut violations = ledger.violations.clone();
    // A kill that meets nobody at work proves nothing.
    if tally.busy * 2 < tally.kills {
        violations.push(format!("only {} of {} kills met requests on their way", tally.busy, tally.kills));
    }
    super::show(&violations);
    let [acknowledged, refused, unknown] = ledger.fates();
    println!(
        "views: {} kills ({} while it started), torn tails: {} longer, {} spoilt; {acknowledged} requests with {} events \
         acknowledged, {} sent again, {refused} refused, {unknown} without an answer; slowest start {:.2} s; {} violations, \
         {:.1} s",
        tally.kills,
        tally.early,
        tally.longer,
        tally.spoilt,
        ledger.certain(),
        ledger.sent_again,
        tally.slowest.as_secs_f64(),
        violations.len(),
        took.as_secs_f64(),
    );
    violations.is_empty()
}
