//! `copydesk move`: everything to another database, and page views to another place, while the old server still answers.
//!
//! Everything is copied while the old place is in use; then it takes nothing more, the rest is copied, both are compared, and
//! the new place is opened. Each place has a note of how far the move is (`copydesk_store::MoveNote`), so that it can be ended
//! anywhere and go on.

mod page_views;
mod progress;
mod target;

use std::ffi::OsString;
use std::fs::{File, TryLockError};
use std::io::ErrorKind;
use std::process::ExitCode;

use copydesk_store::{MoveNote, MoveState, Store, StoreError, compare_rows, copy_rows};

use crate::args::MoveFlags;
use crate::backup::verify;
use crate::config::{Config, DatabaseUrl, MASK, ViewsPlace, choice_name};
use crate::failure::Failure;
use crate::output::counted;
use crate::{data_folder, output, store};

use page_views::PageViews;
use target::Target;

/// Connections that a move needs at least.
const CONNECTIONS: u32 = 6;

/// `copydesk move`
pub(crate) async fn run(
    flags: MoveFlags,
    config: &Config,
    environment: &[(OsString, OsString)],
) -> Result<ExitCode, Failure> {
    data_folder::check(config)?;
    let _alone = alone(config)?;
    let config = &with_connections(config);
    let target = target::read(&flags, config, environment)?;
    if flags.cancel {
        return cancel(config, &target).await;
    }
    if !target.moves_database && !target.moves_views {
        return Err(Failure::usage(
            "there is nothing to move: page views are there already, and no other database is named",
        )
        .hint("name the target with --to-database-url, --to-views or both"));
    }
    if !target.moves_views {
        page_views::none_under_way(config).await?;
    }
    let from = source(config).await?;
    let to = match target.moves_database {
        true => Some(entered(&target).await?),
        false => None,
    };
    // Page views alone are moved from or to this database, too.
    let mut held = Vec::new();
    held.extend(from.hold_for_move().await?);
    if let Some(to) = &to {
        held.extend(to.hold_for_move().await?);
    }
    let database = match to {
        Some(to) => Database::open(from, to, config, &target).await?,
        None => None,
    };
    // Page views in a database need one that is there.
    if let Some(database) = &database {
        database.begin().await?;
    }
    let mut views = match target.moves_views {
        true => PageViews::open(config, &target.config).await?,
        false => None,
    };
    if database.is_none() && views.is_none() {
        output::line("Everything was moved already.");
        tell_what_to_set(config, &target);
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(database) = &database {
        database.copy().await?;
    }
    if let Some(views) = &mut views {
        views.copy().await?;
    }
    if let Some(database) = &database {
        database.close().await?;
    }
    if let Some(views) = &mut views {
        views.close().await?;
        views.finish().await?;
    }
    if let Some(database) = &database {
        database.finish().await?;
    }
    if let Some(views) = views {
        views.enter().await?;
    }
    if let Some(database) = database {
        database.enter().await?;
    }
    output::line("Everything was moved, and compared.");
    tell_what_to_set(config, &target);
    Ok(ExitCode::SUCCESS)
}

/// Sees that no other move, and none that is given up, works with this data folder until the file is closed.
fn alone(config: &Config) -> Result<Option<File>, Failure> {
    let path = config.data_dir.join("move.lock");
    let file = match File::options().create(true).append(true).open(&path) {
        // Nothing is kept here, so that nothing here is moved.
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(|error| Failure::error(format!("cannot open {}: {error}", path.display())))?,
    };
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => {
            Err(Failure::error("another `copydesk move` works with this data folder")
                .hint("wait for it, or stop it first"))
        }
        Err(TryLockError::Error(error)) => Err(Failure::error(format!("cannot lock {}: {error}", path.display()))),
    }
}

/// A move holds some connections for as long as it takes.
fn with_connections(config: &Config) -> Config {
    let mut config = config.clone();
    config.database_connections = Some(config.database_connections.unwrap_or(store::CONNECTIONS).max(CONNECTIONS));
    config
}

/// Both databases of a move.
struct Database {
    from: Store,
    to: Store,
    from_name: String,
    note: MoveNote,
}

impl Database {
    /// Writes down that everything is to go. None if it has gone already; what was left undone then is done.
    async fn open(from: Store, to: Store, config: &Config, target: &Target) -> Result<Option<Self>, Failure> {
        let note = from.begin_leaving(target.config.database().masked()).await?;
        let database = Self { from, to, from_name: config.database().masked(), note };
        Ok(if database.is_over().await? { None } else { Some(database) })
    }

