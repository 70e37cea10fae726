use clap::Subcommand;

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
        /// US dollars that each prompt of the job may cost, such as 0.50, where the price of the model is known; it can
        /// only lower what the project and the server allow
        #[arg(long, value_name = "DOLLARS")]
        max_cost: Option<String>,
        /// Bring the documentation up to what changed in a code source, such as sdk:v1.4..v1.5; without the end, up to
        /// where the source is
        #[arg(long, value_name = "SOURCE:FROM..TO")]
        changes: Option<String>,
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
    /// Give the page of a job's pull request another link; the one it had leads nowhere then
    RevokeLink {
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
