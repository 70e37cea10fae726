use clap::Subcommand;

#[derive(clap::Args)]
pub(crate) struct ServerFlags {
    /// The server [default: COPYDESK_URL, else the configured address of this machine]
    #[arg(id = "server_url", long = "url", value_name = "URL", help_heading = super::GLOBAL, display_order = 981)]
    pub(crate) url: Option<String>,
    /// The project [default: COPYDESK_PROJECT]
    #[arg(long, value_name = "ID", help_heading = super::GLOBAL, display_order = 980)]
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
        /// Wait until the job has ended. Exit code 0 if it completed, 1 if it did not
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
        /// Your own reference, returned with the job
        #[arg(long, value_name = "TEXT")]
        client_reference: Option<String>,
        /// The most that each prompt of the job may cost in US dollars, such as 0.50. It can only lower the limits of the
        /// project and the server, and needs a model with a known price
        #[arg(long, value_name = "DOLLARS")]
        max_cost: Option<String>,
        /// Update the documentation for what changed in a code source, such as sdk:v1.4..v1.5; without TO, up to its newest
        /// commit
        #[arg(long, value_name = "SOURCE:FROM..TO")]
        changes: Option<String>,
        /// A key that makes it safe to run this command again [default: a new one each time]
        #[arg(long, value_name = "KEY")]
        idempotency_key: Option<String>,
        #[command(flatten)]
        server: ServerFlags,
    },
    /// Show a job
    Get {
        /// The job
        id: String,
        /// Wait until the job has ended. Exit code 0 if it completed, 1 if it did not
        #[arg(long)]
        wait: bool,
        #[command(flatten)]
        server: ServerFlags,
    },
    /// List jobs, newest first
    List {
        /// Only jobs with this status: active, completed, archived or failed
        #[arg(long)]
        status: Option<String>,
        /// The most jobs to list
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
        /// Wait until the job has ended. Exit code 0 if it completed, 1 if it did not
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
    /// Give the page of a job's pull request a new link; the old link stops working
    RevokeLink {
        /// The job
        id: String,
        #[command(flatten)]
        server: ServerFlags,
    },
    /// Archive a job; this is final
    Archive {
        /// The job
        id: String,
        #[command(flatten)]
        server: ServerFlags,
    },
}
