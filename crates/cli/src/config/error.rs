//! Where a value came from, and what can be wrong with it.

use std::fmt;
use std::path::PathBuf;

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Nothing set it.
    Default,
    /// The configuration file.
    File {
        /// The path as it was given.
        path: PathBuf,
        /// Line of the value, from 1.
        line: usize,
    },
    /// The environment variable of this name.
    Environment(String),
    /// The flag of this name, with its dashes.
    Flag(&'static str),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { path, line } => write!(f, "{} line {line}", path.display()),
            // A variable's name can hold line breaks; an error stays on its line.
            Self::Environment(name) => write!(f, "environment {}", name.escape_debug()),
            Self::Flag(name) => write!(f, "flag {name}"),
        }
    }
}

/// One thing that is wrong with the configuration.
///
/// Texts in it are already masked, so it may be printed and logged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// A setting has a value it cannot have.
    #[error("{key}: {shown} {problem} ({origin})")]
    BadValue {
        /// The setting.
        key: String,
        /// The value as it may be shown.
        shown: String,
        /// Predicate of the sentence, such as `is not a whole number`.
        problem: String,
        /// Where the value came from.
        origin: Origin,
    },
    /// There is no such setting.
    #[error("{key}: there is no such setting ({}{origin}){}", shown_part(shown), suggestion_part(suggestion))]
    UnknownKey {
        /// The key as written.
        key: String,
        /// The value, where it certainly is no secret.
        shown: Option<String>,
        /// Where it came from.
        origin: Origin,
        /// What was probably meant, as the same source would write it.
        suggestion: Option<String>,
    },
    /// An environment variable is not UTF-8.
    #[error("the environment variable {variable} is not valid UTF-8")]
    NotUnicode {
        /// Its name, with replacement characters where it is the name that is wrong.
        variable: String,
    },
    /// The configuration file cannot be read.
    #[error("the configuration file \"{}\" {problem}{}", path.display(), origin_part(named_by))]
    File {
        /// The path as it was given.
        path: PathBuf,
        /// Predicate of the sentence, such as `does not exist`.
        problem: String,
        /// What named the file; `None` for the one in the working directory.
        named_by: Option<Origin>,
    },
    /// The configuration file is not TOML.
    #[error("{} line {line}: {message}", path.display())]
    Syntax {
        /// The path as it was given.
        path: PathBuf,
        /// Line of the mistake, from 1.
        line: usize,
        /// Message of the parser, without text of the file.
        message: String,
    },
    /// A setting is not there that another one needs.
    #[error("{missing}: is missing, and {given} ({origin}) says that there is a model")]
    Missing {
        /// The setting that is not there.
        missing: &'static str,
        /// The setting that needs it.
        given: &'static str,
        /// Where that came from.
        origin: Origin,
    },
    /// The default model is none of the models.
    #[error("jobs.default_model: {model:?} ({model_origin}) is not one of jobs.models, {models:?} ({models_origin})")]
    ModelNotListed {
        /// Value of `jobs.default_model`.
        model: String,
        /// Where it came from.
        model_origin: Origin,
        /// Value of `jobs.models`.
        models: Vec<String>,
        /// Where they came from.
        models_origin: Origin,
    },
}

fn shown_part(shown: &Option<String>) -> String {
    match shown {
        Some(shown) => format!("value {shown}, "),
        None => "value not shown, ".to_owned(),
    }
}

fn suggestion_part(suggestion: &Option<String>) -> String {
    match suggestion {
        Some(name) => format!("; did you mean {name}?"),
        None => String::new(),
    }
}

fn origin_part(origin: &Option<Origin>) -> String {
    match origin {
        Some(origin) => format!(" ({origin})"),
        None => String::new(),
    }
}

/// Everything that is wrong with the configuration; never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigErrors(pub(super) Vec<ConfigError>);

impl ConfigErrors {
    /// `Err` if there are errors.
    pub(super) fn check(errors: Vec<ConfigError>) -> Result<(), Self> {
        if errors.is_empty() { Ok(()) } else { Err(Self(errors)) }
    }
}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{error}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigErrors {}
