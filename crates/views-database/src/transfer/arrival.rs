//! Tables that are filled piece by piece. It can be ended anywhere and begun again: days that are there and the same stay.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use copydesk_boxed::boxed;
use copydesk_views::store::ViewsError;
use copydesk_views::store::moving::{About, Day, MoveNote, MoveState, Names, Piece};
use sqlx::{AssertSqlSafe, PgConnection, PgExecutor, Row};

use crate::append::{put_lines, put_mark_row, storable};
use crate::calendar::month_of;
use crate::clickhouse::{ClickHouse, Rows, Shipment};
use crate::cover::quarter;
use crate::database::Database;
use crate::error::{Fault, Result};
use crate::gate::{self, TABLES};
use crate::project::Project;
use crate::sweep;

/// Rows that are written in one transaction, about.
const CELLS: usize = 50_000;
/// Pages or readers that are looked up at once.
const NAMES: usize = 10_000;

/// Page views of a database that come from elsewhere. Nobody else uses them meanwhile.
pub struct Arrival {
    database: Arc<Database>,
    project: Option<Building>,
    seen: Vec<String>,
}

struct Building {
    project: Project,
    name: String,
    paths: Vec<i64>,
    readers: Vec<i64>,
    /// Days that were written, with their digests.
    known: HashMap<u32, Vec<u8>>,
    /// Days that are to be written, and how many cells they have.
    waiting: Vec<Day>,
    cells: usize,
    seen: Vec<u32>,
    /// Whether something was written to ClickHouse.
    has_written: bool,
}

#[boxed]
impl Arrival {
    /// Gets the tables ready: such that have no page views, or that this move has begun to fill.
    pub async fn begin(database: Arc<Database>, note: &MoveNote) -> Result<Self, ViewsError> {
        let mut transaction = database.pool.begin().await.map_err(Fault::from)?;
        enter(&mut transaction, note).await?;
        transaction.commit().await.map_err(Fault::from)?;
        Ok(Self { database, project: None, seen: Vec::new() })
    }

    /// Takes the next piece.
    pub async fn take(&mut self, piece: Piece) -> Result<(), ViewsError> {
        Ok(self.take_piece(piece).await?)
    }

    /// The views of every project by month, counted since January 1970, as the tables have them.
    pub async fn by_month(&self) -> Result<BTreeMap<(String, i32), u64>, ViewsError> {
        Ok(by_month(&self.database).await?)
    }

    /// Opens the tables for everybody.
    pub async fn end(self, note: &MoveNote) -> Result<(), ViewsError> {
        let arrived = MoveNote { state: MoveState::Arrived, ..note.clone() };
        let mut transaction = self.database.pool.begin().await.map_err(Fault::from)?;
        gate::write(&mut transaction, Some(&arrived)).await?;
        sqlx::raw_sql("TRUNCATE views_moved_days").execute(&mut *transaction).await.map_err(Fault::from)?;
        transaction.commit().await.map_err(Fault::from)?;
        Ok(())
    }

    /// Gives a move up: nothing is left of what has come.
    pub async fn give_up(self) -> Result<(), ViewsError> {
        if let Some(house) = &self.database.clickhouse {
            house.leave(&self.database.pool).await?;
        }
        let mut transaction = self.database.pool.begin().await.map_err(Fault::from)?;
        let sql = format!("TRUNCATE views_moved_days, views_counted_in_clickhouse, {}", TABLES.join(", "));
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut *transaction).await.map_err(Fault::from)?;
        gate::write(&mut transaction, None).await?;
        transaction.commit().await.map_err(Fault::from)?;
        Ok(())
    }
}

async fn enter(connection: &mut PgConnection, note: &MoveNote) -> Result<()> {
    let found = gate::read_with(connection).await?;
    match &found {
        Some(found) if found.state == MoveState::Arriving && found.move_id == note.move_id => return Ok(()),
        // What was moved from here is not here any more.
        None | Some(MoveNote { state: MoveState::Moved, .. }) => {}
        Some(_) => return Err(not_empty()),
    }
    sqlx::raw_sql("DROP FUNCTION IF EXISTS views_moving_refuse() CASCADE; LOCK TABLE views_projects IN EXCLUSIVE MODE")
        .execute(&mut *connection)
        .await?;
    let row = sqlx::query("SELECT EXISTS (SELECT FROM views_projects)").fetch_one(&mut *connection).await?;
    if row.try_get::<bool, _>(0)? {
        return Err(not_empty());
    }
    gate::write(connection, Some(note)).await?;
    sqlx::raw_sql("TRUNCATE views_moved_days").execute(connection).await?;
    Ok(())
}

