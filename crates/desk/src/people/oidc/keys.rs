//! The keys of a provider, and whether one of them signed something.

use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey,
};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;

/// Keys that are looked at; nobody has more.
const MOST: usize = 100;

/// How a token may be signed. What is not here is refused: above all `none`, and what is signed with a secret that both
/// sides know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Algorithm {
    Rs256,
    Es256,
    EdDsa,
}

impl Algorithm {
    pub(super) fn parse(name: &str) -> Option<Self> {
        match name {
            "RS256" => Some(Self::Rs256),
            "ES256" => Some(Self::Es256),
            "EdDSA" => Some(Self::EdDsa),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Rs256 => "RS256",
            Self::Es256 => "ES256",
            Self::EdDsa => "EdDSA",
        }
    }
}

/// The keys that a provider shows.
#[derive(Debug, Clone, Default)]
pub(super) struct KeySet(Vec<Key>);

#[derive(Debug, Clone)]
pub(super) struct Key {
    id: Option<String>,
    material: Material,
}

#[derive(Debug, Clone)]
enum Material {
    Rsa { modulus: Vec<u8>, exponent: Vec<u8> },
    P256(Vec<u8>),
    Ed25519(Vec<u8>),
}

#[derive(Deserialize)]
struct Written {
    kty: String,
    kid: Option<String>,
    alg: Option<String>,
    #[serde(rename = "use")]
    purpose: Option<String>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

#[derive(Deserialize)]
struct WrittenSet {
    keys: Vec<serde_json::Value>,
}

impl KeySet {
    /// None if it is no set of keys. Keys of kinds that are not used here are left out.
    pub(super) fn parse(json: &[u8]) -> Option<Self> {
        let set: WrittenSet = serde_json::from_slice(json).ok()?;
        let keys = set.keys.into_iter().take(MOST).filter_map(|key| Key::read(serde_json::from_value(key).ok()?));
        Some(Self(keys.collect()))
    }

    /// The key by which a token of that algorithm says it was signed; one that says nothing of it only if there is no choice.
    pub(super) fn find(&self, id: Option<&str>, algorithm: Algorithm) -> Option<&Key> {
        let mut fitting = self.0.iter().filter(|key| key.algorithm() == algorithm);
        match id {
            Some(id) => fitting.find(|key| key.id.as_deref() == Some(id)),
            None => {
                let only = fitting.next();
                only.filter(|_| fitting.next().is_none())
            }
        }
    }
}

impl Key {
    /// Whether this key made that signature.
    pub(super) fn verifies(&self, signed: &[u8], signature: &[u8]) -> bool {
        match &self.material {
            Material::Rsa { modulus, exponent } => RsaPublicKeyComponents { n: modulus, e: exponent }
                .verify(&RSA_PKCS1_2048_8192_SHA256, signed, signature)
                .is_ok(),
            Material::P256(point) => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(signed, signature).is_ok()
            }
            Material::Ed25519(point) => UnparsedPublicKey::new(&ED25519, point).verify(signed, signature).is_ok(),
        }
    }

    fn read(written: Written) -> Option<Self> {
        let bytes = |text: Option<String>| URL_SAFE_NO_PAD.decode(text?).ok();
        let material = match (written.kty.as_str(), written.crv.as_deref()) {
            ("RSA", _) => Material::Rsa { modulus: unpadded(bytes(written.n)?), exponent: unpadded(bytes(written.e)?) },
            ("EC", Some("P-256")) => {
                let (x, y) = (bytes(written.x)?, bytes(written.y)?);
                let fits = x.len() == 32 && y.len() == 32;
                Material::P256(fits.then(|| [&[4][..], &x, &y].concat())?)
            }
            ("OKP", Some("Ed25519")) => Material::Ed25519(bytes(written.x)?),
            _ => return None,
        };
        let key = Self { id: written.kid, material };
        let is_for_signing = written.purpose.as_deref().is_none_or(|purpose| purpose == "sig");
        let is_for_this = written.alg.as_deref().is_none_or(|name| name == key.algorithm().name());
        (is_for_signing && is_for_this).then_some(key)
    }

    fn algorithm(&self) -> Algorithm {
        match self.material {
            Material::Rsa { .. } => Algorithm::Rs256,
            Material::P256(_) => Algorithm::Es256,
            Material::Ed25519(_) => Algorithm::EdDsa,
        }
    }
}

/// Some write a number with a zero before it, as DER does.
fn unpadded(bytes: Vec<u8>) -> Vec<u8> {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    bytes[zeros..].to_vec()
}
