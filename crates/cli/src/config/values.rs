//! What can be chosen in settings.

use clap::ValueEnum;

/// Least severe level that is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogLevel {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

/// How log lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// `Text` on a terminal, else `Json`.
    Auto,
    /// One JSON object a line.
    Json,
    /// For people.
    Text,
}

/// Where page views are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ViewsPlace {
    /// In a folder of the machine.
    Embedded,
    /// In the PostgreSQL database, for servers of several machines.
    Database,
    /// In ClickHouse, behind a ledger in that database.
    #[value(name = "clickhouse")]
    ClickHouse,
}

impl ViewsPlace {
    /// Whether it is the database or stands behind it, and not a folder of this machine.
    pub fn is_shared(self) -> bool {
        self != Self::Embedded
    }
}

/// Who serves the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "lower")]
pub enum Provider {
    Anthropic,
    /// OpenAI's chat interface, or anything that speaks it: vLLM, llama.cpp, LM Studio, gateways.
    OpenAi,
    Ollama,
    Gemini,
}

/// What becomes of somebody for whom others vouch and who is no user yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum NewUsers {
    /// Nobody without an invitation.
    Refuse,
    /// They become a user who sees no project yet.
    WithoutProjects,
}

/// The choice as it is written in the configuration.
pub fn choice_name(choice: &impl ValueEnum) -> String {
    choice.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}
