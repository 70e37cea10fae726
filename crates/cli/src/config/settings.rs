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
        "Analytics requests of a key in a minute, once there are analytics; 0 for no limit",
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
        Kind::Whole { from: 0, to: 256, field: field!(runner.workers) },
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
        "Model of a job that names none; must be one of models",
        Fallback::Value("builtin"),
        Kind::Model(field!(jobs.default_model)),
    ),
    open("jobs.models", "Models a job may name", Fallback::Value("builtin,noop"), Kind::Models(field!(jobs.models))),
];
