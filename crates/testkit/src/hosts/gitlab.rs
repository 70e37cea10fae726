//! GitLab: the interface at `/api/v4`. A draft is one by its title; a branch without commits of its own makes a merge
//! request all the same.

use copydesk_domain::PullRequestState;
use hyper::Method;
use serde_json::{Value, json};

use super::dialect::{ApiRefusal, Dialect, GitRefusal};
use super::exchange::{Reply, Request, page, text};
use super::gitlab_fields::{CREATE, LIST, UPDATE};
use super::gitlab_talk as notes;
use super::gitlab_talk_views as talk;
use super::gitlab_views as views;
use super::hooks::Delivery;
use super::news::{News, Telling};
use super::state::{Hook, Opening, Pull, Refused, Repo, Rights, State, Token, Visit};

const REST: &str = "/api/v4";
const LONGEST_TITLE: usize = 255;
const LONGEST_TEXT: usize = 1_048_576;

pub(super) struct Gitlab;

impl Dialect for Gitlab {
    fn prefix(&self) -> &'static str {
        REST
    }

    fn answer(&self, request: &Request, state: &mut State) -> Reply {
        let reply = route(request, state).unwrap_or_else(|refusal| refusal);
        let number = state.seen.len();
        let reply = reply.with("x-request-id", format!("01JD0FAKE{number:017}")).with("x-runtime", "0.042");
        limits(reply, state, 2000 - number.min(1999))
    }

    fn refuse(&self, refusal: ApiRefusal, state: &State) -> Reply {
        match refusal {
            ApiRefusal::Status(status @ 502..=504) => Reply::new(
                status,
                "text/html",
                "<html><h1>Whoops, GitLab is taking too much time to respond.</h1></html>",
            ),
            ApiRefusal::Status(status) => message(status, &format!("{status} Internal Server Error")),
            ApiRefusal::RateLimit(wait) | ApiRefusal::SecondaryLimit(wait) => {
                limits(Reply::text(429, "Retry later\n"), state, 0).with_some("retry-after", wait)
            }
            ApiRefusal::Revoked => revoked(),
        }
    }

    fn new_token(&self, number: u64) -> String {
        format!("glpat-{number:020}")
    }

    fn git_token(&self, user: &str, password: &str, state: &State) -> Option<Token> {
        // Any name goes with a token, but it must not be blank.
        state.token(password).filter(|_| !user.trim().is_empty())
    }

    fn git_refusal(&self, refusal: GitRefusal, _: &str) -> Reply {
        const DENIED: &str = "HTTP Basic: Access denied. If a password was provided for Git authentication, the password \
                              was incorrect or you're required to use a token instead of a password.";
        match refusal {
            GitRefusal::Anonymous | GitRefusal::Unknown => {
                Reply::text(401, DENIED).with("www-authenticate", "Basic realm=\"GitLab\"")
            }
            GitRefusal::Hidden => Reply::text(
                404,
                "The project you were looking for could not be found or you don't have permission to view it.",
            ),
            GitRefusal::ReadOnly => Reply::text(403, "You are not allowed to push code to this project."),
        }
    }

    fn protected(&self, _: &str) -> String {
        "GitLab: You are not allowed to push code to protected branches on this project.".to_owned()
    }

    fn delivery(&self, repo: &Repo, pull: &Pull, hook: &Hook, origin: &str) -> Delivery {
        talk::send("Merge Request Hook", &views::event(repo, pull, origin), pull.number, repo, hook, origin)
    }

    fn told(&self, news: &News<'_>, to: &Telling<'_>) -> Delivery {
        talk::told(news, to)
    }
}

fn message(status: u16, message: &str) -> Reply {
    Reply::json(status, &json!({ "message": message }))
}

/// What is wrong with a field, in GitLab's shape.
fn wrong(field: &str, what: &str) -> Reply {
    Reply::json(400, &json!({ "message": { field: [what] } }))
}

fn revoked() -> Reply {
    let about = "Token was revoked. You have to re-authorize from the user.";
    Reply::json(401, &json!({ "error": "invalid_token", "error_description": about }))
}

