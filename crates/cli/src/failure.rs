use std::fmt;
use std::process::ExitCode;

use copydesk_domain::Invalid;
use copydesk_store::StoreError;

/// Why a command did not do what it was told, with what the user can do about it; printed once, at the end of `main`.
#[derive(Debug)]
pub(crate) struct Failure {
    message: String,
    hint: Option<String>,
    usage: bool,
}

impl Failure {
    /// Something went wrong: exit code 1.
    pub(crate) fn error(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None, usage: false }
    }

    /// The command was given something it cannot take, which for `check` is whatever it could not look at: exit code 2.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None, usage: true }
    }

    pub(crate) fn unknown_project(id: &str) -> Self {
        Self::error(format!("there is no project {id:?}")).hint("`copydesk project list` shows them")
    }

    /// A flag was given a value that breaks a rule.
    pub(crate) fn flag(invalid: &Invalid) -> Self {
        Self::usage(format!("--{} {}", invalid.field.replace('_', "-"), invalid.message))
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// What went wrong and what can be done about it, for those who print it in their own way.
    pub(crate) fn into_parts(self) -> (String, Option<String>) {
        (self.message, self.hint)
    }

    /// The same for whoever is no terminal.
    pub(crate) fn sentence(&self) -> String {
        match &self.hint {
            Some(hint) => format!("{} ({hint})", self.message),
            None => self.message.clone(),
        }
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(if self.usage { 2 } else { 1 })
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in self.message.lines() {
            writeln!(f, "copydesk: {line}")?;
        }
        match &self.hint {
            Some(hint) => writeln!(f, "hint: {hint}"),
            None => Ok(()),
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::error(error.to_string())
    }
}

impl From<Invalid> for Failure {
    fn from(invalid: Invalid) -> Self {
        Self::usage(invalid.to_string())
    }
}
