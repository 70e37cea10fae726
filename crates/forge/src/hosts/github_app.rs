//! A GitHub App: who it is, where it is installed, and the short-lived tokens that it gets for one repository.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use copydesk_domain::Timestamp;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::http::Line;
use super::jwt::SigningKey;
use super::limits;
use super::message::Answer;
use super::refusal::Act;
use super::words::with_words;
use crate::ForgeError;
use crate::objects::lock;

/// A token is not used in the last minutes of its life: what begins with it should also end with it.
const MARGIN: Duration = Duration::from_secs(5 * 60);
/// How many tokens are kept before the old ones are looked through.
const MANY: usize = 256;

/// The tokens that a process has, and how far the clocks of hosts are from ours.
#[derive(Default)]
pub(super) struct Tokens {
    slots: Mutex<HashMap<[u8; 32], Slot>>,
    skews: Mutex<HashMap<String, i64>>,
}

type Slot = Arc<tokio::sync::Mutex<Option<Token>>>;

struct Token {
    text: String,
    until: Timestamp,
}

/// A GitHub App for one repository.
pub(super) struct App {
    pub(super) line: Line,
    pub(super) id: String,
    pub(super) installation: Option<u64>,
    pub(super) key: SigningKey,
    /// Owner and name of the repository, escaped.
    pub(super) path: String,
    /// The name alone.
    pub(super) name: String,
    pub(super) tokens: Arc<Tokens>,
    /// What tells its tokens from others.
    pub(super) mark: [u8; 32],
}

/// What tells the tokens of an App for a repository from all others.
pub(super) fn mark(parts: &[&str]) -> [u8; 32] {
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
struct NewToken {
    token: String,
    expires_at: Timestamp,
}

impl App {
    /// A token that holds for some minutes at least. Callers at the same time share one.
    pub(super) fn token(&self) -> BoxFuture<'_, Result<String, ForgeError>> {
        async move {
            let slot = self.tokens.slot(self.mark);
            let mut kept = slot.lock().await;
            if let Some(token) = kept.as_ref().filter(|token| self.now().plus(MARGIN) < token.until) {
                return Ok(token.text.clone());
            }
            let new = self.fetch().await?;
            let text = new.token.clone();
            *kept = Some(Token { text: new.token, until: new.expires_at });
            Ok(text)
        }
        .boxed()
    }

    /// Lets go of the token, which the host has refused.
    pub(super) async fn forget(&self) {
        *self.tokens.slot(self.mark).lock().await = None;
    }

    async fn fetch(&self) -> Result<NewToken, ForgeError> {
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
        let name = self.line.name();
        let words = answer.words();
        match answer.status {
            404 => Err(ForgeError::lasting(format!(
                "the GitHub App has no installation {installation}; give the right one, or none to have it looked up"
            ))),
            422 if words.contains("permission") => Err(ForgeError::lasting(
                "the GitHub App lacks permissions: it needs `Contents: read and write` and `Pull requests: read and \
                 write`; grant them in its settings and accept them in the installation",
            )),
            422 => Err(ForgeError::lasting(with_words(
                &format!("the GitHub App may not use {name}; add the repository to its installation"),
                &words,
            ))),
            403 => Err(ForgeError::lasting(with_words(
                "the installation of the GitHub App is suspended or may not have tokens; see its settings on GitHub",
                &words,
            ))),
            _ => self.line.read(Act::Look, &answer),
        }
    }

    async fn find_installation(&self) -> Result<u64, ForgeError> {
        let answer = self.ask(Method::GET, &format!("repos/{}/installation", self.path), None).await?;
        if answer.status == 404 {
            return Err(ForgeError::lasting(format!(
                "the GitHub App is not installed for {}; install it there, or check the address",
                self.line.name()
            )));
        }
        Ok(self.line.read::<Installation>(Act::Look, &answer)?.id)
    }

    /// Asks as the App itself. If the host finds our clock wrong, goes by its clock and asks once more.
    async fn ask(&self, method: Method, path: &str, body: Option<Value>) -> Result<Answer, ForgeError> {
        let mut answer = self.ask_once(&method, path, body.clone()).await?;
        if answer.status == 401
            && is_about_time(&answer.words())
            && let Some(theirs) = limits::date_of(&answer.headers)
        {
            let ours = self.line.settings.clock.now();
            lock(&self.tokens.skews).insert(self.line.api.clone(), theirs.as_millis().saturating_sub(ours.as_millis()));
            answer = self.ask_once(&method, path, body).await?;
        }
        if answer.status != 401 {
            return Ok(answer);
        }
        Err(ForgeError::lasting(if is_about_time(&answer.words()) {
            "GitHub does not accept the GitHub App because the clock of this machine is wrong; set it".to_owned()
        } else {
            with_words(
                "GitHub does not accept the GitHub App; check its id, and whether the private key is one of its keys",
                &answer.words(),
            )
        }))
    }

    async fn ask_once(&self, method: &Method, path: &str, body: Option<Value>) -> Result<Answer, ForgeError> {
        let word = self.key.word(&self.id, self.now())?;
        // A second token does no harm: the first one ends by itself.
        let mut call = self.line.call(method.clone(), path)?.with_bearer(word).repeatable();
        if let Some(body) = body {
            call = call.with_body(body);
        }
        Ok(self.line.send(&call).await?)
    }

    /// When it is, by the host's clock as far as that is known to differ.
    fn now(&self) -> Timestamp {
        let skew = lock(&self.tokens.skews).get(&self.line.api).copied().unwrap_or_default();
        Timestamp::from_millis(self.line.settings.clock.now().as_millis().saturating_add(skew))
    }
}

fn is_about_time(words: &str) -> bool {
    ["'exp'", "'iat'", "Expiration time", "Issued at"].iter().any(|sign| words.contains(sign))
}

impl Tokens {
    fn slot(&self, mark: [u8; 32]) -> Slot {
        let mut slots = lock(&self.slots);
        if slots.len() > MANY && !slots.contains_key(&mark) {
            // Whoever uses one has a share in it. The others cost a request if they are wanted again.
            slots.retain(|_, slot| Arc::strong_count(slot) > 1);
        }
        Arc::clone(slots.entry(mark).or_default())
    }
}
