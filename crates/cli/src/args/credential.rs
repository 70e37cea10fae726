use std::path::PathBuf;

use clap::Subcommand;

#[derive(Subcommand)]
pub(crate) enum CredentialCommand {
    /// Encrypt and store a credential, replacing an earlier one; a token is read from standard input, or prompted for
    Set {
        /// The project
        id: String,
        #[command(flatten)]
        flags: CredentialFlags,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show the kind and age of the credential and whether it can be decrypted; never the credential itself
    Show {
        /// The project
        id: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Remove the stored credential
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
    /// The user that the token or password belongs to, if the host needs one
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
    /// The id of the GitHub App's installation [default: found through the API]
    #[arg(long, value_name = "NUMBER", requires = "github_app")]
    pub(crate) installation: Option<u64>,
    /// The file with a private key for git over SSH, without a passphrase; add a token to open pull requests
    #[arg(long, value_name = "FILE")]
    pub(crate) ssh_key_file: Option<PathBuf>,
    /// The file with the host's public keys, as lines of known_hosts [default: the keys that this machine knows]
    #[arg(long, value_name = "FILE", requires = "ssh_key_file")]
    pub(crate) known_hosts_file: Option<PathBuf>,
}

#[derive(clap::Args)]
pub(crate) struct TokenFlags {
    /// The file with the token
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// The environment variable with the token
    #[arg(long, value_name = "NAME", conflicts_with = "token_file")]
    pub(crate) token_env: Option<String>,
}

/// For the secret of somebody who sends to a project.
#[derive(clap::Args)]
pub(crate) struct RotateFlags {
    /// Create a new secret; the old one stays valid for 24 hours
    #[arg(long)]
    pub(crate) rotate: bool,
    /// Refuse the old secret at once, for example after a leak
    #[arg(long, requires = "rotate")]
    pub(crate) at_once: bool,
}

#[derive(Subcommand)]
pub(crate) enum CredentialsCommand {
    /// Encrypt every secret with a new key and remove the old keys, also while a server runs; safe to repeat
    Rotate {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}
