//! What is said on Forgejo and Gitea, labels, reviews, and who may do what. Whatever is below `issues` asks for a scope of
//! its own, also where it is about a pull request.

use copydesk_domain::PullRequestState;
use hyper::Method;
use serde_json::{Value, json};

use super::acts::Said;
use super::exchange::{Is, Reply, Request, page, text};
use super::forgejo_errors::{error, not_found, unknown};
use super::forgejo_talk_views as talk;
use super::forgejo_views as views;
use super::people::{Access, id_of};
use super::state::{State, Visit};
use super::talk::{Label, Place, Remark, Review};

const PAGES: [&str; 2] = ["page", "limit"];

fn scope(name: &str) -> Reply {
    error(403, &format!("token does not have at least one of required scope(s): [{name}]"))
}

/// The login of whoever asks.
fn login(visit: &Visit) -> Result<&str, Reply> {
    visit.token.as_ref().map(|token| token.login()).ok_or_else(|| error(401, "token is required"))
}

/// Answers what is asked for below `issues`.
pub(super) fn issues(visit: &Visit, rest: &[&str], request: &Request, state: &mut State) -> Result<Reply, Reply> {
    // A token that may write to the repository and not to its issues has no scope for them at all.
    if visit.rights.open && !visit.rights.issues {
        return Err(scope(if request.method == Method::GET { "read:issue" } else { "write:issue" }));
    }
    let number = |text: &str| text.parse().ok().and_then(|number| state.place(visit.repo, number));
    let (repo, origin) = (visit.repo(state), &request.origin);
    match (request.method.clone(), rest) {
        (Method::GET, ["comments", id]) => {
            let remark = id.parse().ok().and_then(|id| repo.talk.remark(id)).ok_or_else(not_found)?;
            // A comment at a line is there, but not shown.
            let shown = remark.is_plain();
            Ok(if shown { Reply::json(200, &talk::comment(repo, remark, origin)) } else { Reply::text(204, "") })
        }
        (Method::GET, [text]) => {
            let view = match number(text).ok_or_else(not_found)? {
                Place::Pull(number) => talk::pull_as_issue(repo, repo.pull(number).unwrap(), origin),
                Place::Issue(number) => talk::issue(repo, repo.talk.issue(number).unwrap(), origin),
            };
            Ok(Reply::json(200, &view))
        }
        (Method::GET, [text, "comments"]) => {
            // They have nothing better to say of a number that is not there.
            let place = number(text).ok_or_else(|| error(500, ""))?;
            let said: Vec<&Remark> = repo.talk.said(place).into_iter().filter(|remark| remark.is_plain()).collect();
            let views = said.iter().map(|remark| talk::comment(repo, remark, origin)).collect();
            let reply = Reply::json(200, &views).with("x-total-count", said.len());
            // There are no pages: all of them come at once.
            request.expect_queries(&["since", "before"], &mut state.violations);
            Ok(reply)
        }
        (Method::POST, [text, "comments"]) => {
            let place = number(text);
            comment(visit, place, request, state)
        }
        (Method::POST, [text, "labels"]) => {
            let place = number(text);
            add_labels(visit, place, request, state)
        }
        _ => Err(unknown(request, state)),
    }
}

fn comment(visit: &Visit, place: Option<Place>, request: &Request, state: &mut State) -> Result<Reply, Reply> {
    let by = login(visit)?.to_owned();
    if !visit.rights.issues {
        return Err(scope("write:issue"));
    }
    // `updated_at` is Forgejo's.
    let known = [("body", Is::Text), ("updated_at", Is::Text)];
    let body = request.object(&known, &mut state.violations).map_err(|_| error(422, "[]: Deserialization"))?;
    let words = text(&body, "body").filter(|body| !body.is_empty()).ok_or_else(|| error(422, "[Body]: Required"))?;
    let place = place.ok_or_else(|| error(500, ""))?;
    let id = state.say(visit.repo, Said::plainly(place, &by, words));
    let repo = visit.repo(state);
    Ok(Reply::json(201, &talk::comment(repo, repo.talk.remark(id).unwrap(), &request.origin)))
}

