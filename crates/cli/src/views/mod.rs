//! Page views on this machine.

use std::sync::Arc;

use copydesk_domain::{Project, SystemClock};
use copydesk_store::Store;
use copydesk_views::classify::Classifier;
use copydesk_views::store::{Embedded, Options};

use crate::config::Config;
use crate::failure::Failure;

/// Opens the page views of the data folder.
pub(crate) async fn open_views(config: &Config) -> Result<Arc<Embedded>, Failure> {
    let options = Options::new(Arc::new(SystemClock));
    Embedded::open(&config.views_folder(), options).map_err(|error| Failure::error(error.to_string()))
}

/// The list by which readers are judged.
pub(crate) fn lists(_config: &Config) -> Result<Arc<Classifier>, Failure> {
    Ok(Arc::new(Classifier::builtin()))
}

/// The project of that id.
pub(crate) async fn project(store: &Store, id: &str) -> Result<Project, Failure> {
    let unknown = || Failure::error(format!("there is no project {id:?}")).hint("`copydesk project list` shows them");
    store.project(id).await?.ok_or_else(unknown)
}
