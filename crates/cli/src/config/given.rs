//! A value as its source wrote it, before a setting gives it a type.

use toml::de::DeValue;
use url::Url;

use super::database::{MASK, mask_url};

/// Stands for a value that must not be shown.
pub(super) const HIDDEN: &str = "the value (not shown)";

/// A longer value would bury the error that shows it.
const SHOWN_CHARACTERS: usize = 100;

#[derive(Clone, Copy)]
pub(super) enum Given<'a> {
    /// From the environment, a flag or the defaults, where all is text and the setting decides what it means.
    Plain(&'a str),
    Toml(&'a DeValue<'a>),
}

impl<'a> Given<'a> {
    pub(super) fn text(self) -> Option<&'a str> {
        match self {
            Self::Plain(text) => Some(text),
            Self::Toml(DeValue::String(text)) => Some(text),
            Self::Toml(_) => None,
        }
    }

    /// A text, or a number, date, yes or no of the file as it is written there.
    pub(super) fn scalar(self) -> Option<String> {
        match self {
            Self::Toml(DeValue::Integer(number)) => Some(number.to_string()),
            Self::Toml(DeValue::Float(number)) => Some(number.to_string()),
            Self::Toml(DeValue::Boolean(value)) => Some(value.to_string()),
            Self::Toml(DeValue::Datetime(value)) => Some(value.to_string()),
            other => other.text().map(str::to_owned),
        }
    }

    /// The value for an error, on one line; only for what is no secret.
    pub(super) fn shown(self) -> String {
        match (self, self.text()) {
            // An address with a password can end up in the wrong setting.
            (_, Some(text)) if text.contains("://") => quoted_url(text),
            (_, Some(text)) => quoted(text),
            (Self::Toml(DeValue::Array(items)), _) => {
                let items: Vec<_> = items.iter().map(|item| Given::Toml(item.get_ref()).shown()).collect();
                cut(&format!("[{}]", items.join(", ")))
            }
            _ => self.scalar().map_or_else(|| "a table".to_owned(), |written| cut(&written)),
        }
    }
}

/// An address in quotes, without what may be a password or a key: the user, the query and what follows it.
pub(super) fn quoted_url(text: &str) -> String {
    let shown = if text.contains('@') { without_user(text) } else { Some(text.to_owned()) };
    let Some(shown) = shown else { return HIDDEN.to_owned() };
    match shown.find(['?', '#']) {
        Some(at) => quoted(&format!("{}…", &shown[..=at])),
        None => quoted(&shown),
    }
}

/// The address with `****` in place of user and password; none where it is not certain what these are.
fn without_user(text: &str) -> Option<String> {
    let mut url = Url::parse(&mask_url(text)?).ok()?;
    if url.has_authority() && !url.username().is_empty() {
        url.set_username(MASK).ok()?;
    }
    url.set_password(None).ok()?;
    Some(url.into())
}

/// Text in quotes, on one line and not too long.
pub(super) fn quoted(text: &str) -> String {
    format!("{:?}", cut(text))
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARACTERS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
