//! Who may see and do what: every route is a row with what it needs, and cannot be added without.

use std::net::IpAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{FromRequestParts, RawPathParams, Request, State};
use axum::handler::Handler;
use axum::http::header::{COOKIE, HeaderMap, HeaderValue, REFERER, SET_COOKIE, USER_AGENT};
use axum::http::request::Parts;
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, on};
use copydesk_desk::people::{NotIn, Peer, Proof, Through, Visitor};
use copydesk_domain::{ProjectId, Role, SecretText};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use url::Url;

use crate::dash::Dash;
use crate::errors;
use crate::form::{Form, Wrong};
use crate::respond::{Oops, Reply, finish, to};
use crate::same_origin::is_same_origin;
use crate::who::Asks;
use crate::words::part;

/// What a route needs of whoever asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    Nothing,
    /// To be signed in.
    SignedIn,
    /// A place in the project of the address, with this role or more.
    Member(Role),
    Administrator,
}

/// A route.
#[derive(Debug, Clone)]
pub struct Row {
    pub method: Method,
    pub path: &'static str,
    pub needs: Needs,
    /// Whether whoever asks has to have shown lately that it is they.
    pub hurts: bool,
}

/// The field with the mark of a form that is to be taken once: its answer shows a secret, and loading that again must not
/// make another.
const MARK: &str = "_mark";

/// What a page does with a request.
type Deed = Arc<dyn Fn(Request, Dash) -> BoxFuture<'static, Response> + Send + Sync>;

/// The routes of the dashboard.
#[derive(Default)]
pub(crate) struct Table {
    router: Router<Dash>,
    rows: Vec<Row>,
}

impl Table {
    pub(crate) fn get<T: 'static>(self, needs: Needs, path: &'static str, handler: impl Handler<T, Dash>) -> Self {
        self.add(Method::GET, MethodFilter::GET, needs, false, path, handler)
    }

    pub(crate) fn post<T: 'static>(self, needs: Needs, path: &'static str, handler: impl Handler<T, Dash>) -> Self {
        self.add(Method::POST, MethodFilter::POST, needs, false, path, handler)
    }

    /// What hurts: asks for the password again if that was long ago.
    pub(crate) fn post_surely<T: 'static>(
        self,
        needs: Needs,
        path: &'static str,
        handler: impl Handler<T, Dash>,
    ) -> Self {
        self.add(Method::POST, MethodFilter::POST, needs, true, path, handler)
    }

    fn add<T: 'static>(
        mut self,
        method: Method,
        filter: MethodFilter,
        needs: Needs,
        hurts: bool,
        path: &'static str,
        handler: impl Handler<T, Dash>,
    ) -> Self {
        let deed: Deed = Arc::new(move |request, dash| handler.clone().call(request, dash).boxed());
        self.place(filter, Row { method, path, needs, hurts }, deed);
        self
    }

    /// Of one type for all pages: a router that knew each of them would be compiled anew for each.
    fn place(&mut self, filter: MethodFilter, row: Row, deed: Deed) {
        let (path, kept) = (row.path, row.clone());
        let guarded = move |State(dash): State<Dash>, request: Request| guard(dash, row.clone(), deed.clone(), request);
        self.router = std::mem::take(&mut self.router).route(path, on(filter, guarded));
        self.rows.push(kept);
    }

    pub(crate) fn finish(self) -> (Router<Dash>, Vec<Row>) {
        (self.router, self.rows)
    }
}

/// What the browser shows from now on, if that is something else than it showed.
enum Shows {
    TheSame,
    This(SecretText),
    Nothing,
}

async fn guard(dash: Dash, row: Row, deed: Deed, request: Request) -> Response {
    let (mut parts, body) = request.into_parts();
    let (asks, shows) = match asks(&dash, &row, &mut parts).await {
        Ok(both) => both,
        Err(oops) => return finished(errors::page(&dash, None, &oops)),
    };
    let answer = match admitted(&dash, &row, &asks, &parts) {
        Ok(()) if row.hurts => confirmed(&dash, &asks, parts, body, &deed).await,
        Ok(()) => {
            parts.extensions.insert(asks.clone());
            Ok(deed(Request::from_parts(parts, body), dash.clone()).await)
        }
        Err(Turned::Away(oops)) => Err(oops),
        Err(Turned::ToSignIn(back)) => to(&back),
    };
    let response = answer.unwrap_or_else(IntoResponse::into_response);
    let response = match response.extensions().get::<Oops>() {
        Some(oops) => errors::page(&dash, Some(&asks), oops),
        None => response,
    };
    finished(match shows {
        // Whoever signs in or out with this very request has the last word.
        _ if sets_session(&dash, &response) => response,
        Shows::TheSame => response,
        Shows::This(token) => set_session(&dash, response, Some(token.expose())),
        Shows::Nothing => set_session(&dash, response, None),
    })
}

