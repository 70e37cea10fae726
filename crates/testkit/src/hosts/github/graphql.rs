//! The two things that only GitHub's GraphQL can: make a draft ready, and make a draft again.

use copydesk_domain::PullRequestState;
use serde_json::{Value, json};

use super::{caller, error, views};
use crate::hosts::exchange::{Is, Reply, Request, text};
use crate::hosts::state::{Holder, State};

const MUTATIONS: [(&str, bool); 2] = [("markPullRequestReadyForReview", false), ("convertPullRequestToDraft", true)];

pub(super) fn answer(request: &Request, state: &mut State) -> Result<Reply, Reply> {
    let token = caller(request, state)?.ok_or_else(|| error(401, "This endpoint requires you to be authenticated."))?;
    let fields = [("query", Is::Text), ("variables", Is::Object), ("operationName", Is::Text)];
    let body = request.object(&fields, &mut state.violations).map_err(|_| error(400, "Problems parsing JSON"))?;
    let query = text(&body, "query").unwrap_or_default();
    let Some((mutation, draft)) = MUTATIONS.iter().find(|(name, _)| query.contains(name)) else {
        state.violate(format!("graphql: this fake does not know {query:?}"));
        return Ok(failed(None, "undefinedField", "Field does not exist on type 'Query'"));
    };
    // What is asked for is told by the only id among the variables, whatever they are called.
    let ids: Vec<&str> = body.get("variables").map(ids).unwrap_or_default();
    let [id] = ids.as_slice() else {
        state.violate(format!("graphql: the id of a pull request belongs into the variables: {query:?}"));
        return Ok(failed(None, "argumentLiteralsIncompatible", "Argument 'pullRequestId' is required"));
    };
    let found = state.repos.iter().find_map(|repo| {
        let pull = repo.pulls.iter().find(|pull| views::node(repo, pull) == *id)?;
        Some((repo.id, pull.number, state.rights(Some(&token), repo)))
    });
    let Some((repo, number, rights)) = found.filter(|(_, _, rights)| rights.read) else {
        let message = format!("Could not resolve to a node with the global id of '{id}'");
        return Ok(failed(Some(mutation), "NOT_FOUND", &message));
    };
    if !rights.open {
        let who = if token.holder == Holder::Installation { "integration" } else { "personal access token" };
        return Ok(failed(Some(mutation), "FORBIDDEN", &format!("Resource not accessible by {who}")));
    }
    let drafts = state.by_id(repo).is_some_and(|repo| repo.drafts);
    let pull = state.by_id_mut(repo).and_then(|repo| repo.pull_mut(number)).unwrap();
    if pull.state != PullRequestState::Open || (*draft && !drafts) {
        return Ok(failed(Some(mutation), "UNPROCESSABLE", "Pull request cannot be converted."));
    }
    pull.draft = *draft;
    let view = json!({ "id": id, "isDraft": draft, "number": number });
    Ok(Reply::json(200, &json!({ "data": { *mutation: { "pullRequest": view, "clientMutationId": null } } })))
}

/// Every text in the variables that looks like a pull request's id.
fn ids(variables: &Value) -> Vec<&str> {
    match variables {
        Value::String(text) if text.starts_with("PR_") => vec![text],
        Value::Object(fields) => fields.values().flat_map(ids).collect(),
        _ => Vec::new(),
    }
}

/// GraphQL says 200 also when it fails.
fn failed(mutation: Option<&str>, kind: &str, message: &str) -> Reply {
    let error =
        json!({ "type": kind, "path": mutation, "message": message, "locations": [{ "line": 1, "column": 1 }] });
    let data = mutation.map(|mutation| json!({ mutation: null }));
    Reply::json(200, &json!({ "data": data, "errors": [error] }))
}
