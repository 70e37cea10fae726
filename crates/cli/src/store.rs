use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use copydesk_domain::{Project, ProjectId, SystemClock};
use copydesk_store::{DatabaseAddress, Store, StoreError};

use crate::config::{Config, DatabaseUrl};
use crate::failure::Failure;
use crate::{output, secrets};

/// Connects to the database of the configuration, making the data folder if need be.
pub(crate) async fn open(config: &Config) -> Result<Store, Failure> {
    make_folder(&config.data_dir)?;
    let address = match config.database() {
        DatabaseUrl::Sqlite(path) => DatabaseAddress::Sqlite(path),
        DatabaseUrl::Postgres(address) => {
            DatabaseAddress::Postgres { address, connections: config.database_connections }
        }
    };
    Store::open(&address, Arc::new(SystemClock)).await.map_err(|error| {
        let failure = Failure::from(error);
        match config.database() {
            DatabaseUrl::Sqlite(path) => failure.hint(format!("is {} writable?", path.display())),
            DatabaseUrl::Postgres(_) => failure.hint("check database_url and that the server is up"),
        }
    })
}

/// Connects for a command that works on what is there. Where nothing is, nothing is made: somebody is in a wrong folder.
pub(crate) async fn open_ready(config: &Config) -> Result<Store, Failure> {
    if let DatabaseUrl::Sqlite(path) = config.database()
        && !path.exists()
    {
        return Err(Failure::error(format!("there is no Copydesk database at {}", path.display()))
            .hint("name the data folder with --data-dir, or make a project first"));
    }
    open_or_make(config).await
}

/// Connects for a command: an empty database gets its tables, an old one is left for `copydesk migrate`.
pub(crate) async fn open_or_make(config: &Config) -> Result<Store, Failure> {
    let store = open(config).await?;
    match store.check_schema().await {
        Err(StoreError::Older { found: 0, .. }) => store.migrate().await.map(drop)?,
        checked => checked?,
    }
    match secrets::adopt(config, &store).await {
        Ok(None) => {}
        Ok(Some(news)) => eprintln!("copydesk: note: {news}"),
        // It need not concern this command; what it does concern says so itself.
        Err(failure) => eprint!("{failure}"),
    }
    Ok(store)
}

pub(crate) async fn project(store: &Store, id: &str) -> Result<Project, Failure> {
    store.project(&project_id(id)?).await?.ok_or_else(|| Failure::unknown_project(id))
}

/// What cannot be the id of a project is that of none.
pub(crate) fn project_id(text: &str) -> Result<ProjectId, Failure> {
    ProjectId::parse(text).map_err(|_| Failure::unknown_project(text))
}

/// The id of that project, if one is named and there is one.
pub(crate) async fn named_project(store: &Store, id: Option<&str>) -> Result<Option<ProjectId>, Failure> {
    let Some(id) = id else { return Ok(None) };
    Ok(Some(project(store, id).await?.id))
}

pub(crate) async fn migrate(config: &Config) -> Result<ExitCode, Failure> {
    let store = open(config).await?;
    let added = store.migrate().await?;
    if let Some(news) = secrets::adopt(config, &store).await? {
        output::line(&format!("{news}."));
    }
    match added.as_slice() {
        [] => output::line("The database is up to date."),
        [.., last] => output::line(&format!("The database is now at schema version {last}.")),
    }
    Ok(ExitCode::SUCCESS)
}

/// Only the owner may look into the folder: it holds everything the projects trust us with.
fn make_folder(path: &Path) -> Result<(), Failure> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    let told = |error| {
        Failure::error(format!("cannot make the data folder {}: {error}", path.display()))
            .hint("choose another one with --data-dir")
    };
    builder.create(path).map_err(told)
}
