//! A provider of OpenID Connect that is as strict as real ones are, and can be told to misbehave.
//!
//! It keeps who is signed in with it, the codes it gave out and whether they were redeemed. What a real one would refuse, it
//! refuses, and says so in [`Provider::refused`].

mod signer;

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use aws_lc_rs::digest::{SHA256, digest};
use axum::Router;
use axum::body::Bytes;
use axum::extract::{RawQuery, State};
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, LOCATION};
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use copydesk_desk::people::oidc::OidcSettings;
use copydesk_domain::{Clock, hex, random_secret};
use serde_json::{Value, json};
use tokio::net::TcpListener;

pub use signer::Algorithm;
use signer::Signer;

/// How it knows the client. Both have what must be written otherwise in a header and in a form.
pub const CLIENT_ID: &str = "copydesk at test";
pub const CLIENT_SECRET: &str = "s3cret:with/odd+signs%";

/// Somebody who has an account there.
#[derive(Debug, Clone)]
pub struct Person {
    pub subject: String,
    pub email: Option<String>,
    pub verified: Value,
    pub name: Value,
}

impl Person {
    pub fn new(subject: &str, email: &str) -> Self {
        Self {
            subject: subject.to_owned(),
            email: Some(email.to_owned()),
            verified: Value::Bool(true),
            name: json!("Ada Lovelace"),
        }
    }

    pub fn unverified(self) -> Self {
        Self { verified: Value::Bool(false), ..self }
    }
}

/// How it misbehaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trick {
    // What the ID token says.
    OtherNonce,
    NoNonce,
    OtherAudience,
    SeveralAudiences,
    OtherParty,
    OtherIssuer,
    Expired,
    FromTheFuture,
    NoSubject,
    // How it is signed.
    AlgNone,
    Hs256WithPublicKey,
    UnknownKey,
    OtherSignature,
    AlgOfAnotherKey,
    Critical,
    // How it answers.
    Slow,
    Huge,
    Redirects,
    NotJson,
    NoIdToken,
    ServerError,
    OtherDiscovery,
    OtherAnswerer,
    // Whom it says it asked.
    NotAskedAgain,
    NoAuthTime,
    UserInfoOfSomebodyElse,
}

/// The provider, until it is dropped.
pub struct Provider {
    address: SocketAddr,
    inner: Arc<Inner>,
    serving: tokio::task::AbortHandle,
}

struct Inner {
    issuer: String,
    clock: Arc<dyn Clock>,
    state: Mutex<Inside>,
}

struct Inside {
    redirects: Vec<String>,
    person: Option<Person>,
    /// In seconds.
    signed_in_at: i64,
    grants: HashMap<String, Grant>,
    tokens: HashMap<String, Person>,
    signer: Signer,
    keys: Vec<Value>,
    trick: Option<Trick>,
    refused: Vec<String>,
    seen: Vec<String>,
    has_secret: bool,
    in_the_form: bool,
    only_user_info: bool,
    names_itself: bool,
}

struct Grant {
    redirect_uri: String,
    challenge: String,
    nonce: String,
    person: Person,
    auth_time: i64,
    is_used: bool,
}

impl Provider {
    /// A provider on a port of its own, by that clock, which signs with RS256.
    pub async fn start(clock: Arc<dyn Clock>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let signer = Signer::new(Algorithm::Rs256, "first");
        let now = clock.now().as_millis() / 1000;
        let inside = Inside {
            redirects: Vec::new(),
            person: None,
            signed_in_at: now,
            grants: HashMap::new(),
            tokens: HashMap::new(),
            keys: vec![signer.public()],
            signer,
            trick: None,
            refused: Vec::new(),
            seen: Vec::new(),
            has_secret: true,
            in_the_form: false,
            only_user_info: false,
            names_itself: false,
        };
        let issuer = format!("http://{address}");
        let inner = Arc::new(Inner { issuer, clock, state: Mutex::new(inside) });
        let router = Router::new()
            .route("/.well-known/openid-configuration", get(discovery))
            .route("/authorize", get(authorize))
            .route("/token", post(token))
            .route("/keys", get(keys))
            .route("/userinfo", get(user_info))
            .with_state(inner.clone());
        let serving = tokio::spawn(async move { axum::serve(listener, router).await }).abort_handle();
        Self { address, inner, serving }
    }

    /// How a server knows it whose people come back to that address.
    pub fn settings(&self, back: &str) -> OidcSettings {
        let mut inside = self.inner.lock();
        inside.redirects.push(back.to_owned());
        OidcSettings {
            issuer: format!("http://{}", self.address),
            client_id: CLIENT_ID.to_owned(),
            client_secret: inside.has_secret.then(|| CLIENT_SECRET.into()),
            back: back.to_owned(),
            patience: Duration::from_secs(5),
        }
    }

