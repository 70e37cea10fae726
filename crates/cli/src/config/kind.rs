//! The kinds of settings: how a value is read, described and shown.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use copydesk_desk::parse_network;
use copydesk_desk::webhooks::AllowPrivate;
use secrecy::SecretString;
use toml::de::DeValue;
use url::Url;

use super::database::{ClickHouseUrl, DatabaseUrl, MASK, mask_url};
use super::given::{Given, HIDDEN, quoted, quoted_url};
use super::values::choice_name;
use copydesk_domain::{format_duration, parse_duration};

/// What stands for a value that is left out.
pub(super) const UNSET: &str = "none";

const MODEL_NAME: &str = "a model name of 1 to 100 letters, digits and . _ : / -";

pub(super) struct Kind<T> {
    /// What a value is, to stand after "is not".
    pub(super) expects: String,
    pub(super) secrecy: Secrecy,
    pub(super) read: Read<T>,
    /// The value as an environment variable would have it, masked where it is secret.
    pub(super) show: Box<dyn Fn(&T) -> String + Send + Sync>,
    pub(super) to_toml: fn(&T) -> Option<toml::Value>,
}

type Read<T> = Box<dyn Fn(Given<'_>) -> Result<T, Vec<Problem>> + Send + Sync>;

/// What is wrong with a value, or with one item of a list.
#[derive(Debug)]
pub(super) struct Problem {
    /// The value or item as it may be shown.
    pub(super) shown: String,
    /// Predicate of the error.
    pub(super) says: String,
    /// Place of the item in the file.
    pub(super) offset: Option<usize>,
}

/// A value, or why it does not fit: a hint, where there is more to say than what was expected.
pub(super) type Reading<T> = Result<T, Option<String>>;

impl<T: 'static> Kind<T> {
    fn new(
        expects: impl Into<String>,
        secrecy: Secrecy,
        read: impl Fn(Given<'_>) -> Reading<T> + Send + Sync + 'static,
        show: impl Fn(&T) -> String + Send + Sync + 'static,
    ) -> Self {
        let expects: String = expects.into();
        let says = format!("is not {expects}");
        let problem = move |given: Given<'_>, hint: Option<String>| {
            let hint = hint.map(|hint| format!(": {hint}")).unwrap_or_default();
            vec![Problem { shown: secrecy.shown(given), says: format!("{says}{hint}"), offset: None }]
        };
        Self {
            expects,
            secrecy,
            read: Box::new(move |given| read(given).map_err(|hint| problem(given, hint))),
            show: Box::new(move |value| if secrecy == Secrecy::Secret { MASK.to_owned() } else { show(value) }),
            to_toml: |_| None,
        }
    }
}

/// How much of a value may be shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Secrecy {
    Open,
    /// An address that should have no password, but may.
    Address,
    /// An address of which all but the password may be shown.
    Password,
    Secret,
}

impl Secrecy {
    /// Whether a value must not be shown as it is.
    pub(super) fn is_secret(self) -> bool {
        matches!(self, Self::Password | Self::Secret)
    }

    /// A value that was refused, masked where it is or may be secret.
    fn shown(self, given: Given<'_>) -> String {
        match (self, given.text()) {
            (Self::Open, _) | (Self::Address, None) => given.shown(),
            (Self::Address, Some(text)) => quoted_url(text),
            (Self::Password, Some(text)) => mask_url(text).map_or_else(|| HIDDEN.to_owned(), |masked| quoted(&masked)),
            (Self::Password, None) | (Self::Secret, _) => HIDDEN.to_owned(),
        }
    }
}

/// What is written as a text.
pub(super) fn text<T: 'static>(
    expects: &str,
    secrecy: Secrecy,
    parse: fn(&str) -> Reading<T>,
    show: fn(&T) -> String,
) -> Kind<T> {
    Kind::new(expects, secrecy, move |given| given.text().ok_or(None).and_then(parse), show)
}

pub(super) fn path() -> Kind<PathBuf> {
    let parse = |text: &str| {
        if text.is_empty() || text.contains('\0') { Err(None) } else { Ok(PathBuf::from(text)) }
    };
    text("a path", Secrecy::Open, parse, |path| path.display().to_string())
}

/// One line of text.
pub(super) fn line() -> Kind<String> {
    let parse = |text: &str| {
        let fits = |c: char| !c.is_control() && c != '<' && c != '>';
        let trimmed = text.trim();
        if (1..=200).contains(&trimmed.len()) && text.chars().all(fits) { Ok(trimmed.to_owned()) } else { Err(None) }
    };
    text("a line of 1 to 200 characters without < and >", Secrecy::Open, parse, String::clone)
}

