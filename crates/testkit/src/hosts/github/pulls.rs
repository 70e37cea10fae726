//! GitHub's pull requests.

use copydesk_domain::PullRequestState;
use serde_json::{Map, Value, json};

use super::{REST, error, invalid, not_found, views, writer};
use crate::hosts::exchange::{Is, Malformed, Reply, Request, page, text};
use crate::hosts::state::{Opening, Pull, Refused, Repo, State, Visit};

/// The longest text of a pull request or comment.
const LONGEST_BODY: usize = 65_536;

pub(super) fn list(repo: &Repo, request: &Request) -> Reply {
    let head = request.query("head").filter(|head| head.contains(':'));
    let base = request.query("base");
    let state = request.query("state").unwrap_or_else(|| "open".to_owned());
    let fits = |pull: &&Pull| {
        let open = pull.state == PullRequestState::Open;
        // Without an owner before it, `head` is not looked at: all are listed.
        head.as_ref().is_none_or(|head| head.eq_ignore_ascii_case(&format!("{}:{}", repo.owner(), pull.head)))
            && base.as_ref().is_none_or(|base| *base == pull.base)
            && (state == "all" || (state == "open") == open)
    };
    let mut found: Vec<&Pull> = repo.pulls.iter().filter(fits).collect();
    // The newest first, unless the other way is asked for; by another order the fallback turns around.
    let descending = match (request.query("direction").as_deref(), request.query("sort").as_deref()) {
        (Some(direction), _) => direction == "desc",
        (None, sort) => sort.is_none_or(|sort| sort == "created"),
    };
    if descending {
        found.reverse();
    }
    // However the list was asked for, the pages are at the number of the repository.
    let path = format!("{REST}/repositories/{}/pulls", repo.id);
    let (at, size) = (request.number("page", 1, 10_000), request.number("per_page", 30, 100));
    let (found, link) = page(&found, request, &path, at, size);
    let views: Vec<Value> = found.iter().map(|pull| views::pull(repo, pull, &request.origin, false)).collect();
    let reply = Reply::json(200, &Value::Array(views));
    reply.with_some("link", link)
}

/// The parameters of [`list`].
pub(super) const LIST: [&str; 7] = ["head", "base", "state", "sort", "direction", "page", "per_page"];

pub(super) fn malformed(_: Malformed) -> Reply {
    error(400, "Problems parsing JSON")
}

fn missing(field: &str) -> Value {
    json!([{ "resource": "PullRequest", "code": "missing_field", "field": field }])
}

/// What is too long, if anything.
pub(super) fn too_long(body: &Map<String, Value>, resource: &str) -> Option<Reply> {
    let long = text(body, "body").is_some_and(|text| text.chars().count() > LONGEST_BODY);
    let message = format!("body is too long (maximum is {LONGEST_BODY} characters)");
    long.then(|| invalid(json!([{ "resource": resource, "code": "custom", "field": "body", "message": message }])))
}

pub(super) fn create(visit: &Visit, request: &Request, state: &mut State) -> Result<Reply, Reply> {
    const FIELDS: [(&str, Is); 8] = [
        ("title", Is::Text),
        ("head", Is::Text),
        ("head_repo", Is::Text),
        ("base", Is::Text),
        ("body", Is::Text),
        ("maintainer_can_modify", Is::Flag),
        ("draft", Is::Flag),
        ("issue", Is::Number),
    ];
    let author = writer(visit)?.login().to_owned();
    let body = request.object(&FIELDS, &mut state.violations).map_err(malformed)?;
    let field = |name: &str| text(&body, name).filter(|text| !text.is_empty()).ok_or_else(|| invalid(missing(name)));
    let (title, head, base) = (field("title")?, field("head")?, field("base")?);
    if let Some(refusal) = too_long(&body, "PullRequest") {
        return Err(refusal);
    }
    let repo = visit.repo(state);
    let owner = repo.owner().to_owned();
    let head = head.strip_prefix(&format!("{owner}:")).unwrap_or(head).to_owned();
    let draft = body.get("draft") == Some(&json!(true));
    if draft && !repo.drafts {
        return Err(error(422, "Draft pull requests are not supported in this repository."));
    }
    let words = text(&body, "body").unwrap_or_default().to_owned();
    let new =
        Opening { head: head.clone(), base: base.to_owned(), title: title.to_owned(), body: words, draft, author };
    let custom = |message: String| json!([{ "resource": "PullRequest", "code": "custom", "message": message }]);
    let field = |name: &str| json!([{ "resource": "PullRequest", "field": name, "code": "invalid" }]);
    let opened = state.open(visit.repo, new, false).map_err(|refused| match refused {
        Refused::NoHead => invalid(field("head")),
        Refused::NoBase => invalid(field("base")),
        Refused::SameBranch | Refused::NoCommits => invalid(custom(format!("No commits between {base} and {head}"))),
        Refused::Exists(_) => invalid(custom(format!("A pull request already exists for {owner}:{head}."))),
    })?;
    let view = views::pull(visit.repo(state), &opened, &request.origin, true);
    let location = view["url"].as_str().unwrap_or_default().to_owned();
    Ok(Reply::json(201, &view).with("location", location))
}

/// The pull request of a number in a path.
pub(super) fn numbered(visit: &Visit, number: &str, state: &State) -> Result<u64, Reply> {
    visit.number(number, state).ok_or_else(not_found)
}

pub(super) fn view(visit: &Visit, number: u64, request: &Request, state: &State) -> Reply {
    let repo = visit.repo(state);
    Reply::json(200, &views::pull(repo, repo.pull(number).unwrap(), &request.origin, true))
}

pub(super) fn read(visit: &Visit, number: &str, request: &Request, state: &State) -> Result<Reply, Reply> {
    let number = numbered(visit, number, state)?;
    Ok(view(visit, number, request, state))
}

pub(super) fn update(visit: &Visit, number: &str, request: &Request, state: &mut State) -> Result<Reply, Reply> {
    // There is no `draft`: only GraphQL changes that.
    const FIELDS: [(&str, Is); 5] = [
        ("title", Is::Text),
        ("body", Is::Text),
        ("state", Is::Text),
        ("base", Is::Text),
        ("maintainer_can_modify", Is::Flag),
    ];
    let number = numbered(visit, number, state)?;
    writer(visit)?;
    let body = request.object(&FIELDS, &mut state.violations).map_err(malformed)?;
    if text(&body, "title") == Some("") {
        return Err(invalid(missing("title")));
    }
    if let Some(refusal) = too_long(&body, "PullRequest") {
        return Err(refusal);
    }
    let now = state.now();
    let repo = state.by_id_mut(visit.repo).unwrap();
    if let Some(base) = text(&body, "base") {
        let there = repo.tip(base).is_some();
        let pull = repo.pull_mut(number).unwrap();
        if pull.base != base {
            if !there || pull.state != PullRequestState::Open {
                return Err(invalid(json!([{ "resource": "PullRequest", "field": "base", "code": "invalid" }])));
            }
            pull.base = base.to_owned();
        }
    }
    let pull = repo.pull_mut(number).unwrap();
    if let Some(title) = text(&body, "title") {
        pull.title = title.to_owned();
    }
    if let Some(words) = text(&body, "body") {
        pull.body = words.to_owned();
    }
    pull.updated_at = now;
    match text(&body, "state") {
        Some(wanted @ ("open" | "closed")) => state.set_open(visit.repo, number, wanted == "open"),
        Some(_) => return Err(invalid(json!([{ "resource": "PullRequest", "field": "state", "code": "invalid" }]))),
        None => {}
    }
    Ok(view(visit, number, request, state))
}
