//! What a move from one database to another has written down in both of them.
//!
//! The place that is left goes from `copying` (all is as ever) over `draining` (nothing new is begun) and `closed` (nothing is
//! written) to `moved`. The one that is entered is `arriving` until everything in it was compared, then `arrived`, and that is
//! the moment of the move: whatever ends the program before it leaves the old place to go on with, and after it the new one.

use std::path::Path;
use std::time::{Duration, Instant};

use copydesk_boxed::boxed;
use copydesk_domain::{Timestamp, new_id};

use crate::conn::{Conn, Dialect, FromRow, Result, Row, values};
use crate::connections::Transaction;
use crate::database::Store;
use crate::error::StoreError;
use crate::hub::Change;
use crate::{deeds, guard, migrate};

/// How often it is tried to stop all writers, each time for some seconds.
const TRIES: u32 = 20;
/// How long a server may take to notice that a program has ended.
const LET_GO: Duration = Duration::from_secs(5);
/// What holds the database for one move at a time.
const LOCK: i64 = 8_245_113_409;

/// How far a move is, as one of the two places has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MoveState {
    Copying,
    Draining,
    Closed,
    Moved,
    Arriving,
    Arrived,
}

impl MoveState {
    const ALL: [(Self, &'static str); 6] = [
        (Self::Copying, "copying"),
        (Self::Draining, "draining"),
        (Self::Closed, "closed"),
        (Self::Moved, "moved"),
        (Self::Arriving, "arriving"),
        (Self::Arrived, "arrived"),
    ];

    fn as_str(self) -> &'static str {
        Self::ALL.iter().find(|(state, _)| *state == self).map_or("", |(_, word)| word)
    }

    fn parse(text: &str) -> Result<Self> {
        let found = Self::ALL.iter().find(|(_, word)| *word == text).map(|(state, _)| *state);
        found.ok_or_else(|| StoreError::Unreadable(format!("a move is {text:?}, which this program does not know")))
    }

    /// Whether nothing new may be begun.
    fn is_at_rest(self) -> bool {
        !matches!(self, Self::Copying | Self::Arrived)
    }
}

/// What a database has of a move.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MoveNote {
    pub state: MoveState,
    /// The same in both places, and made anew for every move.
    pub move_id: String,
    /// Which place it was written in.
    pub here: String,
    /// The other place, without its password.
    pub there: String,
    /// The move that has brought everything here before this one.
    pub came_by: Option<String>,
    pub since: Timestamp,
}

impl MoveNote {
    /// What there is to say while nothing new is begun here and requests are still served.
    pub fn sentence(&self) -> Option<String> {
        (self.state == MoveState::Draining).then(|| {
            "Everything is being moved to another database: jobs that run come to their end, and no other one begins here.".to_owned()
        })
    }

    /// What keeps everybody from using the place, if something does.
    pub fn obstacle(&self) -> Option<StoreError> {
        let (there, since) = (&self.there, self.since);
        match self.state {
            MoveState::Moved => Some(StoreError::Moved(format!(
                "everything was moved from this database to {there} ({since}); name that one with database_url"
            ))),
            MoveState::Arriving => Some(StoreError::Moved(format!(
                "`copydesk move` from {there} into this database has not ended yet; run it again, and it goes on"
            ))),
            _ => None,
        }
    }

    /// What keeps everybody from writing here, if something does. What is closed is still read, and may be opened again.
    fn refusal(&self) -> Option<StoreError> {
        match self.state {
            MoveState::Closed => Some(StoreError::Moved(format!(
                "everything is being moved from this database to {}: nothing is written here any more",
                self.there
            ))),
            _ => self.obstacle(),
        }
    }
}

impl FromRow for MoveNote {
    fn from_row(row: &mut Row) -> Result<Self> {
        let state: String = row.next()?;
        Ok(Self {
            state: MoveState::parse(&state)?,
            move_id: row.next()?,
            here: row.next()?,
            there: row.next()?,
            came_by: row.next()?,
            since: row.next()?,
        })
    }
}

/// For as long as it is kept, no other move has to do with the database.
pub struct MoveHold {
    _held: Transaction,
}

#[boxed]
impl Store {
    /// What is written down here about a move, if something is.
    pub async fn move_note(&self) -> Result<Option<MoveNote>> {
        self.read(|c| Box::pin(get(c))).await
    }

