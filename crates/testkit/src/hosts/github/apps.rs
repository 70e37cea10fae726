//! What a GitHub App asks for as itself.

use std::time::Duration;

use hyper::Method;
use serde_json::{Map, Value, json};

use super::jwt::signed_by;
use super::{error, not_found, unknown, views};
use crate::hosts::app::App;
use crate::hosts::exchange::{Is, Reply, Request};
use crate::hosts::state::{Holder, Repo, Rights, State, Token};

/// How long the token of an installation holds.
const TOKEN_LIFE: Duration = Duration::from_secs(3600);

pub(super) fn answer(parts: &[&str], request: &Request, state: &mut State) -> Result<Reply, Reply> {
    let at = signed_by(request, state).map_err(|(status, message)| error(status, message))?;
    match (request.method.clone(), parts) {
        (Method::GET, ["app"]) => {
            let app = &state.apps[at];
            let view = json!({ "id": app.id, "client_id": app.client_id, "slug": "copydesk-test", "name": "Copydesk test",
                "permissions": app.permissions, "events": ["pull_request"] });
            Ok(Reply::json(200, &view))
        }
        (Method::GET, ["app", "installations"]) => {
            let app = &state.apps[at];
            Ok(Reply::json(200, &json!([installation(app, request)])))
        }
        (Method::GET, ["app", "installations", id]) => {
            let app = &state.apps[at];
            if *id != app.installation.to_string() {
                return Err(not_found());
            }
            Ok(Reply::json(200, &installation(app, request)))
        }
        (Method::GET, ["repos", owner, name, "installation"]) => {
            let app = &state.apps[at];
            let repo = state.find(&format!("{owner}/{name}")).ok_or_else(not_found)?;
            if !app.repos.contains(&repo.id) {
                return Err(not_found());
            }
            Ok(Reply::json(200, &installation(app, request)))
        }
        (Method::POST, ["app", "installations", id, "access_tokens"]) => {
            if *id != state.apps[at].installation.to_string() {
                return Err(not_found());
            }
            access_token(at, request, state)
        }
        _ => Err(unknown(request, state)),
    }
}

fn installation(app: &App, request: &Request) -> Value {
    let api = format!("{}{}", request.origin, super::REST);
    json!({
        "id": app.installation, "app_id": app.id, "client_id": app.client_id, "app_slug": "copydesk-test",
        "account": views::user(&app.owner, &request.origin), "target_type": "Organization",
        "repository_selection": "selected", "permissions": app.permissions, "events": ["pull_request"],
        "access_tokens_url": format!("{api}/app/installations/{}/access_tokens", app.installation),
        "repositories_url": format!("{api}/installation/repositories"),
        "suspended_at": if app.suspended { json!("2026-01-01T00:00:00Z") } else { Value::Null },
    })
}

fn access_token(at: usize, request: &Request, state: &mut State) -> Result<Reply, Reply> {
    const FIELDS: [(&str, Is); 3] =
        [("repositories", Is::List), ("repository_ids", Is::List), ("permissions", Is::Object)];
    let body = match request.body.is_empty() {
        true => Map::new(),
        false => request.object(&FIELDS, &mut state.violations).map_err(|_| error(400, "Problems parsing JSON"))?,
    };
    let app = &state.apps[at];
    if app.suspended {
        return Err(error(403, "This installation has been suspended"));
    }
    let repos = chosen(app, &body, state)?;
    let permissions = granted(app, &body)?;
    // A token for everything that the App was ever given is more than one project needs.
    if repos.len() != 1 || !body.contains_key("permissions") {
        state.violate("access_tokens: the token is not narrowed down to one repository and its permissions");
    }
    let may = |name: &str, level: &str| permissions.get(name).is_some_and(|there| there == level || there == "write");
    let rights = Rights {
        read: may("contents", "read"),
        push: may("contents", "write"),
        open: may("pull_requests", "write"),
        issues: may("issues", "write"),
        admin: false,
    };
    let (id, expires) = (state.new_id(), state.now().plus(TOKEN_LIFE));
    let secret = format!("ghs_{id:036}");
    let views: Vec<Value> =
        repos.iter().filter_map(|id| state.by_id(*id)).map(|repo| views::repo(repo, &request.origin, rights)).collect();
    state.tokens.push(Token {
        secret: secret.clone(),
        holder: Holder::Installation,
        rights,
        repos: Some(repos),
        revoked: false,
        expires: Some(expires),
    });
    let body = json!({
        "token": secret, "expires_at": views::instant(expires), "permissions": permissions,
        "repository_selection": "selected", "repositories": views,
    });
    Ok(Reply::json(201, &body))
}

/// The repositories that a token is asked for; all of the installation if none are named.
fn chosen(app: &App, body: &Map<String, Value>, state: &State) -> Result<Vec<u64>, Reply> {
    let named = |repo: &&Repo| {
        let name = json!(repo.name());
        let by_name = body.get("repositories").and_then(Value::as_array).is_some_and(|list| list.contains(&name));
        let by_id = body.get("repository_ids").and_then(Value::as_array);
        by_name || by_id.is_some_and(|list| list.contains(&json!(repo.id)))
    };
    let asked: usize = ["repositories", "repository_ids"]
        .iter()
        .filter_map(|name| body.get(*name).and_then(Value::as_array))
        .map(Vec::len)
        .sum();
    if asked == 0 {
        return Ok(app.repos.clone());
    }
    let there = state.repos.iter().filter(|repo| app.repos.contains(&repo.id));
    let found: Vec<u64> = there.filter(named).map(|repo| repo.id).collect();
    if found.len() < asked {
        let message =
            "There is at least one repository that does not exist or is not accessible to the parent installation.";
        return Err(error(422, message));
    }
    Ok(found)
}

/// The permissions of a token: those asked for, if the installation has them.
fn granted(app: &App, body: &Map<String, Value>) -> Result<Map<String, Value>, Reply> {
    let Some(asked) = body.get("permissions").and_then(Value::as_object) else { return Ok(app.permissions.clone()) };
    let has = |(name, level): (&String, &Value)| {
        let there = app.permissions.get(name);
        there.is_some_and(|there| there == level || there == "write")
    };
    if !asked.iter().all(has) {
        return Err(error(422, "The permissions requested are not granted to this installation."));
    }
    let mut permissions = asked.clone();
    permissions.insert("metadata".to_owned(), json!("read"));
    Ok(permissions)
}
