//! What two processes say to each other about views: frames, each with its length before it. A call is JSON, or a record
//! of the log for a batch, in which each page and each reader is written once; a reply is JSON.

use std::io;

use copydesk_views::store::{StoreCall, StoreReply, ViewsError};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

use crate::record::Entry;

/// The longest frame. A batch or a ranking is far below it.
const MAX_FRAME: u32 = 512 << 20;

pub(super) type Replied = Result<StoreReply, ViewsError>;

pub(super) async fn send_call(stream: &mut UnixStream, call: StoreCall) -> io::Result<()> {
    let frame = match call {
        // When it arrived is for the other process to say.
        StoreCall::Append(batch) => Entry::new(batch, 0).encode(),
        call => serde_json::to_vec(&call)?,
    };
    send(stream, &frame).await
}

/// None if the other side has closed.
pub(super) async fn receive_call(stream: &mut UnixStream) -> io::Result<Option<StoreCall>> {
    let Some(frame) = receive(stream).await? else { return Ok(None) };
    match Entry::decode(&frame) {
        Some(entry) => Ok(Some(StoreCall::Append(entry.into_batch()))),
        None => Ok(Some(serde_json::from_slice(&frame)?)),
    }
}

pub(super) async fn send_reply(stream: &mut UnixStream, reply: &Replied) -> io::Result<()> {
    send(stream, &serde_json::to_vec(reply)?).await
}

pub(super) async fn receive_reply(stream: &mut UnixStream) -> io::Result<Replied> {
    let frame = receive(stream).await?.ok_or(io::ErrorKind::UnexpectedEof)?;
    Ok(serde_json::from_slice(&frame)?)
}

async fn send(stream: &mut UnixStream, frame: &[u8]) -> io::Result<()> {
    let length = u32::try_from(frame.len()).ok().filter(|length| *length <= MAX_FRAME).ok_or_else(too_long)?;
    stream.write_all(&length.to_le_bytes()).await?;
    stream.write_all(frame).await?;
    stream.flush().await
}

async fn receive(stream: &mut UnixStream) -> io::Result<Option<Vec<u8>>> {
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
    let mut frame = Vec::new();
    let read = stream.take(length.into()).read_to_end(&mut frame).await?;
    if read < length as usize {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(Some(frame))
}

fn too_long() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a frame is too long")
}
