//! Sign-in through a provider of OpenID Connect: people go there with a note of ours in a cookie and come back with a code,
//! for which the provider tells us who they are.
//!
//! What was begun is nowhere but in that note, which only we can read, so that another server behind the same address can
//! end it.

mod failed;
mod keys;
mod provider;
mod token;

use std::sync::Arc;
use std::time::Duration;

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use copydesk_boxed::boxed;
use copydesk_domain::{Timestamp, email, hex, person_name, random_secret};
use copydesk_store::{Identity, NewUser, Vault, VaultError};
use serde::{Deserialize, Serialize};
use tokio::sync::{Semaphore, SemaphorePermit};
use url::Url;

pub use failed::Failed;
pub use provider::OidcSettings;

use provider::Provider;
use token::Claims;

/// What a note is sealed for.
const PURPOSE: &str = "sign-in";
/// How long somebody may stay with the provider.
const LONGEST: Duration = Duration::from_secs(600);
/// How far clocks may be apart.
const LEEWAY: Duration = Duration::from_secs(60);
/// Sign-ins that ask the provider at a time; whoever begins many, or makes up codes, cannot let us ask it more than that.
const SEATS: usize = 8;

/// A provider of sign-ins. Cheap to clone.
#[derive(Clone)]
pub struct Oidc {
    provider: Arc<Provider>,
    vault: Vault,
    seats: Arc<Semaphore>,
}

/// Why somebody goes to the provider.
#[derive(Debug, Clone, Default, Serialize, Deserialize, PartialEq, Eq)]
pub struct Wish {
    /// Where they go then.
    pub back: String,
    /// The invitation that they were about to take.
    pub link: Option<String>,
    /// The session whose owner has to show again that it is they.
    pub confirms: Option<String>,
}

/// Where to send somebody, and what their browser keeps meanwhile.
#[derive(Debug)]
pub struct Leaving {
    pub address: String,
    /// What tells this note from those of other sign-ins of the same browser.
    pub mark: String,
    pub note: String,
}

/// With what somebody comes back.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Returning {
    pub code: Option<String>,
    pub state: Option<String>,
    pub error: Option<String>,
    pub iss: Option<String>,
}

impl Returning {
    /// The mark of the note that belongs to it.
    pub fn mark(&self) -> Option<&str> {
        mark(self.state.as_deref()?)
    }
}

