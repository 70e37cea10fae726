//! The types of settings: how a value is read, described and shown.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use copydesk_desk::webhooks::AllowPrivate;

use super::database::{DatabaseUrl, MASK, mask_url};
use super::duration::{format_duration, parse_duration};
use super::given::{Given, HIDDEN, quoted, quoted_url};
use super::log::{Choice, LogFormat, LogLevel};
use super::model::{Dollars, Provider, Secret};
use super::settings::Setting;
use super::{Config, public_url};

const MODEL_NAME: &str = "a model name of 1 to 100 letters, digits and . _ : / -";

/// The field of the configuration a setting fills.
pub(super) struct Field<T: 'static> {
    pub(super) get: fn(&Config) -> &T,
    pub(super) put: fn(&mut Config) -> &mut T,
}

/// Type of a setting, with its field.
pub(super) enum Kind {
    Path(Field<PathBuf>),
    Listen(Field<SocketAddr>),
    PublicUrl(Field<Option<String>>),
    Database(Field<Option<DatabaseUrl>>),
    Whole {
        from: u32,
        to: u32,
        field: Field<u32>,
    },
    Duration {
        from: Duration,
        to: Duration,
        field: Field<Duration>,
    },
    LogLevel(Field<LogLevel>),
    LogFormat(Field<LogFormat>),
    Model(Field<String>),
    Models(Field<Vec<String>>),
    /// Those that may be left out.
    Provider(Field<Option<Provider>>),
    ModelName(Field<Option<String>>),
    Address(Field<Option<String>>),
    Secret(Field<Option<Secret>>),
    Folder(Field<Option<PathBuf>>),
    Dollars(Field<Option<Dollars>>),
    /// One line of text.
    Line(Field<String>),
    /// Yes, no, or ranges of addresses.
    Ranges(Field<String>),
}

/// What is wrong with a value, or with one item of a list.
pub(super) struct Problem {
    /// The value as it may be shown.
    pub(super) shown: String,
    /// Predicate of the error.
    pub(super) says: String,
    /// Line of the item, where it may differ from that of the value.
    pub(super) line: Option<usize>,
}

/// Why a text does not fit: a hint, where there is more to say than what was expected.
type Reading<T> = Result<T, Option<String>>;

impl Kind {
    /// What a value of this type is, to stand after "is not".
    pub(super) fn expects(&self) -> String {
        match self {
            Self::Path(_) => "a path".into(),
            Self::Listen(_) => "an address such as 127.0.0.1:4400 or localhost:4400".into(),
            Self::PublicUrl(_) => "an http or https URL without query and fragment".into(),
            Self::Database(_) => "a postgres://, postgresql:// or sqlite: address".into(),
            Self::Whole { from, to, .. } => format!("a whole number from {from} to {to}"),
            Self::Duration { from, to, .. } => {
                format!("a duration from {} to {}", format_duration(*from), format_duration(*to))
            }
            Self::LogLevel(_) => format!("one of {}", LogLevel::names()),
            Self::LogFormat(_) => format!("one of {}", LogFormat::names()),
            Self::Model(_) => MODEL_NAME.into(),
            Self::Models(_) => "a list of model names".into(),
            Self::Provider(_) => format!("one of {}", Provider::names()),
            Self::ModelName(_) => MODEL_NAME.into(),
            Self::Address(_) => "an http or https URL without query and fragment".into(),
            Self::Secret(_) => "a text without blanks".into(),
            Self::Folder(_) => "a path".into(),
            Self::Dollars(_) => "an amount of US dollars such as 3 or 0.25".into(),
            Self::Line(_) => "a line of 1 to 200 characters without < and >".into(),
            Self::Ranges(_) => "true, false or ranges of addresses such as 10.0.0.0/8".into(),
        }
    }
}