    async fn begin(&self) -> Result<(), Failure> {
        let begun = self.to.begin_arriving(self.note.clone(), self.from_name.clone()).await;
        if matches!(begun, Err(StoreError::Refused(_))) && self.note.state == MoveState::Copying {
            // Nothing has gone there, so that there is nothing to go on with.
            self.from.stay().await?;
        }
        Ok(begun?)
    }

    /// Whether everything is at the new place already; what was left undone then is done.
    async fn is_over(&self) -> Result<bool, Failure> {
        let arrived = note_of(&self.to).await?;
        let arrived = arrived.filter(|it| it.state == MoveState::Arrived && it.move_id == self.note.move_id);
        match (self.note.state, arrived) {
            (MoveState::Moved, _) => Ok(true),
            (MoveState::Closed, Some(_)) => {
                self.from.mark_moved(&self.note.move_id).await?;
                Ok(true)
            }
            // Nothing was to be written here any more when the move ended, and here it is.
            (_, Some(_)) => Err(Failure::error(
                "this is an older copy of what was moved to the target already, and is not what was moved",
            )
            .hint("use the new place; if it is this copy that is wanted, move it into another, empty place")),
            _ => Ok(false),
        }
    }

    /// Copies everything while it is in use.
    async fn copy(&self) -> Result<(), Failure> {
        if self.note.state == MoveState::Closed {
            return Ok(());
        }
        output::line("Copying the database; the old one is in use meanwhile.");
        let copied = self.copy_rows().await?;
        output::line(&format!("Copied {}.", counted(copied, "row")));
        Ok(())
    }

    async fn copy_rows(&self) -> Result<u64, Failure> {
        let mut bar = progress::Bar::new();
        let copied = copy_rows(&self.from, &self.to, |table, rows| bar.tell(table, rows)).await;
        bar.end();
        Ok(copied?.rows)
    }

    /// Stops all that writes to the old place.
    async fn close(&self) -> Result<(), Failure> {
        if self.note.state == MoveState::Closed {
            return Ok(());
        }
        self.from.drain(&self.note.move_id).await?;
        progress::wait(&self.from).await?;
        self.from.close_for_move(&self.note.move_id).await?;
        output::line("The old database takes nothing more; copying what has come meanwhile.");
        Ok(())
    }

    /// Copies the rest and compares.
    async fn finish(&self) -> Result<(), Failure> {
        self.copy_rows().await?;
        let differences = compare_rows(&self.from, &self.to).await?;
        if differences.is_empty() {
            return Ok(());
        }
        let told = verify::told(&differences).join("\n");
        Err(Failure::error(format!("what has arrived is not what is in the old database:\n{told}")).hint(
            "nothing is served from the new one; run the move again, or `copydesk move --cancel` to go on with the old one",
        ))
    }

    /// Makes the new place the one to use.
    async fn enter(&self) -> Result<(), Failure> {
        self.to.mark_arrived(&self.note.move_id).await?;
        self.from.mark_moved(&self.note.move_id).await?;
        Ok(())
    }
}

/// The database that is entered.
async fn entered(target: &Target) -> Result<Store, Failure> {
    if let DatabaseUrl::Sqlite(path) = target.config.database()
        && let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty() && !parent.exists())
    {
        store::make_folder(parent)?;
    }
    store::connect_to(&target.config, target.named).await
}

/// The database that is left.
async fn source(config: &Config) -> Result<Store, Failure> {
    if let DatabaseUrl::Sqlite(path) = config.database()
        && !path.exists()
    {
        return Err(Failure::error(format!("there is no Copydesk database at {}", path.display()))
            .hint("name the data folder with --data-dir"));
    }
    let store = store::connect(config).await?.by(store::actor());
    store.check_exact_schema().await?;
    Ok(store)
}

/// `copydesk move --cancel`
async fn cancel(config: &Config, target: &Target) -> Result<ExitCode, Failure> {
    let from = source(config).await?;
    let _held = from.hold_for_move().await?;
    let is_closed = from.move_note().await?.is_some_and(|note| note.state == MoveState::Closed);
    if is_closed && page_views::have_moved(config).await? {
        return Err(Failure::error("the page views are at the new place already, and the rest is about to be")
            .hint("run the move again, and it ends"));
    }
    let views = page_views::cancel(config, target.moves_views.then_some(&target.config)).await?;
    let database = cancel_database(&from, &config.database().masked(), target).await?;
    output::line(match views || database {
        true => "The move was given up; the old place takes everything again.",
        false => "There was no move to give up.",
    });
    Ok(ExitCode::SUCCESS)
}

