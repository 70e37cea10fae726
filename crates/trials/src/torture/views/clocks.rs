//! The server's clock leaps while page views come in and old ones are forgotten: no view that is young is lost, and none is
//! counted twice.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use copydesk_domain::{Clock, SystemClock};

use super::ViewsOptions;
use super::event::OLDEST;
use super::world::{Senders, World, settings};
use crate::process::Installation;
use crate::seeded::Seeded;

const PROJECTS: usize = 3;
/// The clock of the machine is put through this library, where Debian has it.
const LIBRARY: &str = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1";
/// Views are kept for so many days longer than the oldest needs.
const SPARE_DAYS: i64 = 30;
/// How far the clock leaps, in days. Not so far back that what is sent would be from the future.
const LEAPS: [i64; 6] = [120, 365, 4000, 3, -30, 0];
/// How many of these would make everything too old.
const FAR: usize = 3;
/// How long it stays so, and how often it leaps in a life. Old views are looked for ten seconds after a start, after the
/// last leap, which is a far one.
const STAYS: Duration = Duration::from_secs(3);
const LEAPS_A_LIFE: usize = 4;
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs it, prints what came out, and says whether all was well.
pub(super) async fn run(options: &ViewsOptions) -> bool {
    if !Path::new(LIBRARY).exists() {
        println!("views: clocks were not tried: {LIBRARY} is missing (Debian: faketime)");
        return std::env::var_os("COPYDESK_TEST_SERVERS").is_none();
    }
    let started = Instant::now();
    let folder = tempfile::tempdir().unwrap();
    let mut seeded = Seeded::part(options.seed, 4);
    let right = Installation { binary: &options.binary, folder: folder.path(), settings: with_retention() };
    let world = World::new(&right, PROJECTS, options.seed);
    let mut leaps = 0;
    for life in 0..options.clocks {
        leaps += live(&right, &world, &mut seeded, life % 2 == 1).await;
        if !world.ledger().violations.is_empty() {
            break;
        }
    }
    last_look(&right, &world).await;
    let ledger = world.ledger();
    super::show(&ledger.violations);
    println!(
        "views: {} lives with {leaps} leaps of the clock; {} events acknowledged; {} violations, {:.1} s",
        options.clocks,
        ledger.certain(),
        ledger.violations.len(),
        started.elapsed().as_secs_f64(),
    );
    ledger.violations.is_empty()
}

fn with_retention() -> Vec<(&'static str, String)> {
    let mut settings = settings();
    let age = SystemClock.now().as_millis() / 1000 - OLDEST as i64;
    settings.push(("COPYDESK_VIEWS__KEEP_DAYS", (age / 86_400 + SPARE_DAYS).to_string()));
    settings
}

/// One life of a server whose clock leaps; says how often.
async fn live(right: &Installation<'_>, world: &Arc<World>, seeded: &mut Seeded, is_killed: bool) -> usize {
    let shown = right.folder.join("clock");
    set(&shown, LEAPS[seeded.below(LEAPS.len())]);
    let mut settings = with_retention();
    settings.extend([
        ("LD_PRELOAD", LIBRARY.to_owned()),
        ("FAKETIME_TIMESTAMP_FILE", shown.display().to_string()),
        ("FAKETIME_NO_CACHE", "1".to_owned()),
        ("DONT_FAKE_MONOTONIC", "1".to_owned()),
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1".to_owned()),
    ]);
    let installation = Installation { binary: right.binary, folder: right.folder, settings };
    let mut server = installation.start();
    if let Err(why) = server.answers(&world.totals_request(0), PATIENCE).await {
        world.complain([format!("the server did not start: {why}")]);
        return 0;
    }
    for leap in 1..=LEAPS_A_LIFE {
        // Not all the time: what is asked is what became of views, not how many there are.
        let senders = Senders::start(world, server.address, true);
        tokio::time::sleep(Duration::from_millis(100)).await;
        senders.stop().await;
        tokio::time::sleep(STAYS - Duration::from_millis(100)).await;
        world.check_totals(server.address).await;
        let among = if leap + 1 == LEAPS_A_LIFE { FAR } else { LEAPS.len() };
        set(&shown, LEAPS[seeded.below(among)]);
    }
    world.check_totals(server.address).await;
    if is_killed {
        server.kill();
    }
    world.ledger().cut_off();
    LEAPS_A_LIFE + 1
}

/// Sets the clock.
fn set(shown: &Path, days: i64) {
    // In one step: half of a file would be no time at all.
    let new = shown.with_extension("new");
    fs::write(&new, format!("{days:+}d\n")).unwrap();
    fs::rename(new, shown).unwrap();
}

async fn last_look(right: &Installation<'_>, world: &Arc<World>) {
    let mut server = right.start();
    match server.answers(&world.totals_request(0), PATIENCE).await {
        Ok(()) => {
            world.settle(server.address, PATIENCE).await;
            world.check_all(server.address).await;
        }
        Err(why) => world.complain([format!("the server did not start in the end: {why}")]),
    }
}
