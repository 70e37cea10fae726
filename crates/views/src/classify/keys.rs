//! The public keys with which operators sign, by their thumbprints.

use std::collections::HashMap;

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;

use super::signature::{SignatureInput, is_signed_by};
use crate::BotSignature;

/// A signature that is valid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signed {
    /// Whose it is: the name of the directory of keys.
    pub operator: String,
    /// What the signer uses once, with the key that it was signed with; none if the signature has no nonce.
    pub once: Option<String>,
    /// The second after which nobody takes the signature any more.
    pub ends: i64,
}

/// Keys of all operators.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Keys(HashMap<String, Key>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Key {
    operator: String,
    public: Vec<u8>,
    not_before: Option<i64>,
    expires: Option<i64>,
}

/// A directory of keys as operators publish it: a JSON Web Key Set.
#[derive(Deserialize)]
struct Directory {
    keys: Vec<WebKey>,
}

#[derive(Deserialize)]
struct WebKey {
    kty: String,
    #[serde(default)]
    crv: String,
    #[serde(default)]
    x: String,
    nbf: Option<i64>,
    exp: Option<i64>,
}

impl Keys {
    /// Adds the keys of a directory and says how many there were. Keys of kinds that are not used for signing here are
    /// left out.
    pub(super) fn add(&mut self, operator: &str, text: &str) -> Result<usize, (usize, String)> {
        let directory: Directory =
            serde_json::from_str(text).map_err(|error| (error.line(), format!("not a set of keys: {error}")))?;
        let mut added = 0;
        for key in directory.keys.into_iter().filter(|key| key.kty == "OKP" && key.crv == "Ed25519") {
            let public = URL_SAFE_NO_PAD.decode(key.x.trim_end_matches('=')).ok().filter(|bytes| bytes.len() == 32);
            let public = public.ok_or((1, format!("“{}” is no Ed25519 key", key.x)))?;
            let thumbprint = thumbprint(&public);
            let operator = operator.to_owned();
            self.0.insert(thumbprint, Key { operator, public, not_before: key.nbf, expires: key.exp });
            added += 1;
        }
        if added == 0 { Err((1, "there is no Ed25519 key in it".to_owned())) } else { Ok(added) }
    }

    /// Whose valid signature a request made at `now` carries.
    pub(super) fn signed(&self, signature: &BotSignature<'_>, now: i64) -> Option<Signed> {
        if self.0.is_empty() {
            return None;
        }
        SignatureInput::all(&signature.input).into_iter().find_map(|input| {
            let key_id = input.key_id()?;
            let key = self.0.get(key_id)?;
            let in_time = key.not_before.is_none_or(|from| from <= now) && key.expires.is_none_or(|end| now <= end);
            (in_time && is_signed_by(&input, signature, &key.public, now)).then(|| Signed {
                operator: key.operator.clone(),
                once: input.nonce().map(|nonce| [key_id, " ", nonce].concat()),
                ends: input.ends(),
            })
        })
    }
}

/// The JWK thumbprint (RFC 7638, RFC 8037) of an Ed25519 key: the `keyid` of a signature.
pub(super) fn thumbprint(public: &[u8]) -> String {
    let x = URL_SAFE_NO_PAD.encode(public);
    let members = format!(r#"{{"crv":"Ed25519","kty":"OKP","x":"{x}"}}"#);
    URL_SAFE_NO_PAD.encode(digest(&SHA256, members.as_bytes()))
}
