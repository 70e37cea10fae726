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
    /// Show the pages with the most views
    Top {
        /// The project [default: COPYDESK_PROJECT]
        project: Option<String>,
        #[command(flatten)]
        range: Range,
        /// The most pages to list
        #[arg(long, default_value_t = 20)]
        limit: usize,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show which machines read the pages, what they read most, and how they were recognised
    Agents {
        /// The project [default: COPYDESK_PROJECT]
        project: Option<String>,
        #[command(flatten)]
        range: Range,
        /// Only readers of this page
        #[arg(long)]
        path: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show the addresses and the secret for a host's log drain
    Drain {
        /// The project [default: COPYDESK_PROJECT]
        project: Option<String>,
        #[command(flatten)]
        rotate: RotateFlags,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show how many views are stored, since when, their size on disk, and what was lost
    Status {
        /// The project [default: all]
        project: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Check every byte of the page views and report damage, also while a server runs
    Verify {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Rewrite damaged files with what can be saved; the damaged files are kept with the suffix `.damaged`
    Repair {
        /// Dismiss the report of what was lost, and remove the damaged files that were kept
        #[arg(long)]
        accept: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Restore views that expired within the last seven days. First let the project keep its views for longer, or they
    /// expire again
    Restore {
        /// The project [default: COPYDESK_PROJECT]
        project: Option<String>,
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
    /// The user agent; `-` with --json reads one per line from standard input and prints one verdict per line
    #[arg(allow_hyphen_values = true)]
    pub(crate) user_agent: String,
    /// The Accept header
    #[arg(long, value_name = "HEADER")]
    pub(crate) accept: Option<String>,
    /// The address that the request came from
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) ip: Option<IpAddr>,
    /// The requested path; one that ends in .md requests Markdown
    #[arg(long, value_name = "PATH")]
    pub(crate) path: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Subcommand)]
pub(crate) enum ListsCommand {
    /// Show the current lists: agents, their operators' addresses and keys
    Show {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Fetch the addresses and keys that operators publish; a list that cannot be fetched stays as it is
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
    /// The logs, plain or compressed with gzip or zstd; `-` reads standard input
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// The project whose pages were read [default: COPYDESK_PROJECT]
    #[arg(long, value_name = "ID")]
    pub(crate) project: Option<String>,
    /// The format of the lines: combined, common, vhost_combined, vhost_common, caddy, cloudfront, fastly, json, or
    /// a format string of nginx or Apache [default: found from the first lines]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<String>,
    /// Count only requests to this host, if the lines name it; can be given several times [default: all]
    #[arg(long, value_name = "HOST")]
    pub(crate) only_host: Vec<String>,
    /// The logs are complete: count a last line without a line break too
    #[arg(long)]
    pub(crate) complete: bool,
    /// Follow the file as it grows, through log rotation, until Ctrl-C
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) follow: bool,
    /// Show what would be counted, and store nothing
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
    /// Where to count people [default: auto: in the script if there is one, so that nobody is counted twice]
    #[arg(long, value_name = "CHANNEL", value_enum)]
    pub(crate) people_from: Option<SourceArg>,
    /// Where to count machines [default: auto: on the server side if it sends views]
    #[arg(long, value_name = "CHANNEL", value_enum)]
    pub(crate) machines_from: Option<SourceArg>,
    /// How many days to keep page views; 0 for ever, `default` for the server's
    #[arg(long, value_name = "DAYS")]
    pub(crate) keep_views: Option<String>,
}

/// A channel that page views are counted from.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum SourceArg {
    /// The better of the two, where it exists
    Auto,
    /// The script in the readers' browsers
    Script,
    /// Servers: their events, logs and log drains
    Server,
    /// Both, added up
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
