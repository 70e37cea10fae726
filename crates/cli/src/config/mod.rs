//! The configuration of a Copydesk process.
//!
//! Values come, in rising strength, from the defaults in [`SETTINGS`],
//! `copydesk.toml`, `COPYDESK_…` environment variables and command-line flags.
//! Nothing here reads global state: the caller passes every source in.

mod database;
mod duration;
mod environment;
mod error;
mod file;
mod given;
mod kind;
mod load;
mod log;
mod model;
mod output;
mod public_url;
mod settings;
mod suggest;
#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

pub use database::DatabaseUrl;
pub use duration::{format_duration, parse_duration};
pub use error::{ConfigErrors, Origin};
pub use log::{LogFormat, LogLevel};
pub use model::{Dollars, Provider, Secret};
pub use output::sample;

/// A complete, checked configuration, with the origin of every value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Directory of everything this process stores on disk.
    pub data_dir: PathBuf,
    /// Address the server listens on.
    pub listen: SocketAddr,
    /// PostgreSQL connections this process holds at most.
    pub database_connections: u32,
    /// Least severe level that is logged.
    pub log: LogLevel,
    /// How log lines are written.
    pub log_format: LogFormat,
    /// Limits on use and on waiting.
    pub limits: Limits,
    /// The job runner of this process.
    pub runner: RunnerConfig,
    /// What jobs may use.
    pub jobs: JobsConfig,
    /// The model that runs jobs.
    pub model: ModelConfig,
    /// Page views.
    pub views: ViewsConfig,
    /// Webhooks.
    pub webhooks: WebhooksConfig,
    /// What commits are made with.
    pub git: GitConfig,
    /// How the credentials of projects are kept.
    pub credentials: CredentialsConfig,
    /// The file with the secret of this installation, if not where it is by default.
    pub secret_file: Option<PathBuf>,
    // Private because the value in force is the one `public_url()` and
    // `database()` derive when nothing is set.
    public_url: Option<String>,
    database_url: Option<DatabaseUrl>,
    // One for each row of `SETTINGS`, in its order.
    origins: Vec<Origin>,
}

/// Settings of the section `limits`; a count of 0 means no limit where the
/// setting's description says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Job creations and messages of a project in an hour, 0 for no limit.
    pub jobs_per_hour: u32,
    /// Analytics requests of a key in a minute, 0 for no limit.
    pub analytics_per_minute: u32,
    /// Jobs of one project that may run at once, 0 for no limit.
    pub running_per_project: u32,
    /// Calls of a model that a job may make for a prompt.
    pub job_turns: u32,
    /// Tokens that a job may use for a prompt.
    pub job_tokens: u32,
    /// What a job may cost for a prompt.
    pub job_cost: Option<Dollars>,
    /// Files that a job may change.
    pub changed_files: u32,
    /// Lines that a job may add and remove.
    pub changed_lines: u32,
    /// Time a job may run.
    pub job_time: Duration,
    /// Time a job may wait for a worker.
    pub queue_time: Duration,
    /// Time a request may take.
    pub request_time: Duration,
    /// Connections the server holds open at once.
    pub connections: u32,
    /// Time open requests and jobs get to finish at shutdown.
    pub shutdown_time: Duration,
}

/// Settings of the section `runner`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunnerConfig {
    /// Jobs this process runs at once, 0 to run none.
    pub workers: u32,
    /// Time after which the job of a silent worker is given to another.
    pub lease: Duration,
    /// Times a job is started before it counts as failed.
    pub attempts: u32,
}

/// Settings of the section `jobs`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobsConfig {
    /// Model of a job that names none; always one of `models`.
    pub default_model: String,
    /// Models a job may name.
    pub models: Vec<String>,
}

/// Settings of the section `model`. There is a model if `provider` and `name` are set, and then both are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelConfig {
    /// Who serves it.
    pub provider: Option<Provider>,
    /// Its name.
    pub name: Option<String>,
    /// Where its interface is, if not where the provider has it.
    pub base_url: Option<String>,
    /// The key.
    pub api_key: Option<Secret>,
    /// Folder with a key for each project.
    pub project_keys: Option<PathBuf>,
    /// Tokens that it can read at once.
    pub context_tokens: u32,
    /// Tokens that it may write in one answer.
    pub output_tokens: u32,
    /// US dollars for a million tokens read.
    pub input_price: Option<Dollars>,
    /// US dollars for a million tokens written.
    pub output_price: Option<Dollars>,
    /// Time without a word after which a call is tried again.
    pub silence: Duration,
}

