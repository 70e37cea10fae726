//! The server that all fakes share: it reads requests, lets faults strike, and asks the dialect or git.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use copydesk_domain::Timestamp;
use http_body_util::{BodyExt, Full, Limited};
use hyper::Response;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::dialect::ApiRefusal;
use super::exchange::{Reply, Request};
use super::faults::{self, Fault};
use super::git_http;
use super::hold::{self, Held};
use super::host::Host;
use super::state::{Seen, State};

/// Larger pushes are not for tests.
const LARGEST_BODY: usize = 256 * 1024 * 1024;

/// Serves until it is dropped.
pub(super) async fn serve(listener: TcpListener, host: Arc<Host>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        while connections.try_join_next().is_some() {}
        connections.spawn(converse(stream, host.clone()));
    }
}

async fn converse(stream: TcpStream, host: Arc<Host>) {
    let service = service_fn(move |request| {
        let host = host.clone();
        async move { respond(request, host).await }
    });
    // An error here is a client that went away, or a fault that cut the connection.
    let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

/// Answers a request. An error cuts the connection.
async fn respond(request: hyper::Request<Incoming>, host: Arc<Host>) -> io::Result<Response<Full<Bytes>>> {
    let request = read(request, &host.origin).await?;
    let target = target(&request);
    let (place, fault, held) = {
        let mut state = host.state();
        let method = request.method.to_string();
        look_for_secrets(&request, &target, &mut state);
        let fault = faults::strike(&mut state.faults, &method, &target);
        let held = hold::strike(&mut state.held, &method, &target);
        state.seen.push(Seen { method, path: target, status: None });
        (state.seen.len() - 1, fault, held)
    };
    let reply = match (held, fault) {
        (None, None) => work(request, &host).await,
        (None, Some(fault)) => suffer(fault, request, &host).await?,
        (Some(held), _) => hold_up(held, request, &host).await?,
    };
    let mut state = host.state();
    state.seen[place].status = Some(reply.status);
    Ok(reply.with("date", date(state.now())).into_response())
}

/// A token belongs into the header for it, and nowhere else.
fn look_for_secrets(request: &Request, target: &str, state: &mut State) {
    let meant = ["authorization", "private-token"];
    let headers = request.headers.iter().filter(|(name, _)| !meant.contains(&name.as_str()));
    let mut places: Vec<&[u8]> = headers.map(|(_, value)| value.as_bytes()).collect();
    places.extend([target.as_bytes(), &request.body]);
    let holds = |place: &[u8], secret: &str| place.windows(secret.len()).any(|part| part == secret.as_bytes());
    let shown = state.tokens.iter().any(|token| places.iter().any(|place| holds(place, &token.secret)));
    if shown {
        state.violate(request.violation("a token is shown outside its header"));
    }
}

/// An instant as headers write it. Clients go by it to find out that clocks differ.
fn date(at: Timestamp) -> String {
    let at = jiff::Timestamp::from_millisecond(at.as_millis()).unwrap();
    at.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()
}

async fn read(request: hyper::Request<Incoming>, origin: &str) -> io::Result<Request> {
    let (head, body) = request.into_parts();
    let body = Limited::new(body, LARGEST_BODY).collect().await.map_err(io::Error::other)?.to_bytes();
    Ok(Request {
        method: head.method,
        path: head.uri.path().to_owned(),
        raw_query: head.uri.query().unwrap_or_default().to_owned(),
        headers: head.headers,
        body,
        origin: origin.to_owned(),
    })
}

fn target(request: &Request) -> String {
    match request.raw_query.as_str() {
        "" => request.path.clone(),
        query => format!("{}?{query}", request.path),
    }
}

/// Lets a request wait for the test. It does so on its own: whoever made it may go away meanwhile.
async fn hold_up(held: Held, request: Request, host: &Arc<Host>) -> io::Result<Reply> {
    let host = host.clone();
    let waiting = tokio::spawn(async move { held.wait(work(request, &host)).await });
    waiting.await.map_err(io::Error::other)?
}

async fn suffer(fault: Fault, request: Request, host: &Arc<Host>) -> io::Result<Reply> {
    let refusal = match fault {
        Fault::Status(status) => ApiRefusal::Status(status),
        Fault::RateLimit(wait) => ApiRefusal::RateLimit(wait),
        Fault::SecondaryLimit(wait) => ApiRefusal::SecondaryLimit(wait),
        Fault::Revoked => ApiRefusal::Revoked,
        Fault::Echo(status) => return Ok(echo(status, &request, host)),
        Fault::Hook(words) => return Ok(git_http::serve(request, host.clone(), Some(words)).await),
        Fault::Hang => return std::future::pending().await,
        Fault::Break => return Err(io::Error::other("the test breaks the connection")),
        Fault::LoseAnswer => {
            work(request, host).await;
            return Err(io::Error::other("the test loses the answer"));
        }
        Fault::HangAfterwards => {
            work(request, host).await;
            return std::future::pending().await;
        }
        Fault::Slow(wait) => {
            tokio::time::sleep(wait).await;
            return Ok(work(request, host).await);
        }
    };
    Ok(host.dialect.refuse(refusal, &host.state()))
}

/// What a careless proxy in front of a host may say: git shows it to its user, and so do many clients.
fn echo(status: u16, request: &Request, host: &Host) -> Reply {
    let shown = request.header("authorization").or_else(|| request.header("private-token")).unwrap_or("nothing");
    let words = format!("Refused: the request had {shown}");
    let value = match host.dialect.is_interface(&request.path) {
        false => return Reply::text(status, words),
        true => json!({ "message": words, "error": { "message": words } }),
    };
    Reply::json(status, &value)
}

/// Does what a request asks for.
async fn work(request: Request, host: &Arc<Host>) -> Reply {
    if !host.dialect.is_interface(&request.path) {
        return git_http::serve(request, host.clone(), None).await;
    }
    let host = host.clone();
    // It looks into the repository with the git program, which takes its time.
    let answer = tokio::task::spawn_blocking(move || host.dialect.answer(&request, &mut host.state()));
    answer.await.unwrap_or_else(|_| Reply::text(500, "the fake itself failed; see what the test printed"))
}
