//! What changes a project as a whole: verdicts, the floor, its removal. Each holds the project's lock alone, and is done in
//! one transaction.

use std::collections::BTreeMap;
use std::sync::Arc;

use copydesk_views::store::floor::{Decision, FloorState, SECOND_LOOK};
use copydesk_views::store::{Expired, Status};
use copydesk_views::{Bucket, Client, Verdict};
use sqlx::{PgConnection, Row};

use crate::answers::bounds;
use crate::clickhouse_calls;
use crate::database::Database;
use crate::error::{Fault, Result};
use crate::lock::Hold;
use crate::names::ReaderRow;
use crate::project::Project;
use crate::relabel::{self, Moved};
use crate::sweep;

/// A reader that gets another verdict.
struct Change {
    id: i64,
    /// What it counted as before.
    was: i16,
    row: ReaderRow,
}

/// Gives readers another verdict. Quarter hours are counted by reader and stay as they are; days and months get the
/// difference, if there is one.
pub(crate) async fn relabel(database: &Database, name: &str, changes: &[(Arc<Client>, Verdict)]) -> Result<()> {
    let mut transaction = database.begin(name, Hold::Alone).await?;
    let Some(project) = Project::find(&mut transaction, name).await? else { return Ok(()) };
    let changed = concerned(&mut transaction, &project, changes).await?;
    if changed.is_empty() {
        return Ok(());
    }
    let ids: Vec<i64> = changed.iter().map(|it| it.id).collect();
    sqlx::query(
        "UPDATE views_readers AS r SET digest = NULL, verdict = new.verdict, called = new.called, side = new.side \
         FROM UNNEST($1::bigint[], $2::text[], $3::text[], $4::int2[]) AS new (id, verdict, called, side) \
         WHERE r.id = new.id",
    )
    .bind(ids)
    .bind(changed.iter().map(|it| it.row.verdict.as_str()).collect::<Vec<_>>())
    .bind(changed.iter().map(|it| it.row.called.as_str()).collect::<Vec<_>>())
    .bind(changed.iter().map(|it| it.row.side).collect::<Vec<_>>())
    .execute(&mut *transaction)
    .await?;
    // Of several that are the same now, new views go to one.
    let by_digest: BTreeMap<&[u8], i64> = changed.iter().map(|it| (it.row.digest.as_slice(), it.id)).collect();
    sqlx::query(
        "UPDATE views_readers AS r SET digest = new.digest FROM UNNEST($2::bigint[], $3::bytea[]) AS new (id, digest) \
         WHERE r.id = new.id AND NOT EXISTS \
           (SELECT FROM views_readers AS same WHERE same.project = $1 AND same.digest = new.digest)",
    )
    .bind(project.id)
    .bind(by_digest.values().copied().collect::<Vec<_>>())
    .bind(by_digest.into_keys().collect::<Vec<_>>())
    .execute(&mut *transaction)
    .await?;
    // In ClickHouse everything is counted by reader.
    if database.clickhouse.is_none() {
        relabel::recount(&mut transaction, &project, &moved_sides(&changed)).await?;
    }
    project.next_epoch(&mut transaction).await?;
    Ok(transaction.commit().await?)
}

/// Those that count as something else now.
fn moved_sides(changed: &[Change]) -> Vec<Moved> {
    let moved = changed.iter().filter(|it| it.was != it.row.side);
    moved.map(|it| Moved { reader: it.id, was: it.was, is: it.row.side }).collect()
}

/// The readers that these changes are about, as they are to be.
async fn concerned(
    connection: &mut PgConnection,
    project: &Project,
    changes: &[(Arc<Client>, Verdict)],
) -> Result<Vec<Change>> {
    let old: Vec<ReaderRow> = changes.iter().map(|(client, _)| ReaderRow::new(client)).collect::<Result<_>>()?;
    let found = sqlx::query(
        "SELECT r.id, old.place, r.side FROM views_readers AS r \
         JOIN UNNEST($2::text[], $3::text[], $4::bigint[]) AS old (facts, verdict, place) \
           ON r.facts = old.facts AND r.verdict = old.verdict WHERE r.project = $1",
    )
    .bind(project.id)
    .bind(old.iter().map(|row| row.facts.as_str()).collect::<Vec<_>>())
    .bind(old.iter().map(|row| row.verdict.as_str()).collect::<Vec<_>>())
    .bind((0..).take(old.len()).collect::<Vec<i64>>())
    .fetch_all(connection)
    .await?;
    let mut changed = Vec::with_capacity(found.len());
    for row in found {
        let (id, place): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
        let change = usize::try_from(place).ok().and_then(|place| changes.get(place).zip(old.get(place)));
        let Some(((client, verdict), old)) = change else { continue };
        changed.push(Change {
            id,
            was: row.try_get(2)?,
            row: ReaderRow::of(old.facts.clone(), client.facts.channel, verdict)?,
        });
    }
    Ok(changed)
}

