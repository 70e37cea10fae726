//! Page views on their way from one place to another. A place is one more arm of [`Source`] and of [`Arriving`].

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use copydesk_domain::{Clock, SystemClock, new_id};
use copydesk_views::store::moving::{MoveNote, MoveState, Piece};
use copydesk_views::store::{ViewStore, ViewsError};
use copydesk_views_database::{Database, month_of, transfer as tables};
use copydesk_views_embedded::{SharedStore, transfer as folder};
use tokio::sync::mpsc;

use super::progress::Bar;
use crate::backup::verify;
use crate::config::{ClickHouseUrl, Config, DatabaseUrl, ViewsPlace};
use crate::failure::Failure;
use crate::output::counted;
use crate::{output, store, views};

/// Pieces that wait for whoever takes them.
const WAITING: usize = 4;

/// Views by project and month.
type Months = BTreeMap<(String, i32), u64>;

/// Where page views come from.
enum Source {
    Folder(SharedStore),
    Tables(Arc<Database>),
}

impl Source {
    async fn open(config: &Config) -> Result<Self, Failure> {
        Ok(match config.views.store {
            ViewsPlace::Embedded => Self::Folder(views::open_folder(config).await?),
            ViewsPlace::Database | ViewsPlace::ClickHouse => Self::Tables(views::open_database_for_move(config).await?),
        })
    }

    fn store(&self) -> &dyn ViewStore {
        match self {
            Self::Folder(store) => store,
            Self::Tables(store) => &**store,
        }
    }

    async fn close(&self) {
        match self {
            Self::Folder(store) => store.close().await,
            Self::Tables(store) => store.close().await,
        }
    }
}

/// Where they go to.
enum Arriving {
    Folder(folder::Arrival),
    Tables(tables::Arrival),
}

impl Arriving {
    async fn take(&mut self, piece: Piece) -> Result<(), ViewsError> {
        match self {
            Self::Folder(arrival) => tokio::task::block_in_place(|| arrival.take(piece)),
            Self::Tables(arrival) => arrival.take(piece).await,
        }
    }
}

/// A move of page views.
pub(super) struct PageViews<'a> {
    config: &'a Config,
    target: &'a Config,
    source: Source,
    note: MoveNote,
    /// What the new place has written down.
    entered: MoveNote,
    arriving: Arriving,
}

/// What a place has written down about a move, whatever state it is in.
async fn note_at(config: &Config) -> Result<Option<MoveNote>, Failure> {
    match config.views.store {
        ViewsPlace::Embedded => Ok(folder::Arrival::note(&config.views_folder())?),
        ViewsPlace::Database | ViewsPlace::ClickHouse => {
            views::check_place(config)?;
            match config.database() {
                DatabaseUrl::Postgres(address) => Ok(Database::move_note_at(&address).await?),
                DatabaseUrl::Sqlite(_) => Ok(None),
            }
        }
    }
}

/// What tells the place from every other.
async fn place(config: &Config) -> Result<String, Failure> {
    match config.views.store {
        ViewsPlace::Embedded => {
            let folder = config.views_folder();
            let real = std::fs::create_dir_all(&folder).and_then(|()| std::fs::canonicalize(&folder));
            let told = |error: std::io::Error| Failure::error(format!("{}: {error}", folder.display()));
            Ok(format!("folder:{}", real.map_err(told)?.display()))
        }
        ViewsPlace::Database => Ok(store::connect(config).await?.place().await?),
        ViewsPlace::ClickHouse => Ok(format!("clickhouse:{}", store::connect(config).await?.place().await?)),
    }
}

/// The place in words.
fn called(config: &Config) -> String {
    match config.views.store {
        ViewsPlace::Embedded => format!("the folder {}", config.views_folder().display()),
        ViewsPlace::Database => format!("the database {}", config.database().masked()),
        ViewsPlace::ClickHouse => {
            let there = config.views.clickhouse_url.as_ref().map(ClickHouseUrl::masked).unwrap_or_default();
            format!("ClickHouse at {there}, behind the database {}", config.database().masked())
        }
    }
}

