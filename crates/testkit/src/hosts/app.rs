//! GitHub Apps: a key of their own, and tokens that they show it for.

use aws_lc_rs::encoding::AsDer;
use aws_lc_rs::rsa::{KeyPair, KeySize};
use aws_lc_rs::signature::KeyPair as _;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

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
    /// What it may do: `contents`, `pull_requests` and `issues`, each `read` or `write`.
    pub(super) permissions: Map<String, Value>,
    pub(super) suspended: bool,
}

/// What a test knows of an App.
#[derive(Clone)]
pub struct FakeApp {
    pub id: u64,
    /// Its client id, which works like the id.
    pub client_id: String,
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
