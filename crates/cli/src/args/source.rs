use clap::Subcommand;

use super::{CredentialFlags, HostFlags};

#[derive(Subcommand)]
pub(crate) enum SourceCommand {
    /// Let a project's agents read another repository: the product's code, an SDK, an interface's description. Without a
    /// credential of its own it is shown the project's if both are on the same host, and none otherwise
    Add {
        /// The project
        project: String,
        /// What it is called: its files are read as @NAME/…
        name: String,
        /// Where it is: an address that git can clone from, or a path
        address: String,
        /// The branch to read [default: the main branch, whichever that is]
        #[arg(long = "ref", value_name = "BRANCH")]
        branch: Option<String>,
        #[command(flatten)]
        host: HostFlags,
        /// Read a token from standard input, or ask for it
        #[arg(long, conflicts_with_all = ["token_file", "token_env", "github_app", "ssh_key_file"])]
        token_stdin: bool,
        #[command(flatten)]
        credential: Box<CredentialFlags>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// List the code sources of a project
    List {
        /// The project
        project: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Forget a code source and its credential; jobs that run read on until their end
    Remove {
        /// The project
        project: String,
        /// The code source
        name: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Try whether jobs can read a code source: exit code 0 if they can
    Test {
        /// The project
        project: String,
        /// The code source
        name: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}
