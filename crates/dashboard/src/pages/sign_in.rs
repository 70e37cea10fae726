//! Getting in and out: the first link, invitations, sign-in.

use askama::Template;
use axum::extract::{Path, Query, State};
use axum::http::header::{HeaderName, HeaderValue};
use axum::response::Response;
use copydesk_desk::people::{Arrived, NewUsers, Newcomer, NotIn};
use copydesk_domain::{Invalid, Role};
use copydesk_store::{Entrance, Invitation};

use crate::access::{Needs, Table, set_browser, set_session};
use crate::dash::Dash;
use crate::errors;
use crate::form::{Form, Wrong, password_hint};
use crate::respond::{Oops, Reply, page, secret, to, unfit};
use crate::shell::Shell;
use crate::who::{Asks, SignedIn};
use crate::words::{self, part};

pub(super) fn routes(table: Table) -> Table {
    table
        .get(Needs::Nothing, "/sign-in", show)
        .post(Needs::Nothing, "/sign-in", sign_in)
        .post(Needs::SignedIn, "/sign-out", sign_out)
        .get(Needs::Nothing, "/join/{token}", invitation)
        .post(Needs::Nothing, "/join/{token}", join)
}

#[derive(serde::Deserialize)]
struct Back {
    to: Option<String>,
}

#[derive(Template)]
#[template(path = "sign_in.html")]
pub(super) struct SignInPage {
    shell: Shell,
    /// Where to go then.
    back: String,
    email: String,
    pub(super) said: Option<String>,
    /// Whether there is anybody yet who could sign in.
    has_users: bool,
    provider: Option<String>,
    takes_passwords: bool,
    /// The address for which the proxy in front vouches.
    vouched: Option<String>,
    /// Whether there is a user with that address.
    is_user: bool,
    /// Whether the proxy said something that is no address.
    unclear: bool,
}

impl SignInPage {
    pub(super) async fn new(dash: &Dash, asks: &Asks, back: String) -> Result<Self, Oops> {
        let (store, people) = (&dash.desk().store, &dash.desk().people);
        let is_user = match &asks.vouched {
            Some(address) => store.user_at(address).await?.is_some(),
            None => false,
        };
        Ok(Self {
            shell: Shell::new(dash, Some(asks), "Sign in"),
            back,
            email: String::new(),
            said: None,
            has_users: store.has_users().await?,
            provider: people.provider(),
            takes_passwords: people.takes_passwords(),
            is_user: is_user || people.ways().new_users == NewUsers::WithoutProjects,
            vouched: asks.vouched.clone(),
            unclear: asks.unclear,
        })
    }
}

async fn show(State(dash): State<Dash>, asks: Asks, Query(query): Query<Back>) -> Reply {
    let back = inside(query.to.as_deref());
    if asks.visit.is_some() {
        return to(&back);
    }
    page(&SignInPage::new(&dash, &asks, back).await?)
}

/// An address of ours, whatever was asked for: nobody is to be led elsewhere by a link to our sign-in.
pub(super) fn inside(wanted: Option<&str>) -> String {
    let is_ours = |path: &&str| {
        path.starts_with('/') && !path.starts_with("//") && !path.contains(['\\', '\r', '\n', '\t']) && path.is_ascii()
    };
    wanted.filter(is_ours).unwrap_or("/").to_owned()
}

async fn sign_in(State(dash): State<Dash>, asks: Asks, form: Form) -> Reply {
    let (people, back) = (&dash.desk().people, inside(Some(form.raw("to"))));
    match people.sign_in(form.text("email"), &form.secret("password"), &asks.visitor).await {
        Ok(arrived) => welcome(&dash, &arrived, &back),
        Err(NotIn::Store(error)) => Err(error.into()),
        Err(not_in) => {
            let (email, said) = (form.text("email").to_owned(), Some(not_in.to_string()));
            let answer = unfit(&SignInPage { email, said, ..SignInPage::new(&dash, &asks, back).await? })?;
            Ok(errors::wait(answer, &not_in))
        }
    }
}

/// Lets the browser show who it is, and leads on.
pub(super) fn welcome(dash: &Dash, arrived: &Arrived, back: &str) -> Reply {
    let response = set_session(dash, to(back)?, Some(arrived.token.expose()));
    Ok(match &arrived.browser {
        Some(token) => set_browser(dash, response, token.expose()),
        None => response,
    })
}

async fn sign_out(State(dash): State<Dash>, who: SignedIn) -> Reply {
    who.store(&dash).end_session(&who.user.id, &who.session.id).await?;
    Ok(signed_out(&dash, to("/sign-in")?))
}

/// Nothing of what was seen stays in the browser.
pub(super) fn signed_out(dash: &Dash, response: Response) -> Response {
    let mut response = set_session(dash, response, None);
    let name = HeaderName::from_static("clear-site-data");
    response.headers_mut().insert(name, HeaderValue::from_static("\"cache\""));
    response
}

#[derive(Template)]
#[template(path = "join.html")]
struct JoinPage {
    shell: Shell,
    /// What the link is for.
    what: String,
    /// Somebody who is signed in, or whom the link names.
    known: Option<String>,
    /// Whether a password is asked for.
    asks_password: bool,
    /// Whether there is anything to fill in or to say yes to.
    has_form: bool,
    /// The name of a provider through which they can come in, and where the way to it begins.
    provider: Option<(String, String)>,
    email: String,
    name: String,
    wrong: Wrong,
}

