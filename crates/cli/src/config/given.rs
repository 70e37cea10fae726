//! A value as its source wrote it, before a setting gives it a type.

use toml::Spanned;
use toml::de::DeValue;

use super::database::mask_url;

/// Stands for a value that must not be shown.
pub(super) const HIDDEN: &str = "the value (not shown)";

/// A longer value would bury the error that shows it.
const SHOWN_CHARACTERS: usize = 100;

/// A value as its source wrote it.
#[derive(Clone)]
pub(super) enum Given {
    /// From the environment, a flag or the defaults, where all is text and
    /// the setting decides what it means.
    Plain(String),
    /// A string of the file.
    Text(String),
    /// A whole number of the file; no `value` if no setting could hold it.
    Number { value: Option<u32>, written: String },
    /// An array of the file, with the line of each item.
    List(Vec<(Given, usize)>),
    /// Anything else in the file, as it is shown.
    Other(String),
}

impl Given {
    /// Takes a value out of the file; `line` tells the line of an offset.
    pub(super) fn from_toml(value: &DeValue<'_>, line: &impl Fn(usize) -> usize) -> Self {
        match value {
            DeValue::String(text) => Self::Text(text.to_string()),
            DeValue::Integer(number) => Self::Number {
                value: i64::from_str_radix(number.as_str(), number.radix())
                    .ok()
                    .and_then(|value| u32::try_from(value).ok()),
                written: number.to_string(),
            },
            DeValue::Array(items) => Self::List(
                items
                    .iter()
                    .map(|item| {
                        let given = Self::from_toml(item.get_ref(), line);
                        (given, line(Spanned::span(item).start))
                    })
                    .collect(),
            ),
            DeValue::Float(number) => Self::Other(number.to_string()),
            DeValue::Boolean(value) => Self::Other(value.to_string()),
            DeValue::Datetime(value) => Self::Other(value.to_string()),
            DeValue::Table(_) => Self::Other("a table".to_owned()),
        }
    }

    /// The text, if this is one.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Plain(text) | Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The value for an error, on one line; only for what is no secret.
    pub(super) fn shown(&self) -> String {
        match self {
            // An address with a password can end up in the wrong setting.
            Self::Plain(text) | Self::Text(text) if text.contains("://") => quoted_url(text),
            Self::Plain(text) | Self::Text(text) => quoted(text),
            Self::Number { written, .. } => cut(written),
            Self::List(items) => {
                let items: Vec<_> = items.iter().map(|(item, _)| item.shown()).collect();
                cut(&format!("[{}]", items.join(", ")))
            }
            Self::Other(shown) => cut(shown),
        }
    }
}

/// An address in quotes, without its password.
pub(super) fn quoted_url(text: &str) -> String {
    if !text.contains('@') {
        return quoted(text);
    }
    mask_url(text).map_or_else(|| HIDDEN.to_owned(), |masked| quoted(&masked))
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
