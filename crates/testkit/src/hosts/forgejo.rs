//! Forgejo and Gitea: the interface at `/api/v1`. A draft is one by its title; lists cannot be narrowed down to a branch;
//! a change answers 201.

use copydesk_domain::PullRequestState;
use hyper::Method;
use serde_json::{Value, json};

use super::dialect::{ApiRefusal, Dialect, GitRefusal};
use super::exchange::{Is, Reply, Request, page, text};
use super::forgejo_errors::{error, not_found, unauthorized, unknown};
use super::forgejo_talk as said;
use super::forgejo_talk_views as talk;
use super::forgejo_views as views;
use super::hooks::Delivery;
use super::news::{News, Telling};
use super::state::{Hook, Opening, Pull, Refused, Repo, Rights, State, Token, Visit};

const REST: &str = "/api/v1";
const LONGEST_TITLE: usize = 255;

pub(super) struct Forgejo;

impl Dialect for Forgejo {
    fn prefix(&self) -> &'static str {
        REST
    }

    fn answer(&self, request: &Request, state: &mut State) -> Reply {
        let reply = route(request, state).unwrap_or_else(|refusal| refusal);
        reply.with("cache-control", "max-age=0, private, must-revalidate, no-transform")
    }

    fn refuse(&self, refusal: ApiRefusal, _: &State) -> Reply {
        match refusal {
            // The proxy before it says these.
            ApiRefusal::Status(status @ 502..=504) => {
                Reply::new(status, "text/html", "<html><head><title>Bad Gateway</title></head></html>")
            }
            ApiRefusal::Status(status) => error(status, ""),
            ApiRefusal::RateLimit(wait) | ApiRefusal::SecondaryLimit(wait) => {
                Reply::new(429, "text/html", "<html><head><title>429 Too Many Requests</title></head></html>")
                    .with_some("retry-after", wait)
            }
            ApiRefusal::Revoked => unauthorized(),
        }
    }

    fn new_token(&self, number: u64) -> String {
        format!("{number:040x}")
    }

    fn git_token(&self, user: &str, password: &str, state: &State) -> Option<Token> {
        // A token goes as the password with any name, or as the name.
        match password {
            "" | "x-oauth-basic" => state.token(user),
            password => state.token(password),
        }
    }

    fn git_refusal(&self, refusal: GitRefusal, _: &str) -> Reply {
        match refusal {
            GitRefusal::Anonymous | GitRefusal::Unknown => {
                Reply::text(401, "authentication required").with("www-authenticate", "Basic realm=\"Gitea\"")
            }
            GitRefusal::Hidden => Reply::text(404, "Repository not found"),
            GitRefusal::ReadOnly => Reply::text(403, "User permission denied for writing."),
        }
    }

    fn refuses_readers_late(&self) -> Option<&'static str> {
        Some("User permission denied for writing.")
    }

    fn archived(&self) -> &'static str {
        "This repo is archived. You can view files and clone it, but cannot push or open issues/pull-requests."
    }

    fn protected(&self, branch: &str) -> String {
        format!("Forgejo: Not allowed to push to protected branch {branch}")
    }

    fn delivery(&self, repo: &Repo, pull: &Pull, hook: &Hook, origin: &str) -> Delivery {
        let body = json!({
            "action": "closed", "number": pull.number, "pull_request": views::pull(repo, pull, origin),
            "requested_reviewer": null, "repository": views::repo(repo, origin, Rights::READ),
            "sender": views::user("forge-reviewer", origin), "commit_id": "", "review": null,
        });
        talk::send(("pull_request", "pull_request"), &body, pull.number, hook)
    }

    fn told(&self, news: &News<'_>, to: &Telling<'_>) -> Delivery {
        talk::told(news, to)
    }
}

/// Whose token a request shows.
fn caller(request: &Request, state: &State) -> Result<Option<Token>, Reply> {
    let secret = match request.authorization() {
        Some((scheme, secret)) if scheme == "token" || scheme == "bearer" => secret.to_owned(),
        Some((scheme, _)) if scheme == "basic" => request.basic().ok_or_else(unauthorized)?.1,
        None if request.header("authorization").is_none() => return Ok(None),
        _ => return Err(unauthorized()),
    };
    state.token(&secret).map(Some).ok_or_else(unauthorized)
}

fn route(request: &Request, state: &mut State) -> Result<Reply, Reply> {
    request.expect_user_agent(&mut state.violations);
    let token = caller(request, state)?;
    let Some(parts) = request.parts(REST) else { return Err(unknown(request, state)) };
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    match (request.method.clone(), parts.as_slice()) {
        (Method::GET, ["user"]) => {
            let token = token.ok_or_else(|| error(401, "token is required"))?;
            Ok(Reply::json(200, &views::user(token.login(), &request.origin)))
        }
        (Method::GET, ["version"]) => Ok(Reply::json(200, &json!({ "version": "11.0.1+gitea-1.22.0" }))),
        (_, ["repos", owner, name, rest @ ..]) => in_repo(&format!("{owner}/{name}"), rest, token, request, state),
        _ => Err(unknown(request, state)),
    }
}

