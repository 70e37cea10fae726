//! How Bitbucket says no.

use serde_json::json;

use super::exchange::{Reply, Request};
use super::state::{Rights, State};

pub(super) fn error(status: u16, message: &str) -> Reply {
    Reply::json(status, &json!({ "type": "error", "error": { "message": message } }))
}

/// What is wrong with a field, in Bitbucket's shape.
pub(super) fn wrong(field: &str, what: &str) -> Reply {
    let body = json!({
        "type": "error", "error": { "message": format!("{field}: {what}"), "fields": { field: [what] } },
    });
    Reply::json(400, &body)
}

pub(super) fn unauthorized() -> Reply {
    error(401, "Token is invalid, expired, or not supported for this endpoint.")
}

pub(super) fn hidden() -> Reply {
    error(
        404,
        "You may not have access to this repository or it no longer exists in this workspace. If you think this \
         repository exists and you have access, make sure you are authenticated.",
    )
}

pub(super) fn unknown(request: &Request, state: &mut State) -> Reply {
    state.violate(request.violation("there is no such address"));
    error(404, "Resource not found")
}

/// The scopes that rights come from.
pub(super) fn scopes(rights: Rights) -> Vec<&'static str> {
    let all = [
        (rights.read && !rights.push, "repository"),
        (rights.push, "repository:write"),
        (rights.admin, "repository:admin"),
        (rights.read && !rights.open, "pullrequest"),
        (rights.open, "pullrequest:write"),
        (rights.issues, "issue:write"),
    ];
    all.into_iter().filter(|(has, _)| *has).map(|(_, name)| name).collect()
}

/// What Bitbucket says to a token that has not this scope.
pub(super) fn lacking(rights: Rights, scope: &str) -> Reply {
    let body = json!({
        "type": "error",
        "error": {
            "message": "Your credentials lack one or more required privilege scopes.",
            "detail": { "required": [scope], "granted": scopes(rights) },
        },
    });
    Reply::json(403, &body).with("x-accepted-oauth-scopes", scope)
}
