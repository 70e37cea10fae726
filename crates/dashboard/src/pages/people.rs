//! Everybody who can sign in, for administrators.

use askama::Template;
use axum::extract::{Path, RawQuery, State};
use axum::http::StatusCode;
use copydesk_desk::people::{INVITED, Link};
use copydesk_domain::User;
use copydesk_store::{Entrance, Indispensable, Invitation};

use super::ask::AskPage;
use super::links::{checked_note, join_address};
use crate::access::{Needs, Table};
use crate::dash::Dash;
use crate::form::{Form, Wrong};
use crate::respond::plain;
use crate::respond::{Oops, Reply, page, secret, to, unfit};
use crate::shell::Shell;
use crate::who::SignedIn;
use crate::words;

pub(super) fn routes(table: Table) -> Table {
    let admin = Needs::Administrator;
    table
        .get(admin, "/people", show)
        .post_surely(admin, "/people/invite", invite)
        .post_surely(admin, "/people/invitations/{id}/withdraw", withdraw)
        .post_surely(admin, "/people/{user}/administrator", set_admin)
        .post_surely(admin, "/people/{user}/link", link_again)
        .get(admin, "/people/{user}/remove", ask)
        .post_surely(admin, "/people/{user}/remove", remove)
}

#[derive(Template)]
#[template(path = "people.html")]
struct PeoplePage {
    shell: Shell,
    users: Vec<User>,
    invitations: Vec<Invitation>,
    /// Who looks.
    me: String,
    /// The link that was just made and whom it is for, the only time it can be seen.
    link: Option<(String, String, Invitation)>,
    note: String,
    said: Option<&'static str>,
    wrong: Wrong,
}

impl PeoplePage {
    async fn new(dash: &Dash, who: &SignedIn) -> Result<Self, Oops> {
        let store = &dash.desk().store;
        Ok(Self {
            shell: Shell::outside(dash, who, "People"),
            users: store.users().await?,
            invitations: store.invitations(None).await?,
            me: who.user.id.clone(),
            link: None,
            note: String::new(),
            said: None,
            wrong: Wrong::default(),
        })
    }
}

async fn show(State(dash): State<Dash>, who: SignedIn, RawQuery(query): RawQuery) -> Reply {
    let said = match Form::parse(query.unwrap_or_default().as_bytes()).text("said") {
        "saved" => Some("Saved."),
        "removed" => Some("Removed. They are signed out everywhere."),
        "withdrawn" => Some("The invitation is withdrawn. Its link no longer works."),
        _ => None,
    };
    page(&PeoplePage { said, ..PeoplePage::new(&dash, &who).await? })
}

async fn invite(State(dash): State<Dash>, who: SignedIn, form: Form) -> Reply {
    match checked_note(&form) {
        Ok(note) => {
            let made = dash.desk().people.link(&who.store(&dash), Entrance::Administrator, &note, INVITED).await?;
            shown_once(&dash, &who, note, made.ok_or(Oops::NotFound)?).await
        }
        Err(invalid) => {
            let note = form.text("note").to_owned();
            unfit(&PeoplePage { note, wrong: invalid.into(), ..PeoplePage::new(&dash, &who).await? })
        }
    }
}

async fn shown_once(dash: &Dash, who: &SignedIn, whom: String, link: Link) -> Reply {
    let address = join_address(dash, &link);
    let link = Some((whom, address, link.invitation));
    page(&PeoplePage { link, ..PeoplePage::new(dash, who).await? }).map(secret)
}

async fn withdraw(State(dash): State<Dash>, who: SignedIn, Path(id): Path<String>) -> Reply {
    if !who.store(&dash).withdraw(None, plain(&id)?).await? {
        return Err(Oops::NotFound);
    }
    to("/people?said=withdrawn")
}

async fn found(dash: &Dash, id: &str) -> Result<User, Oops> {
    dash.desk().store.user(plain(id)?).await?.ok_or(Oops::NotFound)
}

async fn set_admin(State(dash): State<Dash>, who: SignedIn, Path(id): Path<String>, form: Form) -> Reply {
    let user = found(&dash, &id).await?;
    let is_admin = match form.text("is") {
        "yes" => true,
        "no" => false,
        _ => {
            return Err(Oops::refused(StatusCode::UNPROCESSABLE_ENTITY, "Choose whether they are an administrator."));
        }
    };
    match who.store(&dash).set_admin(&user.id, is_admin).await {
        Ok(Some(_)) if user.id == who.user.id && !is_admin => to("/"),
        Ok(Some(_)) => to("/people?said=saved"),
        Ok(None) => Err(Oops::NotFound),
        Err(error) => Err(kept(error)),
    }
}

async fn link_again(State(dash): State<Dash>, who: SignedIn, Path(id): Path<String>) -> Reply {
    let user = found(&dash, &id).await?;
    let entrance = Entrance::Again(user.id);
    let made = dash.desk().people.link(&who.store(&dash), entrance, "comes in again", INVITED).await?;
    shown_once(&dash, &who, user.email, made.ok_or(Oops::NotFound)?).await
}

async fn ask(State(dash): State<Dash>, who: SignedIn, Path(id): Path<String>) -> Reply {
    let user = found(&dash, &id).await?;
    page(&AskPage {
        shell: Shell::outside(&dash, &who, "Remove somebody"),
        question: format!("Remove {}?", user.email),
        words: "They are signed out everywhere at once and removed from all projects. What they did stays, and so do \
                the keys they created: revoke the ones they know."
            .to_owned(),
        action: format!("/people/{}/remove", user.id),
        deed: "Remove them",
        keep: "Keep them",
        back: "/people".to_owned(),
    })
}

async fn remove(State(dash): State<Dash>, who: SignedIn, Path(id): Path<String>) -> Reply {
    let user = found(&dash, &id).await?;
    match who.store(&dash).remove_user(&user.id).await {
        Ok(_) => to("/people?said=removed"),
        Err(error) => Err(kept(error)),
    }
}

fn kept(error: Indispensable) -> Oops {
    match error {
        Indispensable::Store(error) => error.into(),
        refusal => Oops::refused(StatusCode::CONFLICT, format!("{}.", words::capital(&refusal.to_string()))),
    }
}
