//! Where views are kept and added up.

mod ranking;

use std::path::Path;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};

pub use copydesk_domain::{Source, Sources};

pub use ranking::Ranking;

use crate::{Appended, Batch, Bucket, Client, Mark, Verdict};

/// An answer that is on its way.
pub type Answer<'a, T> = BoxFuture<'a, Result<T, ViewsError>>;

/// Why the store could not do it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum ViewsError {
    /// Nothing was kept; it may work later: the disk is full, the store is closing or cannot keep up.
    #[error("{0}")]
    Unavailable(String),
    /// The store's files are not as they should be.
    #[error("{0}")]
    Damaged(String),
}

/// A place for views: a folder of this machine, or a server. Each is a crate of its own.
pub trait ViewStore: Send + Sync + 'static {
    /// Keeps a batch. When it answers, the batch is on disk.
    fn append(&self, batch: Batch) -> Answer<'_, Appended>;
    /// Pages by their views.
    fn ranking(&self, project: &str, question: Question) -> Answer<'_, Arc<Ranking>>;
    /// Views between each two neighbouring edges, of the site or of one page.
    fn series(
        &self,
        project: &str,
        path: Option<&str>,
        edges: Vec<Bucket>,
        sources: Sources,
    ) -> Answer<'_, Vec<Counts>>;
    /// The machines that read, most views first, each with the pages it read most; of one page if it is named.
    fn agents(
        &self,
        project: &str,
        question: Question,
        path: Option<&str>,
        pages_each: usize,
    ) -> Answer<'_, Vec<AgentViews>>;
    /// The marks of logs that begin like this one.
    fn marks(&self, project: &str, log: &str) -> Answer<'_, Vec<Mark>>;
    /// Every kind of reader with its views, all time.
    fn clients(&self, project: &str) -> Answer<'_, Vec<(Arc<Client>, u64)>>;
    /// Gives readers another verdict, in all of the history. All or nothing.
    fn relabel(&self, project: &str, changes: Vec<(Arc<Client>, Verdict)>) -> Answer<'_, ()>;
    /// Forgets everything before `floor`, and takes nothing older from now on. It never moves back.
    fn retain(&self, project: &str, floor: Bucket) -> Answer<'_, ()>;
    /// Forgets a project.
    fn remove(&self, project: &str) -> Answer<'_, ()>;
    /// What there is of a project.
    fn status(&self, project: &str) -> Answer<'_, Status>;
    /// The projects that have views.
    fn projects(&self) -> Answer<'_, Vec<String>>;
    /// Copies everything into a folder that must not exist yet, as it is at one moment, while views go on arriving.
    fn backup(&self, folder: &Path) -> Answer<'_, ()>;
}

/// Which views are asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Question {
    /// From this on.
    pub from: Bucket,
    /// Before this.
    pub to: Bucket,
    /// Which channels count.
    pub sources: Sources,
}

/// Human and AI views.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Counts {
    /// By people.
    pub human: u64,
    /// By AI agents.
    pub ai: u64,
}

impl Counts {
    /// Both.
    pub fn total(self) -> u64 {
        self.human + self.ai
    }
}

/// A page and its views.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageViews {
    /// The page.
    pub path: Arc<str>,
    /// Its views.
    pub counts: Counts,
}

/// What a kind of machine read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentViews {
    /// Who it is, and why we think so.
    pub verdict: Verdict,
    /// All its views.
    pub views: u64,
    /// How many pages it read.
    pub pages: u64,
    /// Those it read most, most views first, then by path.
    pub most_read: Vec<(Arc<str>, u64)>,
}

/// What there is of a project.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// Views, of whatever kind.
    pub views: u64,
    /// Bytes on disk.
    pub bytes: u64,
    /// Pages.
    pub pages: u64,
    /// The first quarter hour with a view.
    pub first: Option<Bucket>,
    /// The last one.
    pub last: Option<Bucket>,
    /// Since when the script sends.
    pub script_since: Option<Bucket>,
    /// Since when the server side sends.
    pub server_since: Option<Bucket>,
    /// Everything before this was forgotten.
    pub floor: Option<Bucket>,
}
