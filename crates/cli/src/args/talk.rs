use clap::ValueEnum;

#[derive(clap::Args)]
pub(crate) struct TalkFlags {
    /// Which comments on its pull requests become follow-ups, if their author may write to the repository. Needs the
    /// code host's webhook; see `copydesk project hook` [default: mentions]
    #[arg(long, value_name = "WHICH", value_enum)]
    pub(crate) comments: Option<CommentsArg>,
    /// The name to mention in comments; `default` for copydesk
    #[arg(long, value_name = "NAME")]
    pub(crate) mention: Option<String>,
    /// The label that turns an issue into a job, when set by someone who may write to the repository; `none` for no label
    #[arg(long, value_name = "LABEL")]
    pub(crate) job_label: Option<String>,
    /// A label for pull requests; can be given several times, `none` for none
    #[arg(long, value_name = "LABEL")]
    pub(crate) label: Vec<String>,
    /// A reviewer for pull requests, by their name on the code host (`acme/writers` for a team; on Bitbucket the account's
    /// UUID); can be given several times, `none` for nobody
    #[arg(long, value_name = "NAME")]
    pub(crate) reviewer: Vec<String>,
}

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum CommentsArg {
    /// Comments that mention the name
    Mentions,
    /// All comments
    All,
    /// No comments
    Off,
}
