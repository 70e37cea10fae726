use clap::ValueEnum;

#[derive(clap::Args)]
pub(crate) struct TalkFlags {
    /// Which comments on its pull requests are taken as follow-ups, of people who may write to the repository; needs the
    /// code host's webhook, see `copydesk project hook` [default: mentions]
    #[arg(long, value_name = "WHICH", value_enum)]
    pub(crate) comments: Option<CommentsArg>,
    /// The name by which comments mention it; `default` for copydesk
    #[arg(long, value_name = "NAME")]
    pub(crate) mention: Option<String>,
    /// An issue that gets this label from somebody who may write to the repository becomes a job; `none` for no label
    #[arg(long, value_name = "LABEL")]
    pub(crate) job_label: Option<String>,
    /// A label that pull requests get; can be given several times, `none` for none
    #[arg(long, value_name = "LABEL")]
    pub(crate) label: Vec<String>,
    /// Somebody who is asked to review pull requests, by their name on the code host (`acme/writers`: a team; on Bitbucket
    /// the account's UUID); can be given several times, `none` for nobody
    #[arg(long, value_name = "NAME")]
    pub(crate) reviewer: Vec<String>,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum CommentsArg {
    /// Those that mention it
    Mentions,
    /// All
    All,
    /// None
    Off,
}
