//! What a place for views is asked, and what it answers. Where and how it keeps them is a crate of its own.

mod call;
pub mod floor;
mod loss;
pub mod moving;
pub mod parts;
mod ranking;

use std::path::Path;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};

pub use copydesk_domain::{Source, Sources};

pub use call::{StoreCall, StoreReply};
pub use loss::{Loss, Losses, Lost};
pub use ranking::Ranking;

use crate::{Appended, Batch, Bucket, Client, CountedLines, Mark, Verdict};
use moving::MoveNote;

/// A reply that is on its way.
pub type StoreFuture<'a, T> = BoxFuture<'a, Result<T, ViewsError>>;

/// Why the store could not do it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum ViewsError {
    /// Nothing was kept; it may work later: the disk is full, the store is closing or cannot keep up.
    #[error("{0}")]
    Unavailable(String),
    /// Nothing was kept, and nothing will be: the views move to another place, or have moved.
    #[error("{0}")]
    Moved(String),
    /// It is not known whether it was done. Whoever does it again may do it twice.
    #[error("{0}")]
    Unsure(String),
    /// The store's files are not as they should be.
    #[error("{0}")]
    Damaged(String),
}

/// A place for views: a folder of this machine, or a server.
///
/// A store answers calls ([`StoreCall`]), so that what stands between it and a caller (another process, a test that lets
/// it fail) passes them on without knowing them. Callers use the methods, which know what is answered to what.
pub trait ViewStore: Send + Sync + 'static {
    /// Does what is called for. The reply is of the type that the call names.
    fn call(&self, call: StoreCall) -> StoreFuture<'_, StoreReply>;

    fn append(&self, batch: Batch) -> StoreFuture<'_, Appended> {
        replied(self.call(StoreCall::Append(batch)))
    }

    fn ranking(&self, project: &str, question: Question) -> StoreFuture<'_, Arc<Ranking>> {
        replied(self.call(StoreCall::Ranking { project: project.to_owned(), question }))
    }

    fn series(
        &self,
        project: &str,
        path: Option<&str>,
        edges: Vec<Bucket>,
        sources: Sources,
    ) -> StoreFuture<'_, Vec<Counts>> {
        let (project, path) = (project.to_owned(), path.map(str::to_owned));
        replied(self.call(StoreCall::Series { project, path, edges, sources }))
    }

    fn agents(
        &self,
        project: &str,
        question: Question,
        path: Option<&str>,
        pages_each: usize,
    ) -> StoreFuture<'_, Vec<AgentViews>> {
        let (project, path) = (project.to_owned(), path.map(str::to_owned));
        replied(self.call(StoreCall::Agents { project, question, path, pages_each }))
    }

    fn agent_series(
        &self,
        project: &str,
        agent: &str,
        edges: Vec<Bucket>,
        sources: Sources,
    ) -> StoreFuture<'_, Vec<u64>> {
        let (project, agent) = (project.to_owned(), agent.to_owned());
        replied(self.call(StoreCall::AgentSeries { project, agent, edges, sources }))
    }

    fn marks(&self, project: &str, log: &str) -> StoreFuture<'_, Vec<Mark>> {
        replied(self.call(StoreCall::Marks { project: project.to_owned(), log: log.to_owned() }))
    }

    fn lines(&self, project: &str) -> StoreFuture<'_, CountedLines> {
        replied(self.call(StoreCall::Lines { project: project.to_owned() }))
    }

    fn clients(&self, project: &str) -> StoreFuture<'_, Vec<(Arc<Client>, u64)>> {
        replied(self.call(StoreCall::Clients { project: project.to_owned() }))
    }

    fn relabel(&self, project: &str, changes: Vec<(Arc<Client>, Verdict)>) -> StoreFuture<'_, ()> {
        replied(self.call(StoreCall::Relabel { project: project.to_owned(), changes }))
    }

    fn retain(&self, project: &str, floor: Bucket) -> StoreFuture<'_, ()> {
        replied(self.call(StoreCall::Retain { project: project.to_owned(), floor }))
    }

    fn restore(&self, project: &str) -> StoreFuture<'_, Option<Bucket>> {
        replied(self.call(StoreCall::Restore { project: project.to_owned() }))
    }

    fn expire(&self, project: &str, days: u32) -> StoreFuture<'_, Expired> {
        replied(self.call(StoreCall::Expire { project: project.to_owned(), days }))
    }

    fn losses(&self, project: Option<&str>) -> StoreFuture<'_, Losses> {
        replied(self.call(StoreCall::Losses { project: project.map(str::to_owned) }))
    }

    fn verify(&self, project: Option<&str>) -> StoreFuture<'_, Vec<Loss>> {
        replied(self.call(StoreCall::Verify { project: project.map(str::to_owned) }))
    }

    fn repair(&self, project: Option<&str>) -> StoreFuture<'_, ()> {
        replied(self.call(StoreCall::Repair { project: project.map(str::to_owned) }))
    }

    fn accept(&self) -> StoreFuture<'_, ()> {
        replied(self.call(StoreCall::Accept))
    }

    fn remove(&self, project: &str) -> StoreFuture<'_, ()> {
        replied(self.call(StoreCall::Remove { project: project.to_owned() }))
    }

    fn status(&self, project: &str) -> StoreFuture<'_, Status> {
        replied(self.call(StoreCall::Status { project: project.to_owned() }))
    }

    fn projects(&self) -> StoreFuture<'_, Vec<String>> {
        replied(self.call(StoreCall::Projects))
    }

    fn move_note(&self) -> StoreFuture<'_, Option<MoveNote>> {
        replied(self.call(StoreCall::MoveNote))
    }

    fn set_move(&self, note: Option<MoveNote>) -> StoreFuture<'_, ()> {
        replied(self.call(StoreCall::SetMove { note }))
    }

    fn backup(&self, folder: &Path) -> StoreFuture<'_, ()> {
        replied(self.call(StoreCall::Backup { folder: folder.to_owned() }))
    }
}

fn replied<'a, T>(reply: StoreFuture<'a, StoreReply>) -> StoreFuture<'a, T>
where
    T: TryFrom<StoreReply, Error = ViewsError>,
{
    Box::pin(async move { T::try_from(reply.await?) })
}

/// Which views are asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Question {
    pub from: Bucket,
    pub to: Bucket,
    /// Which channels count.
    pub sources: Sources,
}

/// Human and AI views.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Counts {
    pub human: u64,
    pub ai: u64,
}

impl Counts {
    pub fn total(self) -> u64 {
        self.human + self.ai
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageViews {
    pub path: Arc<str>,
    pub counts: Counts,
}

/// What a kind of machine read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentViews {
    pub verdict: Verdict,
    pub views: u64,
    /// How many pages it read.
    pub pages: u64,
    /// Those it read most, most views first, then by path.
    pub most_read: Vec<(Arc<str>, u64)>,
}

/// What became of a wish to forget what is old.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expired {
    /// Everything before this is forgotten.
    pub floor: Option<Bucket>,
    /// Everything before this would be, and will be if a later look finds the same.
    pub wanted: Option<Bucket>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    pub views: u64,
    /// On disk.
    pub bytes: u64,
    pub pages: u64,
    /// The first quarter hour with a view.
    pub first: Option<Bucket>,
    pub last: Option<Bucket>,
    /// Since when the script sends.
    pub script_since: Option<Bucket>,
    /// Since when the server side sends.
    pub server_since: Option<Bucket>,
    /// Everything before this was forgotten.
    pub floor: Option<Bucket>,
    /// What was forgotten from this on can be brought back.
    pub restorable: Option<Bucket>,
}
