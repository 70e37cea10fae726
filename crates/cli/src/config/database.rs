//! The database address, whose password is never shown.

use std::fmt;
use std::path::PathBuf;

use copydesk_views_database::ClickHouseAddress;
use url::Url;

/// What stands in place of a secret.
pub(crate) const MASK: &str = "****";

/// Which database to open.
///
/// `Debug` and [`masked`](Self::masked) leave the password out.
#[derive(Clone, PartialEq, Eq)]
pub enum DatabaseUrl {
    Sqlite(PathBuf),
    /// The address of a PostgreSQL database, with its password.
    Postgres(String),
}

impl DatabaseUrl {
    /// Reads an address; an error is a hint that holds nothing of the text.
    pub(crate) fn parse(text: &str) -> Result<Self, Option<String>> {
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            // What cannot be masked is refused, so that an accepted address
            // can always be shown.
            return match mask_url(text) {
                Some(_) => Ok(Self::Postgres(text.to_owned())),
                None => Err(Some("percent-encode special characters in the user, password and parameters".into())),
            };
        }
        let Some(path) = text.strip_prefix("sqlite:") else {
            return Err(None);
        };
        let path = path.strip_prefix("//").unwrap_or(path);
        let first = path.split('/').next().unwrap_or(path);
        let hint = if path.is_empty() || path.starts_with(':') {
            "SQLite needs the path of a file"
        } else if path.contains(['?', '\0']) {
            "a SQLite path takes no parameters"
        } else if first.split_once('@').is_some_and(|(user, _)| user.contains(':')) {
            "a SQLite path takes no user and password"
        } else {
            return Ok(Self::Sqlite(PathBuf::from(path)));
        };
        Err(Some(hint.into()))
    }

    /// The address with `****` in place of the password.
    #[must_use]
    pub fn masked(&self) -> String {
        match self {
            Self::Sqlite(path) => format!("sqlite:{}", path.display()),
            Self::Postgres(url) => mask_url(url).unwrap_or_else(|| MASK.to_owned()),
        }
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => f.debug_tuple("Sqlite").field(path).finish(),
            Self::Postgres(_) => f.debug_tuple("Postgres").field(&self.masked()).finish(),
        }
    }
}

/// The addresses of ClickHouse, with their passwords.
///
/// `Debug` and [`masked`](Self::masked) leave these out.
#[derive(Clone, PartialEq, Eq)]
pub struct ClickHouseUrl(String);

impl ClickHouseUrl {
    /// Reads addresses with commas between; an error is a hint that holds nothing of the text.
    pub(crate) fn parse(text: &str) -> Result<Self, Option<String>> {
        if text.split(',').any(|one| mask_url(one.trim()).is_none()) {
            return Err(Some("percent-encode special characters in the user and password".into()));
        }
        ClickHouseAddress::parse(text, None).map_err(Some)?;
        Ok(Self(text.to_owned()))
    }

    /// Where that is.
    pub fn address(&self, cluster: Option<&str>) -> Result<ClickHouseAddress, String> {
        ClickHouseAddress::parse(&self.0, cluster)
    }

    /// The addresses with `****` in place of passwords.
    #[must_use]
    pub fn masked(&self) -> String {
        let masked = |one: &str| mask_url(one.trim()).unwrap_or_else(|| MASK.to_owned());
        self.0.split(',').map(masked).collect::<Vec<_>>().join(",")
    }
}

impl fmt::Debug for ClickHouseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ClickHouseUrl").field(&self.masked()).finish()
    }
}

/// The URL with `****` in place of its password, or `None` where it is not
/// certain which part of the text is the password.
pub(super) fn mask_url(text: &str) -> Option<String> {
    // The parser drops such characters, so what it sees is not what was written.
    if text.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return None;
    }
    let mut url = Url::parse(text).ok()?;
    // `user:password@host` parses as a URL of the scheme `user`.
    if !url.has_authority() {
        return None;
    }
    // An unencoded `/`, `?` or `#` in a password ends the host early and
    // leaves the rest of the password in a later part.
    let query = url.query().map(str::to_owned);
    let strays = |part: &str| part.contains('@');
    if url.fragment().is_some() || strays(url.path()) || query.as_deref().is_some_and(strays) {
        return None;
    }
    if url.password().is_some() {
        url.set_password(Some(MASK)).ok()?;
    }
    if let Some(query) = query {
        let masked: Vec<_> = query.split('&').map(mask_parameter).collect();
        url.set_query(Some(&masked.join("&")));
    }
    Some(url.into())
}

/// Drivers take the password as a parameter too.
fn mask_parameter(parameter: &str) -> String {
    let name = url::form_urlencoded::parse(parameter.as_bytes())
        .next()
        .map(|(name, _)| name.to_lowercase())
        .unwrap_or_default();
    let secret = ["pass", "pwd", "secret", "token"].iter().any(|word| name.contains(word)) || name == "key";
    match parameter.split_once('=') {
        Some(_) if !secret => parameter.to_owned(),
        Some((written, _)) => format!("{written}={MASK}"),
        // Without a `=` it may be the rest of a password with an unencoded `&`.
        None => MASK.to_owned(),
    }
}
