//! Imports logs into the embedded store and says what it took: `import_log FOLDER FILE…`. With `-` for the folder they go
//! into a store that only counts, to see what reading, judging and adding up cost without it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use copydesk_domain::{Sources, SystemClock};
use copydesk_views::classify::Classifier;
use copydesk_views::logs::{Cancel, Options, Source, import};
use copydesk_views::store::{
    self, AgentViews, Answer, Counts, Embedded, Question, Ranking, Status, ViewStore, ViewsError,
};
use copydesk_views::{Appended, Batch, Bucket, Client, Mark, Verdict};
use futures_util::FutureExt;

/// Counts, and keeps nothing.
#[derive(Default)]
struct Counting {
    batches: AtomicU64,
    distinct: AtomicU64,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let folder = arguments.next().ok_or("import_log FOLDER FILE…")?;
    let sources = arguments.map(Source::File).collect();
    if folder == Path::new("-") {
        let store = Counting::default();
        run(&store, sources)?;
        println!("{:>12} batches", store.batches.into_inner());
        println!("{:>12} views that differ", store.distinct.into_inner());
    } else {
        let store = Embedded::open(&folder, store::Options::new(Arc::new(SystemClock)))?;
        run(&*store, sources)?;
        store.close();
    }
    Ok(())
}

fn run(store: &dyn ViewStore, sources: Vec<Source>) -> std::io::Result<()> {
    let options = Options::new("docs", Arc::new(SystemClock));
    let classifier = Arc::new(Classifier::builtin());
    let started = std::time::Instant::now();
    let runtime = tokio::runtime::Builder::new_multi_thread().build()?;
    let report = runtime.block_on(import(store, &classifier, sources, &options, &mut |_| {}, &Cancel::default()));
    let seconds = started.elapsed().as_secs_f64();
    for (name, count) in report.total.figures() {
        println!("{count:>12} {name}");
    }
    for error in report.files.iter().filter_map(|file| file.error.as_ref()) {
        println!("{error}");
    }
    let lines = report.total.lines;
    println!("{lines:>12} lines in {seconds:.2} s: {:.0} a second", lines as f64 / seconds);
    Ok(())
}

impl ViewStore for Counting {
    fn append(&self, batch: Batch) -> Answer<'_, Appended> {
        self.batches.fetch_add(1, Ordering::Relaxed);
        self.distinct.fetch_add(batch.views.len() as u64, Ordering::Relaxed);
        let counted = batch.views.iter().map(|view| u64::from(view.count)).sum();
        async move { Ok(Appended { counted, duplicates: Vec::new() }) }.boxed()
    }

    fn marks(&self, _: &str, _: &str) -> Answer<'_, Vec<Mark>> {
        async { Ok(Vec::new()) }.boxed()
    }

    fn status(&self, _: &str) -> Answer<'_, Status> {
        async { Ok(Status::default()) }.boxed()
    }

    fn ranking(&self, _: &str, _: Question) -> Answer<'_, Arc<Ranking>> {
        unused()
    }

    fn series(&self, _: &str, _: Option<&str>, _: Vec<Bucket>, _: Sources) -> Answer<'_, Vec<Counts>> {
        unused()
    }

    fn agents(&self, _: &str, _: Question, _: Option<&str>, _: usize) -> Answer<'_, Vec<AgentViews>> {
        unused()
    }

    fn clients(&self, _: &str) -> Answer<'_, Vec<(Arc<Client>, u64)>> {
        unused()
    }

    fn relabel(&self, _: &str, _: Vec<(Arc<Client>, Verdict)>) -> Answer<'_, ()> {
        unused()
    }

    fn retain(&self, _: &str, _: Bucket) -> Answer<'_, ()> {
        unused()
    }

    fn remove(&self, _: &str) -> Answer<'_, ()> {
        unused()
    }

    fn backup(&self, _: &Path) -> Answer<'_, ()> {
        unused()
    }

    fn projects(&self) -> Answer<'_, Vec<String>> {
        unused()
    }
}

fn unused<'a, T: Send + 'a>() -> Answer<'a, T> {
    async { Err(ViewsError::Unavailable("it only counts".to_owned())) }.boxed()
}
