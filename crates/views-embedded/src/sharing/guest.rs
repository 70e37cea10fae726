//! The side of a process that asks the one that holds the store.

use std::io;
use std::path::{Path, PathBuf};

use copydesk_views::store::{StoreCall, StoreFuture, StoreReply, ViewStore, ViewsError};
use tokio::net::UnixStream;

use super::socket::SocketPath;
use super::wire::{Replied, receive_reply, send_call};

/// Asks the process that holds the store in a folder. Each call has its own connection.
pub(super) struct Guest {
    folder: PathBuf,
}

impl Guest {
    pub(super) fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    pub(super) async fn finds_host(&self) -> bool {
        self.connect().await.is_ok()
    }

    async fn connect(&self) -> io::Result<UnixStream> {
        let path = SocketPath::of(&self.folder)?;
        UnixStream::connect(path.as_path()).await
    }

    async fn ask(&self, mut call: StoreCall) -> Replied {
        if let StoreCall::Backup { folder } = &mut call {
            // The other process may have another working folder.
            *folder = std::path::absolute(&*folder).map_err(|error| ViewsError::Unavailable(error.to_string()))?;
        }
        let absent = |error| ViewsError::Unavailable(format!("the process that holds the page views: {error}"));
        let mut stream = self.connect().await.map_err(absent)?;
        let asked = async {
            send_call(&mut stream, call).await?;
            receive_reply(&mut stream).await
        };
        let gone = |error| ViewsError::Unsure(format!("the process that held the page views went away: {error}"));
        asked.await.map_err(gone)?
    }
}

impl ViewStore for Guest {
    fn call(&self, call: StoreCall) -> StoreFuture<'_, StoreReply> {
        Box::pin(self.ask(call))
    }
}
