//! GitLab's notes, issues, labels and reviewers, and who is a member of a project.

use serde_json::{Map, Value, json};

use super::acts::Said;
use super::exchange::{Is, Malformed, Reply, Request, page, text};
use super::gitlab_fields::{NEW_ISSUE_NOTE, NEW_NOTE, NOTES, USERS};
use super::gitlab_talk_views as talk;
use super::gitlab_views as views;
use super::people::Access;
use super::state::{State, Visit};
use super::talk::{Place, Remark};

/// What GitLab says where something is not there, or not for the caller.
fn gone(what: &str) -> Reply {
    Reply::json(404, &json!({ "message": format!("404 {what}") }))
}

fn bad(error: &str) -> Reply {
    Reply::json(400, &json!({ "error": error }))
}

pub(super) fn users(request: &Request, state: &mut State) -> Reply {
    request.expect_queries(&USERS, &mut state.violations);
    let wanted = request.query("username");
    let fits = |login: &&String| wanted.as_ref().is_none_or(|wanted| wanted.eq_ignore_ascii_case(login));
    let found: Vec<String> = state.logins().iter().filter(fits).cloned().collect();
    let found: Vec<&String> = found.iter().collect();
    paged(&found, request, |login| views::user(login, &request.origin))
}

/// A page of a list, with the headers that tell of the others.
fn paged<T>(items: &[&T], request: &Request, view: impl Fn(&T) -> Value) -> Reply {
    let (at, size) = (request.number("page", 1, 10_000), request.number("per_page", 20, 100));
    let (shown, link) = page(items, request, &request.path, at, size);
    let pages = items.len().div_ceil(size).max(1);
    let number = |there: bool, number: usize| if there { number.to_string() } else { String::new() };
    Reply::json(200, &shown.into_iter().map(view).collect())
        .with("x-total", items.len())
        .with("x-total-pages", pages)
        .with("x-page", at)
        .with("x-per-page", size)
        .with("x-next-page", number(at < pages, at + 1))
        .with("x-prev-page", number(at > 1, at.saturating_sub(1)))
        .with_some("link", link)
}

/// Somebody who is a member of the project, by whatever way.
pub(super) fn member(visit: &Visit, id: &str, request: &Request, state: &State) -> Result<Reply, Reply> {
    let id: u64 = id.parse().map_err(|_| bad("user_id is invalid"))?;
    let repo = visit.repo(state);
    let login = state.known_by_id(id).ok_or_else(|| gone("Not found"))?;
    let access = state.access(repo, &login);
    if access == Access::None {
        return Err(gone("Not found"));
    }
    let mut view = views::user(&login, &request.origin);
    view["access_level"] = json!(access.level());
    view["membership_state"] = json!("active");
    view["expires_at"] = Value::Null;
    Ok(Reply::json(200, &view))
}

/// The issue or merge request that a path leads to: the folder and the number.
pub(super) fn placed(visit: &Visit, folder: &str, number: &str, state: &State) -> Result<Place, Reply> {
    let number: u64 = number.parse().map_err(|_| gone("Not found"))?;
    let repo = visit.repo(state);
    let place = match folder {
        "issues" => repo.talk.issue(number).map(|_| Place::Issue(number)),
        _ => repo.pull(number).map(|_| Place::Pull(number)),
    };
    place.ok_or_else(|| gone("Not found"))
}

pub(super) fn issue(visit: &Visit, number: &str, request: &Request, state: &State) -> Result<Reply, Reply> {
    let place = placed(visit, "issues", number, state)?;
    let repo = visit.repo(state);
    Ok(Reply::json(200, &talk::issue(repo, repo.talk.issue(place.number()).unwrap(), &request.origin)))
}

pub(super) fn note(visit: &Visit, place: Place, id: &str, request: &Request, state: &State) -> Result<Reply, Reply> {
    let repo = visit.repo(state);
    let remark = id.parse().ok().and_then(|id| repo.talk.remark(id)).filter(|remark| remark.place == place);
    let remark = remark.ok_or_else(|| gone("Note Not Found"))?;
    Ok(Reply::json(200, &talk::note(repo, remark, &request.origin)))
}