/// Seconds since 1970 as floors have them.
fn seconds(now: i64) -> u32 {
    u32::try_from(now).unwrap_or(0)
}

/// Forgets everything before `floor`.
pub(crate) async fn retain(database: &Database, name: &str, floor: Bucket) -> Result<()> {
    let mut transaction = database.begin(name, Hold::Alone).await?;
    let project = Project::find_or_make(&mut transaction, name).await?;
    let moved = project.floor.clone().moved(floor, seconds(database.now()));
    project.set_floor(&mut transaction, &moved).await?;
    transaction.commit().await?;
    sweep::project(database, name).await
}

/// Brings back what was forgotten of late; answers where the floor is then.
pub(crate) async fn restore(database: &Database, name: &str) -> Result<Option<Bucket>> {
    let mut transaction = database.begin(name, Hold::Alone).await?;
    let Some(project) = Project::find(&mut transaction, name).await? else { return Ok(None) };
    let restored = project.floor.clone().restored();
    project.set_floor(&mut transaction, &restored).await?;
    transaction.commit().await?;
    Ok(restored.floor)
}

/// Forgets views that are older than so many days; with none, only what can no longer be brought back.
pub(crate) async fn expire(database: &Database, name: &str, days: u32) -> Result<Expired> {
    sweep::everything_at_times(database).await?;
    let now = seconds(database.now());
    // Most of the time there is nothing to do, and nobody has to wait for that.
    let mut connection = database.pool.acquire().await?;
    let Some(project) = Project::find(&mut connection, name).await? else { return Ok(Expired::default()) };
    let mut floor = aged(database, &mut connection, (name, &project), days, now).await?;
    drop(connection);
    if floor != project.floor {
        let mut transaction = database.begin(name, Hold::Alone).await?;
        let Some(project) = Project::find(&mut transaction, name).await? else { return Ok(Expired::default()) };
        floor = aged(database, &mut transaction, (name, &project), days, now).await?;
        project.set_floor(&mut transaction, &floor).await?;
        transaction.commit().await?;
        tell_of(name, &project.floor, &floor, days);
    }
    sweep::project(database, name).await?;
    Ok(Expired { floor: floor.floor, wanted: floor.wish.map(|wish| wish.floor) })
}

/// The floor of a project as it is to be now.
async fn aged(
    database: &Database,
    connection: &mut PgConnection,
    (name, project): (&str, &Project),
    days: u32,
    now: u32,
) -> Result<FloorState> {
    let (first, end) = match &database.clickhouse {
        None => bounds(connection, project).await?,
        Some(house) => clickhouse_calls::bounds(database, house, name).await?,
    };
    let status = match first < end {
        true => Status { first: Some(first), last: Some(Bucket(end.0 - 1)), ..Status::default() },
        false => Status::default(),
    };
    let mut floor = project.floor.clone();
    Ok(match floor.decide(&status, days, now) {
        Decision::Stay => {
            let same = floor.floor.unwrap_or(Bucket::MIN);
            floor.moved(same, now)
        }
        Decision::Move(to) => floor.moved(to, now),
        Decision::Wish(wish) => {
            floor.wish = Some(wish);
            floor
        }
    })
}

fn tell_of(project: &str, before: &FloorState, now: &FloorState, days: u32) {
    if let Some(floor) = now.floor.filter(|_| now.floor != before.floor) {
        tracing::info!(project, before = %floor.begins(), "page views that are older than {days} days are forgotten");
    }
    if let Some(wish) = now.wish.filter(|_| now.wish != before.wish) {
        let hours = SECOND_LOOK.start / 3600;
        tracing::warn!(
            project, before = %wish.floor.begins(),
            "many page views are older than {days} days; they are forgotten if that is still so in {hours} hours"
        );
    }
}

/// Forgets a project: at once for whoever asks, and then its rows.
pub(crate) async fn remove(database: &Database, name: &str) -> Result<()> {
    let mut transaction = database.begin(name, Hold::Alone).await?;
    let Some(project) = Project::find(&mut transaction, name).await? else { return Ok(()) };
    sqlx::query("INSERT INTO views_gone VALUES ($1)").bind(project.id).execute(&mut *transaction).await?;
    sqlx::query("DELETE FROM views_projects WHERE id = $1").bind(project.id).execute(&mut *transaction).await?;
    transaction.commit().await?;
    match sweep::everything(database).await {
        // It is removed; what is left of it goes with the next look.
        Err(fault @ (Fault::Sql(_) | Fault::Away(_))) => {
            tracing::warn!(%fault, "the rows of a removed project could not all be deleted yet");
        }
        swept => swept?,
    }
    Ok(())
}