async fn cancel_database(from: &Store, from_name: &str, target: &Target) -> Result<bool, Failure> {
    let note = from.move_note().await?;
    let is_closed = note.as_ref().is_some_and(|note| note.state == MoveState::Closed);
    let is_named = |note: &MoveNote| target.moves_database && note.there == target.config.database().masked();
    if let Some(note) = note.as_ref().filter(|note| is_closed && !is_named(note)) {
        return Err(name_the_target(&note.there));
    }
    if target.moves_database {
        let to = store::connect_to(&target.config, target.named).await?;
        let _held = to.hold_for_move().await?;
        let is_ours = |it: &MoveNote| note.as_ref().is_some_and(|note| note.move_id == it.move_id);
        match note_of(&to).await? {
            Some(it) if it.state == MoveState::Arrived && is_ours(&it) => return Err(too_late()),
            // Also what was given up before without naming the target.
            Some(it) if it.state == MoveState::Arriving && (is_ours(&it) || it.there == from_name) => {
                to.empty_for_move(&it.move_id).await?;
            }
            _ => {}
        }
    }
    Ok(from.stay().await?)
}

/// What a place that may be empty has written down.
async fn note_of(store: &Store) -> Result<Option<MoveNote>, Failure> {
    match store.check_exact_schema().await {
        Ok(()) => Ok(store.move_note().await?),
        Err(StoreError::Older { found: 0, .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn too_late() -> Failure {
    Failure::error("everything is at the new place already; the move cannot be given up")
        .hint("move it back from there with another `copydesk move`")
}

/// Whether everything has arrived already cannot be told here.
fn name_the_target(there: &str) -> Failure {
    Failure::usage(format!("the old place is closed, and everything may have arrived at {there} already"))
        .hint("name the target as for the move itself, so that it can be looked at")
}

/// What an operator has to do now.
fn tell_what_to_set(config: &Config, target: &Target) {
    output::line("Stop the servers and workers of the old place, and start them with these settings in copydesk.toml:");
    output::line("");
    let settings = settings(target);
    settings.lines().for_each(output::line);
    output::line("");
    if settings.contains(MASK) {
        output::line(&format!("Put the password where {MASK} is; it is not shown."));
    }
    output::line(&format!(
        "Secrets stay encrypted with the keys in {}: a server on another machine needs that file.",
        config.credentials_key_path().display()
    ));
}

/// The settings of the new place, to be pasted into a file: those of a section come last.
fn settings(target: &Target) -> String {
    let line = |key: &str, value: String| format!("{key} = {}\n", toml::Value::String(value));
    let (config, mut text) = (&target.config, String::new());
    if target.moves_database {
        text.push_str(&line("database_url", config.database().masked()));
    }
    if target.moves_views {
        text.push_str("[views]\n");
        text.push_str(&line("store", choice_name(&config.views.store)));
        if let (ViewsPlace::ClickHouse, Some(url)) = (config.views.store, &config.views.clickhouse_url) {
            text.push_str(&line("clickhouse_url", url.masked()));
            text.extend(config.views.clickhouse_cluster.clone().map(|name| line("clickhouse_cluster", name)));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::config::Sources;

    fn loaded(text: &str) -> Config {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("copydesk.toml");
        std::fs::write(&file, text).unwrap();
        let (working_dir, environment) = (folder.path().to_owned(), Vec::new());
        Config::load(Sources { config_file: Some(file), working_dir, environment, flags: Vec::new() }).unwrap()
    }

    #[test]
    fn what_is_printed_can_be_pasted_and_shows_no_password() {
        let there = "[views]\nstore = \"clickhouse\"\nclickhouse_url = \"http://c:s3cret@h:8123/d\"\n\
                     clickhouse_cluster = \"all\"\n";
        let there = loaded(&format!("database_url = \"postgres://u:s3cret@h/a\"\n{there}"));
        let embedded = there.at(DatabaseUrl::parse("sqlite:a \"b\".db").unwrap(), ViewsPlace::Embedded);
        for config in [there, embedded] {
            for (moves_database, moves_views) in [(true, true), (true, false), (false, true)] {
                let target = Target { config: config.clone(), named: "database_url", moves_database, moves_views };
                let text = settings(&target);
                let read = loaded(&text);
                assert!(!text.contains("s3cret"), "{text}");
                let is_named = read.database().masked() == config.database().masked();
                assert_eq!(is_named, moves_database, "{text}");
                let place = if moves_views { config.views.store } else { ViewsPlace::Embedded };
                assert_eq!(read.views.store, place, "{text}");
                let is_there = moves_views && config.views.store == ViewsPlace::ClickHouse;
                assert_eq!(read.views.clickhouse_cluster.is_some(), is_there, "{text}");
                assert_eq!(read.views.clickhouse_url.is_some(), is_there, "{text}");
            }
        }
    }
}
