use std::fs::Permissions;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use copydesk_domain::{Actor, Project, ProjectId, SystemClock};
use copydesk_store::{DatabaseAddress, Store, StoreError};

use crate::config::{Config, DatabaseUrl};
use crate::failure::Failure;
use crate::{data_folder, output, secrets};

/// How many connections a process may hold unless it is told, and how many one that only runs jobs.
pub(crate) const CONNECTIONS: u32 = 10;
pub(crate) const WORKER_CONNECTIONS: u32 = 3;

/// Connects to the database of the configuration, making the data folder if need be.
pub(crate) async fn open(config: &Config) -> Result<Store, Failure> {
    data_folder::check(config)?;
    make_folder(&config.data_dir)?;
    connect(config).await
}

/// The same, whatever there is in the data folder.
pub(crate) async fn connect(config: &Config) -> Result<Store, Failure> {
    connect_to(config, "database_url").await
}

/// The same for an address that was not in the configuration but was given by `named`.
pub(crate) async fn connect_to(config: &Config, named: &str) -> Result<Store, Failure> {
    let address = match config.database() {
        DatabaseUrl::Sqlite(path) => DatabaseAddress::Sqlite(path),
        DatabaseUrl::Postgres(address) => DatabaseAddress::Postgres {
            address,
            listen: config.database_listen(),
            connections: config.database_connections.unwrap_or(CONNECTIONS),
        },
    };
    Store::open(&address, Arc::new(SystemClock)).await.map_err(|error| {
        let failure = Failure::from(error);
        match config.database() {
            DatabaseUrl::Sqlite(path) => failure.hint(format!("check that {} is writable", path.display())),
            DatabaseUrl::Postgres(_) => failure.hint(format!("check {named}, and that the database server is running")),
        }
    })
}

/// Connects for a command that works on what is there. Where nothing is, nothing is made: somebody is in a wrong folder.
pub(crate) async fn open_ready(config: &Config) -> Result<Store, Failure> {
    data_folder::check(config)?;
    if let DatabaseUrl::Sqlite(path) = config.database()
        && !path.try_exists().map_err(|error| Failure::error(format!("cannot look for {}: {error}", path.display())))?
    {
        return Err(Failure::error(format!("there is no Copydesk database at {}", path.display()))
            .hint("name the data folder with --data-dir, or create a project first"));
    }
    open_or_make(config).await
}

/// Connects for a command: an empty database gets its tables, an old one is left for `copydesk migrate`.
pub(crate) async fn open_or_make(config: &Config) -> Result<Store, Failure> {
    let store = open(config).await?.by(actor());
    match store.check_schema().await {
        Err(StoreError::Older { found: 0, .. }) => store.migrate().await.map(drop)?,
        checked => checked?,
    }
    store.check_settled().await?;
    match secrets::adopt(config, &store).await {
        Ok(None) => {}
        Ok(Some(news)) => eprintln!("copydesk: note: {news}"),
        // It need not concern this command; what it does concern says so itself.
        Err(failure) => eprint!("{failure}"),
    }
    Ok(store)
}

/// Whoever types, for the audit log.
pub(crate) fn actor() -> Actor {
    Actor::command(&operator())
}

/// Who types, as far as the machine tells: the audit log names them.
fn operator() -> String {
    let named = ["SUDO_USER", "USER", "LOGNAME"].into_iter().find_map(|name| std::env::var(name).ok());
    named.filter(|name| !name.is_empty()).unwrap_or_else(|| format!("user {}", rustix::process::getuid().as_raw()))
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
pub(crate) fn make_folder(path: &Path) -> Result<(), Failure> {
    let told = |error| {
        Failure::error(format!("cannot create the data folder {}: {error}", path.display()))
            .hint("choose another one with --data-dir")
    };
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(told)?;
    let mode = std::fs::metadata(path).map_err(told)?.permissions().mode() & 0o7777;
    if mode & 0o077 == 0 {
        return Ok(());
    }
    close_folder(path, mode)
}

/// What lies in a data folder; by this one is told from a folder that is somebody else's as well.
const OURS: [&str; 5] = ["copydesk.db", "views", "mirrors", "credentials.key", "lists"];

/// Closes a folder that others can look into, if it is empty or a data folder already and nothing else.
fn close_folder(path: &Path, mode: u32) -> Result<(), Failure> {
    let refused = |why: &str| {
        let shown = path.display();
        let hint = format!("close it with `chmod 700 {shown}`, or choose another one with --data-dir");
        Failure::error(format!("the data folder {shown} is open to other users (mode {mode:04o}){why}")).hint(hint)
    };
    let mut entries = std::fs::read_dir(path).map_err(|_| refused(", and cannot be read"))?.flatten();
    // A new file system has a folder of its own for what it recovers.
    let is_empty = entries.all(|entry| entry.file_name() == "lost+found");
    let is_ours = is_empty || OURS.iter().any(|name| path.join(name).exists());
    // What everybody may put something into, such as `/tmp`, is never ours.
    if !is_ours || mode & 0o1002 != 0 {
        return Err(refused(" and holds files of others"));
    }
    std::fs::set_permissions(path, Permissions::from_mode(0o700))
        .map_err(|_| refused(" and belongs to another user"))?;
    let news =
        format!("closed the data folder {} to other users; it was open to them (mode {mode:04o})", path.display());
    if tracing::dispatcher::has_been_set() {
        tracing::warn!("{news}");
    } else {
        eprintln!("copydesk: note: {news}");
    }
    Ok(())
}
