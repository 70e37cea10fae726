//! A GitHub App: who it is, where it is installed, and the short-lived tokens that it gets for one repository.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use copydesk_domain::{SecretText, Timestamp};
use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::exchange::{Authorization, HostResponse};
use super::host_message::with_message;
use super::jwt::SigningKey;
use super::limits;
use super::refusal::Act;
use super::repository::HostedRepository;
use super::transport::Transport;
use crate::ForgeError;
use crate::lock::lock;

/// A token is not used in the last minutes of its life: what begins with it should also end with it.
const MARGIN: Duration = Duration::from_secs(5 * 60);
/// How many tokens are kept before the old ones are looked through.
const MANY: usize = 256;

/// The tokens that a process has, and how far the clocks of hosts are from ours.
#[derive(Default)]
pub(super) struct Tokens {
    slots: Mutex<HashMap<TokenKey, Slot>>,
    skews: Mutex<HashMap<String, i64>>,
}

type TokenKey = [u8; 32];
type Slot = Arc<tokio::sync::Mutex<Option<InstallationToken>>>;

/// A GitHub App for one repository.
pub(super) struct App {
    transport: Arc<Transport>,
    id: String,
    installation: Option<u64>,
    key: SigningKey,
    /// Owner and name of the repository, escaped.
    path: String,
    /// The name alone.
    name: String,
    tokens: Arc<Tokens>,
    /// What tells its tokens from others.
    token_key: TokenKey,
}

/// What tells the tokens of an App for a repository from all others: a digest of all that they depend on.
fn token_key(parts: &[&str]) -> TokenKey {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update((part.len() as u64).to_le_bytes());
        digest.update(part.as_bytes());
    }
    digest.finalize().into()
}

#[derive(Deserialize)]
struct Installation {
    id: u64,
}

#[derive(Deserialize)]
struct InstallationToken {
    token: SecretText,
    expires_at: Timestamp,
}

impl App {
    pub(super) fn new(
        transport: Arc<Transport>,
        repository: &HostedRepository,
        id: &str,
        installation: Option<u64>,
        private_key: &str,
        tokens: Arc<Tokens>,
    ) -> Result<Self, ForgeError> {
        let (id, path, name) = (id.trim().to_owned(), repository.path(), repository.last().to_owned());
        let where_installed = installation.map(|number| number.to_string()).unwrap_or_default();
        let token_key = token_key(&[&transport.api, &id, &where_installed, &path, private_key]);
        let key = SigningKey::from_pem(private_key)?;
        Ok(Self { transport, id, installation, key, path, name, tokens, token_key })
    }

    /// A token that holds for some minutes at least. Callers at the same time share one.
    pub(super) async fn token(&self) -> Result<SecretText, ForgeError> {
        let slot = self.tokens.slot(self.token_key);
        let mut kept = slot.lock().await;
        if let Some(kept) = kept.as_ref().filter(|kept| self.now().plus(MARGIN) < kept.expires_at) {
            return Ok(kept.token.clone());
        }
        let new = self.fetch().await?;
        let token = new.token.clone();
        *kept = Some(new);
        Ok(token)
    }

    /// Lets go of the token, which the host has refused.
    pub(super) async fn forget(&self) {
        *self.tokens.slot(self.token_key).lock().await = None;
    }

    async fn fetch(&self) -> Result<InstallationToken, ForgeError> {
        let installation = match self.installation {
            Some(id) => id,
            None => self.find_installation().await?,
        };
        let body = json!({
            "repositories": [self.name],
            "permissions": { "contents": "write", "pull_requests": "write", "metadata": "read" },
        });
        let path = format!("app/installations/{installation}/access_tokens");
        let answer = self.ask(Method::POST, &path, Some(body)).await?;
        let name = &self.transport.subject.repository;
        let words = answer.message();
        match answer.status {
            404 => Err(ForgeError::lasting(format!(
                "the GitHub App has no installation {installation}; give the right one, or none to have it looked up"
            ))),
            422 if words.contains("permission") => Err(ForgeError::lasting(
                "the GitHub App lacks permissions: it needs `Contents: read and write` and `Pull requests: read and \
                 write`; grant them in its settings and accept them in the installation",
            )),
            422 => Err(ForgeError::lasting(with_message(
                &format!("the GitHub App may not use {name}; add the repository to its installation"),
                &words,
            ))),
            403 => Err(ForgeError::lasting(with_message(
                "the installation of the GitHub App is suspended or may not have tokens; see its settings on GitHub",
                &words,
            ))),
            _ => self.transport.read(Act::Look, &answer),
        }
    }

    async fn find_installation(&self) -> Result<u64, ForgeError> {
        let answer = self.ask(Method::GET, &format!("repos/{}/installation", self.path), None).await?;
        if answer.status == 404 {
            return Err(ForgeError::lasting(format!(
                "the GitHub App is not installed for {}; install it there, or check the address",
                &self.transport.subject.repository
            )));
        }
        Ok(self.transport.read::<Installation>(Act::Look, &answer)?.id)
    }

    /// Asks as the App itself. If the host finds our clock wrong, goes by its clock and asks once more.
    async fn ask(&self, method: Method, path: &str, body: Option<Value>) -> Result<HostResponse, ForgeError> {
        let mut answer = self.ask_once(&method, path, body.clone()).await?;
        if answer.status == 401
            && is_about_time(&answer.message())
            && let Some(theirs) = limits::date_of(&answer.headers)
        {
            let ours = self.transport.settings.clock.now();
            lock(&self.tokens.skews)
                .insert(self.transport.api.clone(), theirs.as_millis().saturating_sub(ours.as_millis()));
            answer = self.ask_once(&method, path, body).await?;
        }
        if answer.status != 401 {
            return Ok(answer);
        }
        Err(ForgeError::lasting(if is_about_time(&answer.message()) {
            "GitHub does not accept the GitHub App because the clock of this machine is wrong; set it".to_owned()
        } else {
            with_message(
                "GitHub does not accept the GitHub App; check its id, and whether the private key is one of its keys",
                &answer.message(),
            )
        }))
    }

    async fn ask_once(&self, method: &Method, path: &str, body: Option<Value>) -> Result<HostResponse, ForgeError> {
        let jwt = self.key.sign_jwt(&self.id, self.now())?;
        // A second token does no harm: the first one ends by itself.
        let mut request = self.transport.request(method.clone(), path)?.repeatable();
        if let Some(body) = body {
            request = request.with_body(body);
        }
        Ok(self.transport.send(&request, &Authorization::bearer(&jwt)?).await?)
    }

    /// When it is, by the host's clock as far as that is known to differ.
    fn now(&self) -> Timestamp {
        let skew = lock(&self.tokens.skews).get(&self.transport.api).copied().unwrap_or_default();
        Timestamp::from_millis(self.transport.settings.clock.now().as_millis().saturating_add(skew))
    }
}

fn is_about_time(words: &str) -> bool {
    ["'exp'", "'iat'", "Expiration time", "Issued at"].iter().any(|sign| words.contains(sign))
}

impl Tokens {
    fn slot(&self, key: TokenKey) -> Slot {
        let mut slots = lock(&self.slots);
        if slots.len() > MANY && !slots.contains_key(&key) {
            // Whoever uses one has a share in it. The others cost a request if they are wanted again.
            slots.retain(|_, slot| Arc::strong_count(slot) > 1);
        }
        Arc::clone(slots.entry(key).or_default())
    }
}
