use clap::{Subcommand, ValueEnum};

use super::{CredentialCommand, HostFlags, RotateFlags, SourceCommand, TalkFlags, ViewFlags};

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
    /// Try what jobs need of a project's code host, and leave nothing behind: exit code 0 if a job would come through
    Test {
        /// The project
        id: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show the address and the secret for webhooks of a project's code host, by which it tells of
    /// pull requests, comments, reviews and issues
    Hook {
        /// The project
        id: String,
        #[command(flatten)]
        rotate: RotateFlags,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// List what people have asked for at a project's code host, in comments and by labels, and what became of it
    Asks {
        /// The project
        id: String,
        /// How many of the latest
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
        /// Do not ask
        #[arg(long)]
        yes: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Manage what a project shows to its code host
    #[command(subcommand)]
    Credential(CredentialCommand),
    /// Manage code sources: further repositories that a project's agents may read
    #[command(subcommand)]
    Source(SourceCommand),
}

#[derive(clap::Args)]
pub(crate) struct ProjectSettings {
    /// The branch that jobs start from [default: the main branch of the repository]
    #[arg(long, value_name = "BRANCH")]
    pub(crate) base_ref: Option<String>,
    /// A folder that jobs may edit; can be given several times [default: docs]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) docs_path: Vec<String>,
    /// A file, folder or pattern such as `docs/data/*.json` that jobs may write although nothing says that it is
    /// documentation; can be given several times, `none` for none
    #[arg(long, value_name = "PATTERN")]
    pub(crate) allow: Vec<String>,
    /// A file, folder or pattern that jobs may never write; can be given several times, `none` for none
    #[arg(long, value_name = "PATTERN")]
    pub(crate) deny: Vec<String>,
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
    /// US dollars that a prompt of a job may cost, such as 0.50, where the prices of the model are known; it can only lower
    /// what the server allows (`limits.job_cost`); `default` for what the server allows
    #[arg(long, value_name = "DOLLARS")]
    pub(crate) job_cost: Option<String>,
    /// What becomes of a change that brings new findings of the docs checks [default: draft]
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
