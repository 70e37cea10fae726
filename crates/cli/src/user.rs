//! `copydesk user`, and the link for the first administrator.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use copydesk_desk::people::{INVITED, Link, Newcomer, NotIn, People};
use copydesk_domain::{SecretText, User, email};
use copydesk_store::{Entrance, Indispensable, Store};
use serde_json::json;

use crate::args::UserCommand;
use crate::config::Config;
use crate::credential::hidden;
use crate::failure::Failure;
use crate::{output, store};

/// How long a link lasts that an operator hands to somebody there and then.
const LINKED: Duration = Duration::from_secs(24 * 3600);

pub(crate) async fn run(command: UserCommand, config: &Config) -> Result<ExitCode, Failure> {
    let store = store::open_or_make(config).await?;
    let people = People::new(store.clone());
    match command {
        UserCommand::List { json } => list(&store.users().await?, json),
        UserCommand::Add { email, name, admin, json } => add(&store, &people, &email, name, admin, json).await,
        UserCommand::Password { email } => {
            let changed = people.set_password(&store, &email, &password()?).await.map_err(told)?;
            if !changed {
                return Err(unknown(&email));
            }
            output::line(&format!("Changed the password of {email}; all of their sessions have ended."));
            Ok(ExitCode::SUCCESS)
        }
        UserCommand::Link { email, json } => link(&store, &people, email.as_deref(), config, json).await,
        UserCommand::Remove { email } => remove(&store, &email).await,
    }
}

fn list(users: &[User], json: bool) -> Result<ExitCode, Failure> {
    if json {
        return output::json(&json!(users));
    }
    if users.is_empty() {
        output::line("Nobody can sign in yet; `copydesk user link` makes a link for the first administrator.");
        return Ok(ExitCode::SUCCESS);
    }
    let row = |user: &User| {
        let role = if user.is_admin { "administrator" } else { "member" };
        vec![user.email.clone(), user.name.clone(), role.to_owned(), user.created_at.to_string()]
    };
    output::table(&["e-mail", "name", "role", "made"], &users.iter().map(row).collect::<Vec<_>>());
    Ok(ExitCode::SUCCESS)
}

async fn add(
    store: &Store,
    people: &People,
    address: &str,
    name: Option<String>,
    admin: bool,
    json: bool,
) -> Result<ExitCode, Failure> {
    // Before the password is asked for.
    let address = email(address).map_err(|invalid| Failure::usage(format!("{address:?} {}", invalid.message)))?;
    let name = name.unwrap_or_else(|| address.split('@').next().unwrap_or_default().to_owned());
    let newcomer = Newcomer { email: address.clone(), name, password: password()? };
    let user = people.add(store, newcomer, admin).await.map_err(told)?;
    let user = user.ok_or_else(|| Failure::error(format!("the user {address} exists already")))?;
    if json {
        return output::json(&json!(user));
    }
    output::line(&format!("{} can sign in.", user.email));
    Ok(ExitCode::SUCCESS)
}

async fn link(
    store: &Store,
    people: &People,
    address: Option<&str>,
    config: &Config,
    json: bool,
) -> Result<ExitCode, Failure> {
    let link = match address {
        Some(address) => {
            people.link_again(store, address, LINKED).await.map_err(told)?.ok_or_else(|| unknown(address))?
        }
        None => {
            let made = people.link(store, Entrance::Administrator, "made at the command line", LINKED).await?;
            made.ok_or_else(|| Failure::error("the link could not be created"))?
        }
    };
    let shown = at(&config.public_url(), &link);
    if json {
        return output::json(&json!({ "link": shown, "expiresAt": link.invitation.expires_at }));
    }
    output::line(&shown);
    eprintln!("The link works once, until {}. Anyone who has it can sign in.", link.invitation.expires_at);
    Ok(ExitCode::SUCCESS)
}

async fn remove(store: &Store, address: &str) -> Result<ExitCode, Failure> {
    let (user, _) = store.user_at(&address.trim().to_lowercase()).await?.ok_or_else(|| unknown(address))?;
    store.remove_user(&user.id).await.map_err(|error| match error {
        Indispensable::Store(error) => error.into(),
        refused => Failure::error(refused.to_string()),
    })?;
    output::line(&format!("Removed {}.", user.email));
    Ok(ExitCode::SUCCESS)
}

fn password() -> Result<SecretText, Failure> {
    let typed = hidden("Password", "password")?;
    // Only the end of the line: a space may belong to it.
    Ok(typed.trim_end_matches(['\n', '\r']).into())
}

fn unknown(address: &str) -> Failure {
    Failure::error(format!("there is no user {address:?}")).hint("`copydesk user list` shows them")
}

fn told(not_in: NotIn) -> Failure {
    match not_in {
        NotIn::Invalid(all) => {
            let lines: Vec<_> = all.iter().map(|wrong| format!("the {} {}", wrong.field, wrong.message)).collect();
            Failure::usage(lines.join("\n"))
        }
        NotIn::Store(error) => error.into(),
        other => Failure::error(other.to_string()),
    }
}

/// Where a link leads.
pub(crate) fn at(public_url: &str, link: &Link) -> String {
    format!("{public_url}/join/{}", link.token.expose())
}

/// The file with the link for the first administrator.
pub(crate) fn first_link_file(config: &Config) -> PathBuf {
    config.data_dir.join("first-sign-in")
}

/// Makes a link for the first administrator if nobody can sign in yet, and puts it where only the owner can read it.
pub(crate) async fn first_link(people: &People, config: &Config, public_url: &str) -> Result<Option<String>, Failure> {
    let file = first_link_file(config);
    let Some(link) = people.first_link().await? else {
        // It has done its work.
        let _ = std::fs::remove_file(&file);
        return Ok(None);
    };
    let shown = at(public_url, &link);
    write_private(&file, &shown)
        .map_err(|error| Failure::error(format!("cannot write {}: {error}", file.display())))?;
    Ok(Some(shown))
}

fn write_private(file: &Path, text: &str) -> std::io::Result<()> {
    // Made anew, so that nobody has had it open.
    let _ = std::fs::remove_file(file);
    let mut made = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(file)?;
    writeln!(made, "{text}")?;
    made.sync_all()
}

/// How long the first link lasts, in words.
pub(crate) fn lasts() -> String {
    format!("{} days", INVITED.as_secs() / 86_400)
}
