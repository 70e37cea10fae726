//! The one list of settings. Parsing, the printed configuration and the sample
//! file all come from it.

use std::time::Duration;

use super::Config;
use super::kind::{Field, Kind};

/// One setting.
pub struct Setting {
    /// Its key, such as `limits.jobs_per_hour`.
    pub key: &'static str,
    /// What it does, in one line.
    pub description: &'static str,
    /// Whether its value, or the password in it, must not be shown.
    pub secret: bool,
    pub(super) default: Fallback,
    pub(super) kind: Kind,
}

/// What holds when nothing sets a setting.
pub(super) enum Fallback {
    /// This value, written as in an environment variable.
    Value(&'static str),
    /// A value that follows from another setting, as these words say.
    Derived(&'static str),
    /// None: the setting may be left out.
    Unset,
}

impl Setting {
    /// The key without its section.
    pub(super) fn leaf(&self) -> &'static str {
        self.key.rsplit('.').next().unwrap_or(self.key)
    }

    /// The section, empty for a top-level setting.
    pub(super) fn section(&self) -> &'static str {
        self.key.rsplit_once('.').map_or("", |(section, _)| section)
    }
}

/// Place of a setting in [`SETTINGS`].
pub(super) fn position(key: &str) -> Option<usize> {
    SETTINGS.iter().position(|setting| setting.key == key)
}

/// Whether some setting is in this section.
pub(super) fn is_section(name: &str) -> bool {
    SETTINGS.iter().any(|setting| setting.section() == name)
}

macro_rules! field {
    ($($name:ident).+) => {
        Field { get: |config: &Config| &config.$($name).+, put: |config: &mut Config| &mut config.$($name).+ }
    };
}

const fn open(key: &'static str, description: &'static str, default: Fallback, kind: Kind) -> Setting {
    Setting { key, description, secret: false, default, kind }
}

const fn secs(count: u64) -> Duration {
    Duration::from_secs(count)
}

const MINUTE: u64 = 60;
const DAY: u64 = 24 * 60 * MINUTE;

