//! GitHub, as GitHub Enterprise serves it: the interface at `/api/v3`, GraphQL at `/api/graphql`.

mod apps;
mod graphql;
mod issues;
mod jwt;
mod news;
mod pulls;
mod reviews;
mod talk_views;
mod views;

use hyper::Method;
use serde_json::{Value, json};

use super::dialect::{ApiRefusal, Dialect, GitRefusal};
use super::exchange::{Reply, Request};
use super::hooks::Delivery;
use super::news::{News, Telling};
use super::state::{Holder, Hook, Pull, Repo, Rights, State, Token, Visit};

const REST: &str = "/api/v3";
const GRAPHQL: &str = "/api/graphql";
const DOCS: &str = "https://docs.github.com/rest";

pub(super) struct Github;

impl Dialect for Github {
    fn prefix(&self) -> &'static str {
        REST
    }

    fn is_interface(&self, path: &str) -> bool {
        path.starts_with("/api/")
    }

    fn answer(&self, request: &Request, state: &mut State) -> Reply {
        let reply = route(request, state).unwrap_or_else(|refusal| refusal);
        let number = state.seen.len();
        let reply = reply.with("x-github-request-id", format!("C0DE:{number:04X}:1A2B3C:4D5E6F:673770A0"));
        limits(reply.with("x-github-media-type", "github.v3; format=json"), state, 5000 - number.min(4999))
    }

    fn refuse(&self, refusal: ApiRefusal, state: &State) -> Reply {
        match refusal {
            ApiRefusal::Status(status @ 502..=504) => {
                Reply::new(status, "text/html", "<html><body><h1>Unicorn! &middot; GitHub</h1></body></html>")
            }
            ApiRefusal::Status(status) => error(status, "Server Error"),
            ApiRefusal::RateLimit(wait) => {
                let reply = error(403, "API rate limit exceeded for user ID 4101.");
                limits(reply, state, 0).with_some("retry-after", wait)
            }
            ApiRefusal::SecondaryLimit(wait) => {
                let message =
                    "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.";
                limits(error(403, message), state, 4000).with_some("retry-after", wait)
            }
            ApiRefusal::Revoked => error(401, "Bad credentials"),
        }
    }

    fn new_token(&self, number: u64) -> String {
        format!("github_pat_11AAAAAAA0{number:060}")
    }

    fn git_token(&self, user: &str, password: &str, state: &State) -> Option<Token> {
        let token = state.token(password)?;
        // Any name goes with a person's token; that of an installation wants this one.
        let named = match token.holder {
            Holder::Installation => user == "x-access-token",
            _ => !user.is_empty(),
        };
        named.then_some(token)
    }

    fn git_refusal(&self, refusal: GitRefusal, repo: &str) -> Reply {
        let challenge = |text: &str| Reply::text(401, text).with("www-authenticate", "Basic realm=\"GitHub\"");
        match refusal {
            GitRefusal::Anonymous => challenge("Repository not found."),
            GitRefusal::Unknown => {
                challenge("Invalid username or token. Password authentication is not supported for Git operations.")
            }
            GitRefusal::Hidden => Reply::text(404, "Repository not found."),
            GitRefusal::ReadOnly => Reply::text(403, format!("Permission to {repo}.git denied to copydesk-test.")),
        }
    }

    fn protected(&self, branch: &str) -> String {
        format!("error: GH006: Protected branch update failed for refs/heads/{branch}.")
    }

    fn delivery(&self, repo: &Repo, pull: &Pull, hook: &Hook, origin: &str) -> Delivery {
        let body = json!({
            "action": "closed",
            "number": pull.number,
            "pull_request": views::pull(repo, pull, origin, true),
            "repository": views::repo(repo, origin, Rights::READ),
            "sender": views::user("octo-reviewer", origin),
        });
        news::send("pull_request", &body, pull.number, repo, hook)
    }

    fn told(&self, news: &News<'_>, to: &Telling<'_>) -> Delivery {
        news::told(news, to)
    }
}

/// An error in GitHub's shape.
fn error(status: u16, message: &str) -> Reply {
    let body = json!({ "message": message, "documentation_url": DOCS, "status": status.to_string() });
    Reply::json(status, &body)
}

/// What is wrong with fields, in GitHub's shape.
fn invalid(errors: Value) -> Reply {
    let docs = format!("{DOCS}/pulls/pulls#create-a-pull-request");
    let body = json!({ "message": "Validation Failed", "errors": errors, "documentation_url": docs, "status": "422" });
    Reply::json(422, &body)
}

fn not_found() -> Reply {
    error(404, "Not Found")
}

/// The headers that tell how much may still be asked for.
fn limits(reply: Reply, state: &State, remaining: usize) -> Reply {
    reply
        .with("x-ratelimit-limit", 5000)
        .with("x-ratelimit-remaining", remaining)
        .with("x-ratelimit-used", 5000 - remaining)
        .with("x-ratelimit-reset", state.now().as_millis() / 1000 + 1800)
        .with("x-ratelimit-resource", "core")
}

/// Finds out what is asked for. An error is an answer too: the one that says no.
fn route(request: &Request, state: &mut State) -> Result<Reply, Reply> {
    manners(request, state)?;
    if request.path == GRAPHQL {
        return graphql::answer(request, state);
    }
    let Some(parts) = request.parts(REST) else { return Err(unknown(request, state)) };
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let rest: &[&str] = match parts.as_slice() {
        ["app", ..] | ["repos", _, _, "installation"] => return apps::answer(&parts, request, state),
        ["user"] => return user(request, state),
        ["repos", owner, name, rest @ ..] => {
            let path = format!("{owner}/{name}");
            return match state.find(&path).map(|repo| repo.id) {
                Some(repo) => in_repo(repo, rest, request, state),
                None => Err(elsewhere(&path, rest, request, state)),
            };
        }
        ["repositories", _, rest @ ..] => rest,
        _ => return Err(unknown(request, state)),
    };
    let repo = parts[1].parse().ok().and_then(|id| state.by_id(id)).map(|repo| repo.id);
    in_repo(repo.ok_or_else(not_found)?, rest, request, state)
}