impl<'a> PageViews<'a> {
    /// Writes down in both places that page views go from one to the other. None if they have gone already; what was left
    /// undone then is done.
    pub(super) async fn open(config: &'a Config, target: &'a Config) -> Result<Option<Self>, Failure> {
        let found = note_at(config).await?;
        let there = called(target);
        if let Some(found) = found.as_ref().filter(|found| found.state == MoveState::Moved) {
            if found.there == there {
                return Ok(None);
            }
            return Err(found.obstacle().map_or_else(|| Failure::error("they were moved"), Failure::from));
        }
        let source = Source::open(config).await?;
        let note = begin(&source, found, place(config).await?, there).await?;
        let arrived = note_at(target).await?;
        let is_begun = arrived.as_ref().is_some_and(|it| it.move_id == note.move_id);
        if arrived.is_some_and(|it| it.state == MoveState::Arrived && it.move_id == note.move_id) {
            if note.state != MoveState::Closed {
                return Err(Failure::error(
                    "these are an older copy of page views that were moved to the target already, and not what was moved",
                )
                .hint("use the new place; if it is this copy that is wanted, move it into another, empty place"));
            }
            source.store().set_move(Some(MoveNote { state: MoveState::Moved, ..note })).await?;
            source.close().await;
            return Ok(None);
        }
        let entered = arriving(config, target, &note).await;
        if entered.is_err() && !is_begun && note.state == MoveState::Copying {
            // Nothing has gone there, so that there is nothing to go on with.
            source.store().set_move(before(&note)).await?;
        }
        let (entered, arriving) = entered?;
        Ok(Some(Self { config, target, source, note, entered, arriving }))
    }

    /// Copies all page views while more are counted.
    pub(super) async fn copy(&mut self) -> Result<(), Failure> {
        if self.note.state == MoveState::Closed {
            return Ok(());
        }
        output::line("Copying page views; more are counted at the old place meanwhile.");
        let months = self.pass().await?;
        output::line(&format!("Copied {}.", counted(months.values().sum(), "page view")));
        Ok(())
    }

    /// From now on nothing is counted at the old place.
    pub(super) async fn close(&mut self) -> Result<(), Failure> {
        if self.note.state == MoveState::Closed {
            return Ok(());
        }
        self.note.state = MoveState::Closed;
        self.source.store().set_move(Some(self.note.clone())).await?;
        output::line("The old place counts no more page views; copying what has come meanwhile.");
        Ok(())
    }

    /// Copies the rest, and compares what every project has in every month.
    pub(super) async fn finish(&mut self) -> Result<(), Failure> {
        let expected = self.pass().await?;
        let found = self.arrived().await?;
        let mut differences = Vec::new();
        for key in expected.keys().chain(found.keys().filter(|key| !expected.contains_key(*key))) {
            let (there, here) = (expected.get(key).copied().unwrap_or(0), found.get(key).copied().unwrap_or(0));
            if there != here {
                let (year, month) = (1970 + key.1.div_euclid(12), key.1.rem_euclid(12) + 1);
                let project = output::printable(&key.0);
                differences
                    .push(format!("{project} has {there} page views of {year}-{month:02} there and {here} here"));
            }
        }
        if differences.is_empty() {
            return Ok(());
        }
        let told = verify::told(&differences).join("\n");
        Err(Failure::error(format!("what has arrived is not what is at the old place:\n{told}")).hint(
            "nothing is served from the new one; run the move again, or `copydesk move --cancel` to go on with the old one",
        ))
    }

    async fn arrived(&self) -> Result<Months, Failure> {
        match &self.arriving {
            Arriving::Tables(arrival) => Ok(arrival.by_month().await?),
            Arriving::Folder(_) => {
                let copy = folder::FolderCopy::arrived(&self.target.views_folder());
                let mut counting = Counting::default();
                tokio::task::block_in_place(|| {
                    folder::send_all(&copy, |piece| {
                        counting.count(&piece);
                        true
                    })
                })?;
                Ok(counting.months)
            }
        }
    }

