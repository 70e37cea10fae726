//! What two processes say to each other about views: frames of JSON, each with its length before it.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use copydesk_views::store::{Counts, PageViews, Question, Sources};
use copydesk_views::{Batch, Bucket, Client, Mark, Verdict, View};

/// The longest frame. A batch or a ranking is far below it.
const MAX_FRAME: u32 = 512 << 20;

/// What a guest asks. Its answer is `Result<T, ViewsError>` with the type of the call.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Ask {
    Append(PackedBatch),
    Ranking { project: String, question: Question },
    Series { project: String, path: Option<String>, edges: Vec<Bucket>, sources: Sources },
    Agents { project: String, question: Question, path: Option<String>, pages_each: usize },
    Marks { project: String, log: String },
    Clients { project: String },
    Relabel { project: String, changes: Vec<(Arc<Client>, Verdict)> },
    Retain { project: String, floor: Bucket },
    Remove { project: String },
    Status { project: String },
    Projects,
    Backup { folder: PathBuf },
}

/// A whole ranking.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Rows {
    pub(super) totals: Counts,
    pub(super) rows: Vec<PageViews>,
}

/// A batch in which each page and each reader is written once.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct PackedBatch {
    project: String,
    paths: Vec<Arc<str>>,
    clients: Vec<Arc<Client>>,
    views: Vec<PackedView>,
    mark: Option<Mark>,
}

/// Bucket, place of the path, place of the client, count, and the halves of the id.
#[derive(Debug, Serialize, Deserialize)]
struct PackedView(Bucket, u32, u32, u32, Option<(u64, u64)>);

impl PackedBatch {
    pub(super) fn new(batch: Batch) -> Self {
        let (mut paths, mut clients) = (Places::default(), Places::default());
        let pack = |view: View| {
            let id = view.id.map(|id| ((id >> 64) as u64, id as u64));
            PackedView(view.bucket, paths.of(view.path), clients.of(view.client), view.count, id)
        };
        let views = batch.views.into_iter().map(pack).collect();
        Self { project: batch.project, paths: paths.all, clients: clients.all, views, mark: batch.mark }
    }

    /// None if it refers to something that is not in it.
    pub(super) fn unpack(self) -> Option<Batch> {
        let unpack = |PackedView(bucket, path, client, count, id): PackedView| {
            Some(View {
                bucket,
                path: self.paths.get(path as usize)?.clone(),
                client: self.clients.get(client as usize)?.clone(),
                count,
                id: id.map(|(high, low)| u128::from(high) << 64 | u128::from(low)),
            })
        };
        let views = self.views.into_iter().map(unpack).collect::<Option<_>>()?;
        Some(Batch { project: self.project, views, mark: self.mark })
    }
}

/// Values in the order in which they first came, each with its place.
struct Places<T: ?Sized> {
    all: Vec<Arc<T>>,
    places: HashMap<Arc<T>, u32>,
}

impl<T: ?Sized> Default for Places<T> {
    fn default() -> Self {
        Self { all: Vec::new(), places: HashMap::new() }
    }
}

impl<T: ?Sized + Eq + std::hash::Hash> Places<T> {
    fn of(&mut self, value: Arc<T>) -> u32 {
        let all = &mut self.all;
        *self.places.entry(value).or_insert_with_key(|value| {
            all.push(value.clone());
            u32::try_from(all.len() - 1).unwrap_or(u32::MAX)
        })
    }
}

/// Writes a frame.
pub(super) async fn send(stream: &mut (impl AsyncWrite + Unpin), value: &impl Serialize) -> io::Result<()> {
    let json = serde_json::to_vec(value)?;
    let length = u32::try_from(json.len()).ok().filter(|length| *length <= MAX_FRAME).ok_or_else(too_long)?;
    stream.write_all(&length.to_le_bytes()).await?;
    stream.write_all(&json).await?;
    stream.flush().await
}

/// Reads a frame; none if the other side has closed.
pub(super) async fn receive<T: DeserializeOwned>(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Option<T>> {
    let mut length = [0; 4];
    match stream.read_exact(&mut length).await {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    };
    let length = u32::from_le_bytes(length);
    if length > MAX_FRAME {
        return Err(too_long());
    }
    // Grows with what really comes, so that a wrong length costs nothing.
    let mut json = Vec::new();
    let read = stream.take(length.into()).read_to_end(&mut json).await?;
    if read < length as usize {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(Some(serde_json::from_slice(&json)?))
}

fn too_long() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a frame is too long")
}
