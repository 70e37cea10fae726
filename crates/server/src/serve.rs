use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::Response;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use hyper::body::{Frame, Incoming, SizeHint};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use hyper_util::server::graceful::GracefulShutdown;
use rustix::io::Errno;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tower::ServiceExt;

use crate::app::App;
use crate::connections::{Bounds, Connections, Line, LineStream, Phase, Place};
use crate::operation::Operation;
use crate::own_answers::OwnAnswers;

/// The head of a request may have so many bytes.
const HEAD: usize = 64 * 1024;
/// What of a connection is in memory and not yet read, or not yet taken by the client.
const BUFFER: usize = 128 * 1024;

/// How many may come at the same moment, at the least.
const QUEUE: usize = 1024;
/// What the system keeps of an answer that is not taken yet. Left to itself it keeps megabytes, and it takes so long to
/// send a third of those to a slow client, which is when it asks for more, that the client seems to take nothing.
const SEND_BUFFER: u32 = 256 * 1024;
/// How often it is said that no connection can be accepted.
const SAID_EVERY: Duration = Duration::from_secs(10);

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

/// Listens at `address` for as many as there may be `connections`. Who finds the queue full is not told so, and comes again
/// a second later.
pub fn listener(address: SocketAddr, connections: usize) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    // Connections have it from the listener.
    socket.set_send_buffer_size(SEND_BUFFER)?;
    socket.bind(address)?;
    socket.listen(i32::try_from(connections.max(QUEUE)).unwrap_or(i32::MAX).unsigned_abs())
}

/// Answers on `listener` until the stop; then finishes what runs, within the time for it.
/// Boxed, so that this crate compiles it once, and not every program and test that starts it.
pub fn serve(app: App, router: Router, listener: TcpListener) -> BoxFuture<'static, Served> {
    let limits = app.limits();
    let bounds = Bounds {
        all: limits.connections,
        of_a_peer: (limits.connections_per_peer > 0).then_some(limits.connections_per_peer),
        head_time: limits.head_time,
    };
    let process = app.operation().clone();
    let is_proxy = move |peer| app.desk().views.as_ref().is_some_and(|views| views.settings().proxies.trusts(peer));
    Box::pin(listen(process, router, listener, bounds, is_proxy))
}

/// Answers on a listener within bounds. `is_proxy` says who comes on behalf of others.
pub(crate) async fn listen(
    process: Operation,
    router: Router,
    listener: TcpListener,
    bounds: Bounds,
    is_proxy: impl Fn(IpAddr) -> bool,
) -> Served {
    let (graceful, connections) = (GracefulShutdown::new(), Connections::new(bounds));
    let watching = tokio::spawn(connections.clone().watch());
    let answers = Arc::new(OwnAnswers::new(process.clone()));
    let mut said = None;
    loop {
        let accepted = tokio::select! {
            accepted = accept(&connections, &listener) => accepted,
            () = process.stop().asked() => break,
        };
        match accepted {
            Ok((stream, peer)) => match connections.admit(peer.0, is_proxy(peer.0)) {
                Some(place) => {
                    let connection = connection(stream, peer, &place, router.clone(), answers.clone());
                    tokio::spawn(held(graceful.watch(connection), place));
                }
                // As much of it as goes out at once: nobody waits for somebody who has too many already.
                None => drop(stream.try_write(&answers.too_many_connections())),
            },
            Err(error) => cannot_accept(&error, &connections, &mut said).await,
        }
    }
    drop(listener);
    let served = tokio::time::timeout(process.stop().time(), graceful.shutdown()).await;
    watching.abort();
    served.map_or(Served::CutOff, |()| Served::Finished)
}

/// Runs a connection to its end, or until others need its place or its time is up.
async fn held(connection: impl Future<Output = Result<(), hyper::Error>>, place: Place) {
    tokio::select! {
        ended = connection => {
            if let Err(error) = ended {
                tracing::debug!(%error, "a connection broke");
            }
        }
        () = place.line.ended() => tracing::debug!("a connection was closed: its time was up, or others needed its place"),
    }
}

/// The next client, once there is room for it. Meanwhile the others wait in the listen queue.
async fn accept(connections: &Connections, listener: &TcpListener) -> io::Result<(TcpStream, Peer)> {
    let (stream, peer) = listener.accept().await?;
    connections.room().await;
    Ok((stream, Peer(peer.ip().to_canonical())))
}

fn connection(
    stream: TcpStream,
    peer: Peer,
    place: &Place,
    router: Router,
    answers: Arc<OwnAnswers>,
) -> impl hyper_util::server::graceful::GracefulConnection<Error = hyper::Error> + Send + use<> {
    // Answers are small and written whole, so waiting for more would only delay them.
    let _ = stream.set_nodelay(true);
    let line = place.line.clone();
    let stream = LineStream::new(stream, line.clone(), answers);
    let service = service_fn(move |request: Request<Incoming>| {
        line.enter(Phase::Busy);
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(peer);
        request.extensions_mut().insert(line.clone());
        let (answer, line) = (router.clone().oneshot(request), line.clone());
        async move { answer.await.map(|answer: Response<Body>| answer.map(|body| Answered { body, line })) }
    });
    // Whose time is up is seen by `Connections::watch`, which tells a head that is late from a connection that is idle.
    let mut server = hyper::server::conn::http1::Builder::new();
    server.max_header_size(HEAD).max_buf_size(BUFFER).serve_connection(TokioIo::new(stream), service)
}

/// The body of an answer. The library drops it when it has it all in memory, and the client may have little of it then.
struct Answered {
    body: Body,
    line: Arc<Line>,
}

impl Drop for Answered {
    fn drop(&mut self) {
        self.line.enter(Phase::Sending);
    }
}

impl hyper::body::Body for Answered {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Where there are no more file descriptors, or no memory for one, somebody gives way.
async fn cannot_accept(error: &io::Error, connections: &Connections, said: &mut Option<Instant>) {
    let clients_fault = matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionRefused
    );
    if clients_fault {
        return;
    }
    if said.is_none_or(|last| last.elapsed() > SAID_EVERY) {
        tracing::warn!(%error, "cannot accept a connection");
        *said = Some(Instant::now());
    }
    match Errno::from_io_error(error) {
        Some(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => connections.make_room().await,
        // Instead of spinning.
        _ => tokio::time::sleep(Duration::from_millis(500)).await,
    }
}
