use std::borrow::Cow;

use crate::conn::{Column, Value};

/// What a secret of a project is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretName {
    /// What is shown to the code host.
    Git,
    /// What log drains show or sign with.
    Drain,
    /// What the code host signs its messages with.
    Hook,
    /// What deliveries to the webhook of that id are signed with.
    Webhook(String),
    /// What is shown to the host of the code source of that name.
    Source(String),
}

const WEBHOOK: &str = "webhook/";
const SOURCE: &str = "source/";

impl SecretName {
    pub fn text(&self) -> Cow<'static, str> {
        match self {
            Self::Git => "git".into(),
            Self::Drain => "drain".into(),
            Self::Hook => "hook".into(),
            Self::Webhook(id) => format!("{WEBHOOK}{id}").into(),
            Self::Source(name) => format!("{SOURCE}{name}").into(),
        }
    }

    /// The one of that text.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "git" => Some(Self::Git),
            "drain" => Some(Self::Drain),
            "hook" => Some(Self::Hook),
            _ => {
                let webhook = || text.strip_prefix(WEBHOOK).map(|id| Self::Webhook(id.to_owned()));
                webhook().or_else(|| text.strip_prefix(SOURCE).map(|name| Self::Source(name.to_owned())))
            }
        }
    }

    /// Its kind, in words; of what is shown to the code host only its content can tell.
    pub(crate) fn title(&self) -> &'static str {
        match self {
            Self::Git | Self::Source(_) => "credential",
            Self::Drain => "drain secret",
            Self::Hook => "hook secret",
            Self::Webhook(_) => "webhook secret",
        }
    }
}

impl Column for SecretName {
    fn from_value(value: Value) -> Option<Self> {
        Self::parse(&String::from_value(value)?)
    }
}
