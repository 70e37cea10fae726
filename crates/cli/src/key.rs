use std::process::ExitCode;

use copydesk_desk::keys::{self, KeyDraft, NotMade};
use copydesk_domain::{KeyRecord, Scope, Timestamp};
use copydesk_store::Store;
use serde_json::{Value, json};

use crate::args::{KeyCommand, ScopeArg, needed};
use crate::config::Config;
use crate::failure::Failure;
use crate::{output, store};

pub(crate) async fn run(command: KeyCommand, config: &Config) -> Result<ExitCode, Failure> {
    match command {
        KeyCommand::Create { project, all_projects, scope, expires, name, json } => {
            let project = of_key(project, all_projects)?;
            // A project that is named must be there; a key for all may be the first thing that is made.
            let store = match project {
                Some(_) => store::open_ready(config).await?,
                None => store::open_or_make(config).await?,
            };
            let scope = scope.into();
            let project_id = project.as_deref().map(store::project_id).transpose()?;
            create(&store, KeyDraft { project_id, name, scope, expires }, json).await
        }
        KeyCommand::List { project, json } => {
            let store = store::open_ready(config).await?;
            let project = store::named_project(&store, project.as_deref()).await?;
            list(&store.keys(project.as_ref()).await?, json)
        }
        KeyCommand::Revoke { id, json } => {
            let revoked = store::open_ready(config).await?.revoke_key(&id).await?;
            let none = || Failure::error(format!("there is no key with the id {id:?}"));
            let key = revoked.ok_or_else(|| none().hint("`copydesk key list` shows the ids"))?;
            revoked_key(&key, json)
        }
    }
}

/// The project of a new key; none for all of them, which has to be said.
pub(crate) fn of_key(project: Option<String>, all_projects: bool) -> Result<Option<String>, Failure> {
    if all_projects { Ok(None) } else { needed(project).map(Some) }
}

pub(crate) fn revoked_key(key: &KeyRecord, json: bool) -> Result<ExitCode, Failure> {
    if json {
        return output::json(&view(key));
    }
    output::line(&format!("Revoked the key {} ({}).", key.id, key.hint));
    Ok(ExitCode::SUCCESS)
}

async fn create(store: &Store, draft: KeyDraft, json: bool) -> Result<ExitCode, Failure> {
    let (record, key) = keys::create(store, draft).await.map_err(|error| match error {
        NotMade::Invalid(invalid) => Failure::flag(&invalid),
        NotMade::NoProject(id) => Failure::unknown_project(&id),
        NotMade::Store(error) => error.into(),
    })?;
    match reveal(&record, key.reveal(), json) {
        Ok(code) => Ok(code),
        Err(error) => {
            // A key that nobody has seen is only a risk.
            store.revoke_key(&record.id).await?;
            Err(not_printed(&error))
        }
    }
}

pub(crate) fn not_printed(error: &std::io::Error) -> Failure {
    Failure::error(format!("the key could not be printed ({error}) and was revoked; create another"))
}

/// Prints a key, the only time it can be seen.
pub(crate) fn reveal(record: &KeyRecord, key: &str, json: bool) -> std::io::Result<ExitCode> {
    let mut shown = view(record);
    shown["key"] = key.into();
    output::try_line(&if json { output::pretty(&shown) } else { key.to_owned() })?;
    if !json {
        eprintln!(
            "This key is shown only now. Its id is {}; revoke it with `copydesk key revoke {}`.",
            record.id, record.id
        );
    }
    Ok(ExitCode::SUCCESS)
}

impl From<ScopeArg> for Scope {
    fn from(arg: ScopeArg) -> Self {
        match arg {
            ScopeArg::Read => Self::Read,
            ScopeArg::Write => Self::Write,
            ScopeArg::Admin => Self::Admin,
        }
    }
}

pub(crate) fn list(keys: &[KeyRecord], json: bool) -> Result<ExitCode, Failure> {
    if json {
        return output::json(&keys.iter().map(view).collect());
    }
    let time = |at: Option<Timestamp>, none: &str| at.map_or_else(|| none.to_owned(), |at| at.to_string());
    let row = |key: &KeyRecord| {
        vec![
            key.id.clone(),
            key.hint.clone(),
            key.project_id.as_deref().unwrap_or("all").to_owned(),
            key.scope.as_str().to_owned(),
            key.name.clone(),
            time(key.expires_at, "never"),
            time(key.last_used_at, "never"),
            time(key.revoked_at, "no"),
        ]
    };
    let headings = ["id", "key", "project", "scope", "name", "expires", "last used", "revoked"];
    output::table(&headings, &keys.iter().map(row).collect::<Vec<_>>());
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn view(key: &KeyRecord) -> Value {
    // A record holds only strings, so it is always a value.
    serde_json::to_value(key).unwrap_or_else(|_| json!({}))
}