/// Settings of the section `views`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ViewsConfig {
    /// Days that views are kept, 0 for ever.
    pub keep_days: u32,
    /// Time in which the same page by the same reader is one view.
    pub duplicate_window: Duration,
    /// Megabytes that counters may take up in memory.
    pub memory: u32,
    /// Folder of lists, if not where it is by default.
    pub lists: Option<PathBuf>,
    /// Proxies whose word is taken: `private`, `none` or ranges of addresses.
    pub proxies: String,
}

/// Settings of the section `webhooks`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhooksConfig {
    /// What else they may go to than the internet: `false`, `true` or ranges of addresses.
    pub allow_private: String,
}

/// Settings of the section `git`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitConfig {
    /// Author and committer.
    pub name: String,
    /// Their e-mail address.
    pub email: String,
    /// Time that one git command may take.
    pub time: Duration,
}

/// Settings of the section `credentials`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CredentialsConfig {
    /// The file with the keys, if not where it is by default.
    pub key_file: Option<PathBuf>,
}

/// Where a configuration is loaded from.
///
/// Not `Debug`: the environment holds secrets, of other programs too.
pub struct Sources {
    /// File named by `--config`, relative to `working_dir`.
    pub config_file: Option<PathBuf>,
    /// Directory in which `copydesk.toml` is looked for.
    pub working_dir: PathBuf,
    /// The environment of the process.
    pub environment: Vec<(OsString, OsString)>,
    /// Settings given as flags; of two for one key the later counts.
    pub flags: Vec<FlagValue>,
}

/// A setting given on the command line.
#[derive(Clone, PartialEq, Eq)]
pub struct FlagValue {
    /// Key of the setting, such as `limits.jobs_per_hour`.
    pub key: &'static str,
    /// The value as written.
    pub value: String,
    /// The flag with its dashes, such as `--listen`.
    pub flag: &'static str,
}

impl fmt::Debug for FlagValue {
    // The value is left out because the setting may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FlagValue").field("key", &self.key).field("flag", &self.flag).finish_non_exhaustive()
    }
}

impl Config {
    /// Reads and checks all sources.
    ///
    /// # Errors
    ///
    /// Every error found in any source, also one in a value that a stronger
    /// source replaces.
    pub fn load(sources: Sources) -> Result<Self, ConfigErrors> {
        load::load(sources)
    }

    /// Address under which users reach the server, without a trailing slash.
    #[must_use]
    pub fn public_url(&self) -> String {
        match &self.public_url {
            Some(url) => url.clone(),
            None => format!("http://{}", self.listen),
        }
    }

    /// The same for a server that listens there, which may be another port than was asked for.
    #[must_use]
    pub fn public_url_at(&self, listening: SocketAddr) -> String {
        match &self.public_url {
            Some(url) => url.clone(),
            None => format!("http://{listening}"),
        }
    }

    /// The database to open.
    #[must_use]
    pub fn database(&self) -> DatabaseUrl {
        match &self.database_url {
            Some(url) => url.clone(),
            None => DatabaseUrl::Sqlite(self.data_dir.join("copydesk.db")),
        }
    }

    /// The folder of the page views.
    #[must_use]
    pub fn views_folder(&self) -> PathBuf {
        self.data_dir.join("views")
    }

    /// The folder of newer lists of agents.
    #[must_use]
    pub fn lists_folder(&self) -> PathBuf {
        self.views.lists.clone().unwrap_or_else(|| self.data_dir.join("lists"))
    }

    /// The file with the secret of this installation.
    #[must_use]
    pub fn secret_path(&self) -> PathBuf {
        self.secret_file.clone().unwrap_or_else(|| self.data_dir.join("secret.key"))
    }

    /// The file with the keys that credentials are sealed with.
    #[must_use]
    pub fn credentials_key_path(&self) -> PathBuf {
        self.credentials.key_file.clone().unwrap_or_else(|| self.data_dir.join("credentials.key"))
    }

    /// Where the value of a setting comes from; `None` for an unknown key.
    #[must_use]
    pub fn origin(&self, key: &str) -> Option<&Origin> {
        self.origins.get(settings::position(key)?)
    }
}
