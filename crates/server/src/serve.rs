use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use futures_util::future::BoxFuture;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tower::ServiceExt;

use crate::app::App;

/// How long a client may take to send the head of a request, and a connection may be idle.
const HEAD_TIME: Duration = Duration::from_secs(60);

/// Whom a request came from: the other end of its connection, as an extension of the request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer(pub(crate) IpAddr);

/// How a server came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Served {
    /// Everything that ran was finished.
    Finished,
    /// The time for it was up.
    CutOff,
}

/// Answers on `listener` until the stop; then finishes what runs, within the time for it.
/// Boxed, so that this crate compiles it once, and not every program and test that starts it.
pub fn serve(app: App, router: Router, listener: TcpListener) -> BoxFuture<'static, Served> {
    Box::pin(async move {
        let graceful = GracefulShutdown::new();
        let slots = Arc::new(Semaphore::new(app.limits().connections));
        loop {
            let accepted = tokio::select! {
                accepted = accept(&slots, &listener) => accepted,
                () = app.desk().stop.asked() => break,
            };
            match accepted {
                Ok((stream, peer, slot)) => {
                    let connection = connection(stream, peer, router.clone());
                    let watched = graceful.watch(connection);
                    tokio::spawn(async move {
                        let _slot = slot;
                        if let Err(error) = watched.await {
                            tracing::debug!(%error, "a connection broke");
                        }
                    });
                }
                Err(error) => pause_after(&error).await,
            }
        }
        drop(listener);
        match tokio::time::timeout(app.desk().stop.time(), graceful.shutdown()).await {
            Ok(()) => Served::Finished,
            Err(_) => Served::CutOff,
        }
    })
}

/// The next client. No slot, no accept: more clients than that wait in the listen queue.
async fn accept(slots: &Arc<Semaphore>, listener: &TcpListener) -> io::Result<(TcpStream, Peer, OwnedSemaphorePermit)> {
    let slot = slots.clone().acquire_owned().await.map_err(io::Error::other)?;
    let (stream, peer) = listener.accept().await?;
    Ok((stream, Peer(peer.ip().to_canonical()), slot))
}

fn connection(
    stream: TcpStream,
    peer: Peer,
    router: Router,
) -> impl hyper_util::server::graceful::GracefulConnection<Error = hyper::Error> + Send {
    // Answers are small and written whole, so waiting for more would only delay them.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request: Request<Incoming>| {
        let mut request = request.map(axum::body::Body::new);
        request.extensions_mut().insert(peer);
        router.clone().oneshot(request)
    });
    hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .serve_connection(TokioIo::new(stream), service)
}

/// Out of file descriptors: wait for some to come back instead of spinning. Anything else concerns one client only.
async fn pause_after(error: &io::Error) {
    let clients_fault = matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionRefused
    );
    if !clients_fault {
        tracing::warn!(%error, "cannot accept a connection");
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}
