//! What is shown when something else cannot be, and the question for a password.

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::RETRY_AFTER;
use axum::response::{IntoResponse, Response};
use copydesk_desk::people::{NotIn, Proof};
use copydesk_domain::Invalid;

use crate::dash::Dash;
use crate::form::{Form, Wrong};
use crate::respond::{Oops, Reply, finish, page_with, secret};
use crate::shell::Shell;
use crate::who::Asks;
use crate::words::part;

/// The field in which a password is given for a deed that hurts. No form of ours has one of that name.
pub(crate) const PASSWORD: &str = "_password";

#[derive(Template)]
#[template(path = "error.html")]
struct ErrorPage<'a> {
    shell: Shell,
    words: String,
    request_id: &'a str,
}

/// The page that says what went wrong.
pub(crate) fn page(dash: &Dash, asks: Option<&Asks>, oops: &Oops) -> Response {
    let (status, title, words) = oops.words();
    let request_id = asks.map_or("", |asks| asks.request_id.as_str());
    if let Oops::Broken(cause) = oops {
        tracing::error!(cause, request_id, "a page could not be made");
    }
    let template = ErrorPage { shell: Shell::new(dash, asks, title), words: words.clone(), request_id };
    page_with(status, &template).unwrap_or_else(|_| (status, words).into_response())
}

/// Addresses under which there is nothing.
pub(crate) async fn not_found(State(dash): State<Dash>) -> Response {
    let mut response = page(&dash, None, &Oops::NotFound);
    finish(response.headers_mut());
    response
}

#[derive(Template)]
#[template(path = "confirm.html")]
struct ConfirmPage<'a> {
    shell: Shell,
    address: &'a str,
    /// What was filled in, to be sent again.
    fields: Vec<(&'a str, &'a str)>,
    field: &'static str,
    wrong: Wrong,
}

/// Asks for the password, with the form that waits for it.
pub(crate) fn ask_for_password(dash: &Dash, asks: &Asks, address: &str, form: &Form, wrong: Wrong) -> Reply {
    let fields = form.fields().iter().filter(|(name, _)| name != PASSWORD);
    let template = ConfirmPage {
        shell: Shell::new(dash, Some(asks), "Your password again"),
        address,
        fields: fields.map(|(name, value)| (name.as_str(), value.as_str())).collect(),
        field: PASSWORD,
        wrong,
    };
    // What was filled in may be a credential.
    page_with(StatusCode::FORBIDDEN, &template).map(secret)
}

#[derive(Template)]
#[template(path = "confirm_elsewhere.html")]
struct ElsewherePage {
    shell: Shell,
    /// The name of the provider, and where the way to it begins.
    provider: Option<(String, String)>,
}

/// Leads somebody who has no password to where they can show that it is they. What they filled in is lost: it is not carried
/// around the world.
pub(crate) fn ask_elsewhere(dash: &Dash, asks: &Asks, proof: Proof, back: &str) -> Reply {
    let provider = match proof {
        Proof::Provider(name) => Some((name, format!("/sign-in/oidc?again=1&to={}", part(back)))),
        Proof::Password | Proof::Nothing => None,
    };
    let template = ElsewherePage { shell: Shell::new(dash, Some(asks), "Confirm that it is you"), provider };
    page_with(StatusCode::FORBIDDEN, &template)
}

/// Why a password was not taken, beside its field.
pub(crate) fn wrong_password(not_in: &NotIn) -> Wrong {
    let message = match not_in {
        NotIn::Wrong => "is not yours".to_owned(),
        NotIn::TooMany(seconds) => format!("was wrong too often; try again in {seconds} seconds"),
        _ => "could not be checked; try again in a few seconds".to_owned(),
    };
    Invalid::new(PASSWORD, message).into()
}

/// The answer to somebody who tries too often.
pub(crate) fn wait(mut response: Response, not_in: &NotIn) -> Response {
    let seconds = match not_in {
        NotIn::TooMany(seconds) => *seconds,
        NotIn::Busy => 5,
        _ => return response,
    };
    *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
    response.headers_mut().insert(RETRY_AFTER, seconds.into());
    response
}