fn not_empty() -> Fault {
    Fault::unavailable("there are page views in the database already; they are moved into an empty place")
}

impl Arrival {
    async fn take_piece(&mut self, piece: Piece) -> Result<()> {
        let lost = || Fault::Views(ViewsError::Damaged("a piece of page views came without its project".to_owned()));
        match piece {
            Piece::Project { name, names } => {
                self.seen.push(name.clone());
                self.project = Some(Building::begin(&self.database, name, &names).await?);
            }
            Piece::Day(day) => self.project.as_mut().ok_or_else(lost)?.day(&self.database, day).await?,
            Piece::Ids(ids) => {
                let project = self.project.as_mut().ok_or_else(lost)?;
                project.write(&self.database).await?;
                put_ids(&self.database, project.project.id, ids).await?;
            }
            Piece::About(about) => self.project.take().ok_or_else(lost)?.finish(&self.database, about).await?,
            Piece::End => self.forget_others().await?,
        }
        Ok(())
    }

    /// Projects that an earlier look has found and this one has not.
    async fn forget_others(&mut self) -> Result<()> {
        let seen = std::mem::take(&mut self.seen);
        let mut transaction = self.database.pool.begin().await?;
        let gone = "WITH gone AS (DELETE FROM views_projects WHERE name <> ALL ($1) RETURNING id) \
                    INSERT INTO views_gone SELECT id FROM gone";
        sqlx::query(gone).bind(seen).execute(&mut *transaction).await?;
        transaction.commit().await?;
        sweep::everything(&self.database).await
    }
}

impl Building {
    async fn begin(database: &Database, name: String, names: &Names) -> Result<Self> {
        let mut transaction = database.pool.begin().await?;
        let project = Project::find_or_make(&mut transaction, &name).await?;
        transaction.commit().await?;
        let all: Vec<Arc<str>> = names.paths.iter().map(|path| storable(Arc::clone(path))).collect();
        let mut paths = Vec::with_capacity(all.len());
        for some in all.chunks(NAMES) {
            let mut transaction = database.pool.begin().await?;
            paths.extend(database.names.numbers(&mut transaction, &project, some, &[]).await?.paths);
            transaction.commit().await?;
        }
        let mut readers = Vec::with_capacity(names.clients.len());
        for some in names.clients.chunks(NAMES) {
            let mut transaction = database.pool.begin().await?;
            readers.extend(database.names.numbers(&mut transaction, &project, &[], some).await?.readers);
            transaction.commit().await?;
        }
        let mut known = HashMap::new();
        let sql = "SELECT day, digest FROM views_moved_days WHERE project = $1";
        for row in sqlx::query(sql).bind(project.id).fetch_all(&database.pool).await? {
            known.insert(row.try_get::<i32, _>(0)?.unsigned_abs(), row.try_get(1)?);
        }
        Ok(Self {
            project,
            name,
            paths,
            readers,
            known,
            waiting: Vec::new(),
            cells: 0,
            seen: Vec::new(),
            has_written: false,
        })
    }

    async fn day(&mut self, database: &Database, day: Day) -> Result<()> {
        self.seen.push(day.day);
        if self.known.get(&day.day).is_some_and(|digest| **digest == day.digest.to_be_bytes()) {
            return Ok(());
        }
        self.cells += day.cells.len();
        self.waiting.push(day);
        if self.cells >= CELLS { self.write(database).await } else { Ok(()) }
    }

