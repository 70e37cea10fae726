use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use copydesk_agent::ModelTrial;
use copydesk_boxed::boxed;
use copydesk_domain::{ProjectId, Timestamp};
use copydesk_store::{Store, Vault};

use crate::jobs::{JobRules, Jobs};
use crate::people::People;
use crate::projects::Trial;
use crate::views::Views;
use crate::webhooks::Webhooks;
use crate::{KeyUse, Metrics, SenderSecrets, Stop};

/// How often a project may try out the model in an hour.
const TRIALS_AN_HOUR: usize = 10;

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
    /// When projects have tried it out.
    pub tried: Arc<Mutex<Vec<(ProjectId, Timestamp)>>>,
}

/// Why a model was not tried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotTried {
    NoModel,
    TooOften,
}

#[boxed]
impl Desk {
    /// Calls the language model once, with the key that jobs of this project have, and says what works. Each call costs, so
    /// there are only so many an hour.
    pub async fn try_model(&self, project_id: &ProjectId) -> Result<Vec<Trial>, NotTried> {
        let model = self.model.as_ref().ok_or(NotTried::NoModel)?;
        let (now, hour) = (self.store.now(), Duration::from_secs(3600));
        {
            let mut tried = self.tried.lock().unwrap_or_else(PoisonError::into_inner);
            tried.retain(|(_, at)| now < at.plus(hour));
            if tried.iter().filter(|(project, _)| project == project_id).count() >= TRIALS_AN_HOUR {
                return Err(NotTried::TooOften);
            }
            tried.push((project_id.clone(), now));
        }
        let facts = model.try_out(project_id).await;
        Ok(facts.into_iter().map(Trial::from).collect())
    }

    /// A desk with a store and nothing that is optional.
    pub fn new(store: Store, rules: JobRules, vault: Vault, stop: Stop) -> Self {
        let jobs = Jobs::new(store.clone(), rules, None, stop.clone());
        let (metrics, key_use) = (Metrics::new(), KeyUse::default());
        let senders = SenderSecrets::new(store.clone(), vault);
        let people = People::new(store.clone());
        Self {
            store,
            metrics,
            stop,
            key_use,
            senders,
            jobs,
            people,
            views: None,
            webhooks: None,
            model: None,
            tried: Arc::default(),
        }
    }
}
