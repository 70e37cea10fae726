use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};

use crate::config::FlagValue;

/// Documentation jobs by agents, self-hosted.
#[derive(Parser)]
#[command(name = "copydesk", version, propagate_version = true)]
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
    value.as_ref().map(|value| FlagValue { key, flag, value: value.clone() })
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
    Project(ProjectCommand),
    /// Manage admin API keys
    #[command(subcommand)]
    Key(KeyCommand),
    /// Manage webhooks, which tell other services of what happens to jobs
    #[command(subcommand)]
    Webhook(WebhookCommand),
    /// Create and follow jobs on a server (set COPYDESK_API_KEY)
    #[command(subcommand)]
    Job(JobCommand),
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
    Classify(crate::classify::ClassifyFlags),
    /// Show or renew the lists by which readers are told apart
    #[command(subcommand)]
    Lists(crate::lists::ListsCommand),
    /// Count the page views in logs of web servers, each line once: exit code 0 if all were read, 1 if not
    Import(ImportFlags),
    /// Check the documentation in a folder: exit code 0 if nothing was found, 1 if something was
    Check(CheckFlags),
    /// Run a job from end to end on this machine, without account and network
    Demo(DemoFlags),
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
}

impl WorkerFlags {
    pub(crate) fn values(&self) -> Vec<FlagValue> {
        flag("runner.workers", "--workers", &self.workers).into_iter().collect()
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
pub(crate) struct Range {
    /// From this date or instant on, in the project's time zone [default: the beginning]
    #[arg(long, value_name = "DATE")]
    pub(crate) from: Option<String>,
    /// Before this date or instant [default: no limit]
    #[arg(long, value_name = "DATE")]
    pub(crate) to: Option<String>,
}

#[derive(Subcommand)]
pub(crate) enum ViewsCommand {
    /// The pages with most views
    Top {
        /// The project
        project: String,
        #[command(flatten)]
        range: Range,
        /// How many at the most
        #[arg(long, default_value_t = 20)]
        limit: usize,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// The machines that read, with what they read most and why they were taken for what they are
    Agents {
        /// The project
        project: String,
        #[command(flatten)]
        range: Range,
        /// Only readers of this page
        #[arg(long)]
        path: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// The addresses and the secret with which a host's log drain sends to this server
    Drain {
        /// The project
        project: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// How much there is, since when, and its size on disk
    Status {
        /// The project [default: all]
        project: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(clap::Args)]
pub(crate) struct ReclassifyFlags {
    /// Only this project [default: all]
    #[arg(long, value_name = "ID")]
    pub(crate) project: Option<String>,
    /// Apply it without asking
    #[arg(long)]
    pub(crate) yes: bool,
    /// Print JSON; changes nothing without --yes
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(clap::Args)]
pub(crate) struct ImportFlags {
    /// The logs, plain or packed with gzip or zstd; `-` reads standard input
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// The project whose pages were read
    #[arg(long, value_name = "ID")]
    pub(crate) project: String,
    /// How the lines are written: combined, common, vhost_combined, vhost_common, caddy, cloudfront, fastly, json, or
    /// a format string of nginx or Apache [default: what fits the first lines]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<String>,
    /// Count only requests to this host, if the lines name it; can be given several times [default: all]
    #[arg(long, value_name = "HOST")]
    pub(crate) only_host: Vec<String>,
    /// Go on with what is written to the file, through its rotations, until Ctrl-C
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) follow: bool,
    /// Show what would be counted, and keep nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(clap::Args)]
pub(crate) struct CheckFlags {
    /// The folder of the repository
    #[arg(default_value = ".")]
    pub(crate) path: PathBuf,
    /// A folder in it that holds documentation; can be given several times [default: all of it]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) docs_path: Vec<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Subcommand)]
pub(crate) enum ProjectCommand {
    /// Make a project
    Create {
        /// What people call it
        #[arg(long)]
        name: String,
        /// Where its documentation lives: an address that git can clone from, or a path
        #[arg(long, value_name = "URL_OR_PATH")]
        repository: String,
        /// The id in addresses [default: made from the name]
        #[arg(long)]
        id: Option<String>,
        #[command(flatten)]
        settings: ProjectSettings,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// List projects
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show a project
    Show {
        /// The project
        id: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Change a project; what is not named stays as it is
    Update {
        /// The project
        id: String,
        /// What people call it
        #[arg(long)]
        name: Option<String>,
        /// Where its documentation lives
        #[arg(long, value_name = "URL_OR_PATH")]
        repository: Option<String>,
        #[command(flatten)]
        settings: ProjectSettings,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Delete a project with its keys, jobs and page views
    Delete {
        /// The project
        id: String,
        /// Do not ask
        #[arg(long)]
        yes: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(clap::Args)]
pub(crate) struct ProjectSettings {
    /// The branch that jobs start from [default: main]
    #[arg(long, value_name = "BRANCH")]
    pub(crate) base_ref: Option<String>,
    /// A folder that jobs may edit; can be given several times [default: docs]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) docs_path: Vec<String>,
    /// The zone in which days are reported, by its IANA name [default: UTC]
    #[arg(long, value_name = "ZONE")]
    pub(crate) time_zone: Option<String>,
    /// Job creations and messages an hour; 0 for no limit, `default` for the server's
    #[arg(long, value_name = "NUMBER")]
    pub(crate) jobs_per_hour: Option<String>,
    /// Jobs running at a time; 0 for no limit, `default` for the server's
    #[arg(long, value_name = "NUMBER")]
    pub(crate) max_running: Option<String>,
    /// How long a job may run, such as 45m; `default` for the server's
    #[arg(long, value_name = "TIME")]
    pub(crate) time_limit: Option<String>,
    /// What becomes of a change that brings new findings of the docs checks [default: draft]
    #[arg(long, value_name = "WHAT", value_enum)]
    pub(crate) on_findings: Option<OnFindingsArg>,
    /// A host of the documentation site whose page views are counted, such as docs.example.com; can be given several
    /// times, `none` for no host
    #[arg(long, value_name = "HOST")]
    pub(crate) domain: Vec<String>,
    /// Where people are counted [default: auto: by the script once there is one, so that nobody is counted twice]
    #[arg(long, value_name = "CHANNEL", value_enum)]
    pub(crate) people_from: Option<SourceArg>,
    /// Where machines are counted [default: auto: on the server side once it sends]
    #[arg(long, value_name = "CHANNEL", value_enum)]
    pub(crate) machines_from: Option<SourceArg>,
    /// Days that page views are kept; 0 for ever, `default` for the server's
    #[arg(long, value_name = "DAYS")]
    pub(crate) keep_views: Option<String>,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum OnFindingsArg {
    /// The pull request is opened as a draft
    Draft,
    /// The job fails
    Fail,
}

impl From<OnFindingsArg> for copydesk_domain::OnFindings {
    fn from(arg: OnFindingsArg) -> Self {
        match arg {
            OnFindingsArg::Draft => Self::Draft,
            OnFindingsArg::Fail => Self::Fail,
        }
    }
}

/// A channel that page views are counted from.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum SourceArg {
    /// As far as there is one, the better of the two
    Auto,
    /// The script in the readers' browsers
    Script,
    /// Servers: their events, logs and log drains
    Server,
    /// Both, added
    Both,
}

impl From<SourceArg> for copydesk_domain::Source {
    fn from(arg: SourceArg) -> Self {
        match arg {
            SourceArg::Auto => Self::Auto,
            SourceArg::Script => Self::Script,
            SourceArg::Server => Self::Server,
            SourceArg::Both => Self::Both,
        }
    }
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum ScopeArg {
    /// GET only
    Read,
    /// Everything
    Write,
}

#[derive(Subcommand)]
pub(crate) enum KeyCommand {
    /// Make a key; it is printed this once
    Create {
        /// The project that it opens
        #[arg(long, value_name = "ID", required_unless_present = "all_projects")]
        project: Option<String>,
        /// Open every project
        #[arg(long, conflicts_with = "project")]
        all_projects: bool,
        /// What it may do
        #[arg(long, value_enum, default_value = "write")]
        scope: ScopeArg,
        /// After how long it is refused, such as 90d [default: never]
        #[arg(long, value_name = "TIME")]
        expires: Option<String>,
        /// What to call it
        #[arg(long, default_value = "")]
        name: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// List keys, without the keys themselves
    List {
        /// Only those that open this project
        #[arg(long, value_name = "ID")]
        project: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Revoke a key; the next request with it is refused
    Revoke {
        /// The key's id
        id: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Subcommand)]
pub(crate) enum WebhookCommand {
    /// Add a webhook; its secret is printed this once
    Add {
        /// The project
        project: String,
        /// Where to deliver to, an https address
        url: String,
        /// What to be told: job.created, job.completed, job.failed or job.archived; can be given several times
        /// [default: everything]
        #[arg(long, value_name = "TYPE")]
        event: Vec<String>,
        /// What it is for
        #[arg(long, value_name = "TEXT", default_value = "")]
        description: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// List webhooks
    List {
        /// The project [default: all]
        project: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Remove a webhook with its deliveries
    Remove {
        /// The webhook's id
        id: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Deliver nothing until it is resumed
    Pause {
        /// The webhook's id
        id: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Deliver again, what has waited first
    Resume {
        /// The webhook's id
        id: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Make a new secret, printed this once; the old one signs beside it for 24 hours
    Rotate {
        /// The webhook's id
        id: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Deliver a test from this machine and show the answer: exit code 0 if it was taken in, 1 if not
    Test {
        /// The webhook's id
        id: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// List what was and is to be delivered, newest first
    Deliveries {
        /// The webhook's id
        id: String,
        /// Only those whose last try failed
        #[arg(long)]
        failed: bool,
        /// How many at the most
        #[arg(long, default_value_t = 50)]
        limit: u32,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Deliver again what was delivered or given up, or what waits, at once
    Redeliver {
        /// The delivery's id
        delivery: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(clap::Args)]
pub(crate) struct ServerFlags {
    /// The server [default: COPYDESK_URL, or http://127.0.0.1:4400]
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
    /// The project [default: COPYDESK_PROJECT]
    #[arg(long, value_name = "ID")]
    pub(crate) project: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Subcommand)]
pub(crate) enum JobCommand {
    /// Create a job
    Create {
        /// The instruction for the agent; `-` reads it from standard input
        prompt: String,
        /// Wait for its end: exit code 0 if it completed, 1 if it did not
        #[arg(long)]
        wait: bool,
        /// The branch to start from [default: the project's]
        #[arg(long, value_name = "BRANCH")]
        base_ref: Option<String>,
        /// The model or engine to use [default: the server's]
        #[arg(long)]
        model: Option<String>,
        /// Open the pull request as a draft
        #[arg(long)]
        draft: bool,
        /// Open no pull request
        #[arg(long)]
        no_pull_request: bool,
        /// Anything of yours, echoed in the job
        #[arg(long, value_name = "TEXT")]
        client_reference: Option<String>,
        /// Makes running this command again safe [default: a new one each time]
        #[arg(long, value_name = "KEY")]
        idempotency_key: Option<String>,
        #[command(flatten)]
        server: ServerFlags,
    },
    /// Show a job
    Get {
        /// The job
        id: String,
        /// Wait for its end: exit code 0 if it completed, 1 if it did not
        #[arg(long)]
        wait: bool,
        #[command(flatten)]
        server: ServerFlags,
    },
    /// List jobs, newest first
    List {
        /// Only jobs that stand so: active, completed, archived or failed
        #[arg(long)]
        status: Option<String>,
        /// How many at the most
        #[arg(long, default_value_t = 50)]
        limit: u32,
        #[command(flatten)]
        server: ServerFlags,
    },
    /// Show what a job changed, as a diff
    Diff {
        /// The job
        id: String,
        #[command(flatten)]
        server: ServerFlags,
    },
    /// Open the pull request of a job that was created with --no-pull-request
    Open {
        /// The job
        id: String,
        #[command(flatten)]
        server: ServerFlags,
    },
    /// Send a follow-up to a job
    Message {
        /// The job
        id: String,
        /// What to do next; `-` reads it from standard input
        prompt: String,
        /// Wait for its end: exit code 0 if it completed, 1 if it did not
        #[arg(long)]
        wait: bool,
        #[command(flatten)]
        server: ServerFlags,
    },
    /// Cancel an active job
    Cancel {
        /// The job
        id: String,
        #[command(flatten)]
        server: ServerFlags,
    },
    /// Archive a job for good
    Archive {
        /// The job
        id: String,
        #[command(flatten)]
        server: ServerFlags,
    },
}