fn finished(mut response: Response) -> Response {
    finish(response.headers_mut());
    response
}

enum Turned {
    Away(Oops),
    ToSignIn(String),
}

fn admitted(dash: &Dash, row: &Row, asks: &Asks, parts: &Parts) -> Result<(), Turned> {
    let changes = !matches!(parts.method, Method::GET | Method::HEAD);
    if changes && !is_same_origin(&parts.headers, dash.origin()) {
        return Err(Turned::Away(Oops::CrossSite));
    }
    if row.needs == Needs::Nothing {
        return Ok(());
    }
    let Some(visit) = &asks.visit else {
        // A form that was sent cannot be sent again by itself.
        let wanted = parts.uri.path_and_query().filter(|_| !changes).map_or("/", |path| path.as_str());
        return Err(Turned::ToSignIn(format!("/sign-in?to={}", part(wanted))));
    };
    let role = visit.project.as_ref().map(|(_, role)| *role);
    match (row.needs, role) {
        (Needs::Nothing | Needs::SignedIn, _) => Ok(()),
        (Needs::Administrator, _) if visit.user.is_admin => Ok(()),
        // What there is for others is not told.
        (Needs::Administrator, _) | (Needs::Member(_), None) => Err(Turned::Away(Oops::NotFound)),
        (Needs::Member(wanted), Some(role)) if role.covers(wanted) => Ok(()),
        (Needs::Member(_), Some(_)) => Err(Turned::Away(Oops::Forbidden)),
    }
}

/// Goes on with a deed that hurts if it is clear who does it; asks for the password otherwise, with the form kept.
async fn confirmed(dash: &Dash, asks: &Asks, mut parts: Parts, body: Body, deed: &Deed) -> Reply {
    let (people, visit) = (&dash.desk().people, asks.visit.as_ref().ok_or(Oops::NotFound)?);
    let too_long = |_| Oops::refused(StatusCode::PAYLOAD_TOO_LARGE, "The form is too long.");
    let bytes = axum::body::to_bytes(body, 2 * 1024 * 1024).await.map_err(too_long)?;
    let form = Form::parse(&bytes);
    // The proxy decides by itself how often it asks.
    let is_sure = people.is_sure_of(visit) || asks.is_vouched_for();
    let proof = if is_sure { Proof::Nothing } else { people.proof_of(&visit.user).await? };
    if !is_sure && proof != Proof::Password {
        return errors::ask_elsewhere(dash, asks, proof, &came_from(dash, &parts.headers));
    }
    if !is_sure {
        let password = form.secret(errors::PASSWORD);
        let address = parts.uri.path().to_owned();
        if password.expose().is_empty() {
            return errors::ask_for_password(dash, asks, &address, &form, Wrong::default());
        }
        match people.confirm(visit, &password).await {
            Ok(()) => {}
            Err(NotIn::Store(error)) => return Err(error.into()),
            Err(not_in) => {
                let wrong = errors::wrong_password(&not_in);
                return errors::ask_for_password(dash, asks, &address, &form, wrong);
            }
        }
    }
    let mark = form.text(MARK);
    if !mark.is_empty() && !dash.desk().store.take_mark(mark).await? {
        let words = "This form was sent before, and was taken then. What its page showed is shown only once.";
        return Err(Oops::refused(StatusCode::CONFLICT, words));
    }
    parts.extensions.insert(asks.clone());
    Ok(deed(Request::from_parts(parts, Body::from(bytes)), dash.clone()).await)
}

