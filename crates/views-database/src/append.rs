//! Keeping a batch: one transaction, and exactly once.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use copydesk_views::page::OTHER_PAGES;
use copydesk_views::{Appended, Batch, Bucket, Channel, Client, Mark, Stretch};
use sqlx::{PgConnection, Row};

use crate::clickhouse::batches;
use crate::cover::quarter;
use crate::database::Database;
use crate::error::{Fault, Result};
use crate::lock::{Hold, LONG_PATIENCE, PATIENCE};
use crate::names::{Numbers, side_of};
use crate::project::Project;
use crate::receipt;
use crate::tally::Tally;

/// How often a batch is tried that gave way to another.
const TRIES: usize = 5;

/// A batch with its pages and readers numbered.
struct Entry {
    project: Arc<str>,
    paths: Vec<Arc<str>>,
    readers: Vec<Arc<Client>>,
    views: Vec<EntryView>,
    mark: Option<Mark>,
    lines: Vec<Stretch>,
}

struct EntryView {
    bucket: Bucket,
    /// Place in the entry's paths.
    path: u32,
    reader: u32,
    count: u32,
    id: Option<[u8; 16]>,
}

#[derive(Default)]
struct Numbering<T: ?Sized> {
    list: Vec<Arc<T>>,
    places: HashMap<Arc<T>, u32>,
}

impl<T: ?Sized + std::hash::Hash + Eq> Numbering<T> {
    fn new() -> Self {
        Self { list: Vec::new(), places: HashMap::new() }
    }

    fn number(&mut self, it: Arc<T>) -> u32 {
        let next = self.list.len() as u32;
        let place = *self.places.entry(Arc::clone(&it)).or_insert(next);
        if place == next {
            self.list.push(it);
        }
        place
    }
}

impl Entry {
    /// The batch with its pages and readers within the bounds of their days.
    fn new(batch: Batch, database: &Database) -> Self {
        let (mut paths, mut readers) = (Numbering::new(), Numbering::new());
        let mut views = Vec::with_capacity(batch.views.len());
        for view in batch.views {
            let (path, reader) = (paths.number(storable(view.path)), readers.number(view.client));
            let id = view.id.map(u128::to_be_bytes);
            views.push(EntryView { bucket: view.bucket, path, reader, count: view.count, id });
        }
        let project: Arc<str> = batch.project.into();
        let seen = views.iter().map(|view| (view.bucket, view.path, view.reader));
        for beyond in database.crowd.too_many(&project, &paths.list, &readers.list, seen) {
            let Some(view) = views.get_mut(beyond.place) else { continue };
            if beyond.page {
                view.path = paths.number(OTHER_PAGES.into());
            }
            if beyond.reader
                && let Some(reader) = readers.list.get(view.reader as usize).cloned()
            {
                view.reader = readers.number(Arc::new(reader.among_others()));
            }
        }
        Self { project, paths: paths.list, readers: readers.list, views, mark: batch.mark, lines: batch.lines }
    }
}

/// PostgreSQL has no text with a zero in it.
pub(crate) fn storable(path: Arc<str>) -> Arc<str> {
    if path.contains('\0') { path.replace('\0', "%00").into() } else { path }
}

/// Keeps a batch. When it answers, it is committed.
pub(crate) async fn append(database: &Database, batch: Batch) -> Result<Appended> {
    let entry = Entry::new(batch, database);
    if entry.views.is_empty() && entry.mark.is_none() {
        return Ok(Appended::default());
    }
    let mut tries = 1;
    loop {
        match append_once(database, &entry).await {
            Err(fault) if fault.is_passing() && tries < TRIES => tries += 1,
            done => return done,
        }
    }
}

