use clap::Subcommand;

#[derive(Subcommand)]
pub(crate) enum WebhookCommand {
    /// Add a webhook; its secret is printed this once
    Add {
        /// The project
        project: String,
        /// Where to deliver to, an https address
        url: String,
        /// What to be told: job.created, job.completed, job.failed, job.archived, pull_request.merged,
        /// pull_request.closed or project.first_view; can be given several times [default: everything]
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
