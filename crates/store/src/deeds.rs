//! The audit log: who did what. Each line is written in the transaction of the deed, so that neither is there without the
//! other.

use copydesk_boxed::boxed;
use copydesk_domain::{Deed, ProjectId, Timestamp, new_id};

use crate::conn::{Conn, FromRow, Result, Row, plain_text, values};
use crate::database::Store;

const COLUMNS: &str = "id, project_id, actor_kind, actor_id, actor_name, action, target, detail, created_at";

/// Which deeds to list.
#[derive(Debug, Clone, Default)]
pub struct DeedFilter {
    /// Only those of this project.
    pub project_id: Option<ProjectId>,
    /// Only those before the one of this id.
    pub before: Option<String>,
    pub limit: u32,
}

#[boxed]
impl Store {
    /// Deeds, newest first.
    pub async fn deeds(&self, filter: DeedFilter) -> Result<Vec<Deed>> {
        // Ids sort by age, and no id is behind this one.
        let before = filter.before.unwrap_or_else(|| "~".to_owned());
        self.read(move |c| {
            Box::pin(async move {
                match filter.project_id {
                    Some(project_id) => {
                        let sql = format!(
                            "SELECT {COLUMNS} FROM deeds WHERE project_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3"
                        );
                        c.rows(sql, values![project_id, before, filter.limit]).await
                    }
                    None => {
                        let sql = format!("SELECT {COLUMNS} FROM deeds WHERE id < $1 ORDER BY id DESC LIMIT $2");
                        c.rows(sql, values![before, filter.limit]).await
                    }
                }
            })
        })
        .await
    }
}

/// Writes down what the transaction's actor did.
pub(crate) async fn record(
    c: &mut dyn Conn,
    action: &'static str,
    project_id: Option<&ProjectId>,
    target: &str,
    detail: &str,
) -> Result<()> {
    let (actor, now) = (c.actor().clone(), c.now());
    c.run(
        "INSERT INTO deeds (id, project_id, actor_kind, actor_id, actor_name, action, target, detail, created_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        values![
            new_id(now),
            project_id.map(|id| id.as_str()),
            actor.kind.as_str(),
            actor.id.as_deref(),
            plain_text(&actor.name),
            action,
            plain_text(target),
            plain_text(detail),
            now,
        ],
    )
    .await
    .map(drop)
}

/// Forgets what is older than `before`.
pub(crate) async fn forget(c: &mut dyn Conn, before: Timestamp) -> Result<u64> {
    c.run("DELETE FROM deeds WHERE created_at < $1", values![before]).await
}

impl FromRow for Deed {
    fn from_row(row: &mut Row) -> Result<Self> {
        Ok(Self {
            id: row.next()?,
            project_id: row.next()?,
            actor_kind: row.next()?,
            actor_id: row.next()?,
            actor_name: row.next()?,
            action: row.next()?,
            target: row.next()?,
            detail: row.next()?,
            created_at: row.next()?,
        })
    }
}