/// Adds labels, named by their ids or, since Gitea 1.22 and Forgejo 7, by their names, but not by both. What the repository
/// does not have is passed over without a word.
fn add_labels(visit: &Visit, place: Option<Place>, request: &Request, state: &mut State) -> Result<Reply, Reply> {
    login(visit)?;
    if !visit.rights.issues {
        return Err(scope("write:issue"));
    }
    let known = [("labels", Is::List), ("updated_at", Is::Text)];
    let body = request.object(&known, &mut state.violations).map_err(|_| error(422, "[]: Deserialization"))?;
    let place = place.ok_or_else(not_found)?;
    if !visit.rights.push {
        return Err(error(403, "write permission is required"));
    }
    let list = body.get("labels").and_then(Value::as_array).cloned().unwrap_or_default();
    if list.iter().any(|label| !label.is_number() && !label.is_string()) {
        return Err(error(400, "a label must be an integer or a string"));
    }
    if list.iter().any(Value::is_number) && list.iter().any(Value::is_string) {
        return Err(error(400, "labels should be an array of strings or integers"));
    }
    let wanted = |label: &&Label| list.contains(&json!(label.id)) || list.contains(&json!(label.name));
    let found: Vec<String> =
        visit.repo(state).talk.labels.iter().filter(wanted).map(|label| label.name.clone()).collect();
    found.iter().for_each(|name| state.mark(visit.repo, place, name, true));
    let repo = visit.repo(state);
    let worn = match place {
        Place::Pull(number) => &repo.pull(number).unwrap().labels,
        Place::Issue(number) => &repo.talk.issue(number).unwrap().labels,
    };
    Ok(Reply::json(200, &views::labels(repo, worn, &request.origin)))
}

/// A page of a list.
fn paged<T>(items: &[&T], request: &Request, view: impl Fn(&T) -> Value) -> Reply {
    let (at, size) = (request.number("page", 1, 10_000), request.number("limit", 30, 50));
    let (shown, link) = page(items, request, &request.path, at, size);
    let reply = Reply::json(200, &shown.into_iter().map(view).collect()).with("x-total-count", items.len());
    reply.with_some("link", link)
}

pub(super) fn labels(visit: &Visit, request: &Request, state: &mut State) -> Result<Reply, Reply> {
    if visit.rights.open && !visit.rights.issues {
        return Err(scope("read:issue"));
    }
    request.expect_queries(&["page", "limit", "sort"], &mut state.violations);
    let repo = visit.repo(state);
    let mut all: Vec<&Label> = repo.talk.labels.iter().collect();
    all.sort_by_key(|label| label.name.to_lowercase());
    Ok(paged(&all, request, |label| views::label(repo, label, &request.origin)))
}

/// The reviews of a pull request, with those that are only asked for.
pub(super) fn reviews(visit: &Visit, pull: u64, request: &Request, state: &mut State) -> Reply {
    request.expect_queries(&PAGES, &mut state.violations);
    let repo = visit.repo(state);
    let all: Vec<&Review> = repo.talk.reviews.iter().filter(|review| review.pull == pull).collect();
    paged(&all, request, |review| talk::review(repo, review, &request.origin))
}

/// One review.
pub(super) fn review(visit: &Visit, pull: u64, id: &str, request: &Request, state: &mut State) -> Result<Reply, Reply> {
    request.expect_queries(&[], &mut state.violations);
    let repo = visit.repo(state);
    let review = id.parse().ok().and_then(|id| repo.talk.review(pull, id)).ok_or_else(not_found)?;
    Ok(Reply::json(200, &talk::review(repo, review, &request.origin)))
}

/// The comments at lines that a review came with, all at once.
pub(super) fn review_comments(
    visit: &Visit,
    pull: u64,
    id: &str,
    request: &Request,
    state: &mut State,
) -> Result<Reply, Reply> {
    request.expect_queries(&[], &mut state.violations);
    let repo = visit.repo(state);
    let review = id.parse().ok().and_then(|id| repo.talk.review(pull, id)).ok_or_else(not_found)?;
    let said = repo.talk.remarks.iter().filter(|remark| remark.review == Some(review.id));
    let view = |remark: &Remark| talk::review_comment(repo, remark, review, &request.origin);
    Ok(Reply::json(200, &said.map(view).collect()))
}

