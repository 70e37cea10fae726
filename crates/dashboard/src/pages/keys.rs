//! A project's admin API keys: made, shown once, revoked.

use std::time::Duration;

use askama::Template;
use axum::extract::{Path, State};
use copydesk_desk::keys::{self, KeyDraft, NotMade};
use copydesk_domain::{Invalid, KeyRecord, Scope, Timestamp};

use super::OWNER;
use crate::access::Table;
use crate::dash::Dash;
use crate::form::{Form, Wrong};
use crate::respond::{Oops, Reply, page, secret, to, unfit};
use crate::shell::Shell;
use crate::who::InProject;
use crate::words;

/// What a key can be made to end after: what is sent, and what it says.
const ENDS: [(&str, &str); 5] =
    [("", "never"), ("7d", "in a week"), ("30d", "in 30 days"), ("90d", "in 90 days"), ("365d", "in a year")];

pub(super) fn routes(table: Table) -> Table {
    table
        .get(OWNER, "/p/{project}/keys", show)
        .post_surely(OWNER, "/p/{project}/keys", make)
        .get(OWNER, "/p/{project}/keys/{id}/revoke", ask)
        .post_surely(OWNER, "/p/{project}/keys/{id}/revoke", revoke)
        .get(OWNER, "/p/{project}/keys/{id}/rotate", ask_overlap)
        .post_surely(OWNER, "/p/{project}/keys/{id}/rotate", rotate)
}

#[derive(Template)]
#[template(path = "keys.html")]
struct KeysPage {
    shell: Shell,
    project_id: String,
    public_url: String,
    keys: Vec<KeyRecord>,
    now: Timestamp,
    /// The key that was just made, the only time it can be seen.
    new: Option<(KeyRecord, String)>,
    /// When the key ends that it takes over from.
    old_ends: Option<Timestamp>,
    draft: Draft,
    wrong: Wrong,
}

/// What is in the form.
#[derive(Default)]
struct Draft {
    name: String,
    scope: String,
    expires: String,
}

impl KeysPage {
    async fn new(dash: &Dash, who: &InProject) -> Result<Self, Oops> {
        let mut keys = dash.desk().store.keys(Some(&who.project.id)).await?;
        keys.reverse();
        Ok(Self {
            shell: Shell::inside(dash, who, "/keys", "API keys"),
            project_id: who.project.id.to_string(),
            public_url: dash.settings().public_url.clone(),
            keys,
            now: dash.desk().store.now(),
            new: None,
            old_ends: None,
            draft: Draft::default(),
            wrong: Wrong::default(),
        })
    }

    fn ends(&self) -> [(&'static str, &'static str); 5] {
        ENDS
    }

    /// How a key stands: the look of its badge, and the words.
    fn standing(&self, key: &KeyRecord) -> (&'static str, &'static str) {
        if key.revoked_at.is_some() {
            ("bad", "revoked")
        } else if !key.is_valid_at(self.now) {
            ("bad", "ended")
        } else {
            ("good", "works")
        }
    }
}

async fn show(State(dash): State<Dash>, who: InProject) -> Reply {
    page(&KeysPage::new(&dash, &who).await?)
}

async fn make(State(dash): State<Dash>, who: InProject, form: Form) -> Reply {
    let draft = Draft {
        name: form.text("name").to_owned(),
        scope: form.text("scope").to_owned(),
        expires: form.text("expires").to_owned(),
    };
    let made = match (draft.name.is_empty(), Scope::parse(&draft.scope).filter(|scope| *scope != Scope::Admin)) {
        (true, _) => Err(Invalid::new("name", "is needed, so that you know later what the key is for")),
        (_, None) => Err(Invalid::new("scope", "must be read or write")),
        (false, Some(scope)) => {
            let wanted = KeyDraft {
                project_id: Some(who.project.id.clone()),
                name: draft.name.clone(),
                scope,
                expires: form.given("expires"),
            };
            match keys::create(&who.store(&dash), wanted).await {
                Ok(made) => Ok(made),
                Err(NotMade::Invalid(invalid)) => Err(invalid),
                Err(NotMade::NoProject(_)) => return Err(Oops::NotFound),
                Err(NotMade::Store(error)) => return Err(error.into()),
            }
        }
    };
    let template = KeysPage::new(&dash, &who).await?;
    match made {
        Ok((record, key)) => {
            let new = Some((record, key.reveal().to_owned()));
            page(&KeysPage { new, ..template }).map(secret)
        }
        Err(invalid) => unfit(&KeysPage { draft, wrong: invalid.into(), ..template }),
    }
}

