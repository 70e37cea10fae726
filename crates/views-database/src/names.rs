//! The numbers of pages and readers, and what a process remembers of them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use copydesk_views::{Channel, Client, CountsAs, Facts, Verdict};
use sqlx::{PgConnection, Row};
use xxhash_rust::xxh3::xxh3_128;

use crate::error::{Fault, Result};
use crate::project::Project;

/// Numbers that are remembered, of all projects together: about 100 MB.
const REMEMBERED: usize = 500_000;

/// What was committed and cannot have changed since, as long as the project's epoch is the same.
#[derive(Default)]
pub(crate) struct Names {
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    projects: HashMap<i32, OfProject>,
    remembered: usize,
}

#[derive(Default)]
struct OfProject {
    epoch: i64,
    paths: HashMap<Arc<str>, i64>,
    readers: HashMap<Arc<Client>, i64>,
}

/// Pages and readers of a batch with their numbers, in its order.
pub(crate) struct Numbers {
    pub(crate) paths: Vec<i64>,
    pub(crate) readers: Vec<i64>,
}

impl Names {
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The numbers of pages and readers; those that have none get one. Nothing is remembered before that is committed:
    /// see [`Names::remember`].
    pub(crate) async fn numbers(
        &self,
        connection: &mut PgConnection,
        project: &Project,
        paths: &[Arc<str>],
        readers: &[Arc<Client>],
    ) -> Result<Numbers> {
        let (mut path_ids, mut reader_ids) = self.remembered(project, paths, readers);
        let new: Vec<&str> = missing(paths, &path_ids).map(|path| &**path).collect();
        if !new.is_empty() {
            let found = path_numbers(connection, project.id, new).await?;
            fill(&mut path_ids, paths, |path| found.get(&**path).copied());
        }
        let new: Vec<ReaderRow> =
            missing(readers, &reader_ids).map(|it| ReaderRow::new(it)).collect::<Result<_, _>>()?;
        if !new.is_empty() {
            let found = reader_numbers(connection, project.id, new).await?;
            fill(&mut reader_ids, readers, |client| found.get(&ReaderRow::new(client).ok()?.digest).copied());
        }
        let all = |ids: Vec<Option<i64>>| ids.into_iter().collect::<Option<Vec<i64>>>();
        match (all(path_ids), all(reader_ids)) {
            (Some(paths), Some(readers)) => Ok(Numbers { paths, readers }),
            _ => Err(Fault::unavailable("a page or a reader was removed just now")),
        }
    }

    fn remembered(
        &self,
        project: &Project,
        paths: &[Arc<str>],
        readers: &[Arc<Client>],
    ) -> (Vec<Option<i64>>, Vec<Option<i64>>) {
        let known = self.lock();
        let Some(known) = known.projects.get(&project.id).filter(|it| it.epoch == project.epoch) else {
            return (vec![None; paths.len()], vec![None; readers.len()]);
        };
        let path = |path: &Arc<str>| known.paths.get(path).copied();
        let reader = |reader: &Arc<Client>| known.readers.get(reader).copied();
        (paths.iter().map(path).collect(), readers.iter().map(reader).collect())
    }

    /// Remembers numbers that are committed now.
    pub(crate) fn remember(&self, project: &Project, paths: &[Arc<str>], readers: &[Arc<Client>], numbers: &Numbers) {
        let mut known = self.lock();
        if known.remembered > REMEMBERED {
            *known = Known::default();
        }
        let mut of = known.projects.remove(&project.id).unwrap_or_default();
        let before = of.paths.len() + of.readers.len();
        if of.epoch != project.epoch {
            of = OfProject { epoch: project.epoch, ..OfProject::default() };
        }
        for (path, id) in paths.iter().zip(&numbers.paths) {
            if !of.paths.contains_key(path) {
                of.paths.insert(Arc::clone(path), *id);
            }
        }
        for (reader, id) in readers.iter().zip(&numbers.readers) {
            if !of.readers.contains_key(reader) {
                of.readers.insert(Arc::clone(reader), *id);
            }
        }
        known.remembered = (known.remembered + of.paths.len() + of.readers.len()).saturating_sub(before);
        known.projects.insert(project.id, of);
    }
}

fn missing<'a, T: ?Sized>(all: &'a [Arc<T>], ids: &'a [Option<i64>]) -> impl Iterator<Item = &'a Arc<T>> {
    all.iter().zip(ids).filter(|(_, id)| id.is_none()).map(|(it, _)| it)
}

fn fill<T: ?Sized>(ids: &mut [Option<i64>], all: &[Arc<T>], find: impl Fn(&Arc<T>) -> Option<i64>) {
    for (id, it) in ids.iter_mut().zip(all).filter(|(id, _)| id.is_none()) {
        *id = find(it);
    }
}

