use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::task::AbortHandle;

use crate::eventually;

/// Somebody else's server on this machine, which webhooks are delivered to.
pub struct Receiver {
    address: SocketAddr,
    inner: Arc<Inner>,
    serving: AbortHandle,
}

#[derive(Default)]
struct Inner {
    received: Mutex<Vec<Received>>,
    replies: Mutex<VecDeque<Reply>>,
    open: Notify,
}

/// A delivery as it came in.
#[derive(Debug, Clone)]
pub struct Received {
    pub headers: HeaderMap,
    /// Its body as it came.
    pub body: String,
}

/// What to answer. Without one it is 204.
#[derive(Debug, Clone)]
pub enum Reply {
    /// This status and body.
    Status(u16, String),
    /// This status with a header.
    Header(u16, &'static str, String),
    /// Nothing until [`Receiver::open`], then 204.
    Held,
}

impl Received {
    #[track_caller]
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).unwrap_or_else(|| panic!("there is no {name}: {:?}", self.headers)).to_str().unwrap()
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

impl Receiver {
    pub async fn start() -> Self {
        let inner = Arc::new(Inner::default());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = axum::Router::new().route("/hook", post(receive)).with_state(inner.clone());
        let serving = tokio::spawn(async move { axum_serve(listener, router).await }).abort_handle();
        Self { address, inner, serving }
    }

    /// Where it takes deliveries in.
    pub fn url(&self) -> String {
        format!("http://{}/hook", self.address)
    }

    /// The next delivery that nothing is planned for yet is answered so.
    pub fn reply(&self, reply: Reply) {
        self.inner.replies.lock().unwrap().push_back(reply);
    }

    /// Answers everything that is held.
    pub fn open(&self) {
        self.inner.open.notify_waiters();
    }

    /// Everything that came in so far.
    pub fn received(&self) -> Vec<Received> {
        self.inner.received.lock().unwrap().clone()
    }

    /// Waits until so many have come in, and gives them all. More is a failure.
    pub async fn expect(&self, count: usize) -> Vec<Received> {
        let all = eventually(&format!("{count} deliveries came in"), async || {
            let all = self.received();
            (all.len() >= count).then_some(all)
        })
        .await;
        assert_eq!(all.len(), count, "{all:?}");
        all
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn axum_serve(listener: TcpListener, router: axum::Router) {
    loop {
        let Ok((stream, _)) = listener.accept().await else { return };
        let service = hyper_util::service::TowerToHyperService::new(router.clone());
        tokio::spawn(async move {
            let connection = hyper::server::conn::http1::Builder::new();
            // A client that goes away is no failure of the receiver.
            let _ = connection.serve_connection(hyper_util::rt::TokioIo::new(stream), service).await;
        });
    }
}

async fn receive(State(inner): State<Arc<Inner>>, headers: HeaderMap, body: Bytes) -> Response {
    let body = String::from_utf8(body.to_vec()).unwrap();
    let opened = inner.open.notified();
    let reply = inner.replies.lock().unwrap().pop_front();
    inner.received.lock().unwrap().push(Received { headers, body });
    match reply {
        None => StatusCode::NO_CONTENT.into_response(),
        Some(Reply::Status(status, body)) => (StatusCode::from_u16(status).unwrap(), body).into_response(),
        Some(Reply::Header(status, name, value)) => {
            (StatusCode::from_u16(status).unwrap(), [(name, value)]).into_response()
        }
        Some(Reply::Held) => {
            let _ = tokio::time::timeout(Duration::from_secs(60), opened).await;
            StatusCode::NO_CONTENT.into_response()
        }
    }
}