    /// Whether the database answers and takes writes, which one that was moved away does not. Nothing is written.
    pub async fn ping(&self) -> Result<()> {
        self.write(|c| {
            Box::pin(async move {
                migrate::check_writable(c).await?;
                // Where there are no tables yet, nothing was moved away.
                if migrate::check(c).await.is_ok() { check_open(c).await } else { Ok(()) }
            })
        })
        .await
    }

    /// An error if this place was left, or is not yet complete.
    pub async fn check_settled(&self) -> Result<()> {
        self.move_note().await?.and_then(|note| note.obstacle()).map_or(Ok(()), Err)
    }

    /// An error unless the schema is this program's and no newer one.
    pub async fn check_exact_schema(&self) -> Result<()> {
        self.read(|c| Box::pin(migrate::check_exact(c))).await
    }

    /// What tells this database from every other, also from a copy of it.
    pub async fn place(&self) -> Result<String> {
        if let Some(file) = self.file() {
            let real = std::fs::canonicalize(file).map_err(|error| unreadable(file, &error))?;
            return Ok(format!("sqlite:{}", real.display()));
        }
        let database = "SELECT current_database()::text || '.' || current_schema()::text || '/' || oid::text \
                        FROM pg_database WHERE datname = current_database()";
        let database: String = self.read(move |c| Box::pin(c.only_row(database, vec![]))).await?;
        let server = "SELECT system_identifier::text FROM pg_control_system()";
        // Some servers keep that to themselves.
        let server: Result<String> = self.read(move |c| Box::pin(c.only_row(server, vec![]))).await;
        Ok(format!("postgres:{}/{database}", server.unwrap_or_default()))
    }

