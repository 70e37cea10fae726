//! The first page view of each project, which is told of once.

use copydesk_boxed::boxed;
use copydesk_domain::{EventKind, ProjectId, Timestamp};

use crate::conn::{Conn, Result, values};
use crate::database::Store;
use crate::outbox;

/// What is known of a project's page views.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViewsSoFar {
    /// There was none yet.
    None,
    /// The project is from before anybody looked.
    Unknown,
}

#[boxed]
impl Store {
    /// The projects whose first page view was not told of.
    pub async fn without_first_view(&self) -> Result<Vec<(ProjectId, ViewsSoFar)>> {
        let sql = "SELECT id, first_view_at FROM projects WHERE first_view_at IS NULL OR first_view_at = 0 ORDER BY id";
        let rows: Vec<(ProjectId, Option<Timestamp>)> = self.read(move |c| Box::pin(c.rows(sql, vec![]))).await?;
        let so_far = |at: Option<Timestamp>| if at.is_some() { ViewsSoFar::Unknown } else { ViewsSoFar::None };
        Ok(rows.into_iter().map(|(id, at)| (id, so_far(at))).collect())
    }

    /// Tells of the first page view of a project that had none. Of many who do this at once, one does.
    pub async fn tell_first_view(&self, id: &ProjectId) -> Result<bool> {
        let (id, now) = (id.clone(), self.now());
        self.write(move |c| Box::pin(tell(c, id, now))).await
    }

    /// Notes whether a project of which that was not known has page views on this machine. Nothing is told. Where several
    /// machines may share the database, that there are none on one of them says nothing: the project may have views on
    /// another, and it stays unknown until somebody finds some.
    pub async fn note_views(&self, id: &ProjectId, has_views: bool) -> Result<()> {
        if !has_views && self.is_shared() {
            return Ok(());
        }
        let sql = "UPDATE projects SET first_view_at = $1 WHERE id = $2 AND first_view_at = 0";
        let values = values![has_views.then(|| self.now()), id];
        self.write(move |c| Box::pin(async move { c.run(sql, values).await.map(drop) })).await
    }
}

async fn tell(c: &mut dyn Conn, id: ProjectId, now: Timestamp) -> Result<bool> {
    let sql = "UPDATE projects SET first_view_at = $1 WHERE id = $2 AND first_view_at IS NULL";
    let is_first = c.run(sql, values![now, &id]).await? > 0;
    if is_first {
        outbox::put_project(c, EventKind::ProjectFirstView, &id, now).await?;
    }
    Ok(is_first)
}