async fn append_once(database: &Database, entry: &Entry) -> Result<Appended> {
    // A log is not read again because a project was being changed for some time.
    let patience = if entry.mark.is_some() { LONG_PATIENCE } else { PATIENCE };
    let mut transaction = database.begin(&entry.project, Hold::Shared(patience)).await?;
    let project = Project::find_or_make(&mut transaction, &entry.project).await?;
    let new = fresh(&mut transaction, &project, database, entry).await?;
    open_channels(&mut transaction, &project, entry, &new.counts).await?;
    let numbers = count(&mut transaction, &project, database, entry, &new.counts).await?;
    if let Some(mark) = &entry.mark {
        put_mark(&mut transaction, project.id, mark).await?;
    }
    // Where nothing is kept of a batch, its lines are not either.
    if !new.counts.is_empty() || entry.mark.is_some() {
        put_lines(&mut transaction, project.id, &entry.lines).await?;
    }
    receipt::commit(database, transaction).await?;
    if let Some(house) = &database.clickhouse {
        house.counted.notify_one();
    }
    let counted = new.counts.iter().filter_map(|place| entry.views.get(*place)).map(|view| u64::from(view.count)).sum();
    database.names.remember(&project, &numbers.paths, &numbers.readers, &numbers.ids);
    Ok(Appended { counted, duplicates: new.duplicates })
}

struct Fresh {
    /// Places of views that count.
    counts: Vec<usize>,
    duplicates: Vec<u32>,
}

/// Finds out which views count, and remembers the ids of those. Who tells of the same id at the same time waits here until
/// the other has it or has not.
async fn fresh(connection: &mut PgConnection, project: &Project, database: &Database, entry: &Entry) -> Result<Fresh> {
    let begins = project.begins();
    let taken = |view: &EntryView| view.bucket >= begins && quarter(view.bucket) < i32::MAX && view.count > 0;
    let mut ids: Vec<&[u8]> =
        entry.views.iter().filter(|it| taken(it)).filter_map(|it| it.id.as_ref().map(<[u8; 16]>::as_slice)).collect();
    ids.sort_unstable();
    ids.dedup();
    let mut unseen: HashSet<Vec<u8>> = HashSet::with_capacity(ids.len());
    if !ids.is_empty() {
        let now = database.now();
        let rows = sqlx::query(
            "INSERT INTO views_ids (project, id, arrived) SELECT $1, new.id, $3 FROM UNNEST($2::bytea[]) AS new (id) \
             ON CONFLICT (project, id) DO UPDATE SET arrived = excluded.arrived WHERE views_ids.arrived < $4 RETURNING id",
        )
        .bind(project.id)
        .bind(ids)
        .bind(now)
        .bind(now - database.options.id_seconds())
        .fetch_all(connection)
        .await?;
        for row in rows {
            unseen.insert(row.try_get(0)?);
        }
    }
    let mut new = Fresh { counts: Vec::with_capacity(entry.views.len()), duplicates: Vec::new() };
    for (place, view) in entry.views.iter().enumerate().filter(|(_, view)| taken(view)) {
        // The first of a batch that has an id takes it.
        if view.id.is_none_or(|id| unseen.remove(id.as_slice())) {
            new.counts.push(place);
        } else {
            new.duplicates.push(place as u32);
        }
    }
    Ok(new)
}

/// Notes since when the script and the server side tell of views, if that is news.
async fn open_channels(
    connection: &mut PgConnection,
    project: &Project,
    entry: &Entry,
    counts: &[usize],
) -> Result<()> {
    let mut since: [Option<Bucket>; 2] = [None, None];
    for view in counts.iter().filter_map(|place| entry.views.get(*place)) {
        let opens = entry.readers.get(view.reader as usize).and_then(|reader| reader.opens());
        if let Some(channel) = opens {
            let since = &mut since[usize::from(channel == Channel::Server)];
            *since = Some(since.map_or(view.bucket, |since| since.min(view.bucket)));
        }
    }
    let is_news = |found: Option<Bucket>, known: Option<Bucket>| {
        found.is_some_and(|found| known.is_none_or(|known| found < known))
    };
    if !is_news(since[0], project.script_since) && !is_news(since[1], project.server_since) {
        return Ok(());
    }
    sqlx::query(
        "UPDATE views_projects SET script_since = LEAST(script_since, $2), server_since = LEAST(server_since, $3) \
         WHERE id = $1",
    )
    .bind(project.id)
    .bind(since[0].map(|since| i64::from(since.0)))
    .bind(since[1].map(|since| i64::from(since.0)))
    .execute(connection)
    .await?;
    Ok(())
}

/// The pages and readers of views that count, with their numbers.
struct Named {
    paths: Vec<Arc<str>>,
    readers: Vec<Arc<Client>>,
    ids: Numbers,
}

