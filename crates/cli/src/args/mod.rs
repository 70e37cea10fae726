mod credential;
mod host;
mod job;
mod key;
mod project;
mod source;
mod talk;
mod user;
mod views;
mod webhook;

use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::config::FlagValue;

pub(crate) use credential::{CredentialCommand, CredentialFlags, CredentialsCommand, RotateFlags, TokenFlags};
pub(crate) use host::{HostArg, HostFlags};
pub(crate) use job::{JobCommand, ServerFlags};
pub(crate) use key::{KeyCommand, ScopeArg};
pub(crate) use project::{ProjectCommand, ProjectSettings};
pub(crate) use source::SourceCommand;
pub(crate) use talk::{CommentsArg, TalkFlags};
pub(crate) use user::UserCommand;
pub(crate) use views::{ClassifyFlags, ImportFlags, ListsCommand, Range, ReclassifyFlags, ViewFlags, ViewsCommand};
pub(crate) use webhook::WebhookCommand;

/// Documentation jobs by agents, self-hosted.
#[derive(Parser)]
#[command(name = "copydesk", version = env!("VERSION_AND_COMMIT"), propagate_version = true)]
pub(crate) struct Args {
    /// The configuration file [default: copydesk.toml, if there is one]
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The folder for everything that is stored on disk [default: copydesk-data]
    #[arg(long, global = true, value_name = "DIR")]
    data_dir: Option<String>,
    /// The database: sqlite:FILE or postgres://… [default: a SQLite file in the data folder].
    /// A password is better given in COPYDESK_DATABASE_URL, where other users of the machine cannot see it
    #[arg(long, global = true, value_name = "URL")]
    database_url: Option<String>,
    /// Ask this server instead of the database on this machine, with a key of the scope admin in COPYDESK_API_KEY: for
    /// `project` (create, list, show, update, test, delete) and `key`
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Args {
    /// The settings among the flags that every command has.
    pub(crate) fn base_flags(&self) -> Vec<FlagValue> {
        [flag("data_dir", "--data-dir", &self.data_dir), flag("database_url", "--database-url", &self.database_url)]
            .into_iter()
            .flatten()
            .collect()
    }
}

fn flag(key: &'static str, flag: &'static str, value: &Option<String>) -> Option<FlagValue> {
    value.as_ref().map(|value| FlagValue { key, flag, value: value.as_str().into() })
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Serve the API and run jobs
    Serve(ServeFlags),
    /// Only run jobs, beside servers on the same database
    Worker(WorkerFlags),
    /// Bring the database up to date (serve does this too)
    Migrate,
    /// Show the configuration in force and where each value came from
    Config {
        /// As JSON
        #[arg(long)]
        json: bool,
        /// Print a commented copydesk.toml with every setting instead
        #[arg(long, conflicts_with = "json")]
        sample: bool,
    },
    /// Print the OpenAPI description
    Openapi,
    /// Manage projects
    #[command(subcommand)]
    Project(Box<ProjectCommand>),
    /// Manage the keys that credentials are sealed with
    #[command(subcommand)]
    Credentials(CredentialsCommand),
    /// Manage admin API keys
    #[command(subcommand)]
    Key(KeyCommand),
    /// Manage the people who can sign in to the dashboard
    #[command(subcommand)]
    User(UserCommand),
    /// Manage webhooks, which tell other services of what happens to jobs
    #[command(subcommand)]
    Webhook(WebhookCommand),
    /// Look at the language model that is configured
    #[command(subcommand)]
    Model(ModelCommand),
    /// Create and follow jobs on a server (set COPYDESK_API_KEY)
    #[command(subcommand)]
    Job(JobCommand),
    /// Give agents and editors Copydesk as tools (Model Context Protocol on standard input and output): they start this
    /// themselves; set COPYDESK_API_KEY
    Mcp(McpFlags),
    /// Look at the page views on this machine
    #[command(subcommand)]
    Views(ViewsCommand),
    /// Judge all page views of the past by the present list of agents: shows the difference, then applies it
    Reclassify(ReclassifyFlags),
    /// Copy projects, keys, jobs and page views into a new folder, while the server runs
    Backup {
        /// The folder; it must not exist yet
        folder: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Explain who a user agent is: a person, an AI agent, a crawler, …
    Classify(ClassifyFlags),
    /// Show or renew the lists by which readers are told apart
    #[command(subcommand)]
    Lists(ListsCommand),
    /// Count the page views in logs of web servers, each line once: exit code 0 if all were read, 1 if not
    Import(ImportFlags),
    /// Check the documentation in a folder: exit code 0 if nothing was found, 1 if something was; warnings do not count
    Check(CheckFlags),
    /// Run a job from end to end on this machine, without account and network
    Demo(DemoFlags),
    /// Ask a server or worker whether it is ready: exit code 0 if it is, 1 if not
    Health {
        /// Its address [default: what the configuration says under admin_listen, or else listen, on this machine]
        url: Option<String>,
    },
    /// Print what makes a shell complete commands and flags, to be saved where it looks for that
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Write the manual pages, one for each command
    Man {
        /// The folder; it is made if it is not there
        folder: PathBuf,
    },
}

#[derive(clap::Subcommand)]
pub(crate) enum ModelCommand {
    /// Make one call and say what works: exit code 0 if a job can be done with it, 1 if not
    Test {
        /// With the key of this project, if it has one of its own
        #[arg(long, value_name = "PROJECT")]
        project: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(clap::Args)]
pub(crate) struct ServeFlags {
    /// The address to listen on [default: 127.0.0.1:4400]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// The address under which clients reach the server
    #[arg(long, value_name = "URL")]
    public_url: Option<String>,
    #[command(flatten)]
    worker: WorkerFlags,
}

impl ServeFlags {
    pub(crate) fn values(&self) -> Vec<FlagValue> {
        let mut values = self.worker.values();
        values.extend(flag("listen", "--listen", &self.listen));
        values.extend(flag("public_url", "--public-url", &self.public_url));
        values
    }
}

#[derive(clap::Args)]
pub(crate) struct WorkerFlags {
    /// How many jobs to run at a time; 0 for none [default: 2]
    #[arg(long, value_name = "NUMBER")]
    workers: Option<String>,
    /// The address for /healthz, /readyz and /metrics alone, which nobody can keep busy [default: none]
    #[arg(long, value_name = "ADDRESS")]
    admin_listen: Option<String>,
}

impl WorkerFlags {
    pub(crate) fn values(&self) -> Vec<FlagValue> {
        let workers = flag("runner.workers", "--workers", &self.workers);
        workers.into_iter().chain(flag("admin_listen", "--admin-listen", &self.admin_listen)).collect()
    }
}

#[derive(clap::Args)]
pub(crate) struct McpFlags {
    /// The server [default: COPYDESK_URL, or http://127.0.0.1:4400]
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// The project [default: COPYDESK_PROJECT]
    #[arg(long, value_name = "ID")]
    project: Option<String>,
    /// The folder whose documentation may be checked, with everything in it
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    pub(crate) folder: PathBuf,
}

impl McpFlags {
    pub(crate) fn server(&self) -> ServerFlags {
        ServerFlags { url: self.url.clone(), project: self.project.clone(), json: false }
    }
}

#[derive(clap::Args)]
pub(crate) struct DemoFlags {
    /// The folder to put everything into; it must not exist or be empty [default: a temporary one]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) folder: Option<PathBuf>,
    /// End when the job has, instead of going on serving until Ctrl-C
    #[arg(long)]
    pub(crate) exit: bool,
}

#[derive(clap::Args)]
pub(crate) struct CheckFlags {
    /// The folder of the repository
    #[arg(default_value = ".")]
    pub(crate) path: PathBuf,
    /// A folder in it that holds documentation; can be given several times [default: all of it]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) docs_path: Vec<String>,
    /// Only what is new since HEAD left this branch or commit; files that are not committed count as changed
    #[arg(long, value_name = "REF")]
    pub(crate) base: Option<String>,
    /// How to print what was found [default: text]
    #[arg(long, value_enum)]
    format: Option<CheckFormat>,
    /// Ask other hosts whether links to them lead somewhere; answers are kept for up to a week
    #[arg(long)]
    pub(crate) external: bool,
    /// Ask also this machine and hosts of private networks
    #[arg(long, requires = "external")]
    pub(crate) external_private: bool,
    /// Print JSON, as --format json does
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

impl CheckFlags {
    /// To look at files only.
    pub(crate) fn of(path: PathBuf, docs_path: Vec<String>, base: Option<String>) -> Self {
        let format = Some(CheckFormat::Json);
        Self { path, docs_path, base, format, external: false, external_private: false, json: false }
    }

    pub(crate) fn format(&self) -> CheckFormat {
        match self.format {
            Some(format) => format,
            None if self.json => CheckFormat::Json,
            None => CheckFormat::Text,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum CheckFormat {
    /// Lines as compilers write them
    Text,
    Json,
    /// SARIF 2.1.0, for code scanning and editors
    Sarif,
    /// Annotations of GitHub workflows
    Github,
}
