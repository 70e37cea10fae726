//! Bitbucket Cloud: the interface at `/2.0`. A token of a person is shown with the e-mail address, one of a repository
//! alone; a second pull request from the same branch changes the first.

use copydesk_domain::PullRequestState;
use hyper::Method;
use serde_json::{Map, Value, json};

use super::bitbucket_errors::{error, hidden, lacking, scopes, unauthorized, unknown, wrong};
use super::bitbucket_query::Filter;
use super::bitbucket_talk as said;
use super::bitbucket_talk_views as talk;
use super::bitbucket_views as views;
use super::dialect::{ApiRefusal, Dialect, GitRefusal};
use super::exchange::{Is, Reply, Request, text};
use super::hooks::Delivery;
use super::news::{News, Telling};
use super::state::{Holder, Hook, Opening, Pull, Refused, Repo, State, Token, Visit};

const REST: &str = "/2.0";
const LONGEST_TITLE: usize = 255;

pub(super) struct Bitbucket;

impl Dialect for Bitbucket {
    fn prefix(&self) -> &'static str {
        REST
    }

    fn answer(&self, request: &Request, state: &mut State) -> Reply {
        let reply = route(request, state).unwrap_or_else(|refusal| refusal);
        let reply = reply.with("x-request-count", state.seen.len()).with("x-view-name", "bitbucket.apps.repo2.api.v20");
        match caller(request, state) {
            Ok(Some(token)) => reply.with("x-oauth-scopes", scopes(token.rights).join(", ")),
            _ => reply,
        }
    }

    fn refuse(&self, refusal: ApiRefusal, _: &State) -> Reply {
        match refusal {
            ApiRefusal::Status(status @ 502..=504) => {
                Reply::new(status, "text/html", "<html><title>Bitbucket is unavailable</title></html>")
            }
            ApiRefusal::Status(status) => error(status, "Something went wrong"),
            ApiRefusal::RateLimit(wait) | ApiRefusal::SecondaryLimit(wait) => {
                let reply = error(429, "Rate limit for this resource has been exceeded")
                    .with("x-ratelimit-limit", 1000)
                    .with("x-ratelimit-nearlimit", "true")
                    .with("x-ratelimit-resource", "api-repositories");
                reply.with_some("retry-after", wait)
            }
            ApiRefusal::Revoked => unauthorized(),
        }
    }

    fn new_token(&self, number: u64) -> String {
        format!("ATCTT3xFfGN0{number:060}=BB5A1C07")
    }

    fn git_token(&self, user: &str, password: &str, state: &State) -> Option<Token> {
        let token = state.token(password)?;
        let named = match &token.holder {
            Holder::User { login, .. } => user == login || user == "x-bitbucket-api-token-auth",
            _ => user == "x-token-auth",
        };
        named.then_some(token)
    }

    fn git_refusal(&self, refusal: GitRefusal, _: &str) -> Reply {
        const HIDDEN: &str = "You may not have access to this repository or it no longer exists in this workspace. If you \
                              think this repository exists and you have access, make sure you are authenticated.";
        match refusal {
            GitRefusal::Anonymous | GitRefusal::Unknown => {
                Reply::text(401, "").with("www-authenticate", "Basic realm=\"Bitbucket.org HTTP\"")
            }
            GitRefusal::Hidden => Reply::text(404, HIDDEN),
            GitRefusal::ReadOnly => Reply::text(403, "Your credentials lack one or more required privilege scopes."),
        }
    }

    fn protected(&self, branch: &str) -> String {
        format!("Permission denied to update branch {branch}.")
    }

    fn delivery(&self, repo: &Repo, pull: &Pull, hook: &Hook, origin: &str) -> Delivery {
        let body = json!({
            "repository": views::repo(repo, origin), "actor": views::user("bb-reviewer", origin),
            "pullrequest": views::pull(repo, pull, origin),
        });
        let event = match pull.state {
            PullRequestState::Open => "pullrequest:updated",
            PullRequestState::Merged => "pullrequest:fulfilled",
            PullRequestState::Closed => "pullrequest:rejected",
        };
        talk::send(event, &body, pull.number, repo, hook)
    }

    fn told(&self, news: &News<'_>, to: &Telling<'_>) -> Delivery {
        talk::told(news, to)
    }
}

/// Whose token a request shows, and whether it is shown as it must be.
fn caller(request: &Request, state: &State) -> Result<Option<Token>, Reply> {
    if let Some((user, password)) = request.basic() {
        let token = state.token(&password).ok_or_else(unauthorized)?;
        let is_his = matches!(&token.holder, Holder::User { email, .. } if *email == user);
        return if is_his { Ok(Some(token)) } else { Err(unauthorized()) };
    }
    match request.authorization() {
        Some((scheme, secret)) if scheme == "bearer" => {
            let token = state.token(secret).filter(|token| token.holder == Holder::Repository);
            token.map(Some).ok_or_else(unauthorized)
        }
        None if request.header("authorization").is_none() => Ok(None),
        _ => Err(unauthorized()),
    }
}

