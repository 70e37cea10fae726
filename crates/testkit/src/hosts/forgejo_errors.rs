//! How Forgejo and Gitea say no.

use serde_json::json;

use super::exchange::{Reply, Request};
use super::state::State;

const DOCS: &str = "https://forgejo.example/api/swagger";

pub(super) fn error(status: u16, message: &str) -> Reply {
    Reply::json(status, &json!({ "message": message, "url": DOCS }))
}

pub(super) fn not_found() -> Reply {
    let body = json!({ "errors": [], "message": "The target couldn't be found.", "url": DOCS });
    Reply::json(404, &body)
}

pub(super) fn unauthorized() -> Reply {
    error(401, "invalid username, password or token")
}

pub(super) fn unknown(request: &Request, state: &mut State) -> Reply {
    state.violate(request.violation("there is no such address"));
    Reply::text(404, "404 page not found\n")
}