/// Whoever may open pull requests; else what the host says.
fn writer(visit: &Visit) -> Result<&Token, Reply> {
    let token = visit.token.as_ref().ok_or_else(|| error(401, "token is required"))?;
    let message = "token does not have at least one of required scope(s): [write:repository]";
    if visit.rights.open { Ok(token) } else { Err(error(403, message)) }
}

fn in_repo(
    path: &str,
    rest: &[&str],
    token: Option<Token>,
    request: &Request,
    state: &mut State,
) -> Result<Reply, Reply> {
    let here = state.find(path);
    let repo = here.or_else(|| state.find_moved(path)).ok_or_else(not_found)?;
    let rights = state.rights(token.as_ref(), repo);
    if !rights.read {
        return Err(not_found());
    }
    if here.is_none() {
        let location = request.moved_to(&format!("{REST}/repos/{}", repo.path), rest);
        return Err(Reply::text(307, "").with("location", location));
    }
    // Without the unit there is nothing below it, and what is archived cannot be written to.
    if rest.first() == Some(&"pulls") && !repo.takes_pulls {
        return Err(not_found());
    }
    if request.method != Method::GET && repo.archived {
        return Err(error(423, &format!("{} is archived", repo.path)));
    }
    let visit = Visit { repo: repo.id, token, rights };
    match (request.method.clone(), rest) {
        (Method::GET, []) => Ok(Reply::json(200, &views::repo(repo, &request.origin, rights))),
        (Method::GET, ["branches", branch @ ..]) => {
            let branch = branch.join("/");
            let tip = repo.tip(&branch).ok_or_else(not_found)?;
            let protected = repo.protected.contains(&branch);
            Ok(Reply::json(200, &json!({ "name": branch, "commit": { "id": tip }, "protected": protected })))
        }
        (Method::GET, ["pulls"]) => {
            let reply = list(repo, request);
            request.expect_queries(&LIST, &mut state.violations);
            Ok(reply)
        }
        (Method::POST, ["pulls"]) => create(&visit, request, state),
        (Method::GET, ["pulls", number]) => {
            let number = numbered(&visit, number, state)?;
            Ok(view(&visit, 200, number, request, state))
        }
        (Method::GET, ["pulls", number, "reviews"]) => {
            let number = numbered(&visit, number, state)?;
            Ok(said::reviews(&visit, number, request, state))
        }
        (Method::GET, ["pulls", number, "reviews", id]) => {
            let number = numbered(&visit, number, state)?;
            said::review(&visit, number, id, request, state)
        }
        (Method::GET, ["pulls", number, "reviews", id, "comments"]) => {
            let number = numbered(&visit, number, state)?;
            said::review_comments(&visit, number, id, request, state)
        }
        (Method::POST, ["pulls", number, "requested_reviewers"]) => {
            let number = numbered(&visit, number, state)?;
            writer(&visit)?;
            said::ask(&visit, number, request, state)
        }
        (Method::GET, ["pulls", base, head @ ..]) => {
            // The oldest of these branches, whatever became of it; the branch may hold slashes.
            let head = head.join("/");
            let pull = repo.pulls.iter().find(|pull| pull.base == *base && pull.head == head);
            Ok(Reply::json(200, &views::pull(repo, pull.ok_or_else(not_found)?, &request.origin)))
        }
        (Method::PATCH, ["pulls", number]) => update(&visit, number, request, state),
        (_, ["issues", rest @ ..]) => said::issues(&visit, rest, request, state),
        (Method::GET, ["labels"]) => said::labels(&visit, request, state),
        (Method::GET, ["assignees"]) => said::assignees(&visit, request, state),
        (Method::GET, ["teams"]) => said::teams(&visit, request, state),
        (Method::GET, ["collaborators", login, "permission"]) => said::permission(&visit, login, request, state),
        _ => Err(unknown(request, state)),
    }
}

/// Newer versions know `head` as well; this one looks at it as little as older ones do.
const LIST: [&str; 8] = ["head", "state", "sort", "milestone", "labels", "poster", "page", "limit"];

fn list(repo: &Repo, request: &Request) -> Reply {
    let state = request.query("state").unwrap_or_else(|| "open".to_owned());
    let fits = |pull: &&Pull| state == "all" || (state == "open") == (pull.state == PullRequestState::Open);
    let mut found: Vec<&Pull> = repo.pulls.iter().filter(fits).collect();
    match request.query("sort").as_deref() {
        Some("oldest") => {}
        Some("recentupdate") => found.sort_by_key(|pull| std::cmp::Reverse((pull.updated_at, pull.number))),
        _ => found.reverse(),
    }
    let (shown, link) =
        page(&found, request, &request.path, request.number("page", 1, 10_000), request.number("limit", 30, 50));
    let values: Vec<Value> = shown.iter().map(|pull| views::pull(repo, pull, &request.origin)).collect();
    let reply = Reply::json(200, &Value::Array(values)).with("x-total-count", found.len());
    reply.with_some("link", link)
}

