use std::sync::Arc;

use copydesk_store::{Store, Vault};

use crate::jobs::{JobRules, Jobs};
use crate::people::People;
use crate::views::Views;
use crate::webhooks::Webhooks;
use crate::{KeyUse, Metrics, SenderSecrets, Stop};

/// What a process works with, for every face it shows to the outside. Cheap to clone.
#[derive(Clone)]
pub struct Desk {
    pub store: Store,
    pub metrics: Metrics,
    pub stop: Stop,
    pub key_use: KeyUse,
    pub senders: SenderSecrets,
    pub jobs: Jobs,
    pub people: People,
    pub views: Option<Arc<Views>>,
    pub webhooks: Option<Arc<Webhooks>>,
}

impl Desk {
    /// A desk with a store and nothing that is optional.
    pub fn new(store: Store, rules: JobRules, vault: Vault, stop: Stop) -> Self {
        let jobs = Jobs::new(store.clone(), rules, None, stop.clone());
        let (metrics, key_use) = (Metrics::new(), KeyUse::default());
        let senders = SenderSecrets::new(store.clone(), vault);
        let people = People::new(store.clone());
        Self { store, metrics, stop, key_use, senders, jobs, people, views: None, webhooks: None }
    }
}
