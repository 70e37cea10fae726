//! What is asked of a provider: where it is asked what, its keys, and whom a code stands for.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use copydesk_agent::cause_of;
use copydesk_domain::{SecretText, Timestamp};
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use reqwest::{Client, RequestBuilder, Response, StatusCode};
use serde::Deserialize;
use url::Url;

use super::failed::Failed;
use super::keys::KeySet;
use super::token::{self, Claims, Doubt, Wanted};

/// The most bytes of an answer that are read.
const MOST: usize = 256 * 1024;
/// How long what a provider says of itself, and its keys, are believed.
const FRESH: Duration = Duration::from_secs(600);

/// How a provider of sign-ins knows us.
#[derive(Debug, Clone)]
pub struct OidcSettings {
    /// Where it is.
    pub issuer: String,
    pub client_id: String,
    /// None for a client that cannot keep one.
    pub client_secret: Option<SecretText>,
    /// The address to which it sends people back.
    pub back: String,
    /// How long it may take to answer.
    pub patience: Duration,
}

/// A provider.
pub(super) struct Provider {
    pub(super) settings: OidcSettings,
    http: Client,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    places: Option<(Places, Timestamp)>,
    keys: Option<(KeySet, Timestamp)>,
}

/// Where a provider is asked what.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Places {
    pub(super) issuer: String,
    pub(super) authorization_endpoint: String,
    token_endpoint: String,
    jwks_uri: String,
    userinfo_endpoint: Option<String>,
    #[serde(default = "basic")]
    token_endpoint_auth_methods_supported: Vec<String>,
    #[serde(default)]
    pub(super) authorization_response_iss_parameter_supported: bool,
}

/// What holds where a provider says nothing of it.
fn basic() -> Vec<String> {
    vec!["client_secret_basic".to_owned()]
}

#[derive(Deserialize)]
struct Tokens {
    id_token: String,
    access_token: Option<String>,
}

#[derive(Deserialize)]
struct Refusal {
    error: String,
}

impl Provider {
    /// Says what is wrong with the settings if they cannot be used.
    pub(super) fn new(settings: OidcSettings) -> Result<Self, String> {
        let issuer = Url::parse(&settings.issuer).map_err(|_| "the issuer is no URL".to_owned())?;
        let plain = issuer.scheme() == "http";
        if plain && !is_this_machine(&issuer) {
            return Err("the issuer must have an https address, unless it is on this machine".to_owned());
        }
        let mut builder = Client::builder()
            .user_agent(concat!("Copydesk/", env!("CARGO_PKG_VERSION")))
            .timeout(settings.patience)
            // A secret and a code are on the way, and only to whom they are for.
            .redirect(reqwest::redirect::Policy::none());
        // On this machine nothing is between us, and reading the certificates takes long.
        builder = if plain { builder.no_proxy().tls_certs_only([]) } else { builder.https_only(true) };
        let http = builder.build().map_err(|_| "this machine knows no certificate authorities".to_owned())?;
        Ok(Self { settings, http, known: Mutex::default() })
    }

    /// How people call it.
    pub(super) fn name(&self) -> String {
        let url = Url::parse(&self.settings.issuer).ok();
        url.and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default()
    }

    pub(super) fn unfit(&self, cause: impl Into<String>) -> Failed {
        Failed::Unfit { name: self.name(), cause: cause.into() }
    }

    fn away(&self, cause: impl Into<String>) -> Failed {
        Failed::Away { name: self.name(), cause: cause.into() }
    }

    pub(super) fn slow(&self) -> Failed {
        self.away("it took too long to answer")
    }

    /// Where it is asked what.
    pub(super) async fn places(&self, now: Timestamp) -> Result<Places, Failed> {
        if let Some((places, at)) = &self.lock().places
            && now < at.plus(FRESH)
        {
            return Ok(places.clone());
        }
        let issuer = self.settings.issuer.trim_end_matches('/');
        let json = self.get(&format!("{issuer}/.well-known/openid-configuration"), None).await?;
        let places: Places = serde_json::from_slice(&json)
            .map_err(|_| self.unfit("what it says of itself lacks something, or is not JSON"))?;
        // The slash at the end, which some have and some forget, makes nobody else of it.
        if places.issuer.trim_end_matches('/') != issuer {
            return Err(self.unfit("it calls itself something else than sign_in.oidc_issuer"));
        }
        for place in [&places.authorization_endpoint, &places.token_endpoint, &places.jwks_uri]
            .into_iter()
            .chain(&places.userinfo_endpoint)
        {
            let is_safe = Url::parse(place).is_ok_and(|url| {
                let is_guarded = url.scheme() == "https" || (url.scheme() == "http" && issuer.starts_with("http://"));
                is_guarded && url.fragment().is_none() && url.username().is_empty() && url.password().is_none()
            });
            if !is_safe {
                return Err(self.unfit("one of the addresses that it names is not an https address"));
            }
        }
        self.lock().places = Some((places.clone(), now));
        Ok(places)
    }