fn mark(state: &str) -> Option<&str> {
    state.get(..8).filter(|mark| mark.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Somebody as the provider knows them.
#[derive(Debug, Clone)]
pub struct Introduced {
    pub wish: Wish,
    pub identity: Identity,
    /// As a user to make of them; none if the provider did not tell an address that can be one.
    pub newcomer: Option<NewUser>,
    pub is_verified: bool,
    /// When they last showed the provider that it is they, if it says so.
    pub signed_in_at: Option<Timestamp>,
    begun_at: Timestamp,
}

impl Introduced {
    /// Whether they have shown the provider that it is they since they were sent there. None: it does not say.
    pub fn is_fresh(&self) -> Option<bool> {
        Some(self.signed_in_at?.plus(LEEWAY) >= self.begun_at)
    }
}

/// What was begun, as the note tells it.
#[derive(Serialize, Deserialize)]
struct Begun {
    state: String,
    nonce: String,
    verifier: String,
    wish: Wish,
    at: i64,
}

#[boxed]
impl Oidc {
    /// Says what is wrong with the settings if they cannot be used.
    pub fn new(settings: OidcSettings, vault: Vault) -> Result<Self, String> {
        let provider = Arc::new(Provider::new(settings)?);
        Ok(Self { provider, vault, seats: Arc::new(Semaphore::new(SEATS)) })
    }

    /// How people call the provider.
    pub fn name(&self) -> String {
        self.provider.name()
    }

    /// Sends somebody to the provider.
    pub async fn begin(&self, wish: Wish, now: Timestamp) -> Result<Leaving, Failed> {
        self.told(self.try_begin(wish, now).await)
    }

    /// A place among those who ask the provider.
    async fn seat(&self) -> Result<SemaphorePermit<'_>, Failed> {
        match tokio::time::timeout(self.provider.settings.patience, self.seats.acquire()).await {
            Ok(Ok(seat)) => Ok(seat),
            _ => Err(Failed::Busy),
        }
    }

    async fn try_begin(&self, wish: Wish, now: Timestamp) -> Result<Leaving, Failed> {
        let _seat = self.seat().await?;
        let places = self.provider.places(now).await?;
        let settings = &self.provider.settings;
        let verifier = URL_SAFE_NO_PAD.encode(random_secret());
        let challenge = URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.as_bytes()));
        let confirms = wish.confirms.is_some();
        let (state, nonce) = (hex(&random_secret()), hex(&random_secret()));
        let mut address = Url::parse(&places.authorization_endpoint)
            .map_err(|_| self.provider.unfit("the address for sign-ins is no URL"))?;
        address.query_pairs_mut().extend_pairs([
            ("response_type", "code"),
            ("client_id", &settings.client_id),
            ("redirect_uri", &settings.back),
            ("scope", "openid email profile"),
            ("state", &state),
            ("nonce", &nonce),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
        ]);
        if confirms {
            address.query_pairs_mut().extend_pairs([("prompt", "login"), ("max_age", "0")]);
        }
        let mark = state[..8].to_owned();
        let begun = Begun { state, nonce, verifier, wish, at: now.as_millis() };
        let json = serde_json::to_vec(&begun).map_err(|error| Failed::Broken(error.to_string()))?;
        let note = self.vault.seal_note(PURPOSE, &json).await.map_err(broken)?;
        Ok(Leaving { address: address.into(), mark, note })
    }

    /// What the note says that belongs to somebody who comes back.
    fn begun(&self, returning: &Returning, note: Option<&str>, now: Timestamp) -> Result<Begun, Failed> {
        let opened = self.vault.open_note(PURPOSE, note.ok_or(Failed::Stale)?).map_err(|error| match error {
            VaultError::Altered => Failed::Stale,
            VaultError::Missing(_) | VaultError::OtherKey { .. } => {
                tracing::warn!("a sign-in was begun by a server with other keys; all servers need the same key file");
                Failed::Stale
            }
            other => broken(other),
        })?;
        let begun: Begun = serde_json::from_slice(&opened).map_err(|_| Failed::Stale)?;
        let at = Timestamp::from_millis(begun.at);
        let is_ours = returning.state.as_deref() == Some(begun.state.as_str());
        if is_ours && now < at.plus(LONGEST) && at <= now.plus(LEEWAY) { Ok(begun) } else { Err(Failed::Stale) }
    }

    /// Whether somebody comes back from where we sent them. Nobody outside is asked for that.
    pub fn expects(&self, returning: &Returning, note: Option<&str>, now: Timestamp) -> Result<(), Failed> {
        self.told(self.begun(returning, note, now).map(drop))
    }

    /// Finds out who came back.
    pub async fn finish(
        &self,
        returning: &Returning,
        note: Option<&str>,
        now: Timestamp,
    ) -> Result<Introduced, Failed> {
        self.told(self.try_finish(returning, note, now).await)
    }

    async fn try_finish(
        &self,
        returning: &Returning,
        note: Option<&str>,
        now: Timestamp,
    ) -> Result<Introduced, Failed> {
        let begun = self.begun(returning, note, now)?;
        if let Some(error) = &returning.error {
            return Err(self.declined(error));
        }
        let code = returning.code.as_deref().filter(|code| !code.is_empty()).ok_or(Failed::Stale)?;
        let _seat = self.seat().await?;
        let patience = self.provider.settings.patience;
        // Several questions, each of which may take as long as one may.
        let redeemed = tokio::time::timeout(2 * patience, self.redeem(returning, code, begun, now));
        redeemed.await.unwrap_or_else(|_| Err(self.provider.slow()))
    }

    async fn redeem(
        &self,
        returning: &Returning,
        code: &str,
        begun: Begun,
        now: Timestamp,
    ) -> Result<Introduced, Failed> {
        let places = self.provider.places(now).await?;
        // Whose answer this is, before the code is shown to anybody.
        match &returning.iss {
            Some(issuer) if *issuer != places.issuer => {
                return Err(self.provider.unfit("the answer came from another provider (iss)"));
            }
            None if places.authorization_response_iss_parameter_supported => {
                return Err(self.provider.unfit("the answer does not say which provider it came from (iss)"));
            }
            _ => {}
        }
        let (places, claims) = self.provider.redeem(code, &begun.verifier, &begun.nonce, now).await?;
        let Claims { subject, email_verified, signed_in_at, .. } = claims.clone();
        Ok(Introduced {
            wish: begun.wish,
            identity: Identity { issuer: places.issuer, subject },
            newcomer: newcomer(claims),
            is_verified: email_verified,
            signed_in_at,
            begun_at: Timestamp::from_millis(begun.at),
        })
    }

    /// What the provider says when it does not let somebody in. Its own text is not shown: anybody can write one into a link.
    fn declined(&self, error: &str) -> Failed {
        match error {
            "access_denied" => Failed::Declined("The provider did not let you in, or you turned back there."),
            "login_required" | "interaction_required" | "account_selection_required" | "consent_required" => {
                Failed::Declined("The provider wants you to sign in there first. Begin again.")
            }
            "temporarily_unavailable" | "server_error" => {
                Failed::Declined("The provider has trouble at the moment. Try again in a moment.")
            }
            "invalid_request" | "unauthorized_client" | "unsupported_response_type" | "invalid_scope" => {
                self.provider.unfit(format!("it refused the sign-in with {error}"))
            }
            _ => Failed::Declined("The provider refused the sign-in."),
        }
    }

    fn told<T>(&self, result: Result<T, Failed>) -> Result<T, Failed> {
        if let Some(cause) = result.as_ref().err().and_then(Failed::cause) {
            tracing::warn!(issuer = self.provider.settings.issuer, cause, "a sign-in through the provider failed");
        }
        result
    }
}

fn broken(error: VaultError) -> Failed {
    Failed::Broken(error.to_string())
}

/// Somebody as a user to make of them.
fn newcomer(claims: Claims) -> Option<NewUser> {
    let email = email(&claims.email?).ok()?;
    Some(NewUser { name: name(claims.name.as_deref(), &email), email, password: None, is_admin: false })
}

/// What to call somebody who was not asked.
pub(super) fn name(said: Option<&str>, email: &str) -> String {
    let plain: String = said.unwrap_or_default().chars().filter(|c| !c.is_control()).take(100).collect();
    let before_at = || email.split('@').next().unwrap_or(email).chars().take(100).collect();
    person_name(&plain).unwrap_or_else(|_| before_at())
}
