//! GitHub Apps: a key of their own, and tokens that they show it for.

use aws_lc_rs::encoding::AsDer;
use aws_lc_rs::rsa::{KeyPair, KeySize};
use aws_lc_rs::signature::{KeyPair as _, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Map, Value};

use super::exchange::Request;
use super::state::State;

/// How far ahead a signed token may end, in seconds.
const LONGEST: i64 = 600;
/// Where the key itself begins in what wraps it (PKCS #8) for 2048 bits: the lengths before it never change.
const INNER_KEY: usize = 26;

/// A GitHub App that is installed at one owner.
pub(super) struct App {
    pub(super) id: u64,
    pub(super) client_id: String,
    pub(super) public_key: Vec<u8>,
    pub(super) owner: String,
    pub(super) installation: u64,
    /// The repositories it may see.
    pub(super) repos: Vec<u64>,
    /// What it may do: `contents` and `pull_requests`, each `read` or `write`.
    pub(super) permissions: Map<String, Value>,
    pub(super) suspended: bool,
}

/// What a test knows of an App.
#[derive(Clone)]
pub struct FakeApp {
    /// Its id.
    pub id: u64,
    /// Its client id, which works like the id.
    pub client_id: String,
    /// Where it is installed.
    pub installation: u64,
    /// Its private key as GitHub gives it out (PKCS #1).
    pub private_key: String,
    /// The same key as other programs write it (PKCS #8).
    pub private_key_pkcs8: String,
}

/// A private key in both of its clothes, and the public one.
pub(super) struct Keys {
    pub(super) pkcs1: String,
    pub(super) pkcs8: String,
    pub(super) public: Vec<u8>,
}

impl Keys {
    /// A new one.
    pub(super) fn generate() -> Self {
        let pair = KeyPair::generate(KeySize::Rsa2048).unwrap();
        let wrapped = pair.as_der().unwrap();
        let wrapped: &[u8] = wrapped.as_ref();
        Self {
            pkcs1: pem("RSA PRIVATE KEY", &wrapped[INNER_KEY..]),
            pkcs8: pem("PRIVATE KEY", wrapped),
            public: pair.public_key().as_ref().to_vec(),
        }
    }
}

fn pem(label: &str, der: &[u8]) -> String {
    let text = STANDARD.encode(der);
    let lines: Vec<&str> = text.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).unwrap()).collect();
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", lines.join("\n"))
}

/// The App that signed a request, by its place; or GitHub's words for why not, with their status.
pub(super) fn signed_by(request: &Request, state: &State) -> Result<usize, (u16, &'static str)> {
    const UNREADABLE: (u16, &str) = (401, "A JSON web token could not be decoded");
    let (scheme, token) = request.authorization().ok_or(UNREADABLE)?;
    if scheme != "bearer" {
        return Err(UNREADABLE);
    }
    let mut parts = token.split('.');
    let (Some(head), Some(claims), Some(signature), None) = (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(UNREADABLE);
    };
    let read = |part: &str| {
        let bytes = URL_SAFE_NO_PAD.decode(part).map_err(|_| UNREADABLE)?;
        serde_json::from_slice::<Value>(&bytes).map_err(|_| UNREADABLE)
    };
    if read(head)?["alg"] != "RS256" {
        return Err(UNREADABLE);
    }
    let claims_read = read(claims)?;
    let issuer = match &claims_read["iss"] {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => return Err((401, "'Issuer' claim ('iss') must be an Integer")),
    };
    let app = state.apps.iter().position(|app| app.id.to_string() == issuer || app.client_id == issuer);
    let app = app.ok_or((404, "Integration not found"))?;
    let key = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, &state.apps[app].public_key);
    let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| UNREADABLE)?;
    let signed = &token[..head.len() + 1 + claims.len()];
    key.verify(signed.as_bytes(), &signature).map_err(|_| UNREADABLE)?;
    check_times(&claims_read, state.now().as_millis().div_euclid(1000))?;
    Ok(app)
}

/// The rules for when a signed token holds.
fn check_times(claims: &Value, now: i64) -> Result<(), (u16, &'static str)> {
    const ENDED: &str = "'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires";
    const UNISSUED: &str =
        "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued";
    match (claims["iat"].as_i64(), claims["exp"].as_i64()) {
        (_, None) => Err((401, ENDED)),
        (_, Some(ends)) if ends <= now => Err((401, ENDED)),
        (_, Some(ends)) if ends > now + LONGEST => {
            Err((401, "'Expiration time' claim ('exp') is too far in the future"))
        }
        (None, _) => Err((401, UNISSUED)),
        (Some(issued), _) if issued > now => Err((401, UNISSUED)),
        _ => Ok(()),
    }
}
