//! The side of the process that holds the store: answers other processes of this machine and this user.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use copydesk_views::store::ViewStore;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

use super::socket::SocketPath;
use super::wire::{receive_call, send_reply};

/// How long the end waits for answers that are on their way.
const LAST_ANSWERS: Duration = Duration::from_secs(10);
/// After a guest could not be taken in.
const PAUSE: Duration = Duration::from_millis(100);

/// Answers guests until it is stopped or dropped.
pub(super) struct Host {
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Host {
    /// Takes nobody in any more, and answers those who have asked, if that does not take too long.
    pub(super) async fn stop(mut self) {
        self.stop.send_replace(true);
        let _ = tokio::time::timeout(LAST_ANSWERS, &mut self.task).await;
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Answers at the socket in `folder`.
pub(super) fn answer(folder: &Path, store: Arc<dyn ViewStore>) -> io::Result<Host> {
    let path = SocketPath::of(folder)?;
    // Whoever made it is gone: we hold the lock.
    match fs::remove_file(path.as_path()) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = UnixListener::bind(path.as_path())?;
    // The folder is closed to others already; this is the second bolt.
    fs::set_permissions(path.as_path(), Permissions::from_mode(0o600))?;
    let (stop, stopping) = watch::channel(false);
    Ok(Host { stop, task: tokio::spawn(listen(listener, store, stopping)) })
}

async fn listen(listener: UnixListener, store: Arc<dyn ViewStore>, stopping: watch::Receiver<bool>) {
    let (mut guests, mut told) = (JoinSet::new(), stopping.clone());
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => drop(guests.spawn(guest(stream, store.clone(), stopping.clone()))),
                Err(error) => {
                    tracing::warn!(%error, "cannot accept another process that asks for page views");
                    tokio::time::sleep(PAUSE).await;
                }
            },
            Some(_) = guests.join_next() => {}
            () = told_to_stop(&mut told) => break,
        }
    }
    drop(listener);
    while guests.join_next().await.is_some() {}
}

/// Ends when the host is to stop, or is gone.
async fn told_to_stop(stopping: &mut watch::Receiver<bool>) {
    let _ = stopping.wait_for(|stopping| *stopping).await;
}

async fn guest(mut stream: UnixStream, store: Arc<dyn ViewStore>, mut stopping: watch::Receiver<bool>) {
    loop {
        let asked = tokio::select! {
            biased;
            asked = receive_call(&mut stream) => asked,
            () = told_to_stop(&mut stopping) => return,
        };
        let answered = match asked {
            Ok(Some(call)) => send_reply(&mut stream, &store.call(call).await).await,
            Ok(None) => return,
            Err(error) => Err(error),
        };
        if let Err(error) = answered {
            tracing::debug!(%error, "a process that asked for page views went away");
            return;
        }
    }
}