fn limits(reply: Reply, state: &State, remaining: usize) -> Reply {
    reply
        .with("ratelimit-limit", 2000)
        .with("ratelimit-remaining", remaining)
        .with("ratelimit-observed", 2000 - remaining)
        .with("ratelimit-reset", state.now().as_millis() / 1000 + 60)
}

fn unknown(request: &Request, state: &mut State) -> Reply {
    state.violate(request.violation("there is no such address"));
    Reply::json(404, &json!({ "error": "404 Not Found" }))
}

/// Whose token a request shows.
fn caller(request: &Request, state: &State) -> Result<Option<Token>, Reply> {
    let secret = match (request.header("private-token"), request.authorization()) {
        (Some(secret), _) => secret,
        (None, Some((scheme, secret))) if scheme == "bearer" => secret,
        (None, None) if request.header("authorization").is_none() => return Ok(None),
        _ => return Err(message(401, "401 Unauthorized")),
    };
    match state.token(secret) {
        Some(token) => Ok(Some(token)),
        None if state.was_revoked(secret) => Err(revoked()),
        None => Err(message(401, "401 Unauthorized")),
    }
}

fn route(request: &Request, state: &mut State) -> Result<Reply, Reply> {
    request.expect_user_agent(&mut state.violations);
    let token = caller(request, state)?;
    let Some(parts) = request.parts(REST) else { return Err(unknown(request, state)) };
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    match (request.method.clone(), parts.as_slice()) {
        (Method::GET, ["user"]) => {
            let token = token.ok_or_else(|| message(401, "401 Unauthorized"))?;
            Ok(Reply::json(200, &views::user(token.login(), &request.origin)))
        }
        (Method::GET, ["version"]) => {
            token.ok_or_else(|| message(401, "401 Unauthorized"))?;
            Ok(Reply::json(200, &json!({ "version": "17.11.0", "revision": "fa4e0000" })))
        }
        (Method::GET, ["personal_access_tokens", "self"]) => {
            let token = token.ok_or_else(|| message(401, "401 Unauthorized"))?;
            let scope = if token.rights.push || token.rights.open { "api" } else { "read_api" };
            let view = json!({ "id": 42, "name": "docs", "revoked": false, "active": true, "scopes": [scope] });
            Ok(Reply::json(200, &view))
        }
        (Method::GET, ["users"]) => Ok(notes::users(request, state)),
        (_, ["projects", project, rest @ ..]) => in_project(project, rest, token, request, state),
        _ => Err(unknown(request, state)),
    }
}

/// Whoever may open merge requests; else what GitLab says.
fn writer(visit: &Visit) -> Result<&Token, Reply> {
    let token = visit.token.as_ref().ok_or_else(|| message(401, "401 Unauthorized"))?;
    match visit.rights {
        Rights { open: true, .. } => Ok(token),
        // The scope of the token is wide enough, but its owner's role is too low.
        Rights { push: true, .. } => Err(message(403, "403 Forbidden")),
        _ => Err(Reply::json(
            403,
            &json!({
                "error": "insufficient_scope", "scope": "api",
                "error_description": "The request requires higher privileges than provided by the access token.",
            }),
        )),
    }
}

