use std::sync::{Arc, LazyLock};

use aws_lc_rs::hmac;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair, RSA_PKCS1_SHA256, RsaKeyPair,
};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

/// How it signs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    Rs256,
    Es256,
    EdDsa,
}

/// A key and its name.
pub(super) struct Signer {
    id: String,
    pair: Pair,
}

enum Pair {
    Rsa(Arc<RsaKeyPair>),
    Ec(EcdsaKeyPair),
    Ed(Ed25519KeyPair),
}

/// Made once: it takes longer than most tests.
static RSA: LazyLock<Arc<RsaKeyPair>> = LazyLock::new(|| Arc::new(RsaKeyPair::generate(KeySize::Rsa2048).unwrap()));

impl Signer {
    pub(super) fn new(algorithm: Algorithm, id: &str) -> Self {
        let pair = match algorithm {
            Algorithm::Rs256 if id == "first" => Pair::Rsa(RSA.clone()),
            Algorithm::Rs256 => Pair::Rsa(Arc::new(RsaKeyPair::generate(KeySize::Rsa2048).unwrap())),
            Algorithm::Es256 => Pair::Ec(EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap()),
            Algorithm::EdDsa => Pair::Ed(Ed25519KeyPair::generate().unwrap()),
        };
        Self { id: id.to_owned(), pair }
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    pub(super) fn algorithm(&self) -> Algorithm {
        match self.pair {
            Pair::Rsa(_) => Algorithm::Rs256,
            Pair::Ec(_) => Algorithm::Es256,
            Pair::Ed(_) => Algorithm::EdDsa,
        }
    }

    fn name(&self) -> &'static str {
        match self.pair {
            Pair::Rsa(_) => "RS256",
            Pair::Ec(_) => "ES256",
            Pair::Ed(_) => "EdDSA",
        }
    }

    /// The key as everybody may know it.
    pub(super) fn public(&self) -> Value {
        let text = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        let mut key = match &self.pair {
            Pair::Rsa(pair) => {
                let (n, e) = numbers(pair.public_key().as_ref());
                json!({ "kty": "RSA", "n": text(&n), "e": text(&e) })
            }
            Pair::Ec(pair) => {
                let point = pair.public_key().as_ref();
                json!({ "kty": "EC", "crv": "P-256", "x": text(&point[1..33]), "y": text(&point[33..]) })
            }
            Pair::Ed(pair) => json!({ "kty": "OKP", "crv": "Ed25519", "x": text(pair.public_key().as_ref()) }),
        };
        (key["kid"], key["alg"], key["use"]) = (json!(self.id), json!(self.name()), json!("sig"));
        key
    }

    pub(super) fn sign(&self, claims: &Value) -> String {
        self.sign_as(claims, &json!({}))
    }

    /// Signs under another head than the right one.
    pub(super) fn sign_as(&self, claims: &Value, changes: &Value) -> String {
        let mut head = json!({ "alg": self.name(), "kid": self.id, "typ": "JWT" });
        for (name, value) in changes.as_object().unwrap() {
            head[name] = value.clone();
        }
        let signed = unsigned(&head, claims);
        let signature = match &self.pair {
            Pair::Rsa(pair) => {
                let mut signature = vec![0; pair.public_modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), signed.as_bytes(), &mut signature).unwrap();
                signature
            }
            Pair::Ec(pair) => pair.sign(&SystemRandom::new(), signed.as_bytes()).unwrap().as_ref().to_vec(),
            Pair::Ed(pair) => pair.sign(signed.as_bytes()).as_ref().to_vec(),
        };
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
    }

    /// A token that nobody signed.
    pub(super) fn unsigned(claims: &Value) -> String {
        format!("{}.", unsigned(&json!({ "alg": "none" }), claims))
    }

    /// Signed with what everybody knows, as if it were a secret.
    pub(super) fn confused(&self, claims: &Value) -> String {
        let signed = unsigned(&json!({ "alg": "HS256", "kid": self.id }), claims);
        let public = match &self.pair {
            Pair::Rsa(pair) => pair.public_key().as_ref().to_vec(),
            Pair::Ec(pair) => pair.public_key().as_ref().to_vec(),
            Pair::Ed(pair) => pair.public_key().as_ref().to_vec(),
        };
        let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &public), signed.as_bytes());
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(tag))
    }
}

fn unsigned(head: &Value, claims: &Value) -> String {
    format!("{}.{}", URL_SAFE_NO_PAD.encode(head.to_string()), URL_SAFE_NO_PAD.encode(claims.to_string()))
}

/// Modulus and exponent of a PKCS#1 public key: a sequence of two integers.
fn numbers(der: &[u8]) -> (Vec<u8>, Vec<u8>) {
    fn value(der: &[u8]) -> (&[u8], &[u8]) {
        let (start, length) = match der[1] {
            short @ 0..=0x7f => (2, usize::from(short)),
            long => {
                let count = usize::from(long & 0x7f);
                (2 + count, der[2..2 + count].iter().fold(0, |length, byte| length << 8 | usize::from(*byte)))
            }
        };
        der[start..].split_at(length)
    }
    let (both, _) = value(der);
    let (modulus, rest) = value(both);
    let (exponent, _) = value(rest);
    let zeros = modulus.iter().take_while(|byte| **byte == 0).count();
    (modulus[zeros..].to_vec(), exponent.to_vec())
}