async fn asks(dash: &Dash, row: &Row, parts: &mut Parts) -> Result<(Asks, Shows), Oops> {
    let (project_id, people) = (project_id(parts).await, &dash.desk().people);
    let visit = match cookie(&parts.headers, session_cookie(dash)) {
        Some(token) => people.visit(token, project_id.as_ref()).await?,
        None => None,
    };
    let text = |name| parts.headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok()).unwrap_or_default();
    let visitor = Visitor {
        address: parts.extensions.get::<IpAddr>().copied(),
        user_agent: text(USER_AGENT.as_str()).to_owned(),
        browser: cookie(&parts.headers, &browser_cookie(dash)).map(str::to_owned),
    };
    let theme = cookie(&parts.headers, "theme").and_then(|theme| ["light", "dark"].into_iter().find(|it| *it == theme));
    let request_id = text("x-request-id").to_owned();
    let said = people.ways().proxy.as_ref().map(|proxy| parts.headers.get_all(proxy.header.as_str()));
    let said: Vec<&str> = said.iter().flatten().map(|value| value.to_str().unwrap_or("?")).collect();
    let peer = parts.extensions.get::<Peer>().copied();
    // Not where people are told how they get in, nor for what a page is made of.
    let begins = !row.path.starts_with("/sign-") && !row.path.starts_with("/assets/");
    let through = people.through_proxy(visit, peer, &said, project_id.as_ref(), begins, &visitor).await;
    let Through { visit, token, is_over, vouched, unclear } = through.map_err(|not_in| match not_in {
        NotIn::Store(error) => error.into(),
        other => Oops::Broken(other.to_string()),
    })?;
    let shows = match token {
        Some(token) => Shows::This(token),
        None if is_over => Shows::Nothing,
        None => Shows::TheSame,
    };
    Ok((Asks { visit, visitor, request_id, theme, vouched, unclear }, shows))
}

/// The page of ours from which a form was sent.
fn came_from(dash: &Dash, headers: &HeaderMap) -> String {
    let page = headers.get(REFERER).and_then(|text| text.to_str().ok()).and_then(|text| Url::parse(text).ok());
    let ours = page.filter(|page| dash.origin() == Some(&page.origin()));
    ours.map_or_else(|| "/".to_owned(), |page| page[url::Position::BeforePath..url::Position::AfterQuery].to_owned())
}

/// The project that the address names. Text that is not UTF-8 names nothing that exists.
async fn project_id(parts: &mut Parts) -> Option<ProjectId> {
    let params = RawPathParams::from_request_parts(parts, &()).await.ok()?;
    let project = params.iter().find(|(name, _)| *name == "project")?.1.to_owned();
    ProjectId::parse(&project).ok()
}

fn session_cookie(dash: &Dash) -> &'static str {
    if dash.is_https() { "__Host-copydesk" } else { "copydesk" }
}

pub(crate) fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let all = headers.get_all(COOKIE).iter().filter_map(|line| line.to_str().ok()).flat_map(|line| line.split(';'));
    all.filter_map(|pair| pair.trim().split_once('=')).find(|(key, _)| *key == name).map(|(_, value)| value)
}

/// Makes the browser show `token` from now on, or nothing any more.
pub(crate) fn set_session(dash: &Dash, response: Response, token: Option<&str>) -> Response {
    set_cookie(dash, response, session_cookie(dash), token, 90 * 24 * 3600)
}

/// Under what a browser keeps that somebody has signed in in it.
fn browser_cookie(dash: &Dash) -> String {
    format!("{}-browser", session_cookie(dash))
}

/// Makes the browser known for a year, whoever signs in in it then.
pub(crate) fn set_browser(dash: &Dash, response: Response, token: &str) -> Response {
    set_cookie(dash, response, &browser_cookie(dash), Some(token), 365 * 24 * 3600)
}

/// Makes the browser keep `value` for so many seconds, or nothing any more.
fn set_cookie(dash: &Dash, mut response: Response, name: &str, value: Option<&str>, seconds: u32) -> Response {
    let secure = if dash.is_https() { "; Secure" } else { "" };
    let (value, age) = value.map_or(("", 0), |value| (value, seconds));
    // Lax and not Strict: whoever follows a link from a pull request is signed in there too.
    let text = format!("{name}={value}; Path=/; Max-Age={age}; HttpOnly; SameSite=Lax{secure}");
    if let Ok(text) = HeaderValue::from_str(&text) {
        response.headers_mut().append(SET_COOKIE, text);
    }
    response
}

fn sets_session(dash: &Dash, response: &Response) -> bool {
    let start = format!("{}=", session_cookie(dash));
    response.headers().get_all(SET_COOKIE).iter().any(|cookie| cookie.as_bytes().starts_with(start.as_bytes()))
}

/// Under what a browser keeps the note of a sign-in that it is away for.
fn note_cookie(dash: &Dash, mark: &str) -> String {
    format!("{}-away-{mark}", session_cookie(dash))
}

/// Makes the browser keep a note while it is at the provider, or no longer.
pub(crate) fn set_note(dash: &Dash, response: Response, mark: &str, note: Option<&str>) -> Response {
    set_cookie(dash, response, &note_cookie(dash, mark), note, 600)
}

pub(crate) fn note<'a>(dash: &Dash, headers: &'a HeaderMap, mark: &str) -> Option<&'a str> {
    cookie(headers, &note_cookie(dash, mark))
}
