use std::process::ExitCode;

use copydesk_domain::{KeyRecord, Scope, Timestamp};
use copydesk_store::{NewKey, Store};
use serde_json::{Value, json};

use crate::args::{KeyCommand, ScopeArg};
use crate::config::{Config, parse_duration};
use crate::failure::Failure;
use crate::{output, store};

pub(crate) async fn run(command: KeyCommand, config: &Config) -> Result<ExitCode, Failure> {
    match command {
        KeyCommand::Create { project, scope, expires, name, json, .. } => {
            if name.chars().count() > 200 || name.chars().any(char::is_control) {
                return Err(Failure::usage("--name must have at most 200 characters and no control characters"));
            }
            let store = store::open_or_make(config).await?;
            let expires_at = expires.map(|text| expiry(&text, &store)).transpose()?;
            let scope = match scope {
                ScopeArg::Read => Scope::Read,
                ScopeArg::Write => Scope::Write,
            };
            create(&store, NewKey { project_id: project, name, scope, expires_at }, json).await
        }
        KeyCommand::List { project, json } => {
            let store = store::open_ready(config).await?;
            if let Some(id) = &project
                && store.project(id).await?.is_none()
            {
                return Err(Failure::unknown_project(id));
            }
            list(&store.keys(project.as_deref()).await?, json)
        }
        KeyCommand::Revoke { id, json } => {
            let revoked = store::open_ready(config).await?.revoke_key(&id).await?;
            let unknown = || Failure::error(format!("there is no key with the id {id:?}"));
            let key = revoked.ok_or_else(|| unknown().hint("`copydesk key list` shows the ids"))?;
            if json {
                return output::json(&view(&key));
            }
            output::line(&format!("Revoked the key {} ({}).", key.id, key.hint));
            Ok(ExitCode::SUCCESS)
        }
    }
}

async fn create(store: &Store, new: NewKey, json: bool) -> Result<ExitCode, Failure> {
    let project = new.project_id.clone().unwrap_or_default();
    let created = store.create_key(new).await?;
    let (record, key) = created.ok_or_else(|| Failure::unknown_project(&project))?;
    let mut shown = view(&record);
    shown["key"] = key.reveal().into();
    let text = if json { output::pretty(&shown) } else { key.reveal().to_owned() };
    if let Err(error) = output::try_line(&text) {
        // A key that nobody has seen is only a risk.
        store.revoke_key(&record.id).await?;
        return Err(Failure::error(format!("the key could not be printed ({error}) and was revoked; make another")));
    }
    if json {
        return Ok(ExitCode::SUCCESS);
    }
    eprintln!(
        "This key is shown only now. Its id is {}; revoke it with `copydesk key revoke {}`.",
        record.id, record.id
    );
    Ok(ExitCode::SUCCESS)
}

fn expiry(text: &str, store: &Store) -> Result<Timestamp, Failure> {
    let length = parse_duration(text).map_err(|error| Failure::usage(format!("--expires: {error}")))?;
    if length.is_zero() {
        return Err(Failure::usage("--expires must be more than nothing; leave it out for a key that does not expire"));
    }
    Ok(store.now().plus(length))
}

fn list(keys: &[KeyRecord], json: bool) -> Result<ExitCode, Failure> {
    if json {
        return output::json(&keys.iter().map(view).collect());
    }
    let time = |at: Option<Timestamp>, none: &str| at.map_or_else(|| none.to_owned(), |at| at.to_string());
    let row = |key: &KeyRecord| {
        vec![
            key.id.clone(),
            key.hint.clone(),
            key.project_id.clone().unwrap_or_else(|| "all".to_owned()),
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

fn view(key: &KeyRecord) -> Value {
    // A record holds only strings, so it is always a value.
    serde_json::to_value(key).unwrap_or_else(|_| json!({}))
}
