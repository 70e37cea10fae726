//! Somebody's own name, password and sessions.

use askama::Template;
use axum::extract::{Path, Query, State};
use copydesk_desk::people::NotIn;
use copydesk_domain::{Invalid, person_name};
use copydesk_store::Session;

use super::sign_in::signed_out;
use crate::access::{Needs, Table};
use crate::dash::Dash;
use crate::form::{Form, Wrong, password_hint};
use crate::respond::{Oops, Reply, page, to, unfit};
use crate::shell::Shell;
use crate::who::SignedIn;
use crate::words;

pub(super) fn routes(table: Table) -> Table {
    table
        .get(Needs::SignedIn, "/me", show)
        .post(Needs::SignedIn, "/me/name", rename)
        .post(Needs::SignedIn, "/me/password", change_password)
        .post(Needs::SignedIn, "/me/sessions/{id}/end", end_session)
        .post(Needs::SignedIn, "/me/sessions/end", end_all)
}

#[derive(Template)]
#[template(path = "me.html")]
struct MePage {
    shell: Shell,
    name: String,
    email: String,
    sessions: Vec<Session>,
    /// The session that looks.
    here: String,
    said: Option<&'static str>,
    wrong: Wrong,
    /// Whether there is a password that could be changed.
    has_password: bool,
    /// Through whom they come in otherwise.
    provider: Option<String>,
}

#[derive(serde::Deserialize)]
struct Said {
    said: Option<String>,
}

impl MePage {
    fn hint(&self) -> String {
        password_hint()
    }

    /// How a session was begun.
    fn way(&self, session: &Session) -> String {
        match (session.way.as_str(), &self.provider) {
            ("password", _) => "by password".to_owned(),
            ("link", _) => "by a link".to_owned(),
            ("proxy", _) => "through the proxy in front".to_owned(),
            ("oidc", Some(name)) => format!("through {name}"),
            _ => "through a provider".to_owned(),
        }
    }

    async fn new(dash: &Dash, who: &SignedIn) -> Result<Self, Oops> {
        let people = &dash.desk().people;
        Ok(Self {
            shell: Shell::outside(dash, who, "You"),
            has_password: people.takes_passwords() && people.has_password(&who.user).await?,
            provider: people.provider(),
            name: who.user.name.clone(),
            email: who.user.email.clone(),
            sessions: dash.desk().store.sessions(&who.user.id).await?,
            here: who.session.id.clone(),
            said: None,
            wrong: Wrong::default(),
        })
    }
}

async fn show(State(dash): State<Dash>, who: SignedIn, Query(query): Query<Said>) -> Reply {
    let said = match query.said.as_deref() {
        Some("password") => Some("Your password is changed. All of your other sessions have ended."),
        Some("name") => Some("Your name is changed."),
        _ => None,
    };
    page(&MePage { said, ..MePage::new(&dash, &who).await? })
}

async fn rename(State(dash): State<Dash>, who: SignedIn, form: Form) -> Reply {
    match person_name(form.text("name")) {
        Ok(name) => {
            who.store(&dash).rename_user(&who.user.id, &name).await?;
            to("/me?said=name")
        }
        Err(wrong) => {
            let name = form.text("name").to_owned();
            unfit(&MePage { name, wrong: wrong.into(), ..MePage::new(&dash, &who).await? })
        }
    }
}

async fn change_password(State(dash): State<Dash>, who: SignedIn, form: Form) -> Reply {
    let visit = who.asks.visit.as_ref().ok_or(Oops::NotFound)?;
    let (present, new) = (form.secret("present"), form.secret("password"));
    let changed = dash.desk().people.change_password(visit, &present, &new, &who.asks.visitor).await;
    let wrong = match changed {
        Ok(()) => return to("/me?said=password"),
        Err(NotIn::Store(error)) => return Err(error.into()),
        Err(NotIn::Invalid(all)) => all.into(),
        Err(NotIn::Wrong) => Invalid::new("present", "is not yours").into(),
        Err(not_in) => Invalid::new("present", not_in.to_string()).into(),
    };
    unfit(&MePage { wrong, ..MePage::new(&dash, &who).await? })
}

async fn end_session(State(dash): State<Dash>, who: SignedIn, Path(id): Path<String>) -> Reply {
    who.store(&dash).end_session(&who.user.id, &id).await?;
    if id == who.session.id { Ok(signed_out(&dash, to("/sign-in")?)) } else { to("/me") }
}

async fn end_all(State(dash): State<Dash>, who: SignedIn) -> Reply {
    who.store(&dash).end_sessions(&who.user.id).await?;
    Ok(signed_out(&dash, to("/sign-in")?))
}