    /// Writes the days that wait, in one transaction.
    async fn write(&mut self, database: &Database) -> Result<()> {
        let days = std::mem::take(&mut self.waiting);
        self.cells = 0;
        if days.is_empty() {
            return Ok(());
        }
        let unknown =
            || Fault::Views(ViewsError::Damaged("a cell names a page or reader that there is not".to_owned()));
        let mut rows: Vec<(i32, i64, i64, i64)> = Vec::new();
        for cell in days.iter().flat_map(|day| &day.cells) {
            let path = *self.paths.get(cell.path as usize).ok_or_else(unknown)?;
            let reader = *self.readers.get(cell.client as usize).ok_or_else(unknown)?;
            rows.push((quarter(cell.bucket), path, reader, i64::try_from(cell.count).unwrap_or(i64::MAX)));
        }
        rows.sort_unstable();
        // Pages that the database cannot tell apart.
        rows.dedup_by(|next, row| {
            let is_same = (next.0, next.1, next.2) == (row.0, row.1, row.2);
            if is_same {
                row.3 += next.3;
            }
            is_same
        });
        let id = self.project.id;
        let list: Vec<i32> = days.iter().map(|day| day.day.cast_signed()).collect();
        if let Some(house) = &database.clickhouse {
            self.has_written = true;
            let was_there: Vec<i32> =
                list.iter().copied().filter(|day| self.known.contains_key(&day.unsigned_abs())).collect();
            // Whoever goes on after an end in the middle knows by this what may be there in part.
            note_days(&database.pool, id, &list, &days.iter().map(|_| Vec::new()).collect::<Vec<_>>()).await?;
            house.clear_days(id, &was_there).await?;
            let mut shipment = Shipment::default();
            rows.into_iter().for_each(|row| shipment.add(id, row));
            house.insert_new(&Rows::from(shipment).without_months(), &*database.options.clock).await?;
            return note_days(&database.pool, id, &list, &digests(&days)).await;
        }
        let mut transaction = database.pool.begin().await?;
        sqlx::raw_sql("SET LOCAL jit = off").execute(&mut *transaction).await?;
        clear(&mut transaction, id, &list).await?;
        sqlx::query(
            "INSERT INTO views_cells (project, quarter, path, reader, n) \
             SELECT $1, new.* FROM UNNEST($2::int[], $3::bigint[], $4::bigint[], $5::bigint[]) AS new",
        )
        .bind(id)
        .bind(rows.iter().map(|row| row.0).collect::<Vec<_>>())
        .bind(rows.iter().map(|row| row.1).collect::<Vec<_>>())
        .bind(rows.iter().map(|row| row.2).collect::<Vec<_>>())
        .bind(rows.iter().map(|row| row.3).collect::<Vec<_>>())
        .execute(&mut *transaction)
        .await?;
        sum_days(&mut transaction, id, &list).await?;
        note_days(&mut *transaction, id, &list, &digests(&days)).await?;
        Ok(transaction.commit().await?)
    }

    async fn finish(mut self, database: &Database, about: About) -> Result<()> {
        self.write(database).await?;
        let id = self.project.id;
        let gone: Vec<i32> = {
            let seen: std::collections::HashSet<u32> = self.seen.iter().copied().collect();
            self.known.keys().filter(|day| !seen.contains(day)).map(|day| day.cast_signed()).collect()
        };
        if let Some(house) = &database.clickhouse {
            house.clear_days(id, &gone).await?;
            // Not for every project each time: deleting months takes long there.
            let adds_up = sweep::verify(database, Some(&self.name)).await?.is_empty();
            if self.has_written || !gone.is_empty() || !adds_up {
                house.recount_months(id, &*database.options.clock).await?;
            }
        }
        let mut transaction = database.pool.begin().await?;
        sqlx::raw_sql("SET LOCAL jit = off").execute(&mut *transaction).await?;
        if !gone.is_empty() {
            clear(&mut transaction, id, &gone).await?;
            let sql = "DELETE FROM views_moved_days WHERE project = $1 AND day = ANY ($2)";
            sqlx::query(sql).bind(id).bind(&gone).execute(&mut *transaction).await?;
        }
        if database.clickhouse.is_none() {
            sum_months(&mut transaction, id, &self.seen).await?;
        }
        for table in ["views_marks", "views_lines"] {
            let sql = format!("DELETE FROM {table} WHERE project = {id}");
            sqlx::query(AssertSqlSafe(sql)).persistent(false).execute(&mut *transaction).await?;
        }
        for mark in &about.marks {
            put_mark_row(&mut transaction, id, mark).await?;
        }
        put_lines(&mut transaction, id, &about.lines).await?;
        let since = |bucket: Option<copydesk_views::Bucket>| bucket.map(|since| i64::from(since.0));
        sqlx::query("UPDATE views_projects SET script_since = $2, server_since = $3 WHERE id = $1")
            .bind(id)
            .bind(since(about.script_since))
            .bind(since(about.server_since))
            .execute(&mut *transaction)
            .await?;
        self.project.set_floor(&mut transaction, &about.floor).await?;
        transaction.commit().await?;
        let found = sweep::verify(database, Some(&self.name)).await?;
        match found.first() {
            Some(loss) => Err(Fault::Views(ViewsError::Damaged(format!("{}: {}", self.name, loss.what)))),
            None => Ok(()),
        }
    }
}

