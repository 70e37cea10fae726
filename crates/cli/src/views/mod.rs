//! Page views on this machine: what there is of them, who read, and what is done with them as a whole.

mod care;
mod place;
mod reclassify;
mod show;

use std::sync::Arc;

use copydesk_desk::views::{Proxies, Views, ViewsSettings};
use copydesk_desk::{Metrics, parse_network};
use copydesk_domain::{Invalid, SystemClock};
use copydesk_views::classify::Classifier;
use copydesk_views::page;
use copydesk_views::store::ViewsError;

use place::tell_of_others;
pub(crate) use place::{
    PageViewStore, check_place, folder_options, look_at_views, open_database, open_database_for_move, open_folder,
    open_views,
};
pub(crate) use reclassify::reclassify;
pub(crate) use show::run;

use crate::config::Config;
use crate::failure::Failure;

/// The list by which readers are judged, with what the lists folder adds to it.
pub(crate) fn lists(config: &Config) -> Result<Arc<Classifier>, Failure> {
    let folder = config.lists_folder();
    let told = |error| Failure::error(format!("the lists of agents: {error}"));
    Classifier::load(Some(&folder)).map(Arc::new).map_err(told)
}

/// Page views as a server has them.
pub(crate) async fn serving(config: &Config, metrics: Metrics) -> Result<(Arc<PageViewStore>, Arc<Views>), Failure> {
    let settings = ViewsSettings {
        per_minute: config.limits.analytics_per_minute,
        per_network: config.limits.events_per_minute,
        duplicate_window: config.views.duplicate_window,
        keep_days: config.views.keep_days,
        proxies: proxies(&config.views.proxies)?,
        host: page::host(&config.public_url()),
        lists: Some(config.lists_folder()),
    };
    tell_of_others(config);
    let store = open_views(config).await?;
    let views = Views::new(store.clone(), Arc::new(SystemClock), lists(config)?, settings, metrics);
    Ok((store, Arc::new(views)))
}

fn proxies(text: &str) -> Result<Proxies, Failure> {
    let wrong = |invalid: Invalid| Failure::usage(format!("views.proxies: {invalid}"));
    match text {
        "loopback" => Ok(Proxies::default()),
        "private" => Ok(Proxies::private()),
        "none" => Ok(Proxies::new(Vec::new())),
        ranges => {
            let ranges = ranges.split(',').map(parse_network);
            ranges.collect::<Result<_, _>>().map(Proxies::new).map_err(wrong)
        }
    }
}

impl From<ViewsError> for Failure {
    fn from(error: ViewsError) -> Self {
        Self::error(format!("page views: {error}"))
    }
}