/// Asks people for a review, and gives what is new.
pub(super) fn ask(visit: &Visit, pull: u64, request: &Request, state: &mut State) -> Result<Reply, Reply> {
    let known = [("reviewers", Is::List), ("team_reviewers", Is::List)];
    let body = request.object(&known, &mut state.violations).map_err(|_| error(422, "[]: Deserialization"))?;
    let list = body.get("reviewers").and_then(Value::as_array).cloned().unwrap_or_default();
    let names: Option<Vec<&str>> = list.iter().map(Value::as_str).collect();
    let names = names.ok_or_else(|| error(422, "[]: Deserialization"))?;
    let (doer, repo) = (login(visit)?, visit.repo(state));
    let there = repo.pull(pull).unwrap();
    let invalid = |reason: &str| error(422, &format!("{reason} [user_id: {}, repo_id: {}]", id_of(doer), repo.id));
    let mut people = Vec::new();
    for name in names {
        let known = state.known(name).ok_or_else(|| error(404, &format!("User '{name}' not exist")))?;
        if state.reach(repo, &known) < Access::Read {
            return Err(invalid("Reviewer can't read"));
        }
        if known == there.author {
            return Err(invalid("poster of pr can't be reviewer"));
        }
        if !visit.rights.push {
            return Err(invalid("Doer can't choose reviewer"));
        }
        people.push(known);
    }
    if there.state != PullRequestState::Open && !people.is_empty() {
        return Err(error(403, "cannot request a re-review on a closed or merged PR"));
    }
    people.retain(|login| !there.reviewers.contains(login));
    let new: Vec<u64> = people.iter().map(|login| state.put_review(visit.repo, pull, login, "", true)).collect();
    let repo = visit.repo(state);
    let views = new.iter().filter_map(|id| repo.talk.review(pull, *id));
    Ok(Reply::json(201, &views.map(|review| talk::review(repo, review, &request.origin)).collect()))
}

/// Everybody who may write, and members of teams that may read.
pub(super) fn assignees(visit: &Visit, request: &Request, state: &mut State) -> Result<Reply, Reply> {
    login(visit)?;
    request.expect_queries(&[], &mut state.violations);
    let repo = visit.repo(state);
    let reads_in_team = |login: &str| repo.teams.values().any(|team| team.access >= Access::Read && team.has(login));
    let is_one = |login: &String| state.access(repo, login) >= Access::Write || reads_in_team(login);
    let people = state.logins().into_iter().filter(is_one);
    Ok(Reply::json(200, &people.map(|login| views::user(&login, &request.origin)).collect()))
}

/// The teams of the organisation that may do something in the repository.
pub(super) fn teams(visit: &Visit, request: &Request, state: &mut State) -> Result<Reply, Reply> {
    login(visit)?;
    request.expect_queries(&[], &mut state.violations);
    let repo = visit.repo(state);
    if repo.teams.is_empty() {
        return Err(error(405, "repo is not owned by an organization"));
    }
    Ok(Reply::json(200, &repo.teams.iter().map(|(name, team)| views::team(name, team)).collect()))
}

/// What somebody may do in the repository but as a member of a team: for its admins, and for themselves.
pub(super) fn permission(visit: &Visit, whom: &str, request: &Request, state: &State) -> Result<Reply, Reply> {
    if !login(visit)?.eq_ignore_ascii_case(whom) && !visit.rights.admin {
        let message = "Only admins can query all permissions, repo admins can query all repo permissions, \
                       collaborators can query only their own";
        return Err(error(403, message));
    }
    let known = state.known(whom);
    let known = known.ok_or_else(|| error(404, &format!("user does not exist [uid: 0, name: {whom}]")))?;
    let word = state.reach(visit.repo(state), &known).word();
    let user = views::user(&known, &request.origin);
    Ok(Reply::json(200, &json!({ "permission": word, "role_name": word, "user": user })))
}
