use std::path::PathBuf;

use crate::config::ViewsPlace;

#[derive(clap::Args)]
pub(crate) struct MoveFlags {
    /// The database to move to: sqlite:FILE or postgres://…; it must be empty. Put a password into
    /// COPYDESK_TO_DATABASE_URL instead: other users of the machine can see flags
    #[arg(long, value_name = "URL", conflicts_with = "to_database_url_file")]
    pub(crate) to_database_url: Option<String>,
    /// A file that holds that address
    #[arg(long, value_name = "FILE")]
    pub(crate) to_database_url_file: Option<PathBuf>,
    /// Where to move page views to
    #[arg(long, value_name = "PLACE", value_enum)]
    pub(crate) to_views: Option<ViewsPlace>,
    /// Give an unfinished move up: the old place takes everything again. What the new one has got so far is deleted, if it
    /// is named
    #[arg(long)]
    pub(crate) cancel: bool,
}