pub(super) fn switch() -> Kind<bool> {
    let read = |given: Given<'_>| match given {
        Given::Plain("true") => Ok(true),
        Given::Plain("false") => Ok(false),
        Given::Toml(DeValue::Boolean(value)) => Ok(*value),
        _ => Err(None),
    };
    let kind = Kind::new("true or false", Secrecy::Open, read, bool::to_string);
    Kind { to_toml: |value| Some((*value).into()), ..kind }
}

pub(super) fn whole(from: u32, to: u32) -> Kind<u32> {
    let read = move |given: Given<'_>| {
        let number = match given {
            // The standard parser would also take a leading `+`.
            Given::Plain(text) => text.parse().ok().filter(|_| !text.starts_with('+')),
            Given::Toml(DeValue::Integer(number)) => u32::from_str_radix(number.as_str(), number.radix()).ok(),
            Given::Toml(_) => None,
        };
        number.filter(|number| (from..=to).contains(number)).ok_or(None)
    };
    let kind = Kind::new(format!("a whole number from {from} to {to}"), Secrecy::Open, read, u32::to_string);
    Kind { to_toml: |number| Some((*number).into()), ..kind }
}

pub(super) fn time(from: Duration, to: Duration) -> Kind<Duration> {
    let read = move |given: Given<'_>| {
        let time = match given {
            // It lacks its unit just as a text can.
            Given::Toml(DeValue::Integer(number)) => parse_duration(&number.to_string())?,
            other => parse_duration(other.text().ok_or(None)?)?,
        };
        if (from..=to).contains(&time) { Ok(time) } else { Err(None) }
    };
    let expects = format!("a duration from {} to {}", format_duration(from), format_duration(to));
    Kind::new(expects, Secrecy::Open, read, |time| format_duration(*time))
}

/// One of a fixed list of values.
pub(super) fn choice<T: ValueEnum + 'static>() -> Kind<T> {
    let names: Vec<_> = T::value_variants().iter().map(choice_name).collect();
    let parse = |text: &str| T::from_str(text, false).map_err(|_| None);
    text(&format!("one of {}", names.join(", ")), Secrecy::Open, parse, choice_name)
}

/// What may be left out. An empty variable of the environment is as good as none.
pub(super) fn optional<T: 'static>(kind: Kind<T>) -> Kind<Option<T>> {
    let Kind { expects, secrecy, read, show, .. } = kind;
    Kind {
        expects,
        secrecy,
        read: Box::new(move |given| match given.text() {
            Some("" | UNSET) => Ok(None),
            _ => read(given).map(Some),
        }),
        show: Box::new(move |value| value.as_ref().map_or_else(|| UNSET.to_owned(), &show)),
        to_toml: |_| None,
    }
}

/// US dollars: up to a million, up to six places.
pub(super) fn dollars() -> Kind<f64> {
    let parse = |text: String| {
        let (whole, part) = text.split_once('.').unwrap_or((&text, "0"));
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let amount = text.parse().ok().filter(|amount| *amount <= 1_000_000.0);
        amount.filter(|_| digits(whole) && digits(part) && part.len() <= 6)
    };
    let read = move |given: Given<'_>| given.scalar().and_then(parse).ok_or(None);
    Kind::new("an amount of US dollars such as 3 or 0.25", Secrecy::Open, read, f64::to_string)
}

pub(super) fn listen() -> Kind<SocketAddr> {
    let parse = |text: &str| {
        let numeric = match text.split_once(':') {
            Some((host, port)) if host.eq_ignore_ascii_case("localhost") => format!("127.0.0.1:{port}"),
            _ => text.to_owned(),
        };
        numeric.parse().map_err(|_| None)
    };
    text("an address such as 127.0.0.1:4400 or localhost:4400", Secrecy::Open, parse, SocketAddr::to_string)
}

/// Yes, no, or ranges of addresses, in the file also as a list.
pub(super) fn ranges() -> Kind<String> {
    let read = |given: Given<'_>| listed(given).filter(|text| AllowPrivate::parse(text).is_ok()).ok_or(None);
    Kind::new("true, false or ranges of addresses such as 10.0.0.0/8", Secrecy::Open, read, String::clone)
}

/// Addresses and ranges of addresses, in the file also as a list.
pub(super) fn networks() -> Kind<String> {
    let read = |given: Given<'_>| {
        let text = listed(given).ok_or(None)?;
        for range in text.split(',') {
            match parse_network(range) {
                Ok(network) if network.prefix_len() == 0 => return Err(Some("that is everybody".to_owned())),
                Ok(_) => {}
                Err(_) => return Err(None),
            }
        }
        Ok(text)
    };
    Kind::new("addresses or ranges such as 10.0.0.7, 10.1.0.0/16", Secrecy::Open, read, String::clone)
}

