use std::sync::Arc;

use copydesk_store::Store;

use crate::jobs::{JobRules, Jobs};
use crate::views::Views;
use crate::webhooks::Webhooks;
use crate::{InstallationSecret, KeyUse, Metrics, Stop};

/// What a process works with, for every face it shows to the outside. Cheap to clone.
#[derive(Clone)]
pub struct Desk {
    pub store: Store,
    pub metrics: Metrics,
    pub stop: Stop,
    pub key_use: KeyUse,
    pub secret: InstallationSecret,
    pub jobs: Jobs,
    pub views: Option<Arc<Views>>,
    pub webhooks: Option<Arc<Webhooks>>,
}

impl Desk {
    /// A desk with a store and nothing that is optional.
    pub fn new(store: Store, rules: JobRules, secret: InstallationSecret, stop: Stop) -> Self {
        let jobs = Jobs::new(store.clone(), rules, None, stop.clone());
        let (metrics, key_use) = (Metrics::new(), KeyUse::default());
        Self { store, metrics, stop, key_use, secret, jobs, views: None, webhooks: None }
    }
}