    /// Who is signed in there from now on.
    pub fn signs_in(&self, person: Person) {
        let now = self.inner.now();
        let mut inside = self.inner.lock();
        (inside.person, inside.signed_in_at) = (Some(person), now);
    }

    pub fn plays(&self, trick: Option<Trick>) {
        self.inner.lock().trick = trick;
    }

    /// Signs with another key from now on, which it shows beside the ones before.
    pub fn turns_to(&self, algorithm: Algorithm, id: &str) {
        let signer = Signer::new(algorithm, id);
        let mut inside = self.inner.lock();
        inside.keys.push(signer.public());
        inside.signer = signer;
    }

    /// Knows the client without a secret.
    pub fn without_secret(&self) {
        self.inner.lock().has_secret = false;
    }

    /// Wants the secret in the form.
    pub fn secret_in_the_form(&self) {
        self.inner.lock().in_the_form = true;
    }

    /// Tells of people only where it is asked for it.
    pub fn only_user_info(&self) {
        self.inner.lock().only_user_info = true;
    }

    /// Says in its answers that they are its own.
    pub fn names_itself(&self) {
        self.inner.lock().names_itself = true;
    }

    /// What it refused, and why.
    pub fn refused(&self) -> Vec<String> {
        self.inner.lock().refused.clone()
    }

