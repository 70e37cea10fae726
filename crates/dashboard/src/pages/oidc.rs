//! To the provider of sign-ins and back.

use askama::Template;
use axum::extract::{Query, RawQuery, State};
use axum::http::{HeaderMap, StatusCode};
use copydesk_desk::people::oidc::{Failed, Returning, Wish};
use copydesk_desk::people::{NotIn, Returned};

use super::sign_in::{SignInPage, inside, inside_of, welcome};
use crate::access::{Needs, Table, note, set_note};
use crate::dash::Dash;
use crate::errors;
use crate::form::Form;
use crate::respond::{Oops, Reply, page, page_with, secret, to};
use crate::shell::Shell;
use crate::who::{Asks, SignedIn};
use crate::words::part;

pub(super) fn routes(table: Table) -> Table {
    // By a link and not by a form: browsers hold our rule for forms against where a form leads to in the end, too.
    table.get(Needs::Nothing, "/sign-in/oidc", leave).get(Needs::Nothing, "/sign-in/oidc/back", back).get(
        Needs::SignedIn,
        "/sign-in/sure",
        sure,
    )
}

#[derive(serde::Deserialize)]
struct Leave {
    to: Option<String>,
    /// Whether somebody who is signed in shows again that it is they.
    again: Option<String>,
}

async fn leave(State(dash): State<Dash>, asks: Asks, Query(query): Query<Leave>) -> Reply {
    let back = inside(query.to.as_deref());
    let wish = match (&asks.visit, &query.again) {
        (Some(visit), Some(_)) => Wish { back, link: None, confirms: Some(visit.session.id.clone()) },
        (Some(_), None) => return to(&back),
        (None, _) => Wish { link: back.strip_prefix("/join/").map(str::to_owned), back, confirms: None },
    };
    let back = wish.back.clone();
    match dash.desk().people.leave(wish).await {
        Ok(leaving) => Ok(secret(set_note(&dash, to(&leaving.address)?, &leaving.mark, Some(&leaving.note)))),
        Err(not_in) => refused(&dash, &asks, not_in, back).await,
    }
}

async fn back(State(dash): State<Dash>, asks: Asks, headers: HeaderMap, RawQuery(query): RawQuery) -> Reply {
    let query = Form::parse(query.unwrap_or_default().as_bytes());
    let returning = Returning {
        code: query.given("code"),
        state: query.given("state"),
        error: query.given("error"),
        iss: query.given("iss"),
    };
    let mark = returning.mark().unwrap_or_default();
    let note = note(&dash, &headers, mark);
    let answer = match dash.desk().people.returned(&returning, note, asks.visit.as_ref(), &asks.visitor).await {
        Ok(Returned::In(arrived, wish)) => welcome(&dash, &arrived, &inside(Some(&wish.back))),
        Ok(Returned::Joined(arrived, entrance)) => welcome(&dash, &arrived, &inside_of(&entrance)),
        Ok(Returned::Confirmed(wish)) => to(&format!("/sign-in/sure?to={}", part(&wish.back))),
        Err(not_in) => refused(&dash, &asks, not_in, "/".to_owned()).await,
    };
    // Its address has a code in it.
    let answer = secret(answer?);
    Ok(if note.is_some() { set_note(&dash, answer, mark, None) } else { answer })
}

/// Says why nobody was let in, where the next try begins.
async fn refused(dash: &Dash, asks: &Asks, not_in: NotIn, back: String) -> Reply {
    let status = match &not_in {
        NotIn::Store(_) | NotIn::Provider(Failed::Broken(_)) => StatusCode::INTERNAL_SERVER_ERROR,
        NotIn::Provider(Failed::Away { .. } | Failed::Unfit { .. }) => StatusCode::BAD_GATEWAY,
        NotIn::Provider(Failed::Busy) => StatusCode::SERVICE_UNAVAILABLE,
        NotIn::Provider(Failed::Stale | Failed::Declined(_)) => StatusCode::FORBIDDEN,
        _ if dash.desk().people.provider().is_none() => StatusCode::NOT_FOUND,
        _ => StatusCode::FORBIDDEN,
    };
    let words = match not_in {
        NotIn::Store(error) => return Err(error.into()),
        NotIn::Invalid(_) => {
            "Your address belongs to somebody who is here already. Sign in as they do, then open the link \
                              again."
                .to_owned()
        }
        ref other => other.to_string(),
    };
    if asks.visit.is_some() || status == StatusCode::NOT_FOUND {
        return Err(Oops::refused(status, words));
    }
    let mut template = SignInPage::new(dash, asks, back).await?;
    template.said = Some(words);
    Ok(errors::wait(page_with(status, &template)?, &not_in))
}

#[derive(Template)]
#[template(path = "sure.html")]
struct SurePage {
    shell: Shell,
    back: String,
}

async fn sure(State(dash): State<Dash>, who: SignedIn, Query(query): Query<Leave>) -> Reply {
    page(&SurePage { shell: Shell::outside(&dash, &who, "It is you"), back: inside(query.to.as_deref()) })
}