    /// Keeps other moves away; an error if one has the database. A file needs no hold: the other place is a server.
    pub async fn hold_for_move(&self) -> Result<Option<MoveHold>> {
        let began = Instant::now();
        loop {
            let Some(mut held) = self.aside().await? else { return Ok(None) };
            let sql = "SET LOCAL idle_in_transaction_session_timeout = 0";
            sqlx::raw_sql(sql).execute(&mut *held).await.map_err(StoreError::from)?;
            let got = sqlx::query_as("SELECT pg_try_advisory_xact_lock($1)").bind(LOCK).fetch_one(&mut *held).await;
            let (got,): (bool,) = got.map_err(StoreError::from)?;
            if got {
                return Ok(Some(MoveHold { _held: held }));
            }
            drop(held);
            // The server may not have noticed yet that a move has ended.
            if began.elapsed() > LET_GO {
                return Err(StoreError::Refused("another `copydesk move` has this database in its hands".to_owned()));
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Writes down that everything here is to go to another place. Everything goes on as ever.
    pub async fn begin_leaving(&self, there: String) -> Result<MoveNote> {
        let (here, now) = (self.place().await?, self.now());
        self.write(move |c| Box::pin(leave(c, here, there, now))).await
    }

    /// From now on no job is claimed and nothing is delivered here; what runs goes on.
    pub async fn drain(&self, move_id: &str) -> Result<()> {
        let (move_id, now) = (move_id.to_owned(), self.now());
        self.write(move |c| Box::pin(step(c, &[MoveState::Copying], MoveState::Draining, move_id, now))).await
    }

    /// How many jobs somebody works on.
    pub async fn jobs_in_hand(&self) -> Result<u64> {
        let now = self.now();
        let sql = "SELECT count(*) FROM jobs WHERE status = 'active' AND lease_expires_at > $1";
        self.read(move |c| Box::pin(c.only_row(sql, values![now]))).await
    }

    /// From now on nothing is written here, whoever tries.
    pub async fn close_for_move(&self, move_id: &str) -> Result<()> {
        let tables: Vec<String> = self.guarded()?;
        let mut tries = 1;
        loop {
            let (move_id, now, tables) = (move_id.to_owned(), self.now(), tables.clone());
            let closed = self
                .write(move |c| {
                    Box::pin(async move {
                        guard::close(c, tables).await?;
                        step(c, &[MoveState::Copying, MoveState::Draining], MoveState::Closed, move_id, now).await
                    })
                })
                .await;
            match closed {
                // Somebody else was in the way, or gave way to somebody.
                Err(StoreError::Unreachable(_)) if tries < TRIES => {
                    tries += 1;
                    tokio::time::sleep(Duration::from_millis(200)).await;
                }
                closed => return closed,
            }
        }
    }

    /// Writes down that everything is at the other place now.
    pub async fn mark_moved(&self, move_id: &str) -> Result<()> {
        let (move_id, now) = (move_id.to_owned(), self.now());
        self.write(move |c| Box::pin(step(c, &[MoveState::Closed], MoveState::Moved, move_id, now))).await
    }

    /// Ends a move before its end: this place goes on as before it. False if there was none.
    pub async fn stay(&self) -> Result<bool> {
        let now = self.now();
        self.write(move |c| Box::pin(stay(c, now))).await
    }

    /// Gets ready to take everything of another place: one that has nothing in it, that this very move has begun to fill, or
    /// that the other one was filled from.
    pub async fn begin_arriving(&self, from: MoveNote, from_name: String) -> Result<()> {
        let (here, now, tables) = (self.place().await?, self.now(), self.guarded()?);
        self.write(move |c| Box::pin(arrive(c, Arriving { here, from, from_name, now, tables }))).await
    }

    /// Writes down that everything is here. From now on this is the place.
    pub async fn mark_arrived(&self, move_id: &str) -> Result<()> {
        let (move_id, now) = (move_id.to_owned(), self.now());
        self.write(move |c| {
            Box::pin(async move {
                let there = get(c).await?.map(|note| note.there).unwrap_or_default();
                step(c, &[MoveState::Arriving], MoveState::Arrived, move_id, now).await?;
                deeds::record(c, "installation.move", None, "", &format!("from {there}")).await
            })
        })
        .await
    }

    /// Throws away what an unfinished move has brought here.
    pub async fn empty_for_move(&self, move_id: &str) -> Result<()> {
        let (move_id, mut tables) = (move_id.to_owned(), self.guarded()?);
        tables.reverse();
        self.write(move |c| {
            Box::pin(async move {
                match get(c).await? {
                    Some(note) if note.state == MoveState::Arriving && note.move_id == move_id => {}
                    _ => return Err(StoreError::Refused("nothing of this move is in that database".to_owned())),
                }
                for table in tables.iter().filter(|table| *table != SCHEMA) {
                    c.run(format!("DELETE FROM {table}"), vec![]).await?;
                }
                c.run("DELETE FROM moving", vec![]).await.map(drop)
            })
        })
        .await
    }

    /// All tables but the one for notes, those that others refer to before those.
    fn guarded(&self) -> Result<Vec<String>> {
        let tables = self.tables()?.into_iter().map(|table| table.name);
        Ok(tables.filter(|table| table != NOTES).collect())
    }
}

/// Tables that are of each place itself.
pub(crate) const NOTES: &str = "moving";
pub(crate) const SCHEMA: &str = "schema_versions";

fn unreadable(file: &Path, error: &std::io::Error) -> StoreError {
    StoreError::Unreachable(format!("{}: {error}", file.display()))
}

/// An error if this is a place that takes no writes because of a move.
async fn check_open(c: &mut dyn Conn) -> Result<()> {
    get(c).await?.and_then(|note| note.refusal()).map_or(Ok(()), Err)
}

async fn get(c: &mut dyn Conn) -> Result<Option<MoveNote>> {
    c.row("SELECT state, move_id, here, there, came_by, since FROM moving WHERE id = 1", vec![]).await
}

async fn put(c: &mut dyn Conn, note: &MoveNote) -> Result<()> {
    c.run("DELETE FROM moving", vec![]).await?;
    let sql = "INSERT INTO moving (id, state, move_id, here, there, came_by, at_rest, since) \
               VALUES (1, $1, $2, $3, $4, $5, $6, $7)";
    let MoveNote { state, move_id, here, there, came_by, since } = note;
    let row = values![state.as_str(), move_id, here, there, came_by.as_deref(), state.is_at_rest(), *since];
    c.run(sql, row).await.map(drop)
}

async fn leave(c: &mut dyn Conn, here: String, there: String, now: Timestamp) -> Result<MoveNote> {
    let found = get(c).await?;
    let came_by = match found {
        Some(note) if matches!(note.state, MoveState::Arriving) => {
            return Err(note.obstacle().unwrap_or_else(|| StoreError::Refused(String::new())));
        }
        Some(note) if note.state == MoveState::Arrived => Some(note.move_id),
        Some(note) => {
            // What a copy has taken along from its original is not about the copy.
            if note.here != here {
                return Err(StoreError::Refused(format!(
                    "this database is a copy of one that a move was begun from ({}); `copydesk move --cancel` makes it \
                     forget that",
                    note.here
                )));
            }
            if note.there != there {
                if let Some(obstacle) = note.obstacle() {
                    return Err(obstacle);
                }
                return Err(StoreError::Refused(format!(
                    "a move to {} was begun here; end it with the same target, or with --cancel",
                    note.there
                )));
            }
            return Ok(note);
        }
        None => None,
    };
    let note = MoveNote { state: MoveState::Copying, move_id: new_id(now), here, there, came_by, since: now };
    put(c, &note).await?;
    Ok(note)
}

/// Goes from one state to the next. Where it is there already, nothing is done.
async fn step(c: &mut dyn Conn, from: &[MoveState], to: MoveState, move_id: String, now: Timestamp) -> Result<()> {
    match get(c).await? {
        Some(note) if note.move_id == move_id && note.state == to => Ok(()),
        Some(note) if note.move_id == move_id && from.contains(&note.state) => {
            put(c, &MoveNote { state: to, since: now, ..note }).await
        }
        _ => Err(StoreError::Refused("the move was ended, or begun anew, meanwhile".to_owned())),
    }
}

async fn stay(c: &mut dyn Conn, now: Timestamp) -> Result<bool> {
    let Some(note) = get(c).await? else { return Ok(false) };
    match note.state {
        MoveState::Copying | MoveState::Draining | MoveState::Closed => {}
        MoveState::Arrived => return Ok(false),
        MoveState::Moved | MoveState::Arriving => {
            return Err(note.obstacle().unwrap_or_else(|| StoreError::Refused(String::new())));
        }
    }
    guard::open(c).await?;
    match note.came_by {
        Some(came_by) => {
            let before = MoveNote { state: MoveState::Arrived, move_id: came_by, came_by: None, since: now, ..note };
            put(c, &before).await?;
        }
        None => c.run("DELETE FROM moving", vec![]).await.map(drop)?,
    }
    for change in [Change::Ready(None), Change::Outbox, Change::Asked] {
        c.announce(change);
    }
    Ok(true)
}

struct Arriving {
    here: String,
    from: MoveNote,
    from_name: String,
    now: Timestamp,
    tables: Vec<String>,
}

async fn arrive(c: &mut dyn Conn, arriving: Arriving) -> Result<()> {
    let Arriving { here, from, from_name, now, tables } = arriving;
    // Before the look, so that nobody makes tables meanwhile.
    migrate::hold_schema(c).await?;
    let note = MoveNote {
        state: MoveState::Arriving,
        move_id: from.move_id.clone(),
        here,
        there: from_name,
        came_by: None,
        since: now,
    };
    match migrate::check_exact(c).await {
        Err(StoreError::Older { found: 0, .. }) => {
            if !has_no_tables(c).await? {
                return Err(not_empty());
            }
            migrate::migrate(c, now).await?;
            return put(c, &note).await;
        }
        checked => checked?,
    }
    match get(c).await? {
        Some(found) if found.state == MoveState::Arriving && found.move_id == from.move_id => Ok(()),
        // What was moved from here to where it now comes back from: all of it is there.
        Some(found) if found.state == MoveState::Moved && from.came_by.as_ref() == Some(&found.move_id) => {
            guard::open(c).await?;
            put(c, &note).await
        }
        None => {
            for table in tables.iter().filter(|table| *table != SCHEMA) {
                if c.exists(format!("SELECT 1 FROM {table} LIMIT 1"), vec![]).await? {
                    return Err(not_empty());
                }
            }
            put(c, &note).await
        }
        Some(_) => Err(not_empty()),
    }
}

fn not_empty() -> StoreError {
    StoreError::Refused("there is something in the target already; everything is moved into an empty place".to_owned())
}

/// Whether there are no tables, but for those of page views, which are looked at by themselves.
async fn has_no_tables(c: &mut dyn Conn) -> Result<bool> {
    let sql = match c.dialect() {
        Dialect::Sqlite => "SELECT 1 FROM sqlite_master LIMIT 1",
        Dialect::Postgres => {
            "SELECT 1 FROM pg_tables WHERE schemaname = current_schema() AND tablename NOT LIKE 'views\\_%' LIMIT 1"
        }
    };
    Ok(!c.exists(sql, vec![]).await?)
}
