//! Pages for people, which are made elsewhere and served beside the interface: under the same guard, with bodies that
//! are read by the same rules.

use std::net::IpAddr;

use axum::Router;
use axum::body::Body;
use axum::extract::{FromRequest, Request, State};
use axum::http::header::ACCEPT;
use axum::http::request::Parts;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use copydesk_desk::people;
use tower::ServiceExt;

use crate::app::App;
use crate::bodies::Whose;
use crate::body::{self, MAX_BODY, RequestBody};
use crate::problem::Problem;
use crate::serve::Peer;

/// What is served beside the interface.
#[derive(Clone, Default)]
pub struct Pages {
    pub router: Router,
    /// Answers under the addresses of pages where there is none.
    pub nothing_here: Router,
}

impl Pages {
    pub(crate) fn prepared(&self, app: App) -> Router {
        self.router.clone().layer(middleware::from_fn_with_state(app, prepare))
    }

    /// The answer where there is no route.
    pub(crate) async fn fallback(self, request: Request) -> Response {
        let path = request.uri().path();
        let is_below = |starts: &[&str]| starts.iter().any(|start| path.starts_with(start));
        // Whoever looks at an address with a browser is a person, unless it is one for programs.
        let accept = request.headers().get(ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
        let is_looked_at = accept.contains("text/html") && !is_below(&["/v1/", "/v2/", "/api/", "/hooks/", "/mcp/"]);
        let pages = ["/p/", "/sign-in/", "/join/", "/me/", "/people/", "/server/", "/new/", "/assets/"];
        if !is_looked_at && !is_below(&pages) {
            return Problem::route_not_found().into_response();
        }
        self.nothing_here.oneshot(request).await.into_response()
    }
}

/// Reads the body, whoever sends it, and says where the request comes from.
async fn prepare(State(app): State<App>, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    if let Some(address) = address(&app, &parts) {
        parts.extensions.insert::<IpAddr>(address);
    }
    if let Some(Peer(peer)) = parts.extensions.get::<Peer>().copied() {
        parts.extensions.insert(people::Peer(peer));
    }
    let Ok(unread) = RequestBody::from_request(Request::from_parts(parts.clone(), body), &()).await;
    match body::bounded(&app, &parts.headers, unread, Whose::Stranger, MAX_BODY, "1 MiB").await {
        Ok(read) => next.run(Request::from_parts(parts, Body::from(Bytes::copy_from_slice(&read)))).await,
        Err(problem) => problem.into_response(),
    }
}

/// Whom a request came from, behind proxies.
pub(crate) fn address(app: &App, parts: &Parts) -> Option<IpAddr> {
    let peer = parts.extensions.get::<Peer>().map(|peer| peer.0)?;
    let forwarded = parts.headers.get_all("x-forwarded-for").iter().filter_map(|line| line.to_str().ok());
    Some(match &app.desk().views {
        Some(views) => views.settings().proxies.reader(peer, forwarded),
        None => peer,
    })
}