/// A list of texts as one text with commas.
fn listed(given: Given<'_>) -> Option<String> {
    match given {
        Given::Toml(DeValue::Array(items)) => {
            let texts: Option<Vec<_>> = items.iter().map(|item| Given::Toml(item.get_ref()).text()).collect();
            texts.map(|texts| texts.join(","))
        }
        other => other.scalar(),
    }
}

/// The name of a header of HTTP.
pub(super) fn header() -> Kind<String> {
    let parse = |text: &str| {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        if (1..=100).contains(&text.len()) && text.bytes().all(fits) { Ok(text.to_owned()) } else { Err(None) }
    };
    text("the name of a header such as Remote-Email", Secrecy::Open, parse, String::clone)
}

/// An http or https URL, without its trailing slash.
pub(super) fn web_address() -> Kind<String> {
    text("an http or https URL without query and fragment", Secrecy::Address, parse_web_address, String::clone)
}

fn parse_web_address(text: &str) -> Reading<String> {
    let lower = text.to_ascii_lowercase();
    // The parser also takes `http:host` and drops line breaks, which nobody means.
    let written_out = lower.starts_with("http://") || lower.starts_with("https://");
    if !written_out || text.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return Err(None);
    }
    let url = Url::parse(text).map_err(|_| None)?;
    if url.query().is_some() || url.fragment().is_some() {
        return Err(None);
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Some("leave out the user and password".into()));
    }
    Ok(url.as_str().trim_end_matches('/').to_owned())
}

pub(super) fn database() -> Kind<DatabaseUrl> {
    let expects = "a postgres://, postgresql:// or sqlite: address";
    text(expects, Secrecy::Password, DatabaseUrl::parse, DatabaseUrl::masked)
}

pub(super) fn postgres() -> Kind<DatabaseUrl> {
    let parse = |text: &str| match DatabaseUrl::parse(text) {
        Ok(DatabaseUrl::Sqlite(_)) => Err(Some("a SQLite file has no wake-ups".into())),
        parsed => parsed,
    };
    text("a postgres:// or postgresql:// address", Secrecy::Password, parse, DatabaseUrl::masked)
}

pub(super) fn clickhouse() -> Kind<ClickHouseUrl> {
    text("an http:// or https:// address of ClickHouse", Secrecy::Password, ClickHouseUrl::parse, ClickHouseUrl::masked)
}

/// Anything but blanks and control characters, which only a mistake puts there.
pub(super) fn api_key() -> Kind<SecretString> {
    let parse = |text: &str| {
        let fits = |c: char| !c.is_control() && !c.is_whitespace();
        if (1..=4096).contains(&text.len()) && text.chars().all(fits) { Ok(text.into()) } else { Err(None) }
    };
    text("a text without blanks", Secrecy::Secret, parse, |_| MASK.to_owned())
}

pub(super) fn model() -> Kind<String> {
    text(MODEL_NAME, Secrecy::Open, parse_model, String::clone)
}

pub(super) fn parse_model(text: &str) -> Reading<String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "._:/-".contains(c);
    if (1..=100).contains(&text.len()) && text.chars().all(fits) { Ok(text.to_owned()) } else { Err(None) }
}

/// Names of models, in the file as a list, elsewhere with commas between them.
pub(super) fn models() -> Kind<Vec<String>> {
    let expects = "a list of model names";
    let none = Kind::new(expects, Secrecy::Open, |_| Err(None), |models: &Vec<String>| models.join(","));
    let read_item = model().read;
    let refuse = none.read;
    let read = move |given: Given<'_>| {
        let items: Vec<(Given<'_>, Option<usize>)> = match given {
            Given::Plain(text) => text.split(',').map(|item| (Given::Plain(item.trim()), None)).collect(),
            Given::Toml(DeValue::Array(items)) if !items.is_empty() => {
                items.iter().map(|item| (Given::Toml(item.get_ref()), Some(item.span().start))).collect()
            }
            Given::Toml(_) => return refuse(given),
        };
        let (mut models, mut problems) = (Vec::new(), Vec::new());
        for (item, offset) in items {
            match read_item(item) {
                Ok(model) => models.push(model),
                Err(wrong) => problems.extend(wrong.into_iter().map(|problem| Problem { offset, ..problem })),
            }
        }
        if problems.is_empty() { Ok(models) } else { Err(problems) }
    };
    Kind { read: Box::new(read), to_toml: |models| Some(models.clone().into()), ..none }
}
