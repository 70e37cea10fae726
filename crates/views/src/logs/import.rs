//! Reads logs once and for all: each line is counted by exactly one import, however often its log is given, renamed,
//! packed or continued.
//!
//! A thread reads and cuts into blocks, one thread a core counts them, and one task puts the counted blocks in order and
//! keeps them: views and the mark up to which the log has been read, together or not at all.

use std::sync::Arc;

use super::open::Source;
use super::options::{Cancel, Options};
use super::order::oldest_first;
use super::report::{FileReport, Progress, Report};
use super::run::Run;
use crate::classify::Classifier;
use crate::store::ViewStore;

/// Reads `sources`, oldest first, and keeps their views. A log that cannot be read is told of in the report, and the
/// others are read all the same. Runs within tokio.
pub async fn import(
    store: &dyn ViewStore,
    classifier: &Arc<Classifier>,
    sources: Vec<Source>,
    options: &Options,
    progress: &mut (dyn FnMut(&Progress<'_>) + Send),
    cancel: &Cancel,
) -> Report {
    let mut report = Report::default();
    let of_bytes = sources.iter().map(Source::size).sum();
    let sources = oldest_first(sources, options.format.as_ref());
    let mut run = match Run::new(store, classifier, options, cancel) {
        Ok(run) => run,
        Err(error) => {
            let failed = |source: Source| FileReport::failed(source.name(), error.to_string());
            report.files = sources.into_iter().map(failed).collect();
            return report;
        }
    };
    let (files, mut before) = (sources.len(), 0);
    run.remembers = files > 1;
    for (file, source) in sources.into_iter().enumerate() {
        let (name, size, lines) = (source.name(), source.size(), report.total.lines);
        let mut told = |read: u64, of_file: u64| {
            let bytes = before + size.map_or(read, |size| read.min(size));
            progress(&Progress { name: &name, file, files, bytes, of_bytes, lines: lines + of_file });
        };
        let (mut done, ended) = run.file(source, &mut told).await;
        done.error = ended.err().map(|why| why.to_string());
        before += size.unwrap_or(0);
        report.total.add(&done.tally);
        report.files.push(done);
    }
    report
}