/// All settings; those of a section stand together, after the top-level ones.
pub static SETTINGS: &[Setting] = &[
    open(
        "data_dir",
        "Directory of everything this process stores on disk",
        Fallback::Value("copydesk-data"),
        Kind::Path(field!(data_dir)),
    ),
    open("listen", "Address the server listens on", Fallback::Value("127.0.0.1:4400"), Kind::Listen(field!(listen))),
    open(
        "public_url",
        "Address under which users reach the server",
        Fallback::Derived("http:// and the value of listen"),
        Kind::PublicUrl(field!(public_url)),
    ),
    Setting {
        key: "database_url",
        description: "Database of this process",
        secret: true,
        default: Fallback::Derived("the SQLite file copydesk.db in data_dir"),
        kind: Kind::Database(field!(database_url)),
    },
    open(
        "database_connections",
        "PostgreSQL connections this process holds at most",
        Fallback::Value("10"),
        // One is taken by the wake-ups.
        Kind::Whole { from: 2, to: 500, field: field!(database_connections) },
    ),
    open(
        "secret_file",
        "File with the secret of this installation, made if it is missing; secret.key in data_dir by default",
        Fallback::Unset,
        Kind::Folder(field!(secret_file)),
    ),
    open("log", "Least severe level that is logged", Fallback::Value("info"), Kind::LogLevel(field!(log))),
    open("log_format", "How log lines are written", Fallback::Value("json"), Kind::LogFormat(field!(log_format))),
    open(
        "limits.jobs_per_hour",
        "Job creations and messages of a project in an hour; 0 for no limit",
        Fallback::Value("100"),
        Kind::Whole { from: 0, to: 1_000_000, field: field!(limits.jobs_per_hour) },
    ),
    open(
        "limits.analytics_per_minute",
        "Analytics requests of a key in a minute; 0 for no limit",
        Fallback::Value("100"),
        Kind::Whole { from: 0, to: 1_000_000, field: field!(limits.analytics_per_minute) },
    ),
    open(
        "limits.running_per_project",
        "Jobs of one project that may run at once; 0 for no limit",
        Fallback::Value("4"),
        Kind::Whole { from: 0, to: 1000, field: field!(limits.running_per_project) },
    ),
    open(
        "limits.job_turns",
        "Calls of a model that a job may make for a prompt",
        Fallback::Value("60"),
        Kind::Whole { from: 1, to: 10_000, field: field!(limits.job_turns) },
    ),
    open(
        "limits.job_tokens",
        "Tokens that a job may use for a prompt, read and written",
        Fallback::Value("2000000"),
        Kind::Whole { from: 1000, to: 1_000_000_000, field: field!(limits.job_tokens) },
    ),
    open(
        "limits.job_cost",
        "US dollars that a job may cost for a prompt, where prices are set",
        Fallback::Unset,
        Kind::Dollars(field!(limits.job_cost)),
    ),
    open(
        "limits.changed_files",
        "Files that a job may change",
        Fallback::Value("100"),
        Kind::Whole { from: 1, to: 100_000, field: field!(limits.changed_files) },
    ),
    open(
        "limits.changed_lines",
        "Lines that a job may add and remove",
        Fallback::Value("10000"),
        Kind::Whole { from: 1, to: 10_000_000, field: field!(limits.changed_lines) },
    ),
    open(
        "limits.job_time",
        "Time a job may run",
        Fallback::Value("30m"),
        Kind::Duration { from: secs(1), to: secs(7 * DAY), field: field!(limits.job_time) },
    ),
    open(
        "limits.queue_time",
        "Time a job may wait for a worker",
        Fallback::Value("24h"),
        Kind::Duration { from: secs(MINUTE), to: secs(30 * DAY), field: field!(limits.queue_time) },
    ),
    open(
        "limits.request_time",
        "Time a request may take",
        Fallback::Value("30s"),
        Kind::Duration { from: secs(1), to: secs(10 * MINUTE), field: field!(limits.request_time) },
    ),
    open(
        "limits.connections",
        "Connections the server holds open at once",
        Fallback::Value("1024"),
        Kind::Whole { from: 1, to: 100_000, field: field!(limits.connections) },
    ),
    open(
        "limits.shutdown_time",
        "Time open requests and jobs get to finish at shutdown",
        Fallback::Value("30s"),
        Kind::Duration { from: secs(0), to: secs(10 * MINUTE), field: field!(limits.shutdown_time) },
    ),
    open(
        "runner.workers",
        "Jobs this process runs at once; 0 to run none",
        Fallback::Value("2"),
        Kind::Whole { from: 0, to: 10_000, field: field!(runner.workers) },
    ),
    open(
        "runner.lease",
        "Time after which the job of a silent worker is given to another",
        Fallback::Value("15s"),
        Kind::Duration { from: Duration::from_millis(500), to: secs(10 * MINUTE), field: field!(runner.lease) },
    ),
    open(
        "runner.attempts",
        "Times a job is started before it counts as failed",
        Fallback::Value("10"),
        Kind::Whole { from: 1, to: 100, field: field!(runner.attempts) },
    ),
    open(
        "jobs.default_model",
        "Model of a job that names none; a model that is configured takes the place of this default",
        Fallback::Value("builtin"),
        Kind::Model(field!(jobs.default_model)),
    ),
    open(
        "jobs.models",
        "Models a job may name; a model that is configured is added to this default",
        Fallback::Value("builtin,noop"),
        Kind::Models(field!(jobs.models)),
    ),
    open(
        "model.provider",
        "Who serves the model that runs the jobs; openai is anything that speaks OpenAI's chat interface",
        Fallback::Unset,
        Kind::Provider(field!(model.provider)),
    ),
    open("model.name", "Name of the model", Fallback::Unset, Kind::ModelName(field!(model.name))),
    open(
        "model.base_url",
        "Address of the model's interface, where it is not the provider's own",
        Fallback::Unset,
        Kind::Address(field!(model.base_url)),
    ),
    Setting {
        key: "model.api_key",
        description: "Key for the model's interface",
        secret: true,
        default: Fallback::Unset,
        kind: Kind::Secret(field!(model.api_key)),
    },
    open(
        "model.project_keys",
        "Folder in which a file named like a project holds the key to use for it",
        Fallback::Unset,
        Kind::Folder(field!(model.project_keys)),
    ),
    open(
        "model.context_tokens",
        "Tokens that the model can read at once",
        Fallback::Value("128000"),
        Kind::Whole { from: 2000, to: 10_000_000, field: field!(model.context_tokens) },
    ),
    open(
        "model.output_tokens",
        "Tokens that the model may write in one answer",
        Fallback::Value("8192"),
        Kind::Whole { from: 100, to: 1_000_000, field: field!(model.output_tokens) },
    ),
    open(
        "model.input_price",
        "US dollars for a million tokens that the model reads",
        Fallback::Unset,
        Kind::Dollars(field!(model.input_price)),
    ),
    open(
        "model.output_price",
        "US dollars for a million tokens that the model writes",
        Fallback::Unset,
        Kind::Dollars(field!(model.output_price)),
    ),
    open(
        "model.silence",
        "Time without a word from the model after which a call is tried again",
        Fallback::Value("2m"),
        Kind::Duration { from: secs(1), to: secs(60 * MINUTE), field: field!(model.silence) },
    ),
    open(
        "views.keep_days",
        "Days that page views are kept, unless the project says otherwise; 0 for ever",
        Fallback::Value("0"),
        Kind::Whole { from: 0, to: 36_500, field: field!(views.keep_days) },
    ),
    open(
        "views.duplicate_window",
        "Time in which a browser that tells of the same page twice has seen it once; 0s to count both",
        Fallback::Value("1s"),
        Kind::Duration { from: secs(0), to: secs(10 * MINUTE), field: field!(views.duplicate_window) },
    ),
    open(
        "views.memory",
        "Megabytes that the counters of projects may take up in memory",
        Fallback::Value("256"),
        Kind::Whole { from: 16, to: 1_000_000, field: field!(views.memory) },
    ),
    open(
        "views.lists",
        "Folder with newer lists of agents and of their addresses than those built in; lists in data_dir by default",
        Fallback::Unset,
        Kind::Folder(field!(views.lists)),
    ),
    open(
        "views.proxies",
        "Proxies whose X-Forwarded-For tells the reader's address: private for this machine and private networks, none, or ranges such as 10.0.0.0/8, 192.0.2.7",
        Fallback::Value("private"),
        Kind::Line(field!(views.proxies)),
    ),
    open(
        "webhooks.allow_private",
        "Private addresses that webhooks may go to, also without https: false, true for this machine and private networks, or ranges such as 10.0.0.0/8, 127.0.0.1",
        Fallback::Value("false"),
        Kind::Ranges(field!(webhooks.allow_private)),
    ),
    open("git.name", "Author and committer of commits", Fallback::Value("Copydesk"), Kind::Line(field!(git.name))),
    open("git.email", "Their e-mail address", Fallback::Value("copydesk@localhost"), Kind::Line(field!(git.email))),
    open(
        "git.time",
        "Time that one git command may take",
        Fallback::Value("5m"),
        Kind::Duration { from: secs(1), to: secs(6 * 60 * MINUTE), field: field!(git.time) },
    ),
    open(
        "credentials.key_file",
        "File with the keys that the credentials of projects are sealed with, made if it is missing; credentials.key in data_dir by default",
        Fallback::Unset,
        Kind::Folder(field!(credentials.key_file)),
    ),
];
