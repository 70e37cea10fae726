//! GitHub's issues, which its pull requests are too: what is said on them, and their labels.

use hyper::Method;
use serde_json::{Value, json};

use super::pulls::{malformed, too_long};
use super::{REST, error, forbidden, invalid, not_found, talk_views as talk, unknown, views};
use crate::hosts::acts::Said;
use crate::hosts::exchange::{Is, Reply, Request, page, text};
use crate::hosts::state::{Holder, State, Visit};
use crate::hosts::talk::{Place, Remark};

const LONGEST_LABEL: usize = 50;

/// Answers what is asked for below `issues`.
pub(super) fn route(visit: &Visit, rest: &[&str], request: &Request, state: &mut State) -> Result<Reply, Reply> {
    match (request.method.clone(), rest) {
        (Method::GET, ["comments", id]) => {
            let repo = visit.repo(state);
            let remark = id.parse().ok().and_then(|id| repo.talk.remark(id)).filter(|remark| remark.is_plain());
            let remark = remark.ok_or_else(not_found)?;
            reader(visit, remark.place, state)?;
            Ok(Reply::json(200, &talk::comment(repo, remark, &request.origin)))
        }
        (Method::GET, [number]) => {
            let (place, repo) = (placed(visit, number, state)?, visit.repo(state));
            reader(visit, place, state)?;
            let view = match place {
                Place::Pull(number) => talk::pull_as_issue(repo, repo.pull(number).unwrap(), &request.origin),
                Place::Issue(number) => talk::issue(repo, repo.talk.issue(number).unwrap(), &request.origin),
            };
            Ok(Reply::json(200, &view))
        }
        (Method::GET, [number, "comments"]) => {
            let place = placed(visit, number, state)?;
            reader(visit, place, state)?;
            request.expect_queries(&["since", "page", "per_page"], &mut state.violations);
            Ok(list(visit, place, request, state))
        }
        (Method::POST, [number, "comments"]) => comment(visit, placed(visit, number, state)?, request, state),
        (Method::POST, [number, "labels"]) => label(visit, placed(visit, number, state)?, request, state),
        _ => Err(unknown(request, state)),
    }
}

/// The issue or pull request of a number in a path.
fn placed(visit: &Visit, number: &str, state: &State) -> Result<Place, Reply> {
    number.parse().ok().and_then(|number| state.place(visit.repo, number)).ok_or_else(not_found)
}

/// Lets those pass who may see what is said: an App sees issues of a private repository with a permission of their own.
fn reader(visit: &Visit, place: Place, state: &State) -> Result<(), Reply> {
    let app = visit.token.as_ref().is_some_and(|token| token.holder == Holder::Installation);
    let hidden = app && visit.repo(state).private && matches!(place, Place::Issue(_)) && !visit.rights.issues;
    if hidden { Err(forbidden(visit, "issues=read")) } else { Ok(()) }
}

/// Whoever may speak there; else what GitHub says. One of two permissions is enough for a pull request.
fn speaker(visit: &Visit, place: Place, state: &State) -> Result<String, Reply> {
    let token = visit.token.as_ref().ok_or_else(|| error(401, "Requires authentication"))?;
    let may = match place {
        Place::Pull(_) => visit.rights.open || visit.rights.issues,
        Place::Issue(_) => visit.rights.issues,
    };
    if !may {
        return Err(forbidden(visit, "issues=write; pull_requests=write"));
    }
    if visit.repo(state).archived {
        return Err(error(403, "Repository was archived so is read-only."));
    }
    Ok(token.login().to_owned())
}

fn list(visit: &Visit, place: Place, request: &Request, state: &State) -> Reply {
    let repo = visit.repo(state);
    let said: Vec<&Remark> = repo.talk.said(place).into_iter().filter(|remark| remark.is_plain()).collect();
    let path = format!("{REST}/repositories/{}/issues/{}/comments", repo.id, place.number());
    let (at, size) = (request.number("page", 1, 10_000), request.number("per_page", 30, 100));
    let (shown, link) = page(&said, request, &path, at, size);
    let views: Vec<Value> = shown.iter().map(|remark| talk::comment(repo, remark, &request.origin)).collect();
    Reply::json(200, &Value::Array(views)).with_some("link", link)
}

fn comment(visit: &Visit, place: Place, request: &Request, state: &mut State) -> Result<Reply, Reply> {
    let by = speaker(visit, place, state)?;
    let body = request.object(&[("body", Is::Text)], &mut state.violations).map_err(malformed)?;
    let words = text(&body, "body").ok_or_else(|| error(422, "Invalid request.\n\n\"body\" wasn't supplied."))?;
    if words.trim().is_empty() {
        return Err(invalid(json!([{ "resource": "IssueComment", "code": "missing_field", "field": "body" }])));
    }
    if let Some(refusal) = too_long(&body, "IssueComment") {
        return Err(refusal);
    }
    let id = state.say(visit.repo, Said::plainly(place, &by, words));
    let repo = visit.repo(state);
    let view = talk::comment(repo, repo.talk.remark(id).unwrap(), &request.origin);
    let location = view["url"].as_str().unwrap_or_default().to_owned();
    Ok(Reply::json(201, &view).with("location", location))
}

/// Adds labels; those that the repository does not have are made.
fn label(visit: &Visit, place: Place, request: &Request, state: &mut State) -> Result<Reply, Reply> {
    speaker(visit, place, state)?;
    let body = request.object(&[("labels", Is::List)], &mut state.violations).map_err(malformed)?;
    let names: Option<Vec<&str>> =
        body.get("labels").and_then(Value::as_array).map(|list| list.iter().filter_map(Value::as_str).collect());
    let asked = body.get("labels").and_then(Value::as_array).map_or(0, Vec::len);
    let names = names.filter(|names| names.len() == asked && asked > 0);
    let names = names.ok_or_else(|| error(422, "Invalid request.\n\nNo subschema in \"anyOf\" matched."))?;
    if names.iter().any(|name| name.trim().is_empty() || name.chars().count() > LONGEST_LABEL) {
        return Err(invalid(json!([{ "resource": "Label", "code": "invalid", "field": "name" }])));
    }
    for name in names {
        let label = state.put_label(visit.repo, name).name;
        state.mark(visit.repo, place, &label, true);
    }
    let repo = visit.repo(state);
    let worn = match place {
        Place::Pull(number) => &repo.pull(number).unwrap().labels,
        Place::Issue(number) => &repo.talk.issue(number).unwrap().labels,
    };
    Ok(Reply::json(200, &views::labels(repo, worn, &request.origin)))
}
