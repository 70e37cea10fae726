//! Logs that are being written, in blocks that end in the middle of lines, and rotated in every way, while those who
//! import and follow them are killed. Every line that is in a file is counted once.

mod book;
mod format;
mod importer;
mod writer;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use book::Book;
use format::Format;
use importer::Importer;
use writer::{Rotations, Writer, is_packed};

use super::ViewsOptions;
use super::world::{World, settings};
use crate::process::{Installation, Server};
use crate::seeded::Seeded;

/// Lines of one log; then all is counted, and another log begins.
const LINES_EACH: u64 = 50_000;
const PATIENCE: Duration = Duration::from_secs(120);

#[derive(Debug, Default)]
struct Tally {
    logs: usize,
    kills: usize,
    copies: usize,
    rotations: Rotations,
}

/// Runs it, prints what came out, and says whether all was well.
pub(super) async fn run(options: &ViewsOptions) -> bool {
    let started = Instant::now();
    let folder = tempfile::tempdir().unwrap();
    let installation = Installation { binary: &options.binary, folder: folder.path(), settings: settings() };
    let world = World::new(&installation, 1, options.seed);
    let mut seeded = Seeded::part(options.seed, 3);
    let (mut book, mut tally, mut violations) = (Book::new(options.seed), Tally::default(), Vec::new());
    while book.lines < options.live_lines && violations.is_empty() {
        tally.logs += 1;
        let log = folder.path().join(format!("logs-{}", tally.logs)).join("access.log");
        fs::create_dir(log.parent().unwrap()).unwrap();
        let format = Format::ALL[seeded.below(Format::ALL.len())];
        let mut importer =
            Importer::new(&installation, &world.projects[0], &log, format, Seeded::part(seeded.draw(), 1));
        // Whoever imports has the store, or asks the server that has it.
        let server = if seeded.chance(0.4) { Some(installation.start()) } else { None };
        let lines = LINES_EACH.min(options.live_lines - book.lines);
        // What was moved away before anybody followed is nobody's.
        violations.extend(importer.catch_up().await);
        let away = live(&mut importer, &log, format, &mut book, lines, &mut seeded, &mut tally).await;
        violations.extend(importer.catch_up().await);
        tally.kills += importer.kills;
        violations.extend(copies(&importer, &log, &away, &mut seeded, &mut tally).await);
        let server = server.unwrap_or_else(|| installation.start());
        violations.extend(check(server, &world, &book).await);
        if violations.is_empty() {
            fs::remove_dir_all(log.parent().unwrap()).unwrap();
        } else {
            violations.insert(0, format!("in log {} ({format:?}), imported {}", tally.logs, importer.how()));
        }
    }
    super::show(&violations);
    let Rotations { moved, packed, copied, at_once } = tally.rotations;
    println!(
        "views of live logs: {} lines in {} logs, moved away {moved} times, copied and emptied {copied} times, {packed} \
         packed, {at_once} rotations right after another; {} kills; {} lines certain, {} written between copy and \
         truncation, {} cut in two; {} copies imported again; {} violations, {:.1} s",
        book.lines,
        tally.logs,
        tally.kills,
        book.certain(),
        book.maybe,
        book.cut,
        tally.copies,
        violations.len(),
        started.elapsed().as_secs_f64(),
    );
    if !violations.is_empty() && std::env::var_os("TORTURE_KEEP").is_some() {
        eprintln!("kept: {}", folder.keep().display());
    }
    violations.is_empty()
}

/// Writes a log while it is imported. Gives what was moved away.
async fn live(
    importer: &mut Importer<'_>,
    log: &Path,
    format: Format,
    book: &mut Book,
    lines: u64,
    seeded: &mut Seeded,
    tally: &mut Tally,
) -> Vec<PathBuf> {
    let written = AtomicBool::new(false);
    let writer = Writer::new(log.to_owned(), format, book, Seeded::part(seeded.draw(), 2));
    let (rotations, away) = std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let done = writer.run(lines);
            written.store(true, Ordering::SeqCst);
            done
        });
        importer.import_until(&written);
        writer.join().unwrap()
    });
    let sum = &mut tally.rotations;
    sum.moved += rotations.moved;
    sum.packed += rotations.packed;
    sum.copied += rotations.copied;
    sum.at_once += rotations.at_once;
    away
}

/// Imports shorter copies of what was imported, unpacked ones, and several in one: nothing of it is new.
async fn copies(
    importer: &Importer<'_>,
    log: &Path,
    away: &[PathBuf],
    seeded: &mut Seeded,
    tally: &mut Tally,
) -> Vec<String> {
    let unpacked: Vec<Vec<u8>> = away.iter().map(|path| unpacked(path)).collect();
    let folder = log.parent().unwrap().join("copies");
    fs::create_dir(&folder).unwrap();
    let mut copies = Vec::new();
    for _ in 0..3.min(unpacked.len()) {
        let one = &unpacked[seeded.below(unpacked.len())];
        copies.push(one[..seeded.below(one.len() + 1)].to_vec());
        let whole: Vec<&Vec<u8>> = unpacked.iter().filter(|it| it.ends_with(b"\n")).collect();
        if !whole.is_empty() {
            let mut pick = || whole[seeded.below(whole.len())].as_slice();
            copies.push([pick(), pick()].concat());
        }
    }
    let mut wrong = Vec::new();
    for (number, copy) in copies.iter().enumerate() {
        tally.copies += 1;
        let path = folder.join(format!("copy-{number}"));
        fs::write(&path, copy).unwrap();
        wrong.extend(importer.import_all(&[path]).await);
    }
    wrong
}

fn unpacked(path: &Path) -> Vec<u8> {
    if !is_packed(path) {
        return fs::read(path).unwrap();
    }
    Command::new("gzip").arg("-dc").arg(path).output().unwrap().stdout
}

/// Holds every page against what was written.
async fn check(mut server: Server, world: &World, book: &Book) -> Vec<String> {
    if let Err(why) = server.answers(&world.totals_request(0), PATIENCE).await {
        return vec![format!("the server did not start: {why}")];
    }
    match world.counted(server.address, 0).await {
        Ok((counted, _)) => book.check(&counted),
        Err(why) => vec![why],
    }
}
