//! What people fill in.

use std::convert::Infallible;

use axum::body::Bytes;
use axum::extract::{FromRequest, RawQuery, Request};
use copydesk_domain::{Invalid, MIN_PASSWORD, SecretText};

use crate::words::capital;

/// The fields of a form, in the order in which they came.
#[derive(Debug, Clone, Default)]
pub(crate) struct Form(Vec<(String, String)>);

impl<S: Send + Sync> FromRequest<S> for Form {
    type Rejection = Infallible;

    /// A body that is no form has no fields, which is what the handler then says.
    async fn from_request(request: Request, state: &S) -> Result<Self, Infallible> {
        let body = Bytes::from_request(request, state).await.unwrap_or_default();
        Ok(Self::parse(&body))
    }
}

impl Form {
    pub(crate) fn parse(text: &[u8]) -> Self {
        Self(form_urlencoded::parse(text).into_owned().collect())
    }

    /// What was filled in, without space around it; nothing if the field is not there.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.raw(name).trim()
    }

    /// The same with every space and line, whose ends browsers send in the way of old teletypes.
    pub(crate) fn prose(&self, name: &str) -> String {
        self.raw(name).replace("\r\n", "\n")
    }

    pub(crate) fn raw(&self, name: &str) -> &str {
        self.0.iter().find(|(field, _)| field == name).map_or("", |(_, value)| value)
    }

    /// What is left empty is not given.
    pub(crate) fn given(&self, name: &str) -> Option<String> {
        Some(self.text(name)).filter(|text| !text.is_empty()).map(str::to_owned)
    }

    /// Every value of a field that can be there several times.
    pub(crate) fn all(&self, name: &str) -> Vec<String> {
        self.0.iter().filter(|(field, _)| field == name).map(|(_, value)| value.clone()).collect()
    }

    pub(crate) fn is_ticked(&self, name: &str) -> bool {
        !self.raw(name).is_empty()
    }

    /// As it was typed.
    pub(crate) fn secret(&self, name: &str) -> SecretText {
        self.raw(name).into()
    }

    pub(crate) fn fields(&self) -> &[(String, String)] {
        &self.0
    }
}

/// What to say beside a field for a new password.
pub(crate) fn password_hint() -> String {
    format!("At least {MIN_PASSWORD} characters. Some words that do not belong together are good.")
}

/// What is wrong with a form, to be shown beside its fields.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wrong(Vec<Invalid>);

impl Wrong {
    pub(crate) fn all(&self) -> &[Invalid] {
        &self.0
    }

    /// What is wrong with one field, as a sentence.
    pub(crate) fn of(&self, field: &str) -> Option<String> {
        let wrong = self.0.iter().find(|wrong| wrong.field == field)?;
        Some(sentence(wrong))
    }
}

impl From<Vec<Invalid>> for Wrong {
    fn from(all: Vec<Invalid>) -> Self {
        Self(all)
    }
}

impl From<Invalid> for Wrong {
    fn from(one: Invalid) -> Self {
        Self(vec![one])
    }
}

/// «must have at least ten characters» as somebody reads it beside the field.
pub(crate) fn sentence(wrong: &Invalid) -> String {
    let mut message = wrong.message.clone();
    if let Some(first) = message.get(..1).map(str::to_uppercase) {
        message.replace_range(..1, &first);
    }
    format!("{message}.")
}

/// The same with the name of the field in front, for a list of all that is wrong.
pub(crate) fn named(wrong: &Invalid) -> String {
    format!("{} {}.", capital(&wrong.field.replace('_', " ")), wrong.message)
}

/// What the address asks for behind its `?`.
pub(crate) fn asked(RawQuery(query): RawQuery) -> Form {
    Form::parse(query.unwrap_or_default().as_bytes())
}

/// What is in the fields of a form: what was typed, if something was, else what holds now.
pub(crate) struct Values(Vec<(&'static str, String)>);

impl Values {
    pub(crate) fn new(now: Vec<(&'static str, String)>, typed: Option<&Form>) -> Self {
        let Some(form) = typed else { return Self(now) };
        Self(now.into_iter().map(|(name, _)| (name, form.prose(name))).collect())
    }

    pub(crate) fn of(&self, name: &str) -> &str {
        self.0.iter().find(|(field, _)| *field == name).map_or("", |(_, value)| value)
    }
}

/// The lines of a field that takes several things.
pub(crate) fn lines(form: &Form, name: &str) -> Vec<String> {
    form.prose(name).lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect()
}