fn check_title(title: &str) -> Result<(), Reply> {
    let long = title.chars().count() > LONGEST_TITLE;
    if long { Err(error(422, "[Title]: MaxSize")) } else { Ok(()) }
}

fn create(visit: &Visit, request: &Request, state: &mut State) -> Result<Reply, Reply> {
    const FIELDS: [(&str, Is); 11] = [
        ("assignee", Is::Text),
        ("assignees", Is::List),
        ("base", Is::Text),
        ("body", Is::Text),
        ("due_date", Is::Text),
        ("head", Is::Text),
        ("labels", Is::List),
        ("milestone", Is::Number),
        ("reviewers", Is::List),
        ("team_reviewers", Is::List),
        ("title", Is::Text),
    ];
    let author = writer(visit)?.login().to_owned();
    let body = request.object(&FIELDS, &mut state.violations).map_err(|_| error(422, "[]: Deserialization"))?;
    let field = |name: &str, label: &str| {
        let there = text(&body, name).filter(|text| !text.is_empty());
        there.map(str::to_owned).ok_or_else(|| error(422, &format!("[{label}]: Required")))
    };
    let (head, base, title) = (field("head", "Head")?, field("base", "Base")?, field("title", "Title")?);
    check_title(&title)?;
    let words = text(&body, "body").unwrap_or_default().to_owned();
    let (repo, branches) = (visit.repo, format!("head_branch: {head}, base_branch: {base}"));
    let new = Opening { head, base, draft: views::is_draft(&title), title, body: words, author };
    let opened = state.open(visit.repo, new, true).map_err(|refused| match refused {
        Refused::NoHead | Refused::NoBase => not_found(),
        Refused::SameBranch | Refused::NoCommits => {
            error(422, "Invalid PullRequest: There are no changes between the head and the base")
        }
        Refused::Exists(number) => {
            let about = format!("id: {}, issue_id: {number}, head_repo_id: {repo}, base_repo_id: {repo}", 500 + number);
            error(409, &format!("pull request already exists for these targets [{about}, {branches}]"))
        }
    })?;
    Ok(view(visit, 201, opened.number, request, state))
}

fn numbered(visit: &Visit, number: &str, state: &State) -> Result<u64, Reply> {
    visit.number(number, state).ok_or_else(not_found)
}

fn view(visit: &Visit, status: u16, number: u64, request: &Request, state: &State) -> Reply {
    let repo = visit.repo(state);
    Reply::json(status, &views::pull(repo, repo.pull(number).unwrap(), &request.origin))
}

fn update(visit: &Visit, number: &str, request: &Request, state: &mut State) -> Result<Reply, Reply> {
    const FIELDS: [(&str, Is); 10] = [
        ("allow_maintainer_edit", Is::Flag),
        ("assignee", Is::Text),
        ("assignees", Is::List),
        ("base", Is::Text),
        ("body", Is::Text),
        ("due_date", Is::Text),
        ("labels", Is::List),
        ("milestone", Is::Number),
        ("state", Is::Text),
        ("title", Is::Text),
    ];
    let number = numbered(visit, number, state)?;
    writer(visit)?;
    let body = request.object(&FIELDS, &mut state.violations).map_err(|_| error(422, "[]: Deserialization"))?;
    check_title(text(&body, "title").unwrap_or_default())?;
    let now = state.now();
    let repo = state.by_id_mut(visit.repo).unwrap();
    if let Some(base) = text(&body, "base").filter(|base| !base.is_empty()) {
        if repo.tip(base).is_none() {
            return Err(error(404, &format!("new base '{base}' not exist")));
        }
        repo.pull_mut(number).unwrap().base = base.to_owned();
    }
    let pull = repo.pull_mut(number).unwrap();
    // An empty title is not looked at.
    if let Some(title) = text(&body, "title").filter(|title| !title.is_empty()) {
        (pull.title, pull.draft) = (title.to_owned(), views::is_draft(title));
    }
    if let Some(words) = text(&body, "body") {
        pull.body = words.to_owned();
    }
    pull.updated_at = now;
    if let Some(wanted) = text(&body, "state") {
        if pull.state == PullRequestState::Merged {
            return Err(error(412, "cannot change state of this pull request, it was already merged"));
        }
        state.set_open(visit.repo, number, wanted == "open");
    }
    Ok(view(visit, 201, number, request, state))
}
