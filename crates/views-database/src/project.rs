//! A project as the database has it.

use copydesk_views::Bucket;
use copydesk_views::store::floor::FloorState;
use copydesk_views::store::parts::Switches;
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row};

use crate::error::{Fault, Result};

#[derive(Debug, Clone)]
pub(crate) struct Project {
    pub(crate) id: i32,
    pub(crate) epoch: i64,
    pub(crate) script_since: Option<Bucket>,
    pub(crate) server_since: Option<Bucket>,
    pub(crate) floor: FloorState,
}

const FIND: &str =
    "SELECT id, epoch, script_since, server_since, floor, moves, wish FROM views_projects WHERE name = $1";

impl Project {
    pub(crate) async fn find(connection: &mut PgConnection, name: &str) -> Result<Option<Self>> {
        let row = sqlx::query(FIND).bind(name).fetch_optional(connection).await?;
        row.map(|row| Self::read(&row)).transpose()
    }

    /// The project; made if it is not there.
    pub(crate) async fn find_or_make(connection: &mut PgConnection, name: &str) -> Result<Self> {
        if let Some(project) = Self::find(connection, name).await? {
            return Ok(project);
        }
        sqlx::query("INSERT INTO views_projects (name) VALUES ($1) ON CONFLICT DO NOTHING")
            .bind(name)
            .execute(&mut *connection)
            .await?;
        let found = Self::find(connection, name).await?;
        found.ok_or_else(|| Fault::unavailable("the project was removed just now"))
    }

    fn read(row: &PgRow) -> Result<Self> {
        let bucket = |column: &str| -> Result<Option<Bucket>> {
            let number: Option<i64> = row.try_get(column)?;
            Ok(number.map(|number| Bucket(u32::try_from(number).unwrap_or(u32::MAX))))
        };
        let text: String = row.try_get("moves")?;
        let wish: Option<String> = row.try_get("wish")?;
        let wrong = |error: serde_json::Error| Fault::unreadable("the floor of a project", error);
        Ok(Self {
            id: row.try_get("id")?,
            epoch: row.try_get("epoch")?,
            script_since: bucket("script_since")?,
            server_since: bucket("server_since")?,
            floor: FloorState {
                floor: bucket("floor")?,
                moves: serde_json::from_str(&text).map_err(wrong)?,
                wish: wish.map(|wish| serde_json::from_str(&wish)).transpose().map_err(wrong)?,
            },
        })
    }

    /// Where its views begin.
    pub(crate) fn begins(&self) -> Bucket {
        self.floor.floor.unwrap_or(Bucket::MIN)
    }

    pub(crate) fn switches(&self) -> Switches {
        Switches { floor: self.begins(), script_since: self.script_since, server_since: self.server_since }
    }

    pub(crate) async fn set_floor(&self, connection: &mut PgConnection, floor: &FloorState) -> Result<()> {
        let text = |error: serde_json::Error| Fault::unavailable(error.to_string());
        let moves = serde_json::to_string(&floor.moves).map_err(text)?;
        let wish = floor.wish.map(|wish| serde_json::to_string(&wish)).transpose().map_err(text)?;
        sqlx::query("UPDATE views_projects SET floor = $2, moves = $3, wish = $4 WHERE id = $1")
            .bind(self.id)
            .bind(floor.floor.map(|floor| i64::from(floor.0)))
            .bind(moves)
            .bind(wish)
            .execute(connection)
            .await?;
        Ok(())
    }

    /// What processes remember of its pages and readers is void from now on.
    pub(crate) async fn next_epoch(&self, connection: &mut PgConnection) -> Result<()> {
        let sql = "UPDATE views_projects SET epoch = epoch + 1 WHERE id = $1";
        sqlx::query(sql).bind(self.id).execute(connection).await?;
        Ok(())
    }
}
