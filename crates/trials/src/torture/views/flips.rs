//! One bit of one file is flipped, in a copy of the server's folder: the answer is right, or it says that it is not.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::ViewsOptions;
use super::world::{Senders, Verdict, World, settings};
use crate::connection::{Connection, request};
use crate::process::{Installation, Server};
use crate::seeded::Seeded;

const PROJECTS: usize = 3;
/// Lives of one server, and flips after each of them.
const LIVES: usize = 4;
const FLIPS: usize = 25;
/// How long a life is, in milliseconds.
const LIFE: (usize, usize) = (20, 150);
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Default)]
struct Tally {
    flips: usize,
    right: usize,
    doubted: usize,
    said: usize,
    violations: Vec<String>,
}

/// Runs it, prints what came out, and says whether all was well.
pub(super) async fn run(options: &ViewsOptions) -> bool {
    let started = Instant::now();
    let mut seeded = Seeded::part(options.seed, 3);
    let mut tally = Tally::default();
    while tally.flips < options.flips && tally.violations.is_empty() {
        let folder = tempfile::tempdir().unwrap();
        let installation = Installation { binary: &options.binary, folder: folder.path(), settings: settings() };
        let world = World::new(&installation, PROJECTS, seeded.draw());
        for _ in 0..LIVES {
            life(&installation, &world, &mut seeded).await;
            let left = options.flips.saturating_sub(tally.flips).min(FLIPS);
            for _ in 0..left {
                flip_one(&installation, &world, &mut seeded, &mut tally).await;
            }
        }
        tally.violations.extend(std::mem::take(&mut world.ledger().violations));
    }
    super::show(&tally.violations);
    println!(
        "views: {} flipped bits: {} answers right, {} right and doubted, {} wrong and said so; {} violations, {:.1} s",
        tally.flips,
        tally.right,
        tally.doubted,
        tally.said,
        tally.violations.len(),
        started.elapsed().as_secs_f64(),
    );
    tally.violations.is_empty()
}

/// Views come in; then the server is killed or stopped, so that they are in the log alone or in files.
async fn life(installation: &Installation<'_>, world: &Arc<World>, seeded: &mut Seeded) {
    let mut server = installation.start();
    if let Err(why) = server.answers(&world.totals_request(0), PATIENCE).await {
        return world.complain([format!("the server did not start: {why}")]);
    }
    let senders = Senders::start(world, server.address, true);
    tokio::time::sleep(Duration::from_millis(seeded.within(LIFE.0, LIFE.1) as u64)).await;
    if seeded.chance(0.5) {
        server.kill();
        senders.finished().await;
    } else {
        senders.stop().await;
        drop(server);
    }
    world.ledger().cut_off();
}

async fn flip_one(installation: &Installation<'_>, world: &Arc<World>, seeded: &mut Seeded, tally: &mut Tally) {
    let copy = tempfile::tempdir().unwrap();
    copy_files(&installation.folder.join("data"), &copy.path().join("data"));
    let files = files(&copy.path().join("data/views"));
    let file = &files[seeded.below(files.len())];
    let mut bytes = fs::read(file).unwrap();
    if bytes.is_empty() {
        return;
    }
    let at = seeded.below(bytes.len());
    bytes[at] ^= 1 << seeded.below(8);
    fs::write(file, &bytes).unwrap();
    tally.flips += 1;
    let flipped = Installation { binary: installation.binary, folder: copy.path(), settings: settings() };
    let place = format!("{} at {at} of {}", file.strip_prefix(copy.path()).unwrap().display(), bytes.len());
    if let Err(why) = look(&flipped, world, seeded, tally).await {
        tally.violations.push(format!("{place}: {why}"));
        if std::env::var_os("TORTURE_KEEP").is_some() {
            eprintln!("kept: {}", copy.keep().display());
        }
    }
}

/// Looks at every answer after the flip, after a repair, and after another start.
async fn look(
    installation: &Installation<'_>,
    world: &Arc<World>,
    seeded: &mut Seeded,
    tally: &mut Tally,
) -> Result<(), String> {
    // Whoever opens the store first has to tell the others.
    if seeded.chance(0.3) {
        run_command(installation, &["views", "status"])?;
    }
    let server = started(installation, world).await?;
    answers(world, &server, tally, true).await?;
    takes(world, &server).await?;
    drop(server);
    if seeded.chance(0.5) {
        run_command(installation, &["views", "repair"])?;
    }
    let server = started(installation, world).await?;
    let verdicts = answers(world, &server, tally, false).await;
    drop(server);
    verdicts
}

async fn started(installation: &Installation<'_>, world: &World) -> Result<Server, String> {
    let mut server = installation.start();
    let ready = request("GET", "/readyz", &world.key, &[], None);
    server.answers(&ready, PATIENCE).await.map_err(|why| format!("the server did not start: {why}"))?;
    Ok(server)
}

async fn answers(world: &World, server: &Server, tally: &mut Tally, counts: bool) -> Result<(), String> {
    for project in 0..world.projects.len() {
        let verdict = world.verdict(server.address, project).await?;
        let counter = match verdict {
            Verdict::Right => &mut tally.right,
            Verdict::RightAndDoubted => &mut tally.doubted,
            Verdict::WrongAndSaid => &mut tally.said,
            Verdict::Wrong(wrong) => return Err(wrong.join("; ")),
        };
        *counter += usize::from(counts);
    }
    Ok(())
}

/// Whether events with ids are still taken.
async fn takes(world: &World, server: &Server) -> Result<(), String> {
    let mut connection = Connection::open(server.address).await.map_err(|error| error.to_string())?;
    for project in &world.projects {
        // Counted in neither figure, so that these stay as they are; but its id has to be looked for.
        let event = r#"{"path":"/a","userAgent":"x-monitor/1.0 bot","id":"one more"}"#;
        let address = format!("/v1/analytics/{project}/events");
        let reply = connection.exchange(&request("POST", &address, &world.key, &[], Some(event))).await;
        let reply = reply.map_err(|error| error.to_string())?;
        if reply.status != 200 {
            return Err(format!("an event was answered with {}", reply.status));
        }
    }
    Ok(())
}

fn run_command(installation: &Installation<'_>, arguments: &[&str]) -> Result<(), String> {
    let output = installation.command(arguments).output().map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() { Ok(()) } else { Err(format!("{arguments:?} failed: {said}")) }
}

fn copy_files(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (kind, target) = (entry.file_type().unwrap(), to.join(entry.file_name()));
        if kind.is_dir() {
            copy_files(&entry.path(), &target);
        } else if kind.is_file() {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// All files below a folder, in order.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.retain(|path| path.file_name().is_none_or(|name| name != "lock"));
    found.sort();
    found
}