impl JoinPage {
    fn hint(&self) -> String {
        password_hint()
    }

    async fn new(
        dash: &Dash,
        asks: &Asks,
        token: &str,
        invitation: &Invitation,
        named: Option<String>,
    ) -> Result<Self, Oops> {
        let what = match &invitation.entrance {
            Entrance::Administrator if !dash.desk().store.has_users().await? => {
                "Nobody can sign in yet. You become the first administrator: all projects and settings are open to you."
                    .to_owned()
            }
            Entrance::Administrator => {
                "You become an administrator: all projects and settings are open to you.".to_owned()
            }
            Entrance::Member(project_id, role) => {
                let project = dash.desk().store.project(project_id).await?.ok_or(Oops::NotFound)?;
                format!("{} invites you to the project {} as {}.", invitation.made_by, project.name, in_words(*role))
            }
            Entrance::Again(_) if !dash.desk().people.takes_passwords() => {
                "This link lets you in once.".to_owned()
            }
            Entrance::Again(_) => "Choose a new password, which ends all of your other sessions, or leave it empty to keep the present one.".to_owned(),
        };
        let people = &dash.desk().people;
        let is_again = matches!(invitation.entrance, Entrance::Again(_));
        let known = match &asks.visit {
            _ if is_again => named,
            Some(visit) => Some(visit.user.email.clone()),
            None => asks.vouched.clone(),
        };
        let takes_passwords = people.takes_passwords();
        let is_stranger = asks.visit.is_none() && asks.vouched.is_none();
        let away = |name| (name, format!("/sign-in/oidc?to={}", part(&format!("/join/{token}"))));
        Ok(Self {
            shell: Shell::new(dash, Some(asks), if is_again { "Sign in again" } else { "Welcome to Copydesk" }),
            what,
            asks_password: takes_passwords && (is_again || known.is_none()),
            has_form: takes_passwords || known.is_some(),
            provider: people.provider().filter(|_| is_stranger).map(away),
            known,
            email: String::new(),
            name: String::new(),
            wrong: Wrong::default(),
        })
    }
}

pub(super) fn in_words(role: Role) -> &'static str {
    match role {
        Role::Viewer => "a viewer, who sees everything",
        Role::Editor => "an editor, who makes jobs and merges their changes",
        Role::Owner => "an owner, who also has its keys, settings and members",
    }
}

async fn invitation(State(dash): State<Dash>, asks: Asks, Path(token): Path<String>) -> Reply {
    let (invitation, named) = dash.desk().people.look_at(&token).await?.ok_or_else(gone)?;
    let template = JoinPage::new(&dash, &asks, &token, &invitation, named.map(|user| user.email)).await?;
    // Its address is a way in.
    page(&template).map(secret)
}

/// Where an invitation leads.
pub(super) fn inside_of(entrance: &Entrance) -> String {
    match entrance {
        Entrance::Member(project_id, _) => format!("/p/{project_id}"),
        _ => "/".to_owned(),
    }
}

fn gone() -> Oops {
    Oops::refused(axum::http::StatusCode::NOT_FOUND, NotIn::Gone.to_string())
}

async fn join(State(dash): State<Dash>, asks: Asks, Path(token): Path<String>, form: Form) -> Reply {
    let people = &dash.desk().people;
    let (invitation, named) = people.look_at(&token).await?.ok_or_else(gone)?;
    let back = inside_of(&invitation.entrance);
    let arrived = match (&invitation.entrance, &asks.visit) {
        (Entrance::Again(_), _) => people.come_back(&token, &form.secret("password"), &asks.visitor).await,
        (_, Some(visit)) => people.join_as(&token, visit, &asks.visitor).await,
        (_, None) if asks.vouched.is_some() => {
            people.join_by_proxy(&token, asks.vouched.as_deref().unwrap_or_default(), &asks.visitor).await
        }
        (_, None) => {
            let newcomer = Newcomer {
                email: form.text("email").to_owned(),
                name: form.text("name").to_owned(),
                password: form.secret("password"),
            };
            people.join(&token, newcomer, &asks.visitor).await
        }
    };
    let wrong = match arrived {
        Ok(arrived) => return welcome(&dash, &arrived, &back),
        Err(NotIn::Store(error)) => return Err(error.into()),
        Err(NotIn::Gone) => return Err(gone()),
        Err(NotIn::Invalid(all)) => all.into(),
        Err(not_in @ NotIn::NoPasswords(_)) => {
            return Err(Oops::refused(axum::http::StatusCode::FORBIDDEN, not_in.to_string()));
        }
        Err(not_in) => Invalid::new("password", not_in.to_string()).into(),
    };
    let mut template = JoinPage::new(&dash, &asks, &token, &invitation, named.map(|user| user.email)).await?;
    (template.email, template.name) = (form.text("email").to_owned(), form.text("name").to_owned());
    template.wrong = wrong;
    unfit(&template).map(secret)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_led_elsewhere() {
        assert_eq!(inside(Some("/p/docs/jobs?status=failed")), "/p/docs/jobs?status=failed");
        for elsewhere in ["", "https://evil.example", "//evil.example", "/\\evil.example", "evil", "/a\nb", "/ü"] {
            assert_eq!(inside(Some(elsewhere)), "/", "{elsewhere:?}");
        }
        assert_eq!(inside(None), "/");
    }
}
