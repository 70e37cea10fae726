//! How fast page views are answered, beside DuckDB and chDB with the same views.

mod ours;
mod peers;
mod questions;
mod report;
mod taken;
mod write;

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

pub use peers::ViewPeers;

pub(super) use self::ours::settings;
pub(super) use self::write::{append, place};

use self::ours::measure;
use self::peers::{Data, Peer};
use self::write::{append_to_clickhouse, append_to_database};
use super::sample::{DAYS, Sample};
use crate::args::program;
use crate::clickhouse::ClickHouse;
use crate::figures::thousands;
use crate::process::Installation;

/// How fast page views are answered over HTTP, beside DuckDB and chDB with the same views.
#[derive(Debug, Clone, clap::Args)]
pub struct ViewsOptions {
    /// The program `copydesk`.
    #[arg(long, value_parser = program)]
    pub binary: PathBuf,
    /// How many views.
    #[arg(long, default_value_t = 50_000_000)]
    pub views: u64,
    /// Of how many pages.
    #[arg(long, default_value_t = 10_000)]
    pub paths: usize,
    /// Put the views straight into the store's files and the others' daily rollups.
    #[arg(long)]
    pub straight: bool,
    /// Keep them in this PostgreSQL database, an empty one, instead of a folder.
    #[arg(long, conflicts_with = "straight")]
    pub database_url: Option<String>,
    /// Have this ClickHouse server count them behind that database, in a database that the run makes there and drops.
    #[arg(long, requires = "database_url")]
    pub clickhouse_url: Option<String>,
    #[command(flatten)]
    pub peers: Option<ViewPeers>,
}

/// Writes the same views into all engines, asks all of them the same, and prints how long they took. Fails if they
/// do not say the same.
pub async fn bench_views(options: &ViewsOptions) {
    let folder = tempfile::tempdir().unwrap();
    println!(
        "views: {} of {} pages by Zipf's law, {} days, one in ten by AI; totals and the first 50 pages",
        thousands(options.views),
        thousands(options.paths as u64),
        DAYS,
    );
    let sample = Sample::new(options.views, options.paths);
    let house = match &options.clickhouse_url {
        Some(url) => Some(ClickHouse::new(url, format!("copydesk_bench_{}", std::process::id()), false).await),
        None => None,
    };
    let mut settings = settings();
    settings.extend(options.database_url.iter().flat_map(|url| in_database(url)));
    settings.extend(house.iter().flat_map(in_clickhouse));
    let installation = Installation { binary: &options.binary, folder: folder.path(), settings };
    let project = installation.project_id("views", "https://example.com/docs");
    let views = folder.path().join("data/views");
    let data = folder.path().join("data.csv");
    let (written, peers) = if options.straight {
        let file = BufWriter::with_capacity(1 << 20, File::create(&data).unwrap());
        let took = write::build(&sample, &views, &project, file).unwrap();
        (("written straight into its files", took), ask_peers(options, folder.path(), &Data::Rollup(&data)))
    } else {
        let took = match (&options.database_url, &house) {
            (Some(url), Some(house)) => {
                let (in_ledger, in_all) = append_to_clickhouse(&sample, url, &house.address(), &project).await;
                println!("clickhouse: all were in the ledger after {:.1} s", in_ledger.as_secs_f64());
                in_all
            }
            (Some(url), None) => append_to_database(&sample, url, &project).await,
            (None, _) => append(&sample, &views, &project).await,
        };
        if options.peers.is_some() {
            sample.write_views(BufWriter::with_capacity(1 << 20, File::create(&data).unwrap())).unwrap();
        }
        (("written through appends", took), ask_peers(options, folder.path(), &Data::Views(&data)))
    };
    // A database takes long for each.
    let rounds = if options.database_url.is_some() { 2 } else { 10 };
    let ours = measure(&installation, &project, written, rounds).await;
    report::compare(&ours, &peers);
    report::report(&sample, &ours, &peers);
    if let Some(house) = house {
        taken::measure(&installation, &sample, &project).await;
        house.drop_database().await;
    }
}

/// Settings with everything in a PostgreSQL database.
fn in_database(url: &str) -> [(&'static str, String); 2] {
    [("COPYDESK_DATABASE_URL", url.to_owned()), ("COPYDESK_VIEWS__STORE", "database".to_owned())]
}

/// Settings with page views in ClickHouse.
fn in_clickhouse(house: &ClickHouse) -> [(&'static str, String); 2] {
    [("COPYDESK_VIEWS__CLICKHOUSE_URL", house.address()), ("COPYDESK_VIEWS__STORE", "clickhouse".to_owned())]
}

fn ask_peers(options: &ViewsOptions, folder: &Path, data: &Data<'_>) -> Vec<Peer> {
    options.peers.as_ref().map(|peers| peers.run(folder, data)).unwrap_or_default()
}
