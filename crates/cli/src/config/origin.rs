use std::fmt;
use std::path::PathBuf;

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    Default,
    /// A line, from 1, of the configuration file, whose path is as it was given.
    File {
        path: PathBuf,
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
