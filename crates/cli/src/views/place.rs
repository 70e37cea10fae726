//! Where page views are kept, by the settings.

use std::sync::Arc;

use copydesk_domain::SystemClock;
use copydesk_views::store::moving::{MoveNote, MoveState};
use copydesk_views::store::{StoreCall, StoreFuture, StoreReply, ViewStore};
use copydesk_views_database::{ClickHouseOptions, Database};
use copydesk_views_embedded::{SharedStore, transfer};

use crate::config::{Config, DatabaseUrl, ViewsPlace};
use crate::failure::Failure;
use crate::store;

/// The page views of an installation.
pub(crate) enum PageViewStore {
    Embedded(SharedStore),
    Database(Arc<Database>),
}

impl PageViewStore {
    pub(crate) fn is_database(&self) -> bool {
        matches!(self, Self::Database(_))
    }

    /// Ends what the process has to do with them.
    pub(crate) async fn close(&self) {
        match self {
            Self::Embedded(store) => store.close().await,
            Self::Database(store) => store.close().await,
        }
    }
}

impl ViewStore for PageViewStore {
    fn call(&self, call: StoreCall) -> StoreFuture<'_, StoreReply> {
        match self {
            Self::Embedded(store) => store.call(call),
            Self::Database(store) => store.call(call),
        }
    }
}

/// Opens the page views of the installation, whoever else has them open.
pub(crate) async fn open_views(config: &Config) -> Result<Arc<PageViewStore>, Failure> {
    opened(config, true).await
}

/// The same for whoever only looks: no tables are made.
pub(crate) async fn look_at_views(config: &Config) -> Result<Arc<PageViewStore>, Failure> {
    opened(config, false).await
}

async fn opened(config: &Config, makes_tables: bool) -> Result<Arc<PageViewStore>, Failure> {
    Ok(Arc::new(match config.views.store {
        ViewsPlace::Embedded => PageViewStore::Embedded(open_folder(config).await?),
        ViewsPlace::Database | ViewsPlace::ClickHouse => {
            PageViewStore::Database(open_database(config, makes_tables).await?)
        }
    }))
}

pub(crate) async fn open_folder(config: &Config) -> Result<SharedStore, Failure> {
    Ok(SharedStore::open(&config.views_folder(), folder_options(config)).await?)
}

/// How the folder is treated, by the settings.
pub(crate) fn folder_options(config: &Config) -> copydesk_views_embedded::Options {
    copydesk_views_embedded::Options {
        loaded_bytes: config.views.memory as usize * 1_000_000,
        question_bytes: config.views.question_memory as usize * 1_000_000,
        pages_a_day: config.views.pages_per_day as usize,
        readers_a_day: config.views.readers_per_day as usize,
        ..copydesk_views_embedded::Options::new(Arc::new(SystemClock))
    }
}

pub(crate) async fn open_database(config: &Config, makes_tables: bool) -> Result<Arc<Database>, Failure> {
    open_tables(config, makes_tables, false).await
}

/// The same for a move, which has to do with views that nobody else may use.
pub(crate) async fn open_database_for_move(config: &Config) -> Result<Arc<Database>, Failure> {
    open_tables(config, true, true).await
}

async fn open_tables(config: &Config, makes_tables: bool, for_move: bool) -> Result<Arc<Database>, Failure> {
    check_place(config)?;
    let DatabaseUrl::Postgres(address) = config.database() else { return Err(needs_postgres()) };
    let options = copydesk_views_database::Options {
        makes_tables,
        for_move,
        // Beside those for everything else.
        connections: config.database_connections.unwrap_or(store::CONNECTIONS).div_ceil(2).max(2),
        question_bytes: config.views.question_memory as usize * 1_000_000,
        pages_a_day: config.views.pages_per_day as usize,
        readers_a_day: config.views.readers_per_day as usize,
        clickhouse: clickhouse(config)?,
        ..copydesk_views_database::Options::new(Arc::new(SystemClock))
    };
    Ok(Database::open(&address, options).await?)
}

/// Refuses settings that cannot go together, before anything is done by them.
pub(crate) fn check_place(config: &Config) -> Result<(), Failure> {
    let is_postgres = matches!(config.database(), DatabaseUrl::Postgres(_));
    if config.views.store.is_shared() && !is_postgres {
        return Err(needs_postgres());
    }
    clickhouse(config).map(drop)
}

/// Where page views are counted, if that is ClickHouse.
fn clickhouse(config: &Config) -> Result<Option<ClickHouseOptions>, Failure> {
    if config.views.store != ViewsPlace::ClickHouse {
        return Ok(None);
    }
    let Some(url) = &config.views.clickhouse_url else {
        return Err(Failure::usage("views.store is \"clickhouse\", and it is not said where that is")
            .hint("set views.clickhouse_url to http://user:password@host:8123/database"));
    };
    let address = url.address(config.views.clickhouse_cluster.as_deref());
    let told = |why| Failure::usage(format!("views.clickhouse_cluster: {why}"));
    let address = address.map_err(told)?;
    if address.servers() > 1 && config.views.clickhouse_cluster.is_none() {
        // Each would have tables of its own, and answer without what the others have.
        return Err(Failure::usage("views.clickhouse_url names several servers, and it is not said of which cluster")
            .hint("set views.clickhouse_cluster to what their configuration calls it, or name one server"));
    }
    Ok(Some(ClickHouseOptions::new(address)))
}

fn needs_postgres() -> Failure {
    Failure::usage("views.store needs PostgreSQL, and the database is a file of SQLite, which does not keep page views")
        .hint("name a PostgreSQL database with database_url, or set views.store to \"embedded\"")
}

/// Says so if page views are in the folder that nobody is shown.
pub(crate) fn tell_of_others(config: &Config) {
    let folder = config.views_folder();
    if !config.views.store.is_shared() || !folder.join("projects").is_dir() {
        return;
    }
    // What a move has left behind is shown: it is at the new place.
    let has_moved = |note: MoveNote| note.state == MoveState::Moved;
    if !transfer::Arrival::note(&folder).is_ok_and(|note| note.is_some_and(has_moved)) {
        tracing::warn!(
            folder = %folder.display(),
            "page views are kept in the database, and those in the folder are not shown: views.store was embedded before"
        );
    }
}