fn route(request: &Request, state: &mut State) -> Result<Reply, Reply> {
    request.expect_user_agent(&mut state.violations);
    let token = caller(request, state)?;
    let Some(parts) = request.parts(REST) else { return Err(unknown(request, state)) };
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    match (request.method.clone(), parts.as_slice()) {
        (Method::GET, ["user"]) => {
            let token = token.ok_or_else(unauthorized)?;
            Ok(Reply::json(200, &views::user(token.login(), &request.origin)))
        }
        (_, ["repositories", owner, name, rest @ ..]) => {
            in_repo(&format!("{owner}/{name}"), rest, token, request, state)
        }
        _ => Err(unknown(request, state)),
    }
}

/// Whoever may open pull requests; else what Bitbucket says.
fn writer(visit: &Visit) -> Result<&Token, Reply> {
    let token = visit.token.as_ref().ok_or_else(unauthorized)?;
    if visit.rights.open { Ok(token) } else { Err(lacking(visit.rights, "pullrequest:write")) }
}

fn in_repo(
    path: &str,
    rest: &[&str],
    token: Option<Token>,
    request: &Request,
    state: &mut State,
) -> Result<Reply, Reply> {
    let here = state.find(path);
    let repo = here.or_else(|| state.find_moved(path)).ok_or_else(hidden)?;
    let rights = state.rights(token.as_ref(), repo);
    if !rights.read {
        return Err(hidden());
    }
    if here.is_none() {
        let location = request.moved_to(&format!("{}{REST}/repositories/{}", request.origin, repo.path), rest);
        return Err(Reply::text(301, "").with("location", location));
    }
    let visit = Visit { repo: repo.id, token, rights };
    match (request.method.clone(), rest) {
        (Method::GET, []) => Ok(Reply::json(200, &views::repo(repo, &request.origin))),
        (Method::GET, ["refs", "branches", branch @ ..]) => {
            let branch = branch.join("/");
            let tip = repo.tip(&branch).ok_or_else(|| error(404, &format!("Branch \"{branch}\" not found")))?;
            Ok(Reply::json(200, &json!({ "type": "branch", "name": branch, "target": { "hash": tip } })))
        }
        (Method::GET, ["pullrequests"]) => {
            let reply = list(repo, request);
            request.expect_queries(&LIST, &mut state.violations);
            reply
        }
        (Method::POST, ["pullrequests"]) => create(&visit, request, state),
        (Method::GET, ["pullrequests", number]) => {
            let number = numbered(&visit, number, state)?;
            Ok(view(&visit, 200, number, request, state))
        }
        (Method::PUT, ["pullrequests", number]) => update(&visit, number, request, state),
        (Method::GET, ["pullrequests", number, "comments"]) => {
            let number = numbered(&visit, number, state)?;
            Ok(said::comments(&visit, number, request, state))
        }
        (Method::POST, ["pullrequests", number, "comments"]) => {
            let number = numbered(&visit, number, state)?;
            said::say(&visit, number, writer(&visit)?.login(), request, state)
        }
        (Method::GET, ["pullrequests", number, "comments", id]) => {
            let number = numbered(&visit, number, state)?;
            said::comment(&visit, number, id, request, state)
        }
        (Method::GET, ["permissions-config", "users", id]) => said::permission(&visit, id, request, state),
        (Method::GET, ["issues", number]) => said::issue(&visit, number, request, state),
        (Method::POST, ["pullrequests", number, "decline"]) => {
            let number = numbered(&visit, number, state)?;
            writer(&visit)?;
            state.set_open(visit.repo, number, false);
            Ok(view(&visit, 200, number, request, state))
        }
        _ => Err(unknown(request, state)),
    }
}

const LIST: [&str; 6] = ["q", "state", "sort", "page", "pagelen", "fields"];

fn list(repo: &Repo, request: &Request) -> Result<Reply, Reply> {
    let queries = request.queries();
    let states: Vec<&str> =
        queries.iter().filter(|(name, _)| name == "state").map(|(_, value)| value.as_str()).collect();
    let filter = match request.query("q") {
        Some(text) => Some(Filter::parse(&text).ok_or_else(|| error(400, "Invalid query string"))?),
        None => None,
    };
    let fits = |pull: &&Pull| {
        let state = views::state(pull);
        // Only open ones are listed, unless states are asked for by their own parameter or in the query.
        let wanted = match (&filter, states.is_empty()) {
            (_, false) => states.contains(&state),
            (Some(filter), true) if filter.is_about("state") => true,
            (_, true) => state == "OPEN",
        };
        wanted && filter.as_ref().is_none_or(|filter| filter.fits(pull))
    };
    let mut found: Vec<&Pull> = repo.pulls.iter().filter(fits).collect();
    if request.query("sort").is_none_or(|sort| sort.starts_with('-')) {
        found.reverse();
    }
    Ok(said::paged(&found, request, |pull| views::pull(repo, pull, &request.origin)))
}

