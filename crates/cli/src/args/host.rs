use clap::ValueEnum;

#[derive(clap::Args)]
pub(crate) struct HostFlags {
    /// The kind of code host [default: auto, told by the address of the repository]
    #[arg(long, value_name = "KIND", value_enum)]
    pub(crate) host: Option<HostArg>,
    /// Where the code host's interface is, such as https://git.example.com/api/v4; `default` for where that kind of
    /// host has it
    #[arg(long, value_name = "URL")]
    pub(crate) host_api_url: Option<String>,
    /// A file with certificates of authorities to trust beside the known ones, in PEM; `none` for no file
    #[arg(long, value_name = "FILE")]
    pub(crate) host_ca_file: Option<String>,
    /// Take any certificate of the code host: anybody in between can listen; `=false` to check again
    #[arg(long, value_name = "YES", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) host_accept_any_certificate: Option<bool>,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum HostArg {
    /// What the address of the repository tells
    Auto,
    /// GitHub and GitHub Enterprise
    Github,
    /// GitLab
    Gitlab,
    /// Forgejo and Codeberg
    Forgejo,
    /// Gitea
    Gitea,
    /// Bitbucket Cloud
    Bitbucket,
    /// A git server without pull requests
    Git,
}