#[derive(Template)]
#[template(path = "revoke_key.html")]
struct RevokePage {
    shell: Shell,
    project_id: String,
    key: KeyRecord,
}

/// The key of that id, if it is one of the project's own.
async fn found(dash: &Dash, who: &InProject, id: &str) -> Result<KeyRecord, Oops> {
    let keys = dash.desk().store.keys(Some(&who.project.id)).await?;
    keys.into_iter().find(|key| key.id == id && key.project_id.is_some()).ok_or(Oops::NotFound)
}

async fn ask(State(dash): State<Dash>, who: InProject, Path((_, id)): Path<(String, String)>) -> Reply {
    let key = found(&dash, &who, &id).await?;
    let shell = Shell::inside(&dash, &who, "/keys", "Revoke a key");
    page(&RevokePage { shell, project_id: who.project.id.to_string(), key })
}

async fn revoke(State(dash): State<Dash>, who: InProject, Path((_, id)): Path<(String, String)>) -> Reply {
    let key = found(&dash, &who, &id).await?;
    who.store(&dash).revoke_key(&key.id).await?;
    to(&who.path("/keys"))
}

/// How long a key goes on beside the one that takes over: what is sent, what it says, and how long that is.
const OVERLAPS: [(&str, &str, u64); 4] = [
    ("now", "at once", 0),
    ("1h", "in an hour", 3600),
    ("1d", "in a day", 24 * 3600),
    ("7d", "in a week", 7 * 24 * 3600),
];

#[derive(Template)]
#[template(path = "rotate_key.html")]
struct RotatePage {
    shell: Shell,
    project_id: String,
    key: KeyRecord,
    /// How long the new one lasts, in words.
    lasts: Option<String>,
    wrong: Wrong,
}

impl RotatePage {
    fn overlaps(&self) -> [(&'static str, &'static str); 4] {
        OVERLAPS.map(|(word, words, _)| (word, words))
    }
}

/// The key of that id, if it is one of the project's own and still opens something.
async fn working(dash: &Dash, who: &InProject, id: &str) -> Result<KeyRecord, Oops> {
    let key = found(dash, who, id).await?;
    if key.is_valid_at(dash.desk().store.now()) { Ok(key) } else { Err(Oops::NotFound) }
}

fn overlap_asked(dash: &Dash, who: &InProject, key: KeyRecord, wrong: Wrong) -> RotatePage {
    let lasts = key.expires_at.map(|ends| {
        let days = ends.since(key.created_at).as_secs().div_ceil(24 * 3600);
        words::many(days, "day", "days")
    });
    let shell = Shell::inside(dash, who, "/keys", "Replace a key");
    RotatePage { shell, project_id: who.project.id.to_string(), key, lasts, wrong }
}

async fn ask_overlap(State(dash): State<Dash>, who: InProject, Path((_, id)): Path<(String, String)>) -> Reply {
    let key = working(&dash, &who, &id).await?;
    page(&overlap_asked(&dash, &who, key, Wrong::default()))
}

async fn rotate(State(dash): State<Dash>, who: InProject, Path((_, id)): Path<(String, String)>, form: Form) -> Reply {
    let old = working(&dash, &who, &id).await?;
    let Some((.., seconds)) = OVERLAPS.iter().find(|(word, ..)| *word == form.text("overlap")) else {
        let wrong = Invalid::new("overlap", "must be one of the choices").into();
        return unfit(&overlap_asked(&dash, &who, old, wrong));
    };
    let made = keys::rotate(&who.store(&dash), &old, Duration::from_secs(*seconds)).await?;
    let (record, key) = made.ok_or(Oops::NotFound)?;
    let template = KeysPage::new(&dash, &who).await?;
    let old_ends = template.keys.iter().find(|key| key.id == old.id).and_then(|key| key.expires_at);
    page(&KeysPage { new: Some((record, key.reveal().to_owned())), old_ends, ..template }).map(secret)
}