async fn count(
    connection: &mut PgConnection,
    project: &Project,
    database: &Database,
    entry: &Entry,
    counts: &[usize],
) -> Result<Named> {
    // Only those that are needed: what does not count leaves nothing behind.
    let (mut paths, mut readers) = (Numbering::new(), Numbering::new());
    let mut rows = Vec::with_capacity(counts.len());
    for view in counts.iter().filter_map(|place| entry.views.get(*place)) {
        let path = entry.paths.get(view.path as usize);
        let reader = entry.readers.get(view.reader as usize);
        if let (Some(path), Some(reader)) = (path, reader) {
            rows.push((
                quarter(view.bucket),
                paths.number(Arc::clone(path)),
                readers.number(Arc::clone(reader)),
                view.count,
            ));
        }
    }
    let (paths, readers) = (paths.list, readers.list);
    let ids = database.names.numbers(connection, project, &paths, &readers).await?;
    let mut tally = Tally::default();
    for (quarter, path, reader, views) in rows {
        let client = readers.get(reader as usize);
        let numbers = (ids.paths.get(path as usize), ids.readers.get(reader as usize));
        if let (Some(client), (Some(path), Some(reader))) = (client, numbers) {
            tally.add(quarter, *path, *reader, side_of(client.facts.channel, &client.verdict), views);
        }
    }
    match &database.clickhouse {
        None => tally.write(connection, project.id).await?,
        Some(_) => batches::put(connection, project.id, &tally.into_cells()).await?,
    }
    Ok(Named { paths, readers, ids })
}

/// Moves a mark on, or begins one.
async fn put_mark(connection: &mut PgConnection, project: i32, mark: &Mark) -> Result<()> {
    // Nobody else moves a mark of that log meanwhile.
    sqlx::query("SELECT pg_advisory_xact_lock($1, hashtext($2))")
        .bind(project)
        .bind(&mark.log)
        .execute(&mut *connection)
        .await?;
    let row = sqlx::query(
        "SELECT COALESCE(bool_or(digest = $3), FALSE), COALESCE(bool_or(digest = $4), FALSE), COUNT(*) > 0 \
         FROM views_marks WHERE project = $1 AND log = $2",
    )
    .bind(project)
    .bind(&mark.log)
    .bind(&mark.digest)
    .bind(&mark.replaces)
    .fetch_one(&mut *connection)
    .await?;
    let (is_there, replaced_is, any_is): (bool, bool, bool) = (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
    // Whoever moves a mark leaves another one; where there is none at all, it was too old to be kept.
    if is_there || (mark.replaces.is_some() && !replaced_is && any_is) {
        return Err(Fault::unavailable("another process is importing the same log; nothing of this part was counted"));
    }
    sqlx::query("DELETE FROM views_marks WHERE project = $1 AND log = $2 AND digest = $3")
        .bind(project)
        .bind(&mark.log)
        .bind(&mark.replaces)
        .execute(&mut *connection)
        .await?;
    put_mark_row(connection, project, mark).await
}

/// Writes a mark behind all others.
pub(crate) async fn put_mark_row(connection: &mut PgConnection, project: i32, mark: &Mark) -> Result<()> {
    let text = serde_json::to_string(mark).map_err(|error| Fault::unavailable(error.to_string()))?;
    sqlx::query("INSERT INTO views_marks (project, log, digest, place, mark) VALUES ($1, $2, $3, $4, $5)")
        .bind(project)
        .bind(&mark.log)
        .bind(&mark.digest)
        .bind(mark.followed.as_ref().map(|followed| followed.place.as_str()))
        .bind(text)
        .execute(connection)
        .await?;
    Ok(())
}

pub(crate) async fn put_lines(connection: &mut PgConnection, project: i32, lines: &[Stretch]) -> Result<()> {
    for stretch in lines {
        let prints: Vec<u8> = stretch.prints.iter().flat_map(|print| print.to_le_bytes()).collect();
        sqlx::query("INSERT INTO views_lines (project, log, first, prints) VALUES ($1, $2, $3, $4)")
            .bind(project)
            .bind(&stretch.log)
            .bind(i64::try_from(stretch.first).unwrap_or(i64::MAX))
            .bind(prints)
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}