    /// Makes the new place the one to use.
    pub(super) async fn enter(self) -> Result<(), Failure> {
        match self.arriving {
            Arriving::Folder(arrival) => arrival.end(&self.entered)?,
            Arriving::Tables(arrival) => arrival.end(&self.entered).await?,
        }
        self.source.store().set_move(Some(MoveNote { state: MoveState::Moved, ..self.note.clone() })).await?;
        self.source.close().await;
        Ok(())
    }

    /// Sends all page views as they are now. What is there already and the same is not written again.
    async fn pass(&mut self) -> Result<Months, Failure> {
        let (send, receive) = mpsc::channel(WAITING);
        let copy = self.config.data_dir.join("views.moving");
        let sending = match &self.source {
            Source::Folder(store) => {
                remove(&copy)?;
                store.backup(&copy).await?;
                let (copy, options) = (copy.clone(), views::folder_options(self.config));
                tokio::task::spawn_blocking(move || {
                    let copy = folder::FolderCopy::open(&copy, options)
                        .map_err(|error| ViewsError::Unavailable(error.to_string()))?;
                    folder::send_all(&copy, |piece| send.blocking_send(piece).is_ok())
                })
            }
            Source::Tables(database) => {
                let database = Arc::clone(database);
                tokio::spawn(async move { tables::send_all(&database, send).await })
            }
        };
        let taken = self.take(receive).await;
        let sent = sending.await.map_err(|error| Failure::error(error.to_string()))?;
        remove(&copy)?;
        // Whoever stops first says why.
        let months = taken?;
        sent?;
        months.ok_or_else(|| Failure::error("not all page views were sent"))
    }

    /// None if it ended before the end.
    async fn take(&mut self, mut receive: mpsc::Receiver<Piece>) -> Result<Option<Months>, Failure> {
        let (mut bar, mut counting) = (Bar::new(), Counting::default());
        let mut is_whole = false;
        while let Some(piece) = receive.recv().await {
            is_whole = matches!(piece, Piece::End);
            counting.count(&piece);
            self.arriving.take(piece).await?;
            bar.tell(&counting.project, counting.views);
        }
        bar.end();
        Ok(is_whole.then_some(counting.months))
    }
}

/// Adds pieces up.
#[derive(Default)]
struct Counting {
    project: String,
    views: u64,
    months: Months,
}

impl Counting {
    fn count(&mut self, piece: &Piece) {
        match piece {
            Piece::Project { name, .. } => self.project.clone_from(name),
            Piece::Day(day) => {
                self.views += day.views;
                *self.months.entry((self.project.clone(), month_of(day.day.cast_signed()))).or_insert(0) += day.views;
            }
            _ => {}
        }
    }
}

async fn begin(source: &Source, found: Option<MoveNote>, here: String, there: String) -> Result<MoveNote, Failure> {
    let came_by = match found {
        None => None,
        Some(found) if found.state == MoveState::Arrived => Some(found.move_id),
        Some(found) if matches!(found.state, MoveState::Arriving | MoveState::Moved) => {
            return Err(found.obstacle().map_or_else(|| Failure::error("a move is under way"), Failure::from));
        }
        // What a copy has taken along from its original is not about the copy.
        Some(found) if found.here != here => {
            return Err(Failure::error("these page views are a copy of those that a move was begun with")
                .hint("`copydesk move --cancel` makes the copy forget that"));
        }
        Some(found) if found.there != there => {
            return Err(Failure::error(format!("a move of the page views to {} was begun", found.there))
                .hint("end it with the same target, or with --cancel"));
        }
        Some(found) => return Ok(found),
    };
    let note = MoveNote { state: MoveState::Copying, move_id: new_id(SystemClock.now()), here, there, came_by };
    source.store().set_move(Some(note.clone())).await?;
    Ok(note)
}