fn in_project(
    project: &str,
    rest: &[&str],
    token: Option<Token>,
    request: &Request,
    state: &mut State,
) -> Result<Reply, Reply> {
    let gone = || message(404, "404 Project Not Found");
    let here = state.find(project).or_else(|| state.by_id(project.parse().ok()?));
    let repo = here.or_else(|| state.find_moved(project)).ok_or_else(gone)?;
    let rights = state.rights(token.as_ref(), repo);
    if !rights.read {
        return Err(gone());
    }
    if here.is_none() && request.method == Method::GET {
        let location = request.moved_to(&format!("{}{REST}/projects/{}", request.origin, repo.id), rest);
        let text = format!("This resource has been moved temporarily to {location}.");
        return Err(Reply::text(302, text).with("location", location));
    }
    let visit = Visit { repo: repo.id, token, rights };
    match (request.method.clone(), rest) {
        (Method::GET, []) => {
            let mut view = views::project(repo, &request.origin, rights);
            if visit.token.is_none() {
                view.as_object_mut().unwrap().remove("permissions");
            }
            Ok(Reply::json(200, &view))
        }
        (Method::GET, ["repository", "branches", branch]) => {
            let tip = repo.tip(branch).ok_or_else(|| message(404, "404 Branch Not Found"))?;
            let protected = repo.protected.contains(*branch);
            Ok(Reply::json(200, &json!({ "name": branch, "commit": { "id": tip }, "protected": protected })))
        }
        (Method::GET, ["merge_requests"]) => {
            let reply = list(repo, request);
            request.expect_queries(&LIST, &mut state.violations);
            Ok(reply)
        }
        (Method::POST, ["merge_requests"]) => create(&visit, request, state),
        (Method::GET, ["merge_requests", number]) => {
            let number = numbered(&visit, number, state)?;
            Ok(view(&visit, number, request, state))
        }
        (Method::PUT, ["merge_requests", number]) => update(&visit, number, request, state),
        (Method::GET, ["members", "all", id]) => notes::member(&visit, id, request, state),
        (Method::GET, ["issues", number]) => notes::issue(&visit, number, request, state),
        (Method::GET, [folder @ ("issues" | "merge_requests"), number, "notes"]) => {
            let place = notes::placed(&visit, folder, number, state)?;
            Ok(notes::notes(&visit, place, request, state))
        }
        (Method::GET, [folder @ ("issues" | "merge_requests"), number, "notes", id]) => {
            let place = notes::placed(&visit, folder, number, state)?;
            notes::note(&visit, place, id, request, state)
        }
        (Method::POST, [folder @ ("issues" | "merge_requests"), number, "notes"]) => {
            let place = notes::placed(&visit, folder, number, state)?;
            notes::say(&visit, place, writer(&visit)?.login(), request, state)
        }
        _ => Err(unknown(request, state)),
    }
}

fn list(repo: &Repo, request: &Request) -> Reply {
    let state = request.query("state").unwrap_or_else(|| "all".to_owned());
    let (source, target) = (request.query("source_branch"), request.query("target_branch"));
    let fits = |pull: &&Pull| {
        source.as_ref().is_none_or(|branch| *branch == pull.head)
            && target.as_ref().is_none_or(|branch| *branch == pull.base)
            && (state == "all" || state == views::state(pull))
    };
    let mut found: Vec<&Pull> = repo.pulls.iter().filter(fits).collect();
    if request.query("sort").as_deref() != Some("asc") {
        found.reverse();
    }
    let (at, size) = (request.number("page", 1, 10_000), request.number("per_page", 20, 100));
    let (shown, link) = page(&found, request, &request.path, at, size);
    let values: Vec<Value> = shown.iter().map(|pull| views::merge_request(repo, pull, &request.origin)).collect();
    let pages = found.len().div_ceil(size).max(1);
    let number = |there: bool, number: usize| if there { number.to_string() } else { String::new() };
    let reply = Reply::json(200, &Value::Array(values))
        .with("x-total", found.len())
        .with("x-total-pages", pages)
        .with("x-page", at)
        .with("x-per-page", size)
        .with("x-next-page", number(at < pages, at + 1))
        .with("x-prev-page", number(at > 1, at.saturating_sub(1)));
    reply.with_some("link", link)
}

/// What every change shares: how long things may be.
fn check_lengths(title: Option<&str>, words: Option<&str>) -> Result<(), Reply> {
    if title == Some("") {
        return Err(wrong("title", "can't be blank"));
    }
    if title.is_some_and(|title| title.chars().count() > LONGEST_TITLE) {
        return Err(wrong("title", &format!("is too long (maximum is {LONGEST_TITLE} characters)")));
    }
    if words.is_some_and(|words| words.chars().count() > LONGEST_TEXT) {
        return Err(wrong("description", &format!("is too long (maximum is {LONGEST_TEXT} characters)")));
    }
    Ok(())
}