    /// Its keys, asked for anew if those that are known are old or `anew`.
    async fn keys(&self, places: &Places, now: Timestamp, anew: bool) -> Result<KeySet, Failed> {
        if let Some((keys, at)) = &self.lock().keys
            && now < at.plus(FRESH)
            && !anew
        {
            return Ok(keys.clone());
        }
        let json = self.get(&places.jwks_uri, None).await?;
        let keys = KeySet::parse(&json).ok_or_else(|| self.unfit("its keys cannot be read"))?;
        self.lock().keys = Some((keys.clone(), now));
        Ok(keys)
    }

    /// Whom a code stands for.
    pub(super) async fn redeem(
        &self,
        code: &str,
        verifier: &str,
        nonce: &str,
        now: Timestamp,
    ) -> Result<(Places, Claims), Failed> {
        let places = self.places(now).await?;
        let tokens = self.tokens(&places, code, verifier).await?;
        let wanted = Wanted { issuer: &places.issuer, client_id: &self.settings.client_id, nonce, now };
        let mut checked = token::check(&tokens.id_token, &self.keys(&places, now, false).await?, &wanted);
        if checked.as_ref().err() == Some(&Doubt::UnknownKey) {
            checked = token::check(&tokens.id_token, &self.keys(&places, now, true).await?, &wanted);
        }
        let mut claims = checked.map_err(|doubt| match doubt {
            Doubt::UnknownKey => self.unfit("the ID token is signed with a key that it does not show"),
            Doubt::Wrong(what) => self.unfit(what),
        })?;
        if let (None, Some(place), Some(access)) = (&claims.email, &places.userinfo_endpoint, &tokens.access_token) {
            // Some tell the address only there.
            let json = self.get(place, Some(access)).await?;
            let told = token::user_info(&json, &claims.subject)
                .ok_or_else(|| self.unfit("what it says of the user cannot be read, or is of somebody else"))?;
            let name = told.name.or(claims.name);
            claims = Claims { signed_in_at: claims.signed_in_at, name, ..told };
        }
        Ok((places, claims))
    }

    async fn tokens(&self, places: &Places, code: &str, verifier: &str) -> Result<Tokens, Failed> {
        let OidcSettings { client_id, client_secret, back, .. } = &self.settings;
        let mut fields = vec![
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", back),
            ("code_verifier", verifier),
        ];
        let takes = |method: &str| places.token_endpoint_auth_methods_supported.iter().any(|one| one == method);
        let mut request = self.http.post(&places.token_endpoint).header(ACCEPT, "application/json");
        match client_secret {
            Some(secret) if takes("client_secret_basic") || !takes("client_secret_post") => {
                let shown = format!("{}:{}", encoded(client_id), encoded(secret.expose()));
                request = request.header(AUTHORIZATION, format!("Basic {}", STANDARD.encode(shown)));
            }
            Some(secret) => fields.extend([("client_id", client_id.as_str()), ("client_secret", secret.expose())]),
            None => fields.push(("client_id", client_id)),
        }
        let body: Vec<String> = fields.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
        let request = request.header(CONTENT_TYPE, "application/x-www-form-urlencoded").body(body.join("&"));
        let (status, json) = self.answer(request).await?;
        if status.is_success() {
            // What was wrong with it is not told: it may hold what must not be in a log.
            return serde_json::from_slice(&json)
                .map_err(|_| self.unfit("its answer to the code has no ID token, or is not JSON"));
        }
        let refusal: Option<Refusal> = serde_json::from_slice(&json).ok();
        Err(match refusal.as_ref().map(|refusal| refusal.error.as_str()) {
            Some("invalid_grant") => Failed::Stale,
            Some("invalid_client") => self.unfit("it does not know the client id, or the client secret is wrong"),
            Some(known @ ("invalid_request" | "unauthorized_client" | "unsupported_grant_type" | "invalid_scope")) => {
                self.unfit(format!("it refused the code with {known}"))
            }
            _ => self.unfit(format!("it answered the code with {status}")),
        })
    }

    async fn get(&self, address: &str, token: Option<&str>) -> Result<Vec<u8>, Failed> {
        let mut request = self.http.get(address).header(ACCEPT, "application/json");
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        match self.answer(request).await? {
            (StatusCode::OK, json) => Ok(json),
            (status, _) => Err(self.unfit(format!("{} answered {status}", without_query(address)))),
        }
    }

    async fn answer(&self, request: RequestBuilder) -> Result<(StatusCode, Vec<u8>), Failed> {
        let lost = |error: reqwest::Error| {
            if error.is_timeout() { self.slow() } else { self.away(cause_of(&error)) }
        };
        let response = request.send().await.map_err(lost)?;
        let status = response.status();
        if status.is_server_error() {
            return Err(self.away(format!("it answered {status}")));
        }
        let body = bounded(response).await.map_err(lost)?;
        Ok((status, body.ok_or_else(|| self.unfit(format!("an answer has more than {MOST} bytes")))?))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The body of an answer; none if it is too long.
async fn bounded(mut response: Response) -> reqwest::Result<Option<Vec<u8>>> {
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await? {
        if body.len() + piece.len() > MOST {
            return Ok(None);
        }
        body.extend_from_slice(&piece);
    }
    Ok(Some(body))
}

fn is_this_machine(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

fn without_query(address: &str) -> &str {
    address.split('?').next().unwrap_or(address)
}

/// As forms are written.
pub(super) fn encoded(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}