/// What GitHub expects of every request.
fn manners(request: &Request, state: &mut State) -> Result<(), Reply> {
    if request.header("user-agent").is_none_or(str::is_empty) {
        return Err(Reply::text(
            403,
            "Request forbidden by administrative rules. Please make sure your request has a User-Agent header.",
        ));
    }
    if request.path != GRAPHQL && request.header("accept") != Some("application/vnd.github+json") {
        state.violate(request.violation(&format!("accepts {:?}", request.header("accept"))));
    }
    match request.header("x-github-api-version") {
        None | Some("2022-11-28") => Ok(()),
        Some(version) => Err(error(400, &format!("\"{version}\" is not a supported API version."))),
    }
}

/// No such address; a client that asks for it is mistaken, or this fake lacks something.
fn unknown(request: &Request, state: &mut State) -> Reply {
    state.violate(request.violation("there is no such address"));
    not_found()
}

/// Whose token a request shows.
fn caller(request: &Request, state: &State) -> Result<Option<Token>, Reply> {
    match request.authorization() {
        None if request.header("authorization").is_some() => Err(error(401, "Bad credentials")),
        None => Ok(None),
        Some((scheme, secret)) if scheme == "bearer" || scheme == "token" => {
            state.token(secret).map(Some).ok_or_else(|| error(401, "Bad credentials"))
        }
        Some(_) => Err(error(401, "Bad credentials")),
    }
}

fn user(request: &Request, state: &State) -> Result<Reply, Reply> {
    match caller(request, state)? {
        None => Err(error(401, "Requires authentication")),
        Some(token) if token.holder == Holder::Installation => {
            Err(error(403, "Resource not accessible by integration"))
        }
        Some(token) => Ok(Reply::json(200, &views::user(token.login(), &request.origin))),
    }
}

/// A repository that is not at this path: moved, or not there.
fn elsewhere(path: &str, rest: &[&str], request: &Request, state: &State) -> Reply {
    let Ok(token) = caller(request, state) else { return error(401, "Bad credentials") };
    let Some(repo) = state.find_moved(path) else { return not_found() };
    if !state.rights(token.as_ref(), repo).read {
        return not_found();
    }
    let url = request.moved_to(&format!("{}{REST}/repositories/{}", request.origin, repo.id), rest);
    let (status, message) = match request.method {
        Method::GET | Method::HEAD => (301, "Moved Permanently"),
        _ => (307, "Temporary Redirect"),
    };
    let body = json!({ "message": message, "url": url, "documentation_url": DOCS });
    Reply::json(status, &body).with("location", url)
}

/// Whoever may open pull requests; else what GitHub says.
fn writer(visit: &Visit) -> Result<&Token, Reply> {
    let token = visit.token.as_ref().ok_or_else(|| error(401, "Requires authentication"))?;
    if visit.rights.open {
        return Ok(token);
    }
    Err(forbidden(visit, "pull_requests=write"))
}

/// What GitHub says to a token that lacks these permissions.
fn forbidden(visit: &Visit, wanted: &str) -> Reply {
    let app = visit.token.as_ref().is_some_and(|token| token.holder == Holder::Installation);
    let who = if app { "integration" } else { "personal access token" };
    error(403, &format!("Resource not accessible by {who}")).with("x-accepted-github-permissions", wanted)
}

fn in_repo(repo: u64, rest: &[&str], request: &Request, state: &mut State) -> Result<Reply, Reply> {
    let token = caller(request, state)?;
    let there = state.by_id(repo).unwrap();
    let rights = state.rights(token.as_ref(), there);
    if !rights.read {
        return Err(not_found());
    }
    let visit = Visit { repo, token, rights };
    match (request.method.clone(), rest) {
        (Method::GET, []) => {
            let mut view = views::repo(there, &request.origin, rights);
            if visit.token.is_none() {
                view.as_object_mut().unwrap().remove("permissions");
            }
            Ok(Reply::json(200, &view))
        }
        (Method::GET, ["branches", branch @ ..]) => {
            let branch = branch.join("/");
            let tip = there.tip(&branch).ok_or_else(|| error(404, "Branch not found"))?;
            let protected = there.protected.contains(&branch);
            Ok(Reply::json(200, &json!({ "name": branch, "commit": { "sha": tip }, "protected": protected })))
        }
        (Method::GET, ["pulls"]) => {
            let reply = pulls::list(there, request);
            request.expect_queries(&pulls::LIST, &mut state.violations);
            Ok(reply)
        }
        (Method::POST, ["pulls"]) => pulls::create(&visit, request, state),
        (Method::GET, ["pulls", number]) => pulls::read(&visit, number, request, state),
        (Method::PATCH, ["pulls", number]) => pulls::update(&visit, number, request, state),
        (Method::GET, ["pulls", number, "reviews", id]) => reviews::read(&visit, number, id, request, state),
        (Method::GET, ["pulls", number, "reviews", id, "comments"]) => {
            reviews::comments(&visit, number, id, request, state)
        }
        (Method::POST, ["pulls", number, "requested_reviewers"]) => reviews::ask(&visit, number, request, state),
        (Method::GET, ["collaborators", login, "permission"]) => reviews::permission(&visit, login, request, state),
        (_, ["issues", rest @ ..]) => issues::route(&visit, rest, request, state),
        _ => Err(unknown(request, state)),
    }
}
