use std::sync::Arc;

use copydesk_agent::ModelTrial;
use copydesk_boxed::boxed;
use copydesk_domain::ProjectId;
use copydesk_store::{Store, Vault};

use crate::jobs::{JobRules, Jobs};
use crate::people::People;
use crate::projects::Trial;
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
    /// The language model that jobs are done with, if one is configured here.
    pub model: Option<Arc<dyn ModelTrial>>,
}

#[boxed]
impl Desk {
    /// Calls the language model once, with the key that jobs of this project have, and says what works. None if no model is
    /// configured here.
    pub async fn try_model(&self, project_id: &ProjectId) -> Option<Vec<Trial>> {
        let facts = self.model.as_ref()?.try_out(project_id).await;
        Some(facts.into_iter().map(Trial::from).collect())
    }

    /// A desk with a store and nothing that is optional.
    pub fn new(store: Store, rules: JobRules, vault: Vault, stop: Stop) -> Self {
        let jobs = Jobs::new(store.clone(), rules, None, stop.clone());
        let (metrics, key_use) = (Metrics::new(), KeyUse::default());
        let senders = SenderSecrets::new(store.clone(), vault);
        let people = People::new(store.clone());
        Self { store, metrics, stop, key_use, senders, jobs, people, views: None, webhooks: None, model: None }
    }
}
