use clap::Subcommand;

#[derive(Subcommand)]
pub(crate) enum UserCommand {
    /// List the users
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Create a user; the password is prompted for, or read from standard input
    Add {
        /// The e-mail address to sign in with
        email: String,
        /// Their name [default: the part of the address before the @]
        #[arg(long)]
        name: Option<String>,
        /// Make them an administrator of all projects, users and the server
        #[arg(long)]
        admin: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Change a user's password, prompted for or read from standard input; all of their sessions end
    Password {
        /// The e-mail address
        email: String,
    },
    /// Create a link that signs someone in once: a user who forgot the password, or a new administrator
    Link {
        /// The e-mail address of the user [default: a new administrator]
        email: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Remove a user; what they did stays in the audit log
    Remove {
        /// The e-mail address
        email: String,
    },
}