fn malformed() -> Reply {
    Reply::json(400, &json!({ "error": "The request body is malformed" }))
}

fn create(visit: &Visit, request: &Request, state: &mut State) -> Result<Reply, Reply> {
    let author = writer(visit)?.login().to_owned();
    let body = request.object(&CREATE, &mut state.violations).map_err(|_| malformed())?;
    let missing: Vec<String> = ["title", "source_branch", "target_branch"]
        .iter()
        .filter(|name| text(&body, name).is_none())
        .map(|name| format!("{name} is missing"))
        .collect();
    if !missing.is_empty() {
        return Err(Reply::json(400, &json!({ "error": missing.join(", ") })));
    }
    let field = |name: &str| text(&body, name).unwrap_or_default().to_owned();
    check_lengths(text(&body, "title"), text(&body, "description"))?;
    let reviewers = notes::reviewers(visit, &body, state)?;
    let title = field("title");
    let new = Opening {
        head: field("source_branch"),
        base: field("target_branch"),
        draft: views::is_draft(&title),
        title,
        body: field("description"),
        author,
    };
    let opened = state.open(visit.repo, new, true).map_err(|refused| match refused {
        Refused::NoHead => wrong("source_branch", "does not exist"),
        Refused::NoBase => wrong("target_branch", "does not exist"),
        Refused::SameBranch | Refused::NoCommits => {
            Reply::json(422, &json!({ "message": ["You can't use same project/branch for source and target"] }))
        }
        Refused::Exists(number) => {
            let text = format!("Another open merge request already exists for this source branch: !{number}");
            Reply::json(409, &json!({ "message": [text] }))
        }
    })?;
    notes::assign(visit, opened.number, &body, reviewers, state);
    Ok(Reply { status: 201, ..view(visit, opened.number, request, state) })
}

fn numbered(visit: &Visit, number: &str, state: &State) -> Result<u64, Reply> {
    visit.number(number, state).ok_or_else(|| message(404, "404 Not found"))
}

fn view(visit: &Visit, number: u64, request: &Request, state: &State) -> Reply {
    let repo = visit.repo(state);
    Reply::json(200, &views::merge_request(repo, repo.pull(number).unwrap(), &request.origin))
}

fn update(visit: &Visit, number: &str, request: &Request, state: &mut State) -> Result<Reply, Reply> {
    let number = numbered(visit, number, state)?;
    writer(visit)?;
    let body = request.object(&UPDATE, &mut state.violations).map_err(|_| malformed())?;
    if body.is_empty() {
        let names: Vec<&str> = UPDATE.iter().map(|(name, _)| *name).collect();
        let error = format!("{} are missing, at least one parameter must be provided", names.join(", "));
        return Err(Reply::json(400, &json!({ "error": error })));
    }
    let (title, words) = (text(&body, "title"), text(&body, "description"));
    check_lengths(title, words)?;
    let reviewers = notes::reviewers(visit, &body, state)?;
    let now = state.now();
    let repo = state.by_id_mut(visit.repo).unwrap();
    if let Some(base) = text(&body, "target_branch") {
        if repo.tip(base).is_none() {
            return Err(wrong("target_branch", "does not exist"));
        }
        repo.pull_mut(number).unwrap().base = base.to_owned();
    }
    let pull = repo.pull_mut(number).unwrap();
    if let Some(title) = title {
        (pull.title, pull.draft) = (title.to_owned(), views::is_draft(title));
    }
    if let Some(words) = words {
        pull.body = words.to_owned();
    }
    pull.updated_at = now;
    match text(&body, "state_event") {
        Some(event @ ("close" | "reopen")) => {
            if pull.state == PullRequestState::Merged {
                return Err(wrong("state", "cannot transition via \"close\""));
            }
            state.set_open(visit.repo, number, event == "reopen");
        }
        Some(_) => return Err(Reply::json(400, &json!({ "error": "state_event does not have a valid value" }))),
        None => {}
    }
    notes::assign(visit, number, &body, reviewers, state);
    Ok(view(visit, number, request, state))
}