/// The notes of an issue or merge request: the newest first, unless the other way is asked for.
pub(super) fn notes(visit: &Visit, place: Place, request: &Request, state: &mut State) -> Reply {
    request.expect_queries(&NOTES, &mut state.violations);
    let repo = visit.repo(state);
    let mut said: Vec<&Remark> = repo.talk.said(place);
    if request.query("sort").as_deref() != Some("asc") {
        said.reverse();
    }
    paged(&said, request, |remark| talk::note(repo, remark, &request.origin))
}

pub(super) fn say(visit: &Visit, place: Place, by: &str, request: &Request, state: &mut State) -> Result<Reply, Reply> {
    let known: &[(&str, Is)] = if matches!(place, Place::Pull(_)) { &NEW_NOTE } else { &NEW_ISSUE_NOTE };
    let malformed = |_: Malformed| bad("The request body is malformed");
    let body = request.object(known, &mut state.violations).map_err(malformed)?;
    let words = text(&body, "body").ok_or_else(|| bad("body is missing"))?;
    if words.trim().is_empty() {
        let message = "400 Bad request - Note {:note=>[\"can't be blank\"]}";
        return Err(Reply::json(400, &json!({ "message": message })));
    }
    if has_quick_action(words) {
        state.violate(request.violation("GitLab takes a line of the note for a command"));
    }
    let id = state.say(visit.repo, Said::plainly(place, by, words));
    let repo = visit.repo(state);
    Ok(Reply::json(201, &talk::note(repo, repo.talk.remark(id).unwrap(), &request.origin)))
}

/// Whether GitLab would carry out a line instead of posting it: some of what it knows as quick actions. Those in blocks of
/// code are left alone.
fn has_quick_action(words: &str) -> bool {
    const SOME: [&str; 12] = [
        "approve",
        "assign",
        "assign_reviewer",
        "close",
        "draft",
        "label",
        "lock",
        "merge",
        "rebase",
        "reopen",
        "title",
        "unapprove",
    ];
    let mut code = false;
    words.lines().any(|line| {
        code ^= line.starts_with("```");
        let command = line.strip_prefix('/').and_then(|rest| rest.split_whitespace().next());
        !code && command.is_some_and(|command| SOME.contains(&command))
    })
}

/// The numbers of reviewers in a body; none if it does not name any. Whoever GitLab does not know, or who may not see the
/// project, is left out without a word.
pub(super) fn reviewers(visit: &Visit, body: &Map<String, Value>, state: &State) -> Result<Option<Vec<String>>, Reply> {
    let Some(list) = body.get("reviewer_ids") else { return Ok(None) };
    let ids: Option<Vec<u64>> = list.as_array().and_then(|list| list.iter().map(Value::as_u64).collect());
    let ids = ids.ok_or_else(|| bad("reviewer_ids is invalid"))?;
    let repo = visit.repo(state);
    let known = ids.into_iter().filter_map(|id| state.known_by_id(id));
    Ok(Some(known.filter(|login| state.reach(repo, login) >= Access::Read).collect()))
}

/// Writes labels and reviewers into a merge request. Labels that the project does not have are made.
pub(super) fn assign(
    visit: &Visit,
    number: u64,
    body: &Map<String, Value>,
    reviewers: Option<Vec<String>>,
    state: &mut State,
) {
    let names = |field: &str| -> Option<Vec<String>> {
        let list = text(body, field)?;
        Some(list.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect())
    };
    let place = Place::Pull(number);
    if let Some(all) = names("labels") {
        let worn = visit.repo(state).pull(number).unwrap().labels.clone();
        worn.iter().for_each(|name| state.mark(visit.repo, place, name, false));
        all.iter().for_each(|name| put(visit, place, name, state));
    }
    names("add_labels").unwrap_or_default().iter().for_each(|name| put(visit, place, name, state));
    names("remove_labels").unwrap_or_default().iter().for_each(|name| state.mark(visit.repo, place, name, false));
    if let Some(reviewers) = reviewers {
        state.by_id_mut(visit.repo).and_then(|repo| repo.pull_mut(number)).unwrap().reviewers = reviewers;
    }
}

fn put(visit: &Visit, place: Place, name: &str, state: &mut State) {
    let label = state.put_label(visit.repo, name).name;
    state.mark(visit.repo, place, &label, true);
}
