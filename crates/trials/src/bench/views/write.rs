//! A sample on its way into Copydesk's store and into the files for the others.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use copydesk_domain::SystemClock;
use copydesk_views::store::ViewStore;
use copydesk_views::{Batch, Bucket, View};
use copydesk_views_database::{ClickHouseAddress, ClickHouseOptions, Database};
use copydesk_views_embedded::{Embedded, Options, bulk};
use futures_util::{StreamExt, stream};

use super::questions::{date, first_day};
use crate::bench::sample::{DAYS, Sample, counted};

/// Batches that wait for the disk together.
const AT_ONCE: usize = 32;

/// Writes a sample through ordinary appends, a batch for each quarter hour.
pub(in crate::bench) async fn append(sample: &Sample, folder: &Path, project: &str) -> Duration {
    let started = Instant::now();
    let store = Embedded::open(folder, Options::new(Arc::new(SystemClock))).unwrap();
    let batches = (0..sample.buckets()).map(|number| batch(sample, number, project));
    append_batches(sample, &*store, batches, AT_ONCE).await;
    store.close();
    started.elapsed()
}

/// The same into a PostgreSQL database, a batch for each day: with one for each quarter hour that takes half an hour.
pub(super) async fn append_to_database(sample: &Sample, url: &str, project: &str) -> Duration {
    let started = Instant::now();
    let options = copydesk_views_database::Options::new(Arc::new(SystemClock));
    // One after the other: they are of one project, and the next is drawn while one is written.
    let store = Database::open(url, options).await.unwrap();
    append_batches(sample, &*store, (0..DAYS).map(|day| day_batch(sample, day, project)), 2).await;
    store.close().await;
    started.elapsed()
}

/// The same into ClickHouse behind a PostgreSQL database, a batch for each day. Gives how long it took until all were in the
/// ledger, and until all were in ClickHouse.
pub(super) async fn append_to_clickhouse(
    sample: &Sample,
    url: &str,
    clickhouse: &str,
    project: &str,
) -> (Duration, Duration) {
    let started = Instant::now();
    let clickhouse = ClickHouseOptions::new(ClickHouseAddress::parse(clickhouse, None).unwrap());
    let options = copydesk_views_database::Options {
        clickhouse: Some(clickhouse),
        ..copydesk_views_database::Options::new(Arc::new(SystemClock))
    };
    let at_once = options.connections as usize;
    let store = Database::open(url, options).await.unwrap();
    append_batches(sample, &*store, (0..DAYS).map(|day| day_batch(sample, day, project)), at_once).await;
    let in_ledger = started.elapsed();
    // A question waits for what is on its way, but not for ever.
    let status = loop {
        if let Ok(status) = store.status(project).await {
            break status;
        }
    };
    let in_all = started.elapsed();
    assert_eq!(status.views, sample.views, "every view has arrived");
    store.close().await;
    (in_ledger, in_all)
}

async fn append_batches(sample: &Sample, store: &dyn ViewStore, batches: impl Iterator<Item = Batch>, at_once: usize) {
    let batches = stream::iter(batches).map(|batch| store.append(batch));
    let appended = batches.buffer_unordered(at_once).map(|appended| appended.unwrap().counted);
    let counted = appended.fold(0, async |sum, counted| sum + counted).await;
    assert_eq!(counted, sample.views, "every view is counted");
}

fn batch(sample: &Sample, number: u32, project: &str) -> Batch {
    let mut drawn = Vec::new();
    sample.draw(number, &mut drawn);
    let view = |(pair, count)| {
        let (path, client) = sample.pair(pair);
        let (path, client) = (sample.paths[path].clone(), sample.clients[client].clone());
        View { bucket: sample.bucket(number), path, client, count, id: None }
    };
    Batch { project: project.to_owned(), views: counted(&mut drawn).map(view).collect(), ..Batch::default() }
}

fn day_batch(sample: &Sample, day: u32, project: &str) -> Batch {
    let quarters = day * Bucket::A_DAY..(day + 1) * Bucket::A_DAY;
    let views = quarters.flat_map(|number| batch(sample, number, project).views).collect();
    Batch { project: project.to_owned(), views, ..Batch::default() }
}

/// Writes a sample as one finished file of the store, and the daily rollup of it for the others.
pub(super) fn build(sample: &Sample, folder: &Path, project: &str, rollup: impl Write) -> io::Result<Duration> {
    let started = Instant::now();
    // Both channels send from the first quarter hour on.
    let since = Some(sample.bucket(0));
    let mut rollup = Rollup { to: rollup, counts: vec![[0; 2]; sample.paths.len()] };
    bulk::place(folder, project, since, since, |file| fill(sample, file, &mut rollup))?;
    rollup.to.flush()?;
    Ok(started.elapsed())
}

/// Writes a sample as one finished file of the store.
pub(in crate::bench) fn place(sample: &Sample, folder: &Path, project: &str) {
    build(sample, folder, project, io::sink()).unwrap();
}

fn fill(sample: &Sample, file: &Path, rollup: &mut Rollup<impl Write>) -> io::Result<bulk::Info> {
    let pairs = (0..sample.pairs()).map(|pair| sample.pair(pair)).map(|(path, client)| (path as u32, client as u32));
    let mut builder = bulk::Builder::create(file, sample.paths.clone(), sample.clients.clone(), pairs.collect())?;
    let mut drawn = Vec::new();
    for day in 0..DAYS {
        for number in day * Bucket::A_DAY..(day + 1) * Bucket::A_DAY {
            sample.draw(number, &mut drawn);
            for (pair, count) in counted(&mut drawn) {
                builder.push(sample.bucket(number), pair, u64::from(count))?;
                let (path, client) = sample.pair(pair);
                rollup.counts[path][usize::from(sample.is_ai(client))] += count;
            }
        }
        rollup.end_day(sample, day)?;
    }
    builder.finish()
}

/// Human and AI views of each page in a day.
struct Rollup<W> {
    to: W,
    counts: Vec<[u32; 2]>,
}

impl<W: Write> Rollup<W> {
    fn end_day(&mut self, sample: &Sample, day: u32) -> io::Result<()> {
        let date = date(i64::from(first_day() + day));
        for (path, counts) in sample.paths.iter().zip(&mut self.counts) {
            let [human, ai] = std::mem::take(counts);
            if human + ai > 0 {
                writeln!(self.to, "{date},{path},{human},{ai}")?;
            }
        }
        Ok(())
    }
}
