use clap::{Subcommand, ValueEnum};

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum ScopeArg {
    /// Read only
    Read,
    /// Read and write
    Write,
    /// Administration only; needs --all-projects
    Admin,
}

#[derive(Subcommand)]
pub(crate) enum KeyCommand {
    /// Create a key; it is printed only now
    Create {
        /// The project that the key is for [default: COPYDESK_PROJECT]
        #[arg(long, value_name = "ID")]
        project: Option<String>,
        /// Make a key for all projects
        #[arg(long, conflicts_with = "project")]
        all_projects: bool,
        /// What the key allows
        #[arg(long, value_enum, default_value = "write")]
        scope: ScopeArg,
        /// How long the key is valid, such as 90d [default: for ever]
        #[arg(long, value_name = "TIME")]
        expires: Option<String>,
        /// A name for the key
        #[arg(long, default_value = "")]
        name: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// List keys, without the keys themselves
    List {
        /// Only keys for this project
        #[arg(long, value_name = "ID")]
        project: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Revoke a key; it stops working at once
    Revoke {
        /// The key's id
        id: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}