impl Setting {
    /// Reads a value into the setting's field, or leaves that as it is.
    pub(super) fn read(&self, given: &Given, config: &mut Config) -> Result<(), Vec<Problem>> {
        match &self.kind {
            Kind::Path(field) => *(field.put)(config) = self.text(given, path)?,
            Kind::Listen(field) => *(field.put)(config) = self.text(given, listen)?,
            Kind::PublicUrl(field) => {
                *(field.put)(config) = Some(self.text(given, public_url::parse)?);
            }
            Kind::Database(field) => {
                *(field.put)(config) = Some(self.text(given, DatabaseUrl::parse)?);
            }
            Kind::Whole { from, to, field } => {
                let number = match given {
                    Given::Plain(text) => whole(text),
                    Given::Number { value, .. } => *value,
                    _ => None,
                };
                *(field.put)(config) = number
                    .filter(|number| (from..=to).contains(&number))
                    .ok_or_else(|| vec![self.problem(given, None)])?;
            }
            Kind::Duration { from, to, field } => {
                let read = |text: &str| match parse_duration(text) {
                    Ok(time) if (*from..=*to).contains(&time) => Ok(time),
                    Ok(_) => Err(None),
                    Err(hint) => Err(Some(hint)),
                };
                // A number of the file lacks its unit just as a text can.
                if let Given::Number { written, .. } = given {
                    let hint = parse_duration(written).err();
                    return Err(vec![self.problem(given, hint)]);
                }
                *(field.put)(config) = self.text(given, read)?;
            }
            Kind::LogLevel(field) => *(field.put)(config) = self.text(given, choice)?,
            Kind::LogFormat(field) => *(field.put)(config) = self.text(given, choice)?,
            Kind::Model(field) => *(field.put)(config) = self.text(given, model)?,
            Kind::Models(field) => *(field.put)(config) = self.models(given)?,
            Kind::Provider(field) => *(field.put)(config) = self.text(given, |text| optional(text, choice))?,
            Kind::ModelName(field) => *(field.put)(config) = self.text(given, |text| optional(text, model))?,
            Kind::Address(field) => {
                *(field.put)(config) = self.text(given, |text| optional(text, public_url::parse))?
            }
            Kind::Secret(field) => *(field.put)(config) = self.text(given, |text| optional(text, Secret::parse))?,
            Kind::Folder(field) => *(field.put)(config) = self.text(given, |text| optional(text, path))?,
            Kind::Dollars(field) => {
                let written = match given {
                    Given::Number { written, .. } | Given::Other(written) => Some(written.as_str()),
                    other => other.text(),
                };
                let read = written.ok_or(None).and_then(|text| optional(text, Dollars::parse));
                *(field.put)(config) = read.map_err(|hint| vec![self.problem(given, hint)])?;
            }
            Kind::Line(field) => *(field.put)(config) = self.text(given, line)?,
            Kind::Ranges(field) => {
                *(field.put)(config) = ranges(given).ok_or_else(|| vec![self.problem(given, None)])?;
            }
        }
        Ok(())
    }

    /// The value in force, masked where it is secret.
    pub(super) fn show(&self, config: &Config) -> String {
        match &self.kind {
            Kind::Database(_) => config.database().masked(),
            Kind::Secret(field) if (field.get)(config).is_none() => UNSET.to_owned(),
            _ if self.secret => MASK.to_owned(),
            Kind::Path(field) => (field.get)(config).display().to_string(),
            Kind::Listen(field) => (field.get)(config).to_string(),
            Kind::PublicUrl(_) => config.public_url(),
            Kind::Whole { field, .. } => (field.get)(config).to_string(),
            Kind::Duration { field, .. } => format_duration(*(field.get)(config)),
            Kind::LogLevel(field) => (field.get)(config).as_str().to_owned(),
            Kind::LogFormat(field) => (field.get)(config).as_str().to_owned(),
            Kind::Model(field) => (field.get)(config).clone(),
            Kind::Models(field) => (field.get)(config).join(","),
            Kind::Provider(field) => shown((field.get)(config).map(Provider::as_str)),
            Kind::ModelName(field) | Kind::Address(field) => shown((field.get)(config).as_ref()),
            Kind::Secret(_) => MASK.to_owned(),
            Kind::Folder(field) => shown((field.get)(config).as_ref().map(|path| path.display())),
            Kind::Dollars(field) => shown(*(field.get)(config)),
            Kind::Line(field) | Kind::Ranges(field) => (field.get)(config).clone(),
        }
    }

