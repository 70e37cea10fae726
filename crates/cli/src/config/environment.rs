//! Settings from environment variables: `COPYDESK_LIMITS__JOBS_PER_HOUR` is
//! `limits.jobs_per_hour`.

use std::ffi::{OsStr, OsString};

use copydesk_desk::credentials::VARIABLE_PREFIX;

use super::error::{ConfigError, Origin};
use super::file::written_key;
use super::given::Given;
use super::load::{Loader, Suggestion};
use super::settings::SETTINGS;
use super::suggest::{Candidate, nearest};

const PREFIX: &str = "COPYDESK_";

/// Variables that begin like settings but are read elsewhere.
///
/// They belong to the command line as a client.
pub const IGNORED_VARIABLES: &[&str] = &["COPYDESK_CONFIG", "COPYDESK_URL", "COPYDESK_API_KEY", "COPYDESK_PROJECT"];

/// Beginnings of further variables that are read elsewhere.
pub const IGNORED_PREFIXES: &[&str] = &["COPYDESK_TEST_", VARIABLE_PREFIX];

/// The variables that are no settings.
#[derive(Clone, Copy)]
pub(super) struct Ignored {
    pub(super) names: &'static [&'static str],
    pub(super) prefixes: &'static [&'static str],
}

impl Ignored {
    pub(super) fn contains(self, name: &OsStr) -> bool {
        let bytes = name.as_encoded_bytes();
        self.names.iter().any(|one| name == *one)
            || self.prefixes.iter().any(|prefix| bytes.starts_with(prefix.as_bytes()))
    }
}

/// What [`IGNORED_VARIABLES`] and [`IGNORED_PREFIXES`] name.
pub(super) const IGNORED: Ignored = Ignored { names: IGNORED_VARIABLES, prefixes: IGNORED_PREFIXES };

/// Name of the variable of a setting.
pub(super) fn variable(key: &str) -> String {
    format!("{PREFIX}{}", key.replace('.', "__").to_ascii_uppercase())
}

/// Reads all variables that begin with `COPYDESK_` and are not ignored.
pub(super) fn read(loader: &mut Loader, environment: Vec<(OsString, OsString)>, ignored: Ignored) {
    let mut ours: Vec<_> = environment
        .into_iter()
        .filter(|(name, _)| name.as_encoded_bytes().starts_with(PREFIX.as_bytes()))
        .filter(|(name, _)| !ignored.contains(name))
        .collect();
    // The order of an environment means nothing; that of errors should not change.
    ours.sort_by(|a, b| a.0.cmp(&b.0));
    for (name, value) in ours {
        match (name.into_string(), value.into_string()) {
            (Ok(name), Ok(value)) => set(loader, name, Given::Plain(value), ignored),
            (Ok(name), Err(_)) => not_unicode(loader, name),
            (Err(name), _) => not_unicode(loader, name.to_string_lossy().into_owned()),
        }
    }
}

fn set(loader: &mut Loader, name: String, given: Given, ignored: Ignored) {
    match SETTINGS.iter().position(|setting| variable(setting.key) == name) {
        Some(index) => loader.set(index, &given, Origin::Environment(name)),
        None => {
            let suggestion = suggest(&name, ignored);
            loader.unknown(key(&name), &given, Origin::Environment(name), suggestion);
        }
    }
}

fn not_unicode(loader: &mut Loader, variable: String) {
    loader.error(ConfigError::NotUnicode { variable: variable.escape_debug().to_string() });
}

/// The key a variable names, whether or not there is such a setting.
fn key(name: &str) -> String {
    let rest = name.strip_prefix(PREFIX).unwrap_or(name).to_lowercase();
    let parts: Vec<_> = rest.split("__").map(written_key).collect();
    parts.join(".")
}

/// The variable that was probably meant; also one of the ignored, such as a
/// misspelt `COPYDESK_API_KEY`, whose value then counts as secret.
fn suggest(name: &str, ignored: Ignored) -> Option<Suggestion> {
    let is_setting = |name: &str| {
        SETTINGS.iter().find(|setting| variable(setting.key) == name).filter(|_| !ignored.contains(OsStr::new(name)))
    };
    let candidates: Vec<_> = SETTINGS
        .iter()
        .map(|setting| Candidate { name: variable(setting.key), leaf: setting.leaf().to_ascii_uppercase() })
        .chain(
            ignored
                .names
                .iter()
                .map(|name| Candidate { name: (*name).to_owned(), leaf: name.trim_start_matches(PREFIX).to_owned() }),
        )
        .collect();
    let upper = name.to_uppercase();
    let leaf = upper.trim_start_matches(PREFIX);
    let leaf = leaf.rsplit("__").next().unwrap_or(leaf);
    let meant = nearest(&upper, leaf, &candidates)?;
    Some(Suggestion { name: meant.to_owned(), secret: is_setting(meant).is_none_or(|setting| setting.secret) })
}