    /// The addresses that it was asked for, with their queries.
    pub fn seen(&self) -> Vec<String> {
        self.inner.lock().seen.clone()
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, Inside> {
        self.state.lock().unwrap()
    }

    fn now(&self) -> i64 {
        self.clock.now().as_millis() / 1000
    }

    fn see(&self, what: &Uri) {
        self.lock().seen.push(what.to_string());
    }

    fn refuse(&self, status: StatusCode, error: &str, why: &str) -> Response {
        self.lock().refused.push(why.to_owned());
        (status, axum::Json(json!({ "error": error, "error_description": format!("<b>{why}</b>") }))).into_response()
    }

    /// What it answers instead of what it should.
    async fn trouble(&self) -> Option<Response> {
        let trick = self.lock().trick;
        match trick? {
            Trick::Slow => {
                tokio::time::sleep(Duration::from_secs(60)).await;
                None
            }
            Trick::Huge => Some(format!("{{\"x\":\"{}\"}}", "x".repeat(1024 * 1024)).into_response()),
            Trick::Redirects => Some((StatusCode::FOUND, [(LOCATION, "/keys")]).into_response()),
            Trick::NotJson => Some("<html>".into_response()),
            Trick::ServerError => Some(StatusCode::INTERNAL_SERVER_ERROR.into_response()),
            _ => None,
        }
    }
}

async fn discovery(State(inner): State<Arc<Inner>>, uri: Uri) -> Response {
    inner.see(&uri);
    let inside = inner.lock();
    let issuer = &inner.issuer;
    let named = if inside.trick == Some(Trick::OtherDiscovery) { "https://elsewhere.example" } else { issuer };
    let method = match (inside.has_secret, inside.in_the_form) {
        (false, _) => "none",
        (true, true) => "client_secret_post",
        (true, false) => "client_secret_basic",
    };
    axum::Json(json!({
        "issuer": named,
        "authorization_endpoint": format!("{issuer}/authorize?theme=plain"),
        "token_endpoint": format!("{issuer}/token"),
        "jwks_uri": format!("{issuer}/keys"),
        "userinfo_endpoint": format!("{issuer}/userinfo"),
        "token_endpoint_auth_methods_supported": [method],
        "authorization_response_iss_parameter_supported": inside.names_itself,
        "code_challenge_methods_supported": ["S256"],
    }))
    .into_response()
}

fn fields(text: &str) -> HashMap<String, String> {
    let mut fields = HashMap::new();
    for (name, value) in form_urlencoded::parse(text.as_bytes()).into_owned() {
        assert!(fields.insert(name.clone(), value).is_none(), "{name} is there twice");
    }
    fields
}

async fn authorize(State(inner): State<Arc<Inner>>, uri: Uri, RawQuery(query): RawQuery) -> Response {
    inner.see(&uri);
    let asked = fields(&query.unwrap_or_default());
    let field = |name: &str| asked.get(name).map_or("", String::as_str);
    let redirect_uri = field("redirect_uri");
    let wrong = |why: &str| inner.refuse(StatusCode::BAD_REQUEST, "invalid_request", why);
    if field("client_id") != CLIENT_ID || !inner.lock().redirects.iter().any(|known| known == redirect_uri) {
        return wrong("an unknown client or redirect_uri");
    }
    if field("response_type") != "code" || field("theme") != "plain" {
        return wrong("not the code flow, or a lost part of the address");
    }
    if !["openid", "email", "profile"].iter().all(|scope| field("scope").split(' ').any(|asked| asked == *scope)) {
        return wrong("a scope is missing");
    }
    if field("code_challenge_method") != "S256" || field("code_challenge").len() != 43 {
        return wrong("PKCE without S256");
    }
    if field("state").len() < 32 || field("nonce").len() < 32 || field("state") == field("nonce") {
        return wrong("a state or nonce that can be guessed");
    }
    if !field("prompt").is_empty() && (field("prompt") != "login" || field("max_age") != "0") {
        return wrong("a prompt without max_age");
    }
    let (code, now) = (hex(&random_secret()), inner.now());
    let mut inside = inner.lock();
    let Some(person) = inside.person.clone() else {
        let denied =
            format!("{redirect_uri}?error=access_denied&error_description=%3Cscript%3E&state={}", field("state"));
        return (StatusCode::FOUND, [(LOCATION, denied)]).into_response();
    };
    if field("prompt") == "login" && inside.trick != Some(Trick::NotAskedAgain) {
        inside.signed_in_at = now;
    }
    let grant = Grant {
        redirect_uri: redirect_uri.to_owned(),
        challenge: field("code_challenge").to_owned(),
        nonce: field("nonce").to_owned(),
        person,
        auth_time: inside.signed_in_at,
        is_used: false,
    };
    inside.grants.insert(code.clone(), grant);
    let mut back = format!("{redirect_uri}?code={code}&state={}", field("state"));
    if inside.names_itself {
        let issuer = match inside.trick {
            Some(Trick::OtherAnswerer) => "https://elsewhere.example",
            _ => &inner.issuer,
        };
        back = format!("{back}&iss={}", form_urlencoded::byte_serialize(issuer.as_bytes()).collect::<String>());
    }
    (StatusCode::FOUND, [(LOCATION, back)]).into_response()
}

async fn token(State(inner): State<Arc<Inner>>, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    inner.see(&uri);
    if let Some(trouble) = inner.trouble().await {
        return trouble;
    }
    let bad = |error: &str, why: &str| inner.refuse(StatusCode::BAD_REQUEST, error, why);
    if uri.query().is_some() {
        return bad("invalid_request", "something in the address that belongs into the form");
    }
    if headers.get(CONTENT_TYPE).is_none_or(|kind| kind != "application/x-www-form-urlencoded") {
        return bad("invalid_request", "not a form");
    }
    let sent = fields(std::str::from_utf8(&body).unwrap());
    if let Err(why) = is_the_client(&inner, &headers, &sent) {
        return inner.refuse(StatusCode::UNAUTHORIZED, "invalid_client", why);
    }
    let field = |name: &str| sent.get(name).map_or("", String::as_str);
    if field("grant_type") != "authorization_code" {
        return bad("unsupported_grant_type", "another grant");
    }
    let mut inside = inner.lock();
    let Some(grant) = inside.grants.get_mut(field("code")) else {
        drop(inside);
        return bad("invalid_grant", "an unknown code");
    };
    let was_used = std::mem::replace(&mut grant.is_used, true);
    let challenge = URL_SAFE_NO_PAD.encode(digest(&SHA256, field("code_verifier").as_bytes()));
    let why = if was_used {
        Some("a code that was used already")
    } else if grant.redirect_uri != field("redirect_uri") {
        Some("another redirect_uri")
    } else if grant.challenge != challenge || field("code_verifier").len() < 43 {
        Some("another verifier")
    } else {
        None
    };
    if let Some(why) = why {
        drop(inside);
        return bad("invalid_grant", why);
    }
    let (nonce, person, auth_time) = (grant.nonce.clone(), grant.person.clone(), grant.auth_time);
    let access = hex(&random_secret());
    inside.tokens.insert(access.clone(), person.clone());
    let id_token = id_token(&inner, &inside, &person, &nonce, auth_time);
    let mut answer = json!({ "access_token": access, "token_type": "Bearer", "expires_in": 300, "id_token": id_token });
    if inside.trick == Some(Trick::NoIdToken) {
        answer.as_object_mut().unwrap().remove("id_token");
    }
    axum::Json(answer).into_response()
}

fn is_the_client(inner: &Inner, headers: &HeaderMap, sent: &HashMap<String, String>) -> Result<(), &'static str> {
    let inside = inner.lock();
    let (id, secret) = (sent.get("client_id").map(String::as_str), sent.get("client_secret").map(String::as_str));
    let basic = headers.get(AUTHORIZATION).map(|value| value.to_str().unwrap().to_owned());
    if !inside.has_secret {
        let is_fine = basic.is_none() && secret.is_none() && id == Some(CLIENT_ID);
        return is_fine.then_some(()).ok_or("not a public client");
    }
    if inside.in_the_form {
        let is_fine = basic.is_none() && id == Some(CLIENT_ID) && secret == Some(CLIENT_SECRET);
        return is_fine.then_some(()).ok_or("a wrong secret in the form");
    }
    if secret.is_some() {
        return Err("the secret in the form");
    }
    let shown = basic.as_deref().and_then(|basic| basic.strip_prefix("Basic ")).ok_or("no secret")?;
    let shown = String::from_utf8(STANDARD.decode(shown).map_err(|_| "not Basic")?).map_err(|_| "not text")?;
    let (id, secret) = shown.split_once(':').ok_or("not Basic")?;
    // Both are written as in forms, which many forget.
    let plain = |text: &str| fields(&format!("it={text}")).remove("it").unwrap_or_default();
    let is_fine = plain(id) == CLIENT_ID && plain(secret) == CLIENT_SECRET;
    is_fine.then_some(()).ok_or("a wrong secret")
}

