//! The side of a process that asks the one that holds the store.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use copydesk_views::store::{AgentViews, Answer, Counts, Question, Ranking, Sources, Status, ViewStore, ViewsError};
use copydesk_views::{Appended, Batch, Bucket, Client, Mark, Verdict};
use serde::de::DeserializeOwned;
use tokio::net::UnixStream;

use super::SocketPath;
use super::wire::{Ask, PackedBatch, Rows, receive, send};

/// Asks the process that holds the store in a folder. Each question has its own connection.
pub(super) struct Guest {
    folder: PathBuf,
}

impl Guest {
    pub(super) fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    /// Whether somebody answers.
    pub(super) async fn finds_host(&self) -> bool {
        self.connect().await.is_ok()
    }

    async fn connect(&self) -> io::Result<UnixStream> {
        let path = SocketPath::of(&self.folder)?;
        UnixStream::connect(path.as_path()).await
    }

    async fn ask<T: DeserializeOwned>(&self, ask: Ask) -> Result<T, ViewsError> {
        let absent = |error| ViewsError::Unavailable(format!("the process that holds the page views: {error}"));
        let mut stream = self.connect().await.map_err(absent)?;
        let asked = async {
            send(&mut stream, &ask).await?;
            receive(&mut stream).await?.ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))
        };
        // It may have been done or not, and `Unavailable` would say that it was not.
        let gone = |error| ViewsError::Damaged(format!("the process that held the page views went away: {error}"));
        asked.await.map_err(gone)?
    }
}

impl ViewStore for Guest {
    fn append(&self, batch: Batch) -> Answer<'_, Appended> {
        Box::pin(self.ask(Ask::Append(PackedBatch::new(batch))))
    }

    fn ranking(&self, project: &str, question: Question) -> Answer<'_, Arc<Ranking>> {
        let ask = Ask::Ranking { project: project.to_owned(), question };
        Box::pin(async move {
            let Rows { totals, rows } = self.ask(ask).await?;
            Ok(Arc::new(Ranking::from_rows(totals, rows)))
        })
    }

    fn series(
        &self,
        project: &str,
        path: Option<&str>,
        edges: Vec<Bucket>,
        sources: Sources,
    ) -> Answer<'_, Vec<Counts>> {
        let path = path.map(str::to_owned);
        Box::pin(self.ask(Ask::Series { project: project.to_owned(), path, edges, sources }))
    }

    fn agents(
        &self,
        project: &str,
        question: Question,
        path: Option<&str>,
        pages_each: usize,
    ) -> Answer<'_, Vec<AgentViews>> {
        let path = path.map(str::to_owned);
        Box::pin(self.ask(Ask::Agents { project: project.to_owned(), question, path, pages_each }))
    }

    fn marks(&self, project: &str, log: &str) -> Answer<'_, Vec<Mark>> {
        Box::pin(self.ask(Ask::Marks { project: project.to_owned(), log: log.to_owned() }))
    }

    fn clients(&self, project: &str) -> Answer<'_, Vec<(Arc<Client>, u64)>> {
        Box::pin(self.ask(Ask::Clients { project: project.to_owned() }))
    }

    fn relabel(&self, project: &str, changes: Vec<(Arc<Client>, Verdict)>) -> Answer<'_, ()> {
        Box::pin(self.ask(Ask::Relabel { project: project.to_owned(), changes }))
    }

    fn retain(&self, project: &str, floor: Bucket) -> Answer<'_, ()> {
        Box::pin(self.ask(Ask::Retain { project: project.to_owned(), floor }))
    }

    fn remove(&self, project: &str) -> Answer<'_, ()> {
        Box::pin(self.ask(Ask::Remove { project: project.to_owned() }))
    }

    fn status(&self, project: &str) -> Answer<'_, Status> {
        Box::pin(self.ask(Ask::Status { project: project.to_owned() }))
    }

    fn projects(&self) -> Answer<'_, Vec<String>> {
        Box::pin(self.ask(Ask::Projects))
    }

    fn backup(&self, folder: &Path) -> Answer<'_, ()> {
        // The other process may have another working folder.
        let folder = std::path::absolute(folder);
        Box::pin(async move {
            let folder = folder.map_err(|error| ViewsError::Unavailable(error.to_string()))?;
            self.ask(Ask::Backup { folder }).await
        })
    }
}
