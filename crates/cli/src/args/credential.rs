use std::path::PathBuf;

use clap::Subcommand;

#[derive(Subcommand)]
pub(crate) enum CredentialCommand {
    /// Seal and store a credential, in place of an earlier one; a token is read from standard input, or asked for
    Set {
        /// The project
        id: String,
        #[command(flatten)]
        flags: CredentialFlags,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show what kind of credential there is, since when, and whether it can be opened; never the credential itself
    Show {
        /// The project
        id: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Forget the stored credential
    Remove {
        /// The project
        id: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

// The secret parts come from files, the environment or standard input: other users of the machine can see arguments.
#[derive(clap::Args)]
pub(crate) struct CredentialFlags {
    /// The user that the token or password belongs to, where the host asks for one
    #[arg(long, value_name = "NAME", conflicts_with_all = ["github_app", "ssh_key_file"])]
    pub(crate) username: Option<String>,
    #[command(flatten)]
    pub(crate) token: TokenFlags,
    /// The id or client id of a GitHub App, instead of a token
    #[arg(long, value_name = "APP_ID", requires = "private_key_file", conflicts_with_all = ["ssh_key_file", "token_file", "token_env"])]
    pub(crate) github_app: Option<String>,
    /// The file with the GitHub App's private key, in PEM
    #[arg(long, value_name = "FILE", requires = "github_app")]
    pub(crate) private_key_file: Option<PathBuf>,
    /// Where the GitHub App is installed [default: asked for]
    #[arg(long, value_name = "NUMBER", requires = "github_app")]
    pub(crate) installation: Option<u64>,
    /// The file with a private key for git over SSH, without a passphrase; a token beside it is for pull requests
    #[arg(long, value_name = "FILE")]
    pub(crate) ssh_key_file: Option<PathBuf>,
    /// The file with the host's own keys, as lines of known_hosts [default: those that this machine knows]
    #[arg(long, value_name = "FILE", requires = "ssh_key_file")]
    pub(crate) known_hosts_file: Option<PathBuf>,
}

#[derive(clap::Args)]
pub(crate) struct TokenFlags {
    /// The file with the token
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// The variable of the environment with the token
    #[arg(long, value_name = "NAME", conflicts_with = "token_file")]
    pub(crate) token_env: Option<String>,
}

/// For the secret of somebody who sends to a project.
#[derive(clap::Args)]
pub(crate) struct RotateFlags {
    /// Make a new secret; the old one is taken beside it for 24 hours
    #[arg(long)]
    pub(crate) rotate: bool,
    /// Refuse the old secret from now on, as after a leak
    #[arg(long, requires = "rotate")]
    pub(crate) at_once: bool,
}

#[derive(Subcommand)]
pub(crate) enum CredentialsCommand {
    /// Seal every secret with a new key and forget the old ones, also while a server runs; safe to repeat
    Rotate {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}
