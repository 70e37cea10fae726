//! The store in a database as every view store is called.

use std::path::Path;
use std::sync::Arc;

use copydesk_boxed::boxed;
use copydesk_views::store::moving::{MoveNote, MoveState};
use copydesk_views::store::{Counts, Losses, StoreCall, StoreFuture, StoreReply, ViewStore, ViewsError};

use crate::database::Database;
use crate::error::Result;
use crate::{answers, append, backup, changes, clickhouse_calls, gate, machines, overview, sweep};

#[boxed]
impl Database {
    /// Fills the page views of a database that has none with what [`ViewStore::backup`] of such a store has written. All of
    /// it, or nothing.
    pub async fn fill_from(&self, folder: &Path) -> Result<(), ViewsError> {
        Ok(backup::fill(self, folder).await?)
    }
}

impl Database {
    async fn answer(&self, call: StoreCall) -> Result<StoreReply> {
        let call = match &self.clickhouse {
            None => call,
            Some(house) => match clickhouse_calls::answer(self, house, call).await? {
                Ok(reply) => return Ok(reply),
                Err(call) => call,
            },
        };
        Ok(match call {
            StoreCall::Append(batch) => append::append(self, batch).await?.into(),
            StoreCall::Ranking { project, question } => {
                Arc::new(answers::ranking(self, &project, question).await?).into()
            }
            StoreCall::Series { project, path, edges, sources } => {
                let found = answers::series(self, &project, path.as_deref(), &edges, sources).await?;
                found.unwrap_or_else(|| vec![Counts::default(); edges.len().saturating_sub(1)]).into()
            }
            StoreCall::Agents { project, question, path, pages_each } => {
                machines::agents(self, &project, question, path.as_deref(), pages_each).await?.into()
            }
            StoreCall::AgentSeries { project, agent, edges, sources } => {
                let found = machines::course(self, &project, &agent, &edges, sources).await?;
                found.unwrap_or_else(|| vec![0; edges.len().saturating_sub(1)]).into()
            }
            StoreCall::Marks { project, log } => overview::marks(self, &project, &log).await?.into(),
            StoreCall::Lines { project } => overview::lines(self, &project).await?.into(),
            StoreCall::Clients { project } => overview::clients(self, &project).await?.into(),
            StoreCall::Status { project } => overview::status(self, &project).await?.into(),
            StoreCall::Projects => overview::projects(self).await?.into(),
            StoreCall::Relabel { project, changes } => changes::relabel(self, &project, &changes).await?.into(),
            StoreCall::Retain { project, floor } => changes::retain(self, &project, floor).await?.into(),
            StoreCall::Restore { project } => changes::restore(self, &project).await?.into(),
            StoreCall::Expire { project, days } => changes::expire(self, &project, days).await?.into(),
            StoreCall::Remove { project } => changes::remove(self, &project).await?.into(),
            // The database looks after its files itself, and does not answer from damaged ones.
            StoreCall::Losses { .. } => Losses::default().into(),
            StoreCall::Verify { project } => sweep::verify(self, project.as_deref()).await?.into(),
            StoreCall::Repair { project } => sweep::repair(self, project.as_deref()).await?.into(),
            StoreCall::Accept => ().into(),
            StoreCall::MoveNote => gate::read(&self.pool).await?.into(),
            StoreCall::SetMove { note } => self.set_move(note.as_ref()).await?.into(),
            StoreCall::Backup { folder } => backup::backup(self, &folder).await?.into(),
        })
    }
}

impl Database {
    async fn set_move(&self, note: Option<&MoveNote>) -> Result<()> {
        let has_moved = note.is_some_and(|note| note.state == MoveState::Moved);
        if let Some(house) = self.clickhouse.as_ref().filter(|_| has_moved) {
            // They are at the other place, and must not be in the way if they come back.
            house.leave(&self.pool).await?;
        }
        gate::set(&self.pool, note).await
    }
}

impl ViewStore for Database {
    fn call(&self, call: StoreCall) -> StoreFuture<'_, StoreReply> {
        Box::pin(async move { self.answer(call).await.map_err(ViewsError::from) })
    }
}
