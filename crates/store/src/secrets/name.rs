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
}

const WEBHOOK: &str = "webhook/";

impl SecretName {
    pub fn text(&self) -> Cow<'static, str> {
        match self {
            Self::Git => "git".into(),
            Self::Drain => "drain".into(),
            Self::Hook => "hook".into(),
            Self::Webhook(id) => format!("{WEBHOOK}{id}").into(),
        }
    }

    /// The one of that text.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "git" => Some(Self::Git),
            "drain" => Some(Self::Drain),
            "hook" => Some(Self::Hook),
            _ => text.strip_prefix(WEBHOOK).map(|id| Self::Webhook(id.to_owned())),
        }
    }

    /// Its kind, in words; of what is shown to the code host only its content can tell.
    pub(super) fn title(&self) -> &'static str {
        match self {
            Self::Git => "credential",
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