/// In the order in which everybody makes them, so that nobody waits in a circle.
async fn path_numbers(
    connection: &mut PgConnection,
    project: i32,
    mut paths: Vec<&str>,
) -> Result<HashMap<String, i64>> {
    const FIND: &str = "SELECT path, id FROM views_paths WHERE project = $1 AND path = ANY($2)";
    const MAKE: &str = "INSERT INTO views_paths (project, path) SELECT $1, path FROM UNNEST($2::text[]) AS new (path) \
                        ON CONFLICT DO NOTHING";
    paths.sort_unstable();
    let mut found = HashMap::new();
    for last in [false, true] {
        let rows = sqlx::query(FIND).bind(project).bind(&paths).fetch_all(&mut *connection).await?;
        for row in rows {
            found.insert(row.try_get(0)?, row.try_get(1)?);
        }
        paths.retain(|path| !found.contains_key(*path));
        if paths.is_empty() || last {
            break;
        }
        sqlx::query(MAKE).bind(project).bind(&paths).execute(&mut *connection).await?;
    }
    Ok(found)
}

/// A kind of reader as the database has it.
pub(crate) struct ReaderRow {
    pub(crate) digest: Vec<u8>,
    pub(crate) facts: String,
    pub(crate) verdict: String,
    pub(crate) called: String,
    pub(crate) side: i16,
}

impl ReaderRow {
    pub(crate) fn new(client: &Client) -> Result<Self> {
        let text = |error: serde_json::Error| Fault::unavailable(error.to_string());
        let facts = serde_json::to_string(&client.facts).map_err(text)?;
        Self::of(facts, client.facts.channel, &client.verdict)
    }

    /// The same for facts as they are written.
    pub(crate) fn of(facts: String, channel: Channel, verdict: &Verdict) -> Result<Self> {
        let text = serde_json::to_string(verdict).map_err(|error| Fault::unavailable(error.to_string()))?;
        let digest = xxh3_128(format!("{facts}\n{text}").as_bytes()).to_be_bytes().to_vec();
        Ok(Self {
            digest,
            facts,
            verdict: text,
            called: verdict.agent.as_deref().unwrap_or(&verdict.rule).to_owned(),
            side: side_of(channel, verdict),
        })
    }
}

/// 0 people, 2 AI, 4 others; and 1 more if the server side told.
pub(crate) fn side_of(channel: Channel, verdict: &Verdict) -> i16 {
    let kind = match verdict.counts_as() {
        CountsAs::Human => 0,
        CountsAs::Ai => 2,
        CountsAs::Other => 4,
    };
    kind + i16::from(channel == Channel::Server)
}

/// A reader as it is written.
pub(crate) fn read_client(facts: &str, verdict: &str) -> Result<Client> {
    let facts: Facts = serde_json::from_str(facts).map_err(|error| Fault::unreadable("a reader", error))?;
    Ok(Client { facts, verdict: read_verdict(verdict)? })
}

pub(crate) fn read_verdict(verdict: &str) -> Result<Verdict> {
    serde_json::from_str(verdict).map_err(|error| Fault::unreadable("a verdict", error))
}

async fn reader_numbers(
    connection: &mut PgConnection,
    project: i32,
    mut rows: Vec<ReaderRow>,
) -> Result<HashMap<Vec<u8>, i64>> {
    const FIND: &str = "SELECT digest, id FROM views_readers WHERE project = $1 AND digest = ANY($2)";
    const MAKE: &str = "INSERT INTO views_readers (project, digest, facts, verdict, called, side) \
                        SELECT $1, new.* FROM UNNEST($2::bytea[], $3::text[], $4::text[], $5::text[], $6::int2[]) AS new \
                        ON CONFLICT DO NOTHING";
    rows.sort_unstable_by(|one, other| one.digest.cmp(&other.digest));
    let mut found = HashMap::new();
    for last in [false, true] {
        let digests: Vec<&[u8]> = rows.iter().map(|row| row.digest.as_slice()).collect();
        let there = sqlx::query(FIND).bind(project).bind(digests).fetch_all(&mut *connection).await?;
        for row in there {
            found.insert(row.try_get(0)?, row.try_get(1)?);
        }
        rows.retain(|row| !found.contains_key(&row.digest));
        if rows.is_empty() || last {
            break;
        }
        sqlx::query(MAKE)
            .bind(project)
            .bind(rows.iter().map(|row| row.digest.as_slice()).collect::<Vec<_>>())
            .bind(rows.iter().map(|row| row.facts.as_str()).collect::<Vec<_>>())
            .bind(rows.iter().map(|row| row.verdict.as_str()).collect::<Vec<_>>())
            .bind(rows.iter().map(|row| row.called.as_str()).collect::<Vec<_>>())
            .bind(rows.iter().map(|row| row.side).collect::<Vec<_>>())
            .execute(&mut *connection)
            .await?;
    }
    Ok(found)
}
