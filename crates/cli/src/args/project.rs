use clap::{Subcommand, ValueEnum};

use super::{CredentialCommand, HostFlags, RotateFlags, SourceCommand, TalkFlags, ViewFlags};

#[derive(Subcommand)]
pub(crate) enum ProjectCommand {
    /// Create a project
    Create {
        /// The name that people see
        #[arg(long)]
        name: String,
        /// The repository with the documentation: an address that git can clone, or a path
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
    /// Change a project; settings that are not given stay as they are
    Update {
        /// The project
        id: String,
        /// The name that people see
        #[arg(long)]
        name: Option<String>,
        /// The repository with the documentation
        #[arg(long, value_name = "URL_OR_PATH")]
        repository: Option<String>,
        #[command(flatten)]
        settings: ProjectSettings,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Test what jobs need from a project's code host, leaving nothing behind. Exit code 0 if a job would succeed
    Test {
        /// The project
        id: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show the address and the secret for the webhook of a project's code host, which reports pull requests, comments,
    /// reviews and issues
    Hook {
        /// The project
        id: String,
        #[command(flatten)]
        rotate: RotateFlags,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// List what people asked for on a project's code host, in comments and with labels, and what came of it
    Asks {
        /// The project
        id: String,
        /// How many of the latest requests to list
        #[arg(long, value_name = "NUMBER", default_value_t = 25, value_parser = clap::value_parser!(u32).range(1..=1000))]
        limit: u32,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Delete a project with its keys, jobs and page views
    Delete {
        /// The project
        id: String,
        /// Delete without asking
        #[arg(long)]
        yes: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Manage the credential that a project uses at its code host
    #[command(subcommand)]
    Credential(CredentialCommand),
    /// Manage code sources: further repositories that a project's agents may read
    #[command(subcommand)]
    Source(SourceCommand),
}

/// An argument of an update: the defaults are those of a new project.
pub(super) fn without_default(argument: clap::Arg) -> clap::Arg {
    let Some(help) = argument.get_help().map(ToString::to_string) else { return argument };
    match help.split_once(" [default: ") {
        Some((before, rest)) => argument.help(format!("{before}{}", rest.split_once(']').map_or("", |(_, rest)| rest))),
        None => argument,
    }
}

#[derive(clap::Args)]
pub(crate) struct ProjectSettings {
    /// The branch that jobs start from [default: the main branch of the repository]
    #[arg(long, value_name = "BRANCH")]
    pub(crate) base_ref: Option<String>,
    /// A folder that jobs may edit; can be given several times [default: docs]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) docs_path: Vec<String>,
    /// A file, folder or pattern such as `docs/data/*.json` that jobs may write although it is not recognised as
    /// documentation; can be given several times, `none` for none
    #[arg(long, value_name = "PATTERN")]
    pub(crate) allow: Vec<String>,
    /// A file, folder or pattern that jobs may never write; can be given several times, `none` for none
    #[arg(long, value_name = "PATTERN")]
    pub(crate) deny: Vec<String>,
    /// The time zone of reports, as an IANA name such as Europe/Berlin [default: UTC]
    #[arg(long, value_name = "ZONE")]
    pub(crate) time_zone: Option<String>,
    /// The most job creations and messages in an hour; 0 for no limit, `default` for the server's
    #[arg(long, value_name = "NUMBER")]
    pub(crate) jobs_per_hour: Option<String>,
    /// The most jobs running at the same time; 0 for no limit, `default` for the server's
    #[arg(long, value_name = "NUMBER")]
    pub(crate) max_running: Option<String>,
    /// How long a job may run, such as 45m; `default` for the server's
    #[arg(long, value_name = "TIME")]
    pub(crate) time_limit: Option<String>,
    /// The most that a prompt of a job may cost in US dollars, such as 0.50, for models with known prices. It can only lower
    /// the limit of the server (`limits.job_cost`); `default` for that limit
    #[arg(long, value_name = "DOLLARS")]
    pub(crate) job_cost: Option<String>,
    /// What to do with a change that causes new findings of the docs checks [default: draft]
    #[arg(long, value_name = "WHAT", value_enum)]
    pub(crate) on_findings: Option<OnFindingsArg>,
    #[command(flatten)]
    pub(crate) views: ViewFlags,
    #[command(flatten)]
    pub(crate) host: HostFlags,
    #[command(flatten)]
    pub(crate) talk: TalkFlags,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum OnFindingsArg {
    /// Open the pull request as a draft
    Draft,
    /// Fail the job
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