fn digests(days: &[Day]) -> Vec<Vec<u8>> {
    days.iter().map(|day| day.digest.to_be_bytes().to_vec()).collect()
}

/// Writes down what has come of these days.
async fn note_days<'c>(to: impl PgExecutor<'c>, project: i32, days: &[i32], digests: &[Vec<u8>]) -> Result<()> {
    sqlx::query(
        "INSERT INTO views_moved_days (project, day, digest) SELECT $1, new.* FROM UNNEST($2::int[], $3::bytea[]) AS new \
         ON CONFLICT (project, day) DO UPDATE SET digest = excluded.digest",
    )
    .bind(project)
    .bind(days)
    .bind(digests)
    .execute(to)
    .await?;
    Ok(())
}

/// Deletes all that was counted on these days.
async fn clear(connection: &mut PgConnection, project: i32, days: &[i32]) -> Result<()> {
    for (table, column) in [
        ("views_cells", "quarter / 96"),
        ("views_site", "quarter / 96"),
        ("views_days", "day"),
        ("views_machine_days", "day"),
    ] {
        let range = if column == "day" { "day BETWEEN $3 AND $4" } else { "quarter BETWEEN $3 * 96 AND $4 * 96 + 95" };
        let sql = format!("DELETE FROM {table} WHERE project = $1 AND {column} = ANY ($2) AND {range}");
        sqlx::query(AssertSqlSafe(sql))
            .bind(project)
            .bind(days)
            .bind(days.iter().min().copied().unwrap_or(0))
            .bind(days.iter().max().copied().unwrap_or(0))
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}

/// Counts these days and the site as a whole from their quarter hours.
async fn sum_days(connection: &mut PgConnection, project: i32, days: &[i32]) -> Result<()> {
    let side = |side: u8| format!("COALESCE(SUM(c.n) FILTER (WHERE r.side = {side}), 0)::bigint");
    let sides = [0, 1, 2, 3].map(side).join(", ");
    let of = "FROM views_cells AS c JOIN views_readers AS r ON r.id = c.reader WHERE c.project = $1 \
              AND c.quarter / 96 = ANY ($2) AND c.quarter BETWEEN $3 * 96 AND $4 * 96 + 95";
    for sql in [
        format!(
            "INSERT INTO views_days (project, day, path, hs, hv, ms, mv) SELECT $1, c.quarter / 96, c.path, {sides} {of} \
             AND r.side < 4 GROUP BY 2, 3"
        ),
        format!(
            "INSERT INTO views_machine_days (project, day, path, reader, n) SELECT $1, c.quarter / 96, c.path, c.reader, \
             SUM(c.n)::bigint {of} AND r.side >= 2 GROUP BY 2, 3, 4"
        ),
        format!(
            "INSERT INTO views_site (project, quarter, reader, n) SELECT $1, c.quarter, c.reader, SUM(c.n)::bigint {of} \
             GROUP BY 2, 3"
        ),
    ] {
        sqlx::query(AssertSqlSafe(sql))
            .bind(project)
            .bind(days)
            .bind(days.iter().min().copied().unwrap_or(0))
            .bind(days.iter().max().copied().unwrap_or(0))
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}

/// Counts all months from their days. The calendar is this program's, so that both count the same.
async fn sum_months(connection: &mut PgConnection, project: i32, days: &[u32]) -> Result<()> {
    let days: Vec<i32> = days.iter().map(|day| day.cast_signed()).collect();
    let months: Vec<i32> = days.iter().map(|day| month_of(*day)).collect();
    for sql in ["DELETE FROM views_months WHERE project = $1", "DELETE FROM views_machine_months WHERE project = $1"] {
        sqlx::query(sql).bind(project).execute(&mut *connection).await?;
    }
    for sql in [
        "INSERT INTO views_months (project, month, path, hs, hv, ms, mv) SELECT $1, m.month, d.path, SUM(d.hs)::bigint, \
         SUM(d.hv)::bigint, SUM(d.ms)::bigint, SUM(d.mv)::bigint FROM views_days AS d \
         JOIN UNNEST($2::int[], $3::int[]) AS m (day, month) ON m.day = d.day WHERE d.project = $1 GROUP BY 2, 3",
        "INSERT INTO views_machine_months (project, month, path, reader, n) SELECT $1, m.month, d.path, d.reader, \
         SUM(d.n)::bigint FROM views_machine_days AS d JOIN UNNEST($2::int[], $3::int[]) AS m (day, month) ON m.day = d.day \
         WHERE d.project = $1 GROUP BY 2, 3, 4",
    ] {
        sqlx::query(sql).bind(project).bind(&days).bind(&months).execute(&mut *connection).await?;
    }
    Ok(())
}

async fn put_ids(database: &Database, project: i32, mut ids: Vec<(u128, u32)>) -> Result<()> {
    // The latest of each.
    ids.sort_unstable_by(|one, other| one.0.cmp(&other.0).then(other.1.cmp(&one.1)));
    ids.dedup_by_key(|(id, _)| *id);
    let sql = "INSERT INTO views_ids (project, id, arrived) SELECT $1, new.* FROM UNNEST($2::bytea[], $3::bigint[]) AS new \
               ON CONFLICT (project, id) DO UPDATE SET arrived = GREATEST(views_ids.arrived, excluded.arrived) \
               WHERE views_ids.arrived < excluded.arrived";
    sqlx::query(sql)
        .bind(project)
        .bind(ids.iter().map(|(id, _)| id.to_be_bytes().to_vec()).collect::<Vec<_>>())
        .bind(ids.iter().map(|(_, arrived)| i64::from(*arrived)).collect::<Vec<_>>())
        .execute(&database.pool)
        .await?;
    Ok(())
}

async fn by_month(database: &Database) -> Result<BTreeMap<(String, i32), u64>> {
    if let Some(house) = &database.clickhouse {
        return by_month_there(database, house).await;
    }
    let sql = "SELECT p.name, c.quarter / 96, SUM(c.n)::bigint FROM views_cells AS c \
               JOIN views_projects AS p ON p.id = c.project GROUP BY 1, 2";
    let mut counts = BTreeMap::new();
    for row in sqlx::query(sql).fetch_all(&database.pool).await? {
        let (name, day, views): (String, i32, i64) = (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
        *counts.entry((name, month_of(day))).or_insert(0) += views.unsigned_abs();
    }
    Ok(counts)
}

async fn by_month_there(database: &Database, house: &ClickHouse) -> Result<BTreeMap<(String, i32), u64>> {
    let rows = sqlx::query("SELECT id, name FROM views_projects").fetch_all(&database.pool).await?;
    let mut names: HashMap<u32, String> = HashMap::with_capacity(rows.len());
    for row in rows {
        names.insert(row.try_get::<i32, _>(0)?.unsigned_abs(), row.try_get(1)?);
    }
    let mut counts = BTreeMap::new();
    for row in house.by_day().await? {
        // What is left of projects that are gone is nobody's.
        if let Some(name) = names.get(&row.project) {
            *counts.entry((name.clone(), month_of(row.day.cast_signed()))).or_insert(0) += row.n;
        }
    }
    Ok(counts)
}
