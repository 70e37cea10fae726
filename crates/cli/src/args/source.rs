use clap::Subcommand;

use super::{CredentialFlags, HostFlags};

#[derive(Subcommand)]
pub(crate) enum SourceCommand {
    /// Let a project's agents read another repository: the product's code, an SDK, an API description. Without its own
    /// credential, it uses the project's if both are on the same host
    Add {
        /// The project
        project: String,
        /// The name of the source: its files are read as @NAME/…
        name: String,
        /// The repository: an address that git can clone, or a path
        address: String,
        /// The branch to read [default: the main branch]
        #[arg(long = "ref", value_name = "BRANCH")]
        branch: Option<String>,
        #[command(flatten)]
        host: HostFlags,
        /// Read a token from standard input, or prompt for it
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
    /// Remove a code source and its credential; running jobs can read it until they end
    Remove {
        /// The project
        project: String,
        /// The code source
        name: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Test whether jobs can read a code source. Exit code 0 if they can
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