async fn arriving(config: &Config, target: &Config, note: &MoveNote) -> Result<(MoveNote, Arriving), Failure> {
    let (here, there) = (place(target).await?, called(config));
    let entered = MoveNote { state: MoveState::Arriving, here, there, came_by: None, ..note.clone() };
    let arriving = match target.views.store {
        ViewsPlace::Embedded => {
            let (folder, options) = (target.views_folder(), views::folder_options(target));
            let came_by = note.came_by.as_deref();
            Arriving::Folder(tokio::task::block_in_place(|| {
                folder::Arrival::begin(&folder, &entered, came_by, options)
            })?)
        }
        ViewsPlace::Database | ViewsPlace::ClickHouse => {
            let database = views::open_database_for_move(target).await?;
            Arriving::Tables(tables::Arrival::begin(database, &entered).await?)
        }
    };
    Ok((entered, arriving))
}

fn remove(folder: &Path) -> Result<(), Failure> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Failure::error(format!("cannot remove {}: {error}", folder.display())))
        }
        _ => Ok(()),
    }
}

/// Whether the page views of this place are at another one.
pub(super) async fn have_moved(config: &Config) -> Result<bool, Failure> {
    Ok(note_at(config).await?.is_some_and(|note| note.state == MoveState::Moved))
}

/// Refuses to move the rest without page views that are on their way already: nobody would send them on.
pub(super) async fn none_under_way(config: &Config) -> Result<(), Failure> {
    match note_at(config).await? {
        Some(note) if matches!(note.state, MoveState::Copying | MoveState::Closed) => {
            Err(Failure::usage(format!("page views are on their way to {}", note.there)).hint(
                "name their target with --to-views as before, or give the whole move up with `copydesk move --cancel`",
            ))
        }
        _ => Ok(()),
    }
}

/// Gives a move of page views up. False if there was none.
pub(super) async fn cancel(config: &Config, target: Option<&Config>) -> Result<bool, Failure> {
    let found = note_at(config).await?;
    let Some(note) = found.clone().filter(|note| matches!(note.state, MoveState::Copying | MoveState::Closed)) else {
        return match target {
            Some(target) => forget_begun(config, target, found).await,
            None => Ok(false),
        };
    };
    match target {
        Some(target) if note.state == MoveState::Copying || note.there == called(target) => {
            let arrived = note_at(target).await?.filter(|it| it.move_id == note.move_id).map(|it| it.state);
            match arrived {
                Some(MoveState::Arrived) => return Err(super::too_late()),
                Some(MoveState::Arriving) => match arriving(config, target, &note).await?.1 {
                    Arriving::Folder(arrival) => arrival.give_up()?,
                    Arriving::Tables(arrival) => arrival.give_up().await?,
                },
                _ => {}
            }
        }
        _ if note.state == MoveState::Closed => return Err(super::name_the_target(&note.there)),
        _ => {}
    }
    let source = Source::open(config).await?;
    source.store().set_move(before(&note)).await?;
    source.close().await;
    Ok(true)
}

/// Empties a target in which a move from here was begun that was given up without naming it. Nothing is known of it here.
async fn forget_begun(config: &Config, target: &Config, here: Option<MoveNote>) -> Result<bool, Failure> {
    let begun = note_at(target).await?;
    let begun = begun.filter(|it| it.state == MoveState::Arriving && it.there == called(config));
    let Some(begun) = begun.filter(|_| here.is_none_or(|note| note.state == MoveState::Arrived)) else {
        return Ok(false);
    };
    match arriving(config, target, &begun).await?.1 {
        Arriving::Folder(arrival) => arrival.give_up()?,
        Arriving::Tables(arrival) => arrival.give_up().await?,
    }
    Ok(true)
}

/// What was written down before a move.
fn before(note: &MoveNote) -> Option<MoveNote> {
    let move_id = note.came_by.clone()?;
    Some(MoveNote { state: MoveState::Arrived, move_id, came_by: None, ..note.clone() })
}
