//! Keys for all projects and for the administration, for administrators.

use askama::Template;
use axum::extract::{Path, State};
use copydesk_desk::keys::{self, KeyDraft, NotMade};
use copydesk_domain::{Invalid, KeyRecord, Scope, Timestamp};

use super::ask::AskPage;
use crate::access::{Needs, Table};
use crate::dash::Dash;
use crate::form::{Form, Wrong};
use crate::respond::{Oops, Reply, page, secret, to, unfit};
use crate::shell::Shell;
use crate::who::SignedIn;
use crate::words;

pub(super) fn routes(table: Table) -> Table {
    let admin = Needs::Administrator;
    table
        .get(admin, "/server/keys", show)
        .post_surely(admin, "/server/keys", make)
        .get(admin, "/server/keys/{id}/revoke", ask)
        .post_surely(admin, "/server/keys/{id}/revoke", revoke)
}

#[derive(Template)]
#[template(path = "server_keys.html")]
struct ServerKeysPage {
    shell: Shell,
    keys: Vec<KeyRecord>,
    now: Timestamp,
    public_url: String,
    /// The key that was just made, the only time it can be seen.
    new: Option<(KeyRecord, String)>,
    name: String,
    scope: String,
    expires: String,
    wrong: Wrong,
}

impl ServerKeysPage {
    async fn new(dash: &Dash, who: &SignedIn) -> Result<Self, Oops> {
        let keys = dash.desk().store.keys(None).await?;
        Ok(Self {
            shell: Shell::outside(dash, who, "Keys for all projects"),
            keys: keys.into_iter().rev().filter(|key| key.project_id.is_none()).collect(),
            now: dash.desk().store.now(),
            public_url: dash.settings().public_url.clone(),
            new: None,
            name: String::new(),
            scope: "admin".to_owned(),
            expires: "90d".to_owned(),
            wrong: Wrong::default(),
        })
    }

    fn scopes(&self) -> [(&'static str, &'static str); 3] {
        [("admin", "administer, and nothing else"), ("write", "read and write"), ("read", "only read")]
    }

    fn ends(&self) -> [(&'static str, &'static str); 4] {
        [("7d", "in a week"), ("90d", "in 90 days"), ("365d", "in a year"), ("", "never")]
    }

    fn works(&self, key: &KeyRecord) -> bool {
        key.is_valid_at(self.now)
    }
}

async fn show(State(dash): State<Dash>, who: SignedIn) -> Reply {
    page(&ServerKeysPage::new(&dash, &who).await?)
}

async fn make(State(dash): State<Dash>, who: SignedIn, form: Form) -> Reply {
    let made = match (form.given("name"), Scope::parse(form.text("scope"))) {
        (None, _) => Err(Invalid::new("name", "is needed, so that you know later what the key is for")),
        (_, None) => Err(Invalid::new("scope", "must be read, write or admin")),
        (Some(name), Some(scope)) => {
            let draft = KeyDraft { project_id: None, name, scope, expires: form.given("expires") };
            match keys::create(&who.store(&dash), draft).await {
                Ok(made) => Ok(made),
                Err(NotMade::Invalid(invalid)) => Err(invalid),
                Err(NotMade::NoProject(_)) => return Err(Oops::NotFound),
                Err(NotMade::Store(error)) => return Err(error.into()),
            }
        }
    };
    let template = ServerKeysPage::new(&dash, &who).await?;
    match made {
        Ok((record, key)) => {
            let new = Some((record, key.reveal().to_owned()));
            page(&ServerKeysPage { new, ..template }).map(secret)
        }
        Err(invalid) => {
            let [name, scope, expires] = ["name", "scope", "expires"].map(|field| form.text(field).to_owned());
            unfit(&ServerKeysPage { name, scope, expires, wrong: invalid.into(), ..template })
        }
    }
}

/// The key of that id, if it is one for all projects.
async fn found(dash: &Dash, id: &str) -> Result<KeyRecord, Oops> {
    let keys = dash.desk().store.keys(None).await?;
    keys.into_iter().find(|key| key.id == id && key.project_id.is_none()).ok_or(Oops::NotFound)
}

async fn ask(State(dash): State<Dash>, who: SignedIn, Path(id): Path<String>) -> Reply {
    let key = found(&dash, &id).await?;
    page(&AskPage {
        shell: Shell::outside(&dash, &who, "Revoke a key"),
        question: format!("Revoke “{}”?", key.name),
        words: format!("The next request with {} is refused. This cannot be undone.", key.hint),
        action: format!("/server/keys/{}/revoke", key.id),
        deed: "Revoke it",
        keep: "Keep it",
        back: "/server/keys".to_owned(),
    })
}

async fn revoke(State(dash): State<Dash>, who: SignedIn, Path(id): Path<String>) -> Reply {
    let key = found(&dash, &id).await?;
    who.store(&dash).revoke_key(&key.id).await?;
    to("/server/keys")
}