fn id_token(inner: &Inner, inside: &Inside, person: &Person, nonce: &str, auth_time: i64) -> String {
    let (now, trick) = (inner.now(), inside.trick);
    let mut claims = json!({
        "iss": inner.issuer, "sub": person.subject, "aud": CLIENT_ID, "iat": now, "exp": now + 300, "nonce": nonce,
        "auth_time": auth_time,
    });
    if !inside.only_user_info {
        about(&mut claims, person);
    }
    match trick {
        Some(Trick::OtherNonce) => claims["nonce"] = json!("0".repeat(64)),
        Some(Trick::NoNonce) => drop(claims.as_object_mut().unwrap().remove("nonce")),
        Some(Trick::OtherAudience) => claims["aud"] = json!("somebody-else"),
        Some(Trick::SeveralAudiences) => claims["aud"] = json!([CLIENT_ID, "somebody-else"]),
        Some(Trick::OtherParty) => claims["azp"] = json!("somebody-else"),
        Some(Trick::OtherIssuer) => claims["iss"] = json!("https://elsewhere.example"),
        Some(Trick::Expired) => (claims["iat"], claims["exp"]) = (json!(now - 400), json!(now - 61)),
        Some(Trick::FromTheFuture) => (claims["iat"], claims["exp"]) = (json!(now + 61), json!(now + 400)),
        Some(Trick::NoSubject) => claims["sub"] = json!(""),
        Some(Trick::NoAuthTime) => drop(claims.as_object_mut().unwrap().remove("auth_time")),
        _ => {}
    }
    match trick {
        Some(Trick::AlgNone) => Signer::unsigned(&claims),
        Some(Trick::Hs256WithPublicKey) => inside.signer.confused(&claims),
        Some(Trick::UnknownKey) => Signer::new(Algorithm::EdDsa, "nobody knows it").sign(&claims),
        Some(Trick::OtherSignature) => {
            // Of the same name as the real one.
            Signer::new(inside.signer.algorithm(), inside.signer.id()).sign(&claims)
        }
        Some(Trick::AlgOfAnotherKey) => inside.signer.sign_as(&claims, &json!({ "alg": "ES256" })),
        Some(Trick::Critical) => inside.signer.sign_as(&claims, &json!({ "crit": ["exp"] })),
        _ => inside.signer.sign(&claims),
    }
}

fn about(claims: &mut Value, person: &Person) {
    if let Some(email) = &person.email {
        claims["email"] = json!(email);
        claims["email_verified"] = person.verified.clone();
    }
    claims["name"] = person.name.clone();
}

async fn keys(State(inner): State<Arc<Inner>>, uri: Uri) -> Response {
    inner.see(&uri);
    // Kinds that nobody here knows are among real ones.
    let mut keys =
        vec![json!({ "kty": "oct", "kid": "x" }), json!({ "kty": "RSA", "use": "enc", "n": "AQ", "e": "AQ" })];
    keys.extend(inner.lock().keys.clone());
    axum::Json(json!({ "keys": keys })).into_response()
}

async fn user_info(State(inner): State<Arc<Inner>>, uri: Uri, headers: HeaderMap) -> Response {
    inner.see(&uri);
    let shown = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
    let inside = inner.lock();
    let Some(person) = shown.and_then(|token| inside.tokens.get(token)) else {
        drop(inside);
        return inner.refuse(StatusCode::UNAUTHORIZED, "invalid_token", "an unknown token");
    };
    let mut claims = json!({ "sub": person.subject });
    about(&mut claims, person);
    if inside.trick == Some(Trick::UserInfoOfSomebodyElse) {
        claims["sub"] = json!("somebody else");
    }
    axum::Json(claims).into_response()
}
