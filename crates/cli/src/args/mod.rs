mod credential;
mod examples;
mod host;
mod job;
mod key;
mod moving;
mod project;
mod source;
mod talk;
mod user;
mod views;
mod webhook;

use std::path::PathBuf;

use clap::{ArgAction, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::config::FlagValue;
use crate::failure::Failure;
use crate::terminal;

pub(crate) use credential::{CredentialCommand, CredentialFlags, CredentialsCommand, RotateFlags, TokenFlags};
pub(crate) use host::{HostArg, HostFlags};
pub(crate) use job::{JobCommand, ServerFlags};
pub(crate) use key::{KeyCommand, ScopeArg};
pub(crate) use moving::MoveFlags;
pub(crate) use project::{ProjectCommand, ProjectSettings};
pub(crate) use source::SourceCommand;
pub(crate) use talk::{CommentsArg, TalkFlags};
pub(crate) use user::UserCommand;
pub(crate) use views::{ClassifyFlags, ImportFlags, ListsCommand, Range, ReclassifyFlags, ViewFlags, ViewsCommand};
pub(crate) use webhook::WebhookCommand;

/// Where help lists what most commands share, after the flags of the command itself.
const GLOBAL: &str = "Global options";

/// The whole command line, with examples in every help.
pub(crate) fn command() -> clap::Command {
    let without_defaults = |update: clap::Command| update.mut_args(project::without_default);
    let args = Args::command().mut_subcommand("project", |it| it.mut_subcommand("update", without_defaults));
    examples::add(share_headings(args))
}

/// Reads the command line; help, the version and mistakes end the process.
pub(crate) fn parse() -> Args {
    let matches = command().color(terminal::choice_in(std::env::args_os())).get_matches();
    Args::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
}

/// Puts flags that nearly every command has below those that are its own.
fn share_headings(command: clap::Command) -> clap::Command {
    let has_json = command.get_arguments().any(|arg| arg.get_id() == "json");
    let command =
        if has_json { command.mut_arg("json", |arg| arg.help_heading(GLOBAL).display_order(982)) } else { command };
    command.mut_subcommands(share_headings)
}

/// Documentation jobs by agents, self-hosted.
#[derive(Parser)]
#[command(name = "copydesk", version = env!("VERSION_AND_COMMIT"), propagate_version = true)]
#[command(disable_help_flag = true, disable_version_flag = true, max_term_width = 100)]
pub(crate) struct Args {
    /// The configuration file [default: copydesk.toml, if it exists]
    #[arg(long, global = true, value_name = "FILE", help_heading = GLOBAL, display_order = 990)]
    pub(crate) config: Option<PathBuf>,
    /// The folder for everything stored on disk [default: copydesk-data]
    #[arg(long, global = true, value_name = "DIR", help_heading = GLOBAL, display_order = 991)]
    data_dir: Option<String>,
    /// The database: sqlite:FILE or postgres://… [default: a SQLite file in the data folder].
    /// Put a password into COPYDESK_DATABASE_URL instead: other users of the machine can see flags
    #[arg(long, global = true, value_name = "URL", help_heading = GLOBAL, display_order = 992)]
    database_url: Option<String>,
    /// The server that `job` asks, and one that `project` and `key` ask instead of the database on this machine. It needs a
    /// key in COPYDESK_API_KEY, with the scope admin for `project` and `key`
    // Other commands have an argument that is called `url`, and what is global is known by its id.
    #[arg(id = "server_url", long = "url", global = true, value_name = "URL", help_heading = GLOBAL, display_order = 981)]
    pub(crate) url: Option<String>,
    /// When to use colours
    #[arg(long, global = true, value_name = "WHEN", value_enum, default_value = "auto", help_heading = GLOBAL, display_order = 993)]
    pub(crate) color: clap::ColorChoice,
    /// Print help
    #[arg(short, long, global = true, action = ArgAction::Help, help_heading = GLOBAL, display_order = 998)]
    help: Option<bool>,
    /// Print the version
    #[arg(short = 'V', long, global = true, action = ArgAction::Version, help_heading = GLOBAL, display_order = 999)]
    version: Option<bool>,
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
    /// Run jobs only, next to servers on the same database
    Worker(WorkerFlags),
    /// Upgrade the database to this version (`serve` does this too)
    Migrate,
    /// Show the current configuration and where each value comes from
    Config {
        /// Print JSON
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
    /// Manage the keys that stored credentials are encrypted with
    #[command(subcommand)]
    Credentials(CredentialsCommand),
    /// Manage admin API keys
    #[command(subcommand)]
    Key(KeyCommand),
    /// Manage the people who can sign in to the dashboard
    #[command(subcommand)]
    User(UserCommand),
    /// Manage webhooks, which notify other services about jobs
    #[command(subcommand)]
    Webhook(WebhookCommand),
    /// Try the configured language model
    #[command(subcommand)]
    Model(ModelCommand),
    /// Create and follow jobs on a server (needs COPYDESK_API_KEY)
    #[command(subcommand)]
    Job(JobCommand),
    /// Offer Copydesk as tools to agents and editors, which start this themselves (Model Context Protocol over standard
    /// input and output; needs COPYDESK_API_KEY)
    Mcp(McpFlags),
    /// Show and look after the page views on this machine
    #[command(subcommand)]
    Views(ViewsCommand),
    /// Classify past page views again with the current list of agents: shows the difference, then applies it
    Reclassify(ReclassifyFlags),
    /// Copy projects, keys, jobs and page views into a new folder, while the server runs
    Backup(BackupFlags),
    /// Restore a backup into an empty data folder or PostgreSQL database; the copy sends nothing until `copydesk wake`
    Restore {
        /// The folder of the backup
        folder: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Move everything to another database, or page views to another place, while the server still answers. Ended in the
    /// middle, the same command goes on
    Move(MoveFlags),
    /// Let a restored copy run jobs, push, deliver webhooks and answer comments again
    Wake {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Explain what a user agent is: a person, an AI agent, a crawler, …
    Classify(ClassifyFlags),
    /// Show or update the lists used to classify readers
    #[command(subcommand)]
    Lists(ListsCommand),
    /// Count the page views in web server logs, each line once. Exit code 0 if all logs were read, 1 if not
    Import(ImportFlags),
    /// Check the documentation in a folder. Exit code 0 if there are no findings, 1 if there are; warnings do not count
    Check(CheckFlags),
    /// Run a job from end to end on this machine, without an account or a network
    Demo(DemoFlags),
    /// Look for problems in this installation; repairs nothing. Exit code 0 if nothing failed, 1 if something did
    Doctor(DoctorFlags),
    /// Ask a server or worker whether it is ready. Exit code 0 if it is, 1 if not
    Health {
        /// Its address [default: this machine, at admin_listen or listen of the configuration]
        url: Option<String>,
    },
    /// Print a script that completes commands and flags in a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Write the manual pages, one for each command
    Man {
        /// The folder; it is created if it does not exist
        folder: PathBuf,
    },
}

impl Command {
    /// Gives a command that needs a project, and was given none, the one that the environment names. Those that are about all
    /// projects stay so.
    pub(crate) fn fill_in_project(&mut self, known: Option<String>) {
        let project = match self {
            Self::Views(
                ViewsCommand::Top { project, .. }
                | ViewsCommand::Agents { project, .. }
                | ViewsCommand::Drain { project, .. }
                | ViewsCommand::Restore { project },
            ) => project,
            Self::Import(flags) => &mut flags.project,
            Self::Key(KeyCommand::Create { project, all_projects: false, .. }) => project,
            _ => return,
        };
        if project.is_none() {
            *project = known;
        }
    }
}

/// The project that a command cannot do without.
pub(crate) fn needed(project: Option<String>) -> Result<String, Failure> {
    project.ok_or_else(|| Failure::usage("no project: name it on the command line or set COPYDESK_PROJECT"))
}

#[derive(clap::Subcommand)]
pub(crate) enum ModelCommand {
    /// Make one call and report what works. Exit code 0 if jobs can use the model, 1 if not
    Test {
        /// Use the key of this project, if it has its own
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
    #[command(flatten)]
    worker: WorkerFlags,
}

impl ServeFlags {
    pub(crate) fn values(&self) -> Vec<FlagValue> {
        let mut values = self.worker.values();
        values.extend(flag("listen", "--listen", &self.listen));
        values
    }
}

#[derive(clap::Args)]
pub(crate) struct WorkerFlags {
    /// How many jobs to run at the same time; 0 for none [default: 2]
    #[arg(long, value_name = "NUMBER")]
    workers: Option<String>,
    /// A separate address for /healthz, /readyz and /metrics, which answers even when clients keep the
    /// main address busy [default: none]
    #[arg(long, value_name = "ADDRESS")]
    admin_listen: Option<String>,
    /// The address under which clients and people reach the server; links in pull requests begin with it
    #[arg(long, value_name = "URL")]
    public_url: Option<String>,
}

impl WorkerFlags {
    pub(crate) fn values(&self) -> Vec<FlagValue> {
        let flags = [
            flag("runner.workers", "--workers", &self.workers),
            flag("admin_listen", "--admin-listen", &self.admin_listen),
            flag("public_url", "--public-url", &self.public_url),
        ];
        flags.into_iter().flatten().collect()
    }
}

#[derive(clap::Args)]
pub(crate) struct DoctorFlags {
    /// Check only this project
    #[arg(long, value_name = "PROJECT")]
    pub(crate) project: Option<String>,
    /// Call the model once, which costs money; otherwise only its list of models is read
    #[arg(long)]
    pub(crate) call_model: bool,
    /// Exit with code 1 also if something could not be checked
    #[arg(long)]
    pub(crate) strict: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(clap::Args)]
pub(crate) struct McpFlags {
    /// The server [default: COPYDESK_URL, else the configured address of this machine]
    #[arg(id = "server_url", long = "url", value_name = "URL")]
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
    /// The folder for everything; it must be empty or not exist yet [default: a temporary one]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) folder: Option<PathBuf>,
    /// Exit when the job has ended, instead of serving until Ctrl-C
    #[arg(long)]
    pub(crate) exit: bool,
}

#[derive(clap::Args)]
pub(crate) struct CheckFlags {
    /// The folder of the repository
    #[arg(default_value = ".")]
    pub(crate) path: PathBuf,
    /// A folder in it that holds documentation; can be given several times [default: the whole folder]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) docs_path: Vec<String>,
    /// Report only what is new since HEAD left this branch or commit; uncommitted files count as changed
    #[arg(long, value_name = "REF")]
    pub(crate) base: Option<String>,
    /// The format of the report [default: text]
    #[arg(long, value_enum)]
    format: Option<CheckFormat>,
    /// Check links to other hosts too; answers are kept for up to a week
    #[arg(long)]
    pub(crate) external: bool,
    /// Check links to this machine and to private networks too
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
    /// One line for each finding, as compilers write them
    Text,
    Json,
    /// SARIF 2.1.0, for code scanning and editors
    Sarif,
    /// Annotations for GitHub workflows
    Github,
}

#[derive(clap::Args)]
pub(crate) struct BackupFlags {
    /// The folder; it must not exist yet
    pub folder: PathBuf,
    /// Read the backup again once it is written, and check it
    #[arg(long, conflicts_with = "only_verify")]
    pub verify: bool,
    /// Make no backup, only check the one in the folder. Exit code 0 if it is whole, 1 if not
    #[arg(long)]
    pub only_verify: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
