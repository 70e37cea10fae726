//! What is said on Bitbucket's pull requests, its issues, reviewers, and who may do what.

use serde_json::{Map, Value, json};

use super::acts::Said;
use super::bitbucket_errors::{error, lacking, wrong};
use super::bitbucket_talk_views as talk;
use super::bitbucket_views as views;
use super::exchange::{Is, Reply, Request};
use super::people::{Access, account_of, uuid_of};
use super::state::{State, Visit};
use super::talk::{Place, Remark};

/// A page of a list, and where the next one is.
pub(super) fn paged<T>(items: &[&T], request: &Request, view: impl Fn(&T) -> Value) -> Reply {
    let (at, size) = (request.number("page", 1, 10_000), request.number("pagelen", 10, 50));
    let shown: Vec<Value> = items.iter().skip((at - 1) * size).take(size).map(|item| view(item)).collect();
    let mut body = json!({ "values": shown, "pagelen": size, "size": items.len(), "page": at });
    if at * size < items.len() {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(request.queries().iter().filter(|(name, _)| name != "page"));
        query.append_pair("page", &(at + 1).to_string());
        body["next"] = json!(format!("{}{}?{}", request.origin, request.path, query.finish()));
    }
    Reply::json(200, &body)
}

/// All that was said on a pull request, the oldest first, with what is left of deleted comments.
pub(super) fn comments(visit: &Visit, pull: u64, request: &Request, state: &mut State) -> Reply {
    request.expect_queries(&["q", "sort", "page", "pagelen", "fields"], &mut state.violations);
    let repo = visit.repo(state);
    let mut said: Vec<&Remark> = repo.talk.said(Place::Pull(pull));
    if request.query("sort").is_some_and(|sort| sort.starts_with('-')) {
        said.reverse();
    }
    paged(&said, request, |remark| talk::comment(repo, remark, &request.origin))
}

pub(super) fn comment(visit: &Visit, pull: u64, id: &str, request: &Request, state: &State) -> Result<Reply, Reply> {
    let repo = visit.repo(state);
    let remark = id.parse().ok().and_then(|id| repo.talk.remark(id));
    let remark = remark.filter(|remark| remark.place == Place::Pull(pull));
    let remark = remark.ok_or_else(|| error(404, "Comment not found"))?;
    Ok(Reply::json(200, &talk::comment(repo, remark, &request.origin)))
}

pub(super) fn say(visit: &Visit, pull: u64, by: &str, request: &Request, state: &mut State) -> Result<Reply, Reply> {
    const FIELDS: [(&str, Is); 5] = [
        ("content", Is::Object),
        ("inline", Is::Object),
        ("parent", Is::Object),
        ("pending", Is::Flag),
        ("type", Is::Text),
    ];
    let body = request.object(&FIELDS, &mut state.violations).map_err(|_| error(400, "Bad request"))?;
    let content = body.get("content").and_then(Value::as_object);
    let strange = |name: &&String| !["raw", "markup", "type"].contains(&name.as_str());
    if let Some(field) = content.into_iter().flat_map(Map::keys).find(strange) {
        state.violate(request.violation(&format!("there is no field {field:?} in \"content\"")));
    }
    let words = content.and_then(|content| content.get("raw")).and_then(Value::as_str);
    let words = words.filter(|words| !words.trim().is_empty());
    let words = words.ok_or_else(|| wrong("content", "This field is required."))?.to_owned();
    let at = body.get("inline").map(|inline| {
        let file = inline["path"].as_str().ok_or_else(|| wrong("inline", "path is required"))?;
        let line = inline["to"].as_u64().ok_or_else(|| wrong("inline", "to or from is required"))?;
        Ok((file.to_owned(), line))
    });
    let place = Place::Pull(pull);
    let said = Said { place, by: by.to_owned(), body: words, at: at.transpose()?, review: None };
    let id = state.say(visit.repo, said);
    let repo = visit.repo(state);
    let view = talk::comment(repo, repo.talk.remark(id).unwrap(), &request.origin);
    let location = view["links"]["self"]["href"].as_str().unwrap_or_default().to_owned();
    Ok(Reply::json(201, &view).with("location", location))
}

pub(super) fn issue(visit: &Visit, number: &str, request: &Request, state: &State) -> Result<Reply, Reply> {
    let repo = visit.repo(state);
    if repo.talk.issues.is_empty() {
        return Err(error(404, "Repository has no issue tracker."));
    }
    let issue = number.parse().ok().and_then(|number| repo.talk.issue(number));
    let issue = issue.ok_or_else(|| error(404, &format!("No Issue matches the given query: {number}")))?;
    Ok(Reply::json(200, &talk::issue(repo, issue, &request.origin)))
}

/// Whoever has a uuid, with its braces, or an account id.
fn known(id: &str, state: &State) -> Option<String> {
    state.logins().into_iter().find(|login| uuid_of(login) == id || account_of(login) == id)
}

/// What somebody was given in the repository by name. Only its admins may ask.
pub(super) fn permission(visit: &Visit, id: &str, request: &Request, state: &State) -> Result<Reply, Reply> {
    if !visit.rights.admin {
        return Err(lacking(visit.rights, "repository:admin"));
    }
    let repo = visit.repo(state);
    let login = known(id, state).filter(|login| state.access(repo, login) > Access::None);
    let login = login.ok_or_else(|| error(404, "The user has no explicit permission for this repository"))?;
    let own = format!("{}{}", request.origin, request.path);
    let body = json!({
        "type": "repository_user_permission", "permission": state.access(repo, &login).word(),
        "user": views::user(&login, &request.origin), "links": { "self": { "href": own } },
    });
    Ok(Reply::json(200, &body))
}

/// The reviewers that a body names, by their uuids; none if it does not.
pub(super) fn reviewers(
    visit: &Visit,
    author: &str,
    body: &Map<String, Value>,
    state: &State,
) -> Result<Option<Vec<String>>, Reply> {
    let Some(list) = body.get("reviewers") else { return Ok(None) };
    let malformed = || wrong("reviewers", "Malformed reviewers list");
    let mut logins = Vec::new();
    for one in list.as_array().ok_or_else(malformed)? {
        let id = one["uuid"].as_str().or(one["account_id"].as_str()).ok_or_else(malformed)?;
        let login = known(id, state).ok_or_else(malformed)?;
        if login == author {
            let words = format!("{login} is the author and cannot be included as a reviewer.");
            return Err(wrong("reviewers", &words));
        }
        if state.reach(visit.repo(state), &login) < Access::Read {
            let words = format!("{login} does not have access to view this pull request");
            return Err(wrong("reviewers", &words));
        }
        logins.push(login);
    }
    Ok(Some(logins))
}