    fn text<T>(&self, given: &Given, read: impl Fn(&str) -> Reading<T>) -> Result<T, Vec<Problem>> {
        given.text().ok_or(None).and_then(read).map_err(|hint| vec![self.problem(given, hint)])
    }

    fn models(&self, given: &Given) -> Result<Vec<String>, Vec<Problem>> {
        let items: Vec<(Given, Option<usize>)> = match given {
            Given::Plain(text) => text.split(',').map(|item| (Given::Text(item.trim().to_owned()), None)).collect(),
            Given::List(items) => items.iter().map(|(item, line)| (item.clone(), Some(*line))).collect(),
            _ => Vec::new(),
        };
        if items.is_empty() {
            return Err(vec![self.problem(given, None)]);
        }
        let mut models = Vec::new();
        let mut problems = Vec::new();
        for (item, line) in items {
            match item.text().map(model) {
                Some(Ok(name)) => models.push(name),
                _ => problems.push(Problem {
                    shown: self.shown_given(&item),
                    says: format!("is not {MODEL_NAME}"),
                    line,
                }),
            }
        }
        if problems.is_empty() { Ok(models) } else { Err(problems) }
    }

    fn problem(&self, given: &Given, hint: Option<String>) -> Problem {
        let hint = hint.map(|hint| format!(": {hint}")).unwrap_or_default();
        Problem { shown: self.shown_given(given), says: format!("is not {}{hint}", self.kind.expects()), line: None }
    }

    /// A value that was refused, masked where it is or may be secret.
    fn shown_given(&self, given: &Given) -> String {
        match (&self.kind, given.text()) {
            (Kind::Database(_), Some(text)) => {
                mask_url(text).map_or_else(|| HIDDEN.to_owned(), |masked| quoted(&masked))
            }
            _ if self.secret => HIDDEN.to_owned(),
            (Kind::PublicUrl(_) | Kind::Address(_), Some(text)) => quoted_url(text),
            _ => given.shown(),
        }
    }
}

/// What stands for a value that is left out.
const UNSET: &str = "none";

/// A value that may be left out. An empty variable of the environment is as good as none.
fn optional<T>(text: &str, read: impl Fn(&str) -> Reading<T>) -> Reading<Option<T>> {
    if text.is_empty() || text == UNSET { Ok(None) } else { read(text).map(Some) }
}

fn shown(value: Option<impl std::fmt::Display>) -> String {
    value.map_or_else(|| UNSET.to_owned(), |value| value.to_string())
}

fn line(text: &str) -> Reading<String> {
    let fits = |c: char| !c.is_control() && c != '<' && c != '>';
    if (1..=200).contains(&text.trim().len()) && text.chars().all(fits) {
        Ok(text.trim().to_owned())
    } else {
        Err(None)
    }
}

/// As text, as a yes or no of the file, or as a list of texts.
fn ranges(given: &Given) -> Option<String> {
    let text = match given {
        Given::List(items) => items.iter().map(|(item, _)| item.text()).collect::<Option<Vec<_>>>()?.join(","),
        Given::Other(written) => written.clone(),
        other => other.text()?.to_owned(),
    };
    AllowPrivate::parse(&text).is_ok().then_some(text)
}

fn path(text: &str) -> Reading<PathBuf> {
    if text.is_empty() || text.contains('\0') {
        return Err(None);
    }
    Ok(PathBuf::from(text))
}

fn listen(text: &str) -> Reading<SocketAddr> {
    let numeric = match text.split_once(':') {
        Some((host, port)) if host.eq_ignore_ascii_case("localhost") => format!("127.0.0.1:{port}"),
        _ => text.to_owned(),
    };
    numeric.parse().map_err(|_| None)
}

/// Digits only: the standard parser would also take a leading `+`.
fn whole(text: &str) -> Option<u32> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| digits)
}

fn choice<T: Choice>(text: &str) -> Reading<T> {
    T::parse(text).ok_or(None)
}

fn model(text: &str) -> Reading<String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "._:/-".contains(c);
    if (1..=100).contains(&text.len()) && text.chars().all(fits) { Ok(text.to_owned()) } else { Err(None) }
}
