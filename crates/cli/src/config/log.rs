//! The choices of the settings `log` and `log_format`.

/// Least severe level that is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogLevel {
    /// Only errors.
    Error,
    /// Warnings and worse.
    Warn,
    /// What an operator wants to see in normal use.
    Info,
    /// Details for finding a fault.
    Debug,
    /// Everything.
    Trace,
}

/// How log lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// One JSON object a line.
    Json,
    /// For people.
    Text,
}

/// A setting with a fixed list of values.
pub(super) trait Choice: Copy + 'static {
    const ALL: &'static [Self];

    fn name(self) -> &'static str;

    fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|one| one.name() == text)
    }

    fn names() -> String {
        let names: Vec<_> = Self::ALL.iter().map(|one| one.name()).collect();
        names.join(", ")
    }
}

impl LogLevel {
    /// The level as it is written in the configuration.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
            Self::Trace => "trace",
        }
    }
}

impl Choice for LogLevel {
    const ALL: &'static [Self] = &[Self::Error, Self::Warn, Self::Info, Self::Debug, Self::Trace];

    fn name(self) -> &'static str {
        self.as_str()
    }
}

impl LogFormat {
    /// The format as it is written in the configuration.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Text => "text",
        }
    }
}

impl Choice for LogFormat {
    const ALL: &'static [Self] = &[Self::Json, Self::Text];

    fn name(self) -> &'static str {
        self.as_str()
    }
}
