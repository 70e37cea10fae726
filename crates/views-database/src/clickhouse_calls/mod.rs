//! What is asked of a store whose views are counted in ClickHouse.
//!
//! A question ([`look`]) waits until what was committed before it has arrived there: it is answered exactly or not at all.

mod answers;
pub(crate) mod care;
pub(crate) mod copy;
mod look;
mod machines;

use std::sync::Arc;

use copydesk_views::store::{Counts, StoreCall, StoreReply};

pub(crate) use answers::bounds;

use crate::clickhouse::ClickHouse;
use crate::database::Database;
use crate::error::Result;

/// Answers what is about views; gives back what only the ledger knows.
pub(crate) async fn answer(
    database: &Database,
    house: &ClickHouse,
    call: StoreCall,
) -> Result<std::result::Result<StoreReply, StoreCall>> {
    Ok(Ok(match call {
        StoreCall::Ranking { project, question } => {
            Arc::new(answers::ranking(database, house, &project, question).await?).into()
        }
        StoreCall::Series { project, path, edges, sources } => {
            let found = answers::series(database, house, &project, path.as_deref(), &edges, sources).await?;
            found.unwrap_or_else(|| vec![Counts::default(); edges.len().saturating_sub(1)]).into()
        }
        StoreCall::Agents { project, question, path, pages_each } => {
            machines::agents(database, house, &project, question, path.as_deref(), pages_each).await?.into()
        }
        StoreCall::AgentSeries { project, agent, edges, sources } => {
            let found = machines::course(database, house, &project, &agent, &edges, sources).await?;
            found.unwrap_or_else(|| vec![0; edges.len().saturating_sub(1)]).into()
        }
        StoreCall::Clients { project } => answers::clients(database, house, &project).await?.into(),
        StoreCall::Status { project } => answers::status(database, house, &project).await?.into(),
        StoreCall::Projects => answers::projects(database, house).await?.into(),
        call => return Ok(Err(call)),
    }))
}
