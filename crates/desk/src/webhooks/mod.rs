//! Webhooks: what happens to a project's jobs is told to whoever asked for it, after the Standard Webhooks
//! specification.
//!
//! An event is written into the outbox by the transaction that makes it true. [`fan_out`] turns it into one delivery
//! for each webhook, [`worker`] takes what is due, [`deliver`] makes one try. Nothing here is waited for by a job.

mod deliver;
mod fan_out;
pub(crate) mod guard;
mod sign;
mod view;
mod worker;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use copydesk_boxed::boxed;
use copydesk_domain::{EventKind, Invalid, ProjectId};
use copydesk_store::{
    Added, DueDelivery, NewEndpoint, SecretName, Store, StoreError, Vault, VaultError, WebhookDelivery, WebhookEndpoint,
};

pub use guard::AllowPrivate;
pub use sign::WebhookSecret;
pub use view::{DeliveryView, WebhookView};
pub use worker::deliver_forever;

use guard::Guard;

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;

/// How long the secret before the present one signs beside it.
const OLD_SECRET_KEPT: Duration = Duration::from_secs(24 * HOUR);
const LONGEST_DESCRIPTION: usize = 200;

/// How deliveries are made.
#[derive(Debug, Clone)]
pub struct WebhookSettings {
    /// What else they may go to than addresses of the internet.
    pub allow_private: AllowPrivate,
    /// How long one try may take.
    pub time_limit: Duration,
    /// The pauses between tries; after the last one a delivery is given up.
    pub pauses: Vec<Duration>,
    /// How much longer a pause is made, from 0 up to 1, of which a tenth is taken.
    pub jitter: fn() -> f64,
    /// A webhook that has failed for so long is paused.
    pub patience: Duration,
    /// Deliveries of this process at a time.
    pub at_once: usize,
    /// Those of one webhook.
    pub at_once_to_one: usize,
}

impl Default for WebhookSettings {
    fn default() -> Self {
        let pauses = [5, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, 24 * HOUR];
        Self {
            allow_private: AllowPrivate::No,
            time_limit: Duration::from_secs(15),
            pauses: pauses.map(Duration::from_secs).to_vec(),
            jitter: copydesk_domain::random_fraction,
            patience: Duration::from_secs(5 * 24 * HOUR),
            at_once: 128,
            at_once_to_one: 4,
        }
    }
}

/// What deliveries are made with.
pub struct Webhooks {
    settings: WebhookSettings,
    guard: Guard,
    vault: Vault,
    clients: [OnceLock<reqwest::Client>; 2],
}

/// A webhook to make, as somebody asks for it.
#[derive(Debug, Clone)]
pub struct Wish {
    pub project_id: ProjectId,
    pub url: String,
    /// What; all there is if empty.
    pub events: Vec<EventKind>,
    /// What it is for.
    pub description: String,
}

/// Why a webhook was not made.
#[derive(Debug)]
pub enum NotMade {
    /// Something of the wish breaks a rule.
    Invalid(Invalid),
    /// There is no such project.
    NoProject,
    /// The project has as many as it can have, which is so many.
    TooMany(i64),
    Vault(VaultError),
}

impl From<Invalid> for NotMade {
    fn from(invalid: Invalid) -> Self {
        Self::Invalid(invalid)
    }
}

impl From<VaultError> for NotMade {
    fn from(error: VaultError) -> Self {
        Self::Vault(error)
    }
}

#[boxed]
impl Webhooks {
    /// With these settings, and secrets sealed by that vault.
    pub fn new(settings: WebhookSettings, vault: Vault) -> Self {
        let guard = Guard::new(settings.allow_private.clone());
        Self { settings, guard, vault, clients: [OnceLock::new(), OnceLock::new()] }
    }

    /// Makes a webhook and its secret, which is shown only now.
    pub async fn add(&self, store: &Store, wish: Wish) -> Result<(WebhookEndpoint, WebhookSecret), NotMade> {
        let url = self.guard.check(wish.url.trim())?.to_string();
        let description = wish.description.trim().to_owned();
        if description.chars().count() > LONGEST_DESCRIPTION || description.chars().any(char::is_control) {
            let message = format!("must have at most {LONGEST_DESCRIPTION} characters and no control characters");
            return Err(Invalid::new("description", message).into());
        }
        let mut events = wish.events;
        events.sort();
        events.dedup();
        let secret = WebhookSecret::generate();
        let bytes = secret.as_bytes().to_vec();
        let new = NewEndpoint { project_id: wish.project_id, url, events, description, secret: bytes };
        match store.add_webhook(&self.vault, new).await? {
            Added::Done(endpoint) => Ok((*endpoint, secret)),
            Added::NoProject => Err(NotMade::NoProject),
            Added::TooMany(most) => Err(NotMade::TooMany(most)),
        }
    }

    /// Makes a new secret, which is shown only now; the present one signs beside it for a day. None if there is no
    /// such webhook.
    pub async fn rotate(
        &self,
        store: &Store,
        id: &str,
    ) -> Result<Option<(WebhookEndpoint, WebhookSecret)>, VaultError> {
        let secret = WebhookSecret::generate();
        let until = store.now().plus(OLD_SECRET_KEPT);
        let rotated = store.rotate_webhook(&self.vault, id, secret.as_bytes(), until).await?;
        Ok(rotated.map(|endpoint| (endpoint, secret)))
    }

    /// Why no delivery could go to an address now, as far as that is known without one. For operators: it tells a name that
    /// is not there from one that leads inside.
    pub async fn obstacle(&self, address: &str) -> Option<String> {
        let url = match self.guard.check(address) {
            Ok(url) => url,
            Err(invalid) => return Some(format!("its address {}", invalid.message)),
        };
        let host = url.host_str().unwrap_or_default();
        match self.guard.has_way(&url).await {
            Ok(true) => None,
            Ok(false) => Some(format!("{host} leads only to addresses that webhooks may not go to")),
            Err(_) => Some(format!("the name {host} cannot be resolved")),
        }
    }

    /// Tries a webhook out, paused or not, and waits for the answer. None if there is no such webhook.
    pub async fn test(&self, store: &Store, id: &str) -> Result<Option<WebhookDelivery>, StoreError> {
        let webhook_id = id.to_owned();
        let taken = store.take_test(id, move |now| fan_out::test_body(&webhook_id, now), self.hold()).await?;
        let Some(due) = taken else { return Ok(None) };
        deliver::deliver(self, store, &due).await
    }

    /// The same on its own, so that what came of it is written down even if whoever asked goes away.
    pub async fn test_surely(self: Arc<Self>, store: Store, id: String) -> Result<Option<WebhookDelivery>, StoreError> {
        let trying = tokio::spawn(async move { self.test(&store, &id).await });
        trying.await.unwrap_or_else(|error| Err(StoreError::Refused(error.to_string())))
    }

    /// How long a delivery stays in the hands of whoever tries it: longer than a try can take.
    fn hold(&self) -> Duration {
        self.settings.time_limit * 2 + Duration::from_secs(30)
    }

    /// What a delivery is signed with now.
    async fn secrets(&self, store: &Store, due: &DueDelivery) -> Result<Vec<WebhookSecret>, VaultError> {
        let name = SecretName::Webhook(due.delivery.endpoint_id.clone());
        let valid = store.valid_secrets(&self.vault, &due.project_id, &name).await?;
        valid.into_iter().map(|(_, bytes)| WebhookSecret::from_bytes(bytes).ok_or(VaultError::Altered)).collect()
    }
}