const FIELDS: [(&str, Is); 8] = [
    ("title", Is::Text),
    ("description", Is::Text),
    ("source", Is::Object),
    ("destination", Is::Object),
    ("close_source_branch", Is::Flag),
    ("reviewers", Is::List),
    ("draft", Is::Flag),
    ("type", Is::Text),
];

fn branch_of(body: &Map<String, Value>, side: &str) -> Option<String> {
    body.get(side)?.pointer("/branch/name")?.as_str().map(str::to_owned)
}

/// The title, which every change must have.
fn title_of(body: &Map<String, Value>) -> Result<String, Reply> {
    let title = text(body, "title").filter(|title| !title.is_empty());
    let title = title.ok_or_else(|| wrong("title", "This field is required."))?;
    match title.chars().count() > LONGEST_TITLE {
        true => Err(wrong("title", &format!("Ensure this value has at most {LONGEST_TITLE} characters."))),
        false => Ok(title.to_owned()),
    }
}

fn create(visit: &Visit, request: &Request, state: &mut State) -> Result<Reply, Reply> {
    let author = writer(visit)?.login().to_owned();
    let body = request.object(&FIELDS, &mut state.violations).map_err(|_| error(400, "Bad request"))?;
    let title = title_of(&body)?;
    let head = branch_of(&body, "source").ok_or_else(|| wrong("source", "This field is required."))?;
    let main = visit.repo(state).default_branch.clone();
    let base = branch_of(&body, "destination").unwrap_or(main);
    let words = text(&body, "description").unwrap_or_default().to_owned();
    let draft = body.get("draft") == Some(&json!(true));
    let reviewers = said::reviewers(visit, &author, &body, state)?;
    let new = Opening { head: head.clone(), base: base.clone(), title, body: words, draft, author };
    match state.open(visit.repo, new, false) {
        Ok(pull) => {
            let repo = state.by_id_mut(visit.repo).unwrap();
            repo.pull_mut(pull.number).unwrap().reviewers = reviewers.unwrap_or_default();
            Ok(view(visit, 201, pull.number, request, state))
        }
        Err(Refused::NoHead) => Err(wrong("source", &format!("branch not found: {head}"))),
        Err(Refused::NoBase) => Err(wrong("destination", &format!("branch not found: {base}"))),
        Err(Refused::SameBranch | Refused::NoCommits) => Err(wrong("source", "There are no changes to be pulled")),
        Err(Refused::Exists(number)) => {
            change(visit, number, &body, state)?;
            Ok(view(visit, 201, number, request, state))
        }
    }
}

/// Writes what a body says into an open pull request.
fn change(visit: &Visit, number: u64, body: &Map<String, Value>, state: &mut State) -> Result<(), Reply> {
    let title = title_of(body)?;
    let now = state.now();
    let author = visit.repo(state).pull(number).unwrap().author.clone();
    let reviewers = said::reviewers(visit, &author, body, state)?;
    let repo = state.by_id_mut(visit.repo).unwrap();
    let base = branch_of(body, "destination");
    if let Some(base) = base.as_ref().filter(|base| repo.tip(base).is_none()) {
        return Err(wrong("destination", &format!("branch not found: {base}")));
    }
    let pull = repo.pull_mut(number).unwrap();
    if pull.state != PullRequestState::Open {
        return Err(error(400, "This pull request is closed and cannot be changed."));
    }
    pull.title = title;
    pull.updated_at = now;
    if let Some(base) = base {
        pull.base = base;
    }
    if let Some(reviewers) = reviewers {
        pull.reviewers = reviewers;
    }
    if let Some(words) = text(body, "description") {
        pull.body = words.to_owned();
    }
    if let Some(draft) = body.get("draft").and_then(Value::as_bool) {
        pull.draft = draft;
    }
    Ok(())
}

fn numbered(visit: &Visit, number: &str, state: &State) -> Result<u64, Reply> {
    visit.number(number, state).ok_or_else(|| error(404, "Pull request not found"))
}

fn view(visit: &Visit, status: u16, number: u64, request: &Request, state: &State) -> Reply {
    let repo = visit.repo(state);
    Reply::json(status, &views::pull(repo, repo.pull(number).unwrap(), &request.origin))
}

fn update(visit: &Visit, number: &str, request: &Request, state: &mut State) -> Result<Reply, Reply> {
    let number = numbered(visit, number, state)?;
    writer(visit)?;
    let body = request.object(&FIELDS, &mut state.violations).map_err(|_| error(400, "Bad request"))?;
    change(visit, number, &body, state)?;
    Ok(view(visit, 200, number, request, state))
}
