//! GitHub's reviews, who is asked for them, and who may do what.

use serde_json::{Map, Value, json};

use super::pulls::{malformed, numbered, view};
use super::{REST, error, not_found, talk_views as talk, views, writer};
use crate::hosts::exchange::{Is, Reply, Request, page};
use crate::hosts::people::Access;
use crate::hosts::state::{Holder, Repo, State, Visit};
use crate::hosts::talk::{Remark, Review};

const PAGES: [&str; 2] = ["page", "per_page"];

fn found<'a>(visit: &Visit, number: &str, id: &str, state: &'a State) -> Result<(&'a Repo, &'a Review), Reply> {
    let number = numbered(visit, number, state)?;
    let repo = visit.repo(state);
    let review = id.parse().ok().and_then(|id| repo.talk.review(number, id)).filter(|review| !review.requested);
    Ok((repo, review.ok_or_else(not_found)?))
}

pub(super) fn read(visit: &Visit, number: &str, id: &str, request: &Request, state: &State) -> Result<Reply, Reply> {
    let (repo, review) = found(visit, number, id, state)?;
    Ok(Reply::json(200, &talk::review(repo, review, &request.origin, false)))
}

/// The comments at lines that a review came with.
pub(super) fn comments(
    visit: &Visit,
    number: &str,
    id: &str,
    request: &Request,
    state: &mut State,
) -> Result<Reply, Reply> {
    request.expect_queries(&PAGES, &mut state.violations);
    let (repo, review) = found(visit, number, id, state)?;
    let said: Vec<&Remark> = repo.talk.remarks.iter().filter(|remark| remark.review == Some(review.id)).collect();
    let path = format!("{REST}/repositories/{}/pulls/{number}/reviews/{id}/comments", repo.id);
    let (at, size) = (request.number("page", 1, 10_000), request.number("per_page", 30, 100));
    let (shown, link) = page(&said, request, &path, at, size);
    let commit = review.commit.as_deref();
    let view = |remark: &&Remark| talk::review_comment(repo, remark, commit, &request.origin);
    Ok(Reply::json(200, &shown.iter().map(view).collect()).with_some("link", link))
}

/// The texts of a list; none if anything else is in it.
fn names(body: &Map<String, Value>, field: &str) -> Option<Vec<String>> {
    let Some(list) = body.get(field) else { return Some(Vec::new()) };
    list.as_array()?.iter().map(|name| name.as_str().map(str::to_owned)).collect()
}

/// Asks people for a review. If one of them cannot be asked, none is.
pub(super) fn ask(visit: &Visit, number: &str, request: &Request, state: &mut State) -> Result<Reply, Reply> {
    const FIELDS: [(&str, Is); 2] = [("reviewers", Is::List), ("team_reviewers", Is::List)];
    let number = numbered(visit, number, state)?;
    writer(visit)?;
    let body = request.object(&FIELDS, &mut state.violations).map_err(malformed)?;
    let malformed = || error(422, "Invalid request.\n\nNo subschema in \"anyOf\" matched.");
    let people = names(&body, "reviewers").ok_or_else(malformed)?;
    let teams = names(&body, "team_reviewers").ok_or_else(malformed)?;
    if people.is_empty() && teams.is_empty() {
        return Err(malformed());
    }
    let repo = visit.repo(state);
    if people.iter().any(|login| login.eq_ignore_ascii_case(&repo.pull(number).unwrap().author)) {
        return Err(error(422, "Review cannot be requested from pull request author."));
    }
    let strangers = |whom: &str| {
        let message = "Reviews may only be requested from collaborators. One or more of the";
        error(422, &format!("{message} {whom} you specified is not a collaborator of the {} repository.", repo.path))
    };
    if people.iter().any(|login| state.access(repo, login) < Access::Read) {
        return Err(strangers("users or teams"));
    }
    // There are no teams on this machine.
    if !teams.is_empty() {
        return Err(strangers("teams"));
    }
    let known: Vec<String> = people.iter().filter_map(|login| state.known(login)).collect();
    let pull = state.by_id_mut(visit.repo).and_then(|repo| repo.pull_mut(number)).unwrap();
    for login in known {
        if !pull.reviewers.contains(&login) {
            pull.reviewers.push(login);
        }
    }
    Ok(Reply { status: 201, ..view(visit, number, request, state) })
}

/// What somebody may do in the repository. Only who may push may ask, unless it is an App.
pub(super) fn permission(visit: &Visit, login: &str, request: &Request, state: &State) -> Result<Reply, Reply> {
    let token = visit.token.as_ref().ok_or_else(|| error(401, "Requires authentication"))?;
    if token.holder != Holder::Installation && !visit.rights.push {
        return Err(error(403, "Must have push access to view collaborator permission."));
    }
    let login = state.known(login).ok_or_else(|| error(404, &format!("{login} is not a user")))?;
    let access = state.reach(visit.repo(state), &login);
    let mut user = views::user(&login, &request.origin);
    user["permissions"] = json!({
        "admin": access == Access::Admin, "maintain": access == Access::Admin, "push": access >= Access::Write,
        "triage": access >= Access::Write, "pull": access >= Access::Read,
    });
    user["role_name"] = json!(access.word());
    Ok(Reply::json(200, &json!({ "permission": access.word(), "role_name": access.word(), "user": user })))
}
