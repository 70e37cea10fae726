use clap::Subcommand;

#[derive(Subcommand)]
pub(crate) enum UserCommand {
    /// List who can sign in
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Make a user; the password is asked for, or read from standard input
    Add {
        /// The e-mail address, with which they sign in
        email: String,
        /// What they are called [default: what is before the @]
        #[arg(long)]
        name: Option<String>,
        /// Open all projects, people and the server to them
        #[arg(long)]
        admin: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Give a user another password, which is asked for or read from standard input; all of their sessions end
    Password {
        /// The e-mail address
        email: String,
    },
    /// Make a link that lets somebody in once: a user who has forgotten the password, or a new administrator
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
