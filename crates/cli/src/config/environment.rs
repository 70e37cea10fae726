//! Settings from environment variables: `COPYDESK_LIMITS__JOBS_PER_HOUR` is
//! `limits.jobs_per_hour`.

use std::ffi::{OsStr, OsString};

use copydesk_desk::credentials::VARIABLE_PREFIX;

use super::file::written_key;
use super::given::Given;
use super::kubernetes::is_service_link;
use super::load::Loader;
use super::origin::Origin;
use super::settings::SETTINGS;
use super::suggest::{Meant, nearest};

const PREFIX: &str = "COPYDESK_";

/// What follows the prefix in variables that belong to the command line as a client, or say where the file is.
const IGNORED: &[&str] = &["config", "url", "api_key", "project", "to_database_url"];

/// Beginnings of further variables that are read elsewhere.
const IGNORED_PREFIXES: &[&str] = &["COPYDESK_TEST_", VARIABLE_PREFIX];

/// Whether a variable only begins like a setting.
pub(super) fn is_ignored(name: &OsStr) -> bool {
    let bytes = name.as_encoded_bytes();
    IGNORED.iter().any(|key| name == OsStr::new(&variable(key)))
        || IGNORED_PREFIXES.iter().any(|prefix| bytes.starts_with(prefix.as_bytes()))
}

/// Name of the variable of a setting.
pub(super) fn variable(key: &str) -> String {
    format!("{PREFIX}{}", key.replace('.', "__").to_ascii_uppercase())
}

/// Reads all variables that begin with `COPYDESK_` and are not ignored.
pub(super) fn read(loader: &mut Loader, environment: Vec<(OsString, OsString)>) {
    let mut ours: Vec<_> = environment
        .into_iter()
        .filter(|(name, _)| name.as_encoded_bytes().starts_with(PREFIX.as_bytes()) && !is_ignored(name))
        .filter(|(name, value)| !is_service_link(name, value))
        .collect();
    // The order of an environment means nothing; that of errors should not change.
    ours.sort_by(|a, b| a.0.cmp(&b.0));
    for (name, value) in ours {
        match (name.to_str(), value.to_str()) {
            (Some(name), Some(value)) => set(loader, name, Given::Plain(value)),
            _ => {
                let name = name.to_string_lossy();
                let line = format!("the environment variable {} is not valid UTF-8", name.escape_debug());
                loader.error_line(&name, line);
            }
        }
    }
}

fn set(loader: &mut Loader, name: &str, given: Given<'_>) {
    let origin = Origin::Environment(name.to_owned());
    match SETTINGS.iter().position(|setting| variable(setting.key) == name) {
        Some(index) => loader.set(index, given, &|_| origin.clone()),
        None => {
            let key = key(name);
            // Also one of the ignored, such as a misspelt `COPYDESK_API_KEY`, whose value then counts as secret.
            // Other programs take a port alone.
            let listen = (key == "port").then(|| Meant { name: "listen".to_owned(), secret: false });
            let meant = listen.or_else(|| nearest(&key, IGNORED));
            let meant = meant.map(|meant| Meant { name: variable(&meant.name), ..meant });
            loader.unknown(&key, given, &origin, meant);
        }
    }
}

/// The key a variable names, whether or not there is such a setting.
fn key(name: &str) -> String {
    let rest = name.strip_prefix(PREFIX).unwrap_or(name).to_lowercase();
    let parts: Vec<_> = rest.split("__").map(written_key).collect();
    parts.join(".")
}
