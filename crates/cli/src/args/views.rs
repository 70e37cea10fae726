use std::net::IpAddr;
use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};
use url::Url;

use super::RotateFlags;

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
        #[command(flatten)]
        rotate: RotateFlags,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// How much there is, since when, its size on disk, and what was lost
    Status {
        /// The project [default: all]
        project: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Read every byte of the page views and say what is damaged; beside a running server too
    Verify {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Write what is left of damaged files anew; the damaged ones are kept with `.damaged` behind their names
    Repair {
        /// Say no more of what was lost, and remove the damaged files that were kept
        #[arg(long)]
        accept: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Bring back what was forgotten for its age within the last seven days. Let the project keep its views for longer
    /// first, or they are forgotten again
    Restore {
        /// The project
        project: String,
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
pub(crate) struct ClassifyFlags {
    /// The user agent; `-` with --json reads one a line from standard input and prints one verdict a line
    #[arg(allow_hyphen_values = true)]
    pub(crate) user_agent: String,
    /// The Accept header
    #[arg(long, value_name = "HEADER")]
    pub(crate) accept: Option<String>,
    /// The address that the request came from
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) ip: Option<IpAddr>,
    /// The path that was asked for: one that ends in .md asks for Markdown
    #[arg(long, value_name = "PATH")]
    pub(crate) path: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Subcommand)]
pub(crate) enum ListsCommand {
    /// Show the lists in force: agents, their operators' addresses and keys
    Show {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Fetch the addresses and keys that operators publish; what cannot be had stays as it was
    Update {
        /// A mirror with agents.toml, ranges/NAME.json and keys/NAME.json, instead of the operators
        #[arg(long, value_name = "URL")]
        from: Option<Url>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
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
    /// The logs will not grow any more: a last line without an end is a line, and not one that is being written
    #[arg(long)]
    pub(crate) complete: bool,
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
pub(crate) struct ViewFlags {
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
