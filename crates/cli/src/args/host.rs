use clap::ValueEnum;

#[derive(clap::Args)]
pub(crate) struct HostFlags {
    /// The kind of code host [default: auto, from the address of the repository]
    #[arg(long, value_name = "KIND", value_enum)]
    pub(crate) host: Option<HostArg>,
    /// The address of the code host's API, such as https://git.example.com/api/v4; `default` for the usual address of
    /// that kind of host
    #[arg(long, value_name = "URL")]
    pub(crate) host_api_url: Option<String>,
    /// A PEM file with further certificate authorities to trust; `none` for no file
    #[arg(long, value_name = "FILE")]
    pub(crate) host_ca_file: Option<String>,
    /// Accept any certificate of the code host, so that others on the network can listen; `=false` to check again
    #[arg(long, value_name = "YES", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) host_accept_any_certificate: Option<bool>,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum HostArg {
    /// Found from the address of the repository
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
