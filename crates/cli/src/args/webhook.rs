use clap::Subcommand;

#[derive(Subcommand)]
pub(crate) enum WebhookCommand {
    /// Add a webhook; its secret is printed only now
    Add {
        /// The project
        project: String,
        /// The https address to deliver to
        url: String,
        /// An event to deliver: job.created, job.completed, job.failed, job.archived, pull_request.merged,
        /// pull_request.closed or project.first_view; can be given several times [default: all events]
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
    /// Remove a webhook and its deliveries
    Remove {
        /// The webhook's id
        id: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Pause a webhook; its deliveries wait
    Pause {
        /// The webhook's id
        id: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Resume a webhook, beginning with the deliveries that waited
    Resume {
        /// The webhook's id
        id: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Create a new secret, printed only now; the old one also signs for 24 hours
    Rotate {
        /// The webhook's id
        id: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Deliver a test from this machine and show the answer. Exit code 0 if it was accepted, 1 if not
    Test {
        /// The webhook's id
        id: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// List deliveries, newest first
    Deliveries {
        /// The webhook's id
        id: String,
        /// Only deliveries whose last attempt failed
        #[arg(long)]
        failed: bool,
        /// The most deliveries to list
        #[arg(long, default_value_t = 50)]
        limit: u32,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Send a delivery again now, whether it was delivered, given up or is waiting
    Redeliver {
        /// The delivery's id
        delivery: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}
