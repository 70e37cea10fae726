use clap::{Subcommand, ValueEnum};

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum ScopeArg {
    /// GET only
    Read,
    /// Everything
    Write,
    /// The administration, and nothing else; only for all projects
    Admin,
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
