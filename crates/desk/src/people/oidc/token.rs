//! What a provider says of somebody, and whether it is to be believed.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use copydesk_domain::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use super::keys::{Algorithm, KeySet};

/// How far clocks may be apart, in seconds.
const LEEWAY: f64 = 60.0;

/// What a token has to be.
pub(super) struct Wanted<'a> {
    pub(super) issuer: &'a str,
    pub(super) client_id: &'a str,
    pub(super) nonce: &'a str,
    pub(super) now: Timestamp,
}

/// What a provider says of somebody.
#[derive(Debug, Clone, Default)]
pub(super) struct Claims {
    pub(super) subject: String,
    pub(super) email: Option<String>,
    pub(super) email_verified: bool,
    pub(super) name: Option<String>,
    /// When they last showed the provider that it is they.
    pub(super) signed_in_at: Option<Timestamp>,
}

/// Why a token is not believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Doubt {
    /// The key is not among those that are known; perhaps it is new.
    UnknownKey,
    /// For the log.
    Wrong(&'static str),
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    crit: Option<Value>,
}

#[derive(Deserialize)]
struct Written {
    iss: String,
    sub: String,
    aud: Audience,
    azp: Option<String>,
    exp: f64,
    iat: f64,
    nbf: Option<f64>,
    nonce: Option<String>,
    auth_time: Option<f64>,
    #[serde(flatten)]
    person: Person,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Audience {
    One(String),
    Several(Vec<String>),
}

/// What is said of the person. Whatever has another type than it should counts as not said.
#[derive(Deserialize, Default)]
pub(super) struct Person {
    #[serde(default)]
    email: Value,
    #[serde(default)]
    email_verified: Value,
    #[serde(default)]
    name: Value,
    #[serde(default)]
    preferred_username: Value,
}

/// Reads a token and checks everything that it has to be.
pub(super) fn check(token: &str, keys: &KeySet, wanted: &Wanted<'_>) -> Result<Claims, Doubt> {
    let wrong = |what| Err(Doubt::Wrong(what));
    let mut parts = token.split('.');
    let (Some(head), Some(body), Some(signature), None) = (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return wrong("the ID token has not three parts");
    };
    let Some(header) = decoded(head).and_then(|json| serde_json::from_slice::<Header>(&json).ok()) else {
        return wrong("the head of the ID token cannot be read");
    };
    let Some(algorithm) = Algorithm::parse(&header.alg) else {
        return wrong("the ID token is signed in another way than RS256, ES256 or EdDSA");
    };
    if header.crit.is_some() {
        return wrong("the ID token needs an extension that is not known");
    }
    let key = keys.find(header.kid.as_deref(), algorithm).ok_or(Doubt::UnknownKey)?;
    let Some(signature) = decoded(signature) else { return wrong("the signature of the ID token cannot be read") };
    if !key.verifies(format!("{head}.{body}").as_bytes(), &signature) {
        return wrong("the signature of the ID token is wrong");
    }
    let Some(written) = decoded(body).and_then(|json| serde_json::from_slice::<Written>(&json).ok()) else {
        return wrong("the ID token lacks something that it must have");
    };
    judge(&written, wanted).map_err(Doubt::Wrong)?;
    Ok(Claims {
        signed_in_at: written.auth_time.filter(|at| at.is_finite()).map(timestamp),
        ..claims(written.sub, written.person)
    })
}

fn judge(written: &Written, wanted: &Wanted<'_>) -> Result<(), &'static str> {
    let now = wanted.now.as_millis() as f64 / 1000.0;
    if written.iss != wanted.issuer {
        return Err("the ID token was issued by somebody else");
    }
    let (is_for_us, others) = match &written.aud {
        Audience::One(one) => (one == wanted.client_id, 0),
        Audience::Several(all) => (all.iter().any(|one| one == wanted.client_id), all.len().saturating_sub(1)),
    };
    if !is_for_us {
        return Err("the ID token is for somebody else (aud)");
    }
    match written.azp.as_deref() {
        Some(azp) if azp != wanted.client_id => return Err("the ID token was given to somebody else (azp)"),
        None if others > 0 => return Err("the ID token is for several and does not say to whom it was given (azp)"),
        _ => {}
    }
    let is_number = [Some(written.exp), Some(written.iat), written.nbf].into_iter().flatten().all(f64::is_finite);
    if !is_number || written.exp <= now - LEEWAY {
        return Err("the ID token has run out");
    }
    if written.iat > now + LEEWAY || written.nbf.is_some_and(|nbf| nbf > now + LEEWAY) {
        return Err("the ID token is from the future; are the clocks right?");
    }
    if written.nonce.as_deref() != Some(wanted.nonce) {
        return Err("the ID token is for another sign-in (nonce)");
    }
    let is_plain = !written.sub.is_empty() && written.sub.len() <= 255 && !written.sub.chars().any(char::is_control);
    if is_plain { Ok(()) } else { Err("the ID token names nobody (sub)") }
}

fn timestamp(seconds: f64) -> Timestamp {
    // Far beyond what anybody means, a number is cut off.
    Timestamp::from_millis((seconds * 1000.0) as i64)
}

fn claims(subject: String, person: Person) -> Claims {
    let text = |value: Value| value.as_str().map(str::to_owned).filter(|text| !text.trim().is_empty());
    let name = text(person.name).or_else(|| text(person.preferred_username));
    Claims {
        subject,
        email: text(person.email),
        email_verified: person.email_verified == Value::Bool(true),
        name,
        signed_in_at: None,
    }
}

#[derive(Deserialize)]
struct UserInfo {
    sub: String,
    #[serde(flatten)]
    person: Person,
}

/// What the provider says of the same person elsewhere than in the token.
pub(super) fn user_info(json: &[u8], subject: &str) -> Option<Claims> {
    let info: UserInfo = serde_json::from_slice(json).ok()?;
    (info.sub == subject).then(|| claims(info.sub, info.person))
}

fn decoded(part: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(part).ok()
}
