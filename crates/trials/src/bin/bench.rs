//! Figures: `bench api`, `start`, `jobs`, `waiting`, `check`, `views`, `ingest`, `import`, `pages` and `workers`. Build it with `--release`, or they mean nothing.

use std::fs::{File, OpenOptions};
use std::sync::Arc;

use clap::Parser;
use copydesk_trials::bench::{
    ApiOptions, CheckOptions, ImportOptions, IngestOptions, JobsOptions, PagesOptions, StartOptions, ViewsOptions,
    WaitingOptions, WorkersOptions, bench_api, bench_check, bench_import, bench_ingest, bench_jobs, bench_pages,
    bench_start, bench_views, bench_waiting, bench_workers,
};
use tracing_subscriber::EnvFilter;

/// The allocator of the product.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(Parser)]
#[command(about = "Measures Copydesk.")]
enum Args {
    Api(ApiOptions),
    Start(StartOptions),
    Jobs(JobsOptions),
    Waiting(WaitingOptions),
    Check(CheckOptions),
    Views(ViewsOptions),
    Ingest(IngestOptions),
    Import(ImportOptions),
    Pages(PagesOptions),
    Workers(WorkersOptions),
}

fn main() -> std::io::Result<()> {
    match Args::parse() {
        Args::Api(options) => {
            start_log(OpenOptions::new().write(true).open("/dev/null")?);
            bench_api(&options);
        }
        Args::Start(options) => runtime()?.block_on(bench_start(&options)),
        Args::Jobs(options) => runtime()?.block_on(bench_jobs(&options)),
        Args::Waiting(options) => runtime()?.block_on(bench_waiting(&options)),
        Args::Check(options) => bench_check(&options),
        Args::Views(options) => runtime()?.block_on(bench_views(&options)),
        Args::Ingest(options) => runtime()?.block_on(bench_ingest(&options)),
        Args::Import(options) => bench_import(&options),
        Args::Pages(options) => runtime()?.block_on(bench_pages(&options)),
        Args::Workers(options) => runtime()?.block_on(bench_workers(&options)),
    }
    Ok(())
}

/// One thread for the client and one for the model, which has to answer while the client waits for a program.
fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()
}

/// The log of the product, every line of it formatted and written; only that nobody keeps it.
fn start_log(file: File) {
    let filter = EnvFilter::new("info,sqlx=warn,hyper=warn,reqwest=warn");
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(Arc::new(file));
    lines.json().flatten_event(true).with_current_span(false).with_span_list(false).init();
}
