//! The JSON Web Token with which a GitHub App says who it is.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use copydesk_domain::{SecretText, Timestamp};

use crate::ForgeError;

/// How far the issue is dated back: GitHub refuses a token from the future, and clocks differ.
const BACK: i64 = 60;
/// How long it holds from now on. GitHub takes ten minutes at most.
const AHEAD: i64 = 8 * 60;

/// The private key of a GitHub App.
pub(super) struct SigningKey(RsaKeyPair);

impl SigningKey {
    /// Reads PEM of either kind that holds an RSA key: `RSA PRIVATE KEY` and `PRIVATE KEY`.
    pub(super) fn from_pem(pem: &str) -> Result<Self, ForgeError> {
        let unfit = |what: &str| ForgeError::lasting(format!("the private key of the GitHub App {what}"));
        // As it comes out of an environment variable or a JSON file that somebody has pasted.
        let pem = pem.replace("\\n", "\n");
        if pem.contains("ENCRYPTED") {
            return Err(unfit("has a passphrase; download one without from the settings of the App"));
        }
        let unreadable = || unfit("cannot be read; paste the whole .pem file that GitHub gave you");
        let is_pkcs1 = pem.contains("-----BEGIN RSA PRIVATE KEY-----");
        let label = if is_pkcs1 { "RSA PRIVATE KEY" } else { "PRIVATE KEY" };
        let inside = |text: &str| {
            let (_, rest) = text.split_once(&format!("-----BEGIN {label}-----"))?;
            let (body, _) = rest.split_once(&format!("-----END {label}-----"))?;
            STANDARD.decode(body.split_whitespace().collect::<String>()).ok()
        };
        let der = inside(&pem).ok_or_else(unreadable)?;
        let key = if is_pkcs1 { RsaKeyPair::from_der(&der) } else { RsaKeyPair::from_pkcs8(&der) };
        key.map(Self).map_err(|_| unreadable())
    }

    pub(super) fn sign_jwt(&self, app_id: &str, now: Timestamp) -> Result<SecretText, ForgeError> {
        let seconds = now.as_millis().div_euclid(1000);
        let claims = serde_json::json!({ "iat": seconds - BACK, "exp": seconds + AHEAD, "iss": app_id });
        let encode = |text: &str| URL_SAFE_NO_PAD.encode(text);
        let signed = format!("{}.{}", encode(r#"{"alg":"RS256","typ":"JWT"}"#), encode(&claims.to_string()));
        let mut signature = vec![0; self.0.public_modulus_len()];
        let sign = self.0.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), signed.as_bytes(), &mut signature);
        sign.map_err(|_| ForgeError::lasting("the private key of the GitHub App cannot sign"))?;
        Ok(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(&signature)).into())
    }
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::encoding::AsDer;
    use aws_lc_rs::rsa::KeySize;
    use aws_lc_rs::signature::{KeyPair, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
    use serde_json::Value;

    use super::*;

    fn pem(label: &str, der: &[u8]) -> String {
        let text = STANDARD.encode(der);
        let lines: Vec<&str> = text.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).unwrap()).collect();
        format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", lines.join("\n"))
    }

    /// Length and offset of the value of the DER element at the beginning.
    fn header(der: &[u8]) -> (usize, usize) {
        match der[1] {
            short @ 0..=0x7f => (2, usize::from(short)),
            long => {
                let count = usize::from(long & 0x7f);
                (2 + count, der[2..2 + count].iter().fold(0, |length, byte| length << 8 | usize::from(*byte)))
            }
        }
    }

    /// The PKCS#1 key inside a PKCS#8 one: the last of version, algorithm and key.
    fn inner(pkcs8: &[u8]) -> &[u8] {
        let (start, _) = header(pkcs8);
        let mut rest = &pkcs8[start..];
        for _ in 0..2 {
            let (start, length) = header(rest);
            rest = &rest[start + length..];
        }
        let (start, length) = header(rest);
        &rest[start..start + length]
    }

    #[test]
    fn both_kinds_of_pem_sign_what_the_public_key_confirms() {
        let pair = RsaKeyPair::generate(KeySize::Rsa2048).unwrap();
        let pkcs8 = AsDer::<aws_lc_rs::encoding::Pkcs8V1Der<'_>>::as_der(&pair).unwrap();
        let public = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, pair.public_key().as_ref().to_vec());
        let one = pem("PRIVATE KEY", pkcs8.as_ref());
        let other = pem("RSA PRIVATE KEY", inner(pkcs8.as_ref()));
        for pem in [&one, &other, &one.replace('\n', "\\n"), &other.replace('\n', "\r\n")] {
            let key = SigningKey::from_pem(pem).unwrap();
            let jwt = key.sign_jwt("Iv1.abc", Timestamp::from_millis(1_700_000_000_999)).unwrap();
            let (signed, signature) = jwt.expose().rsplit_once('.').unwrap();
            public.verify(signed.as_bytes(), &URL_SAFE_NO_PAD.decode(signature).unwrap()).unwrap();
            let claims: Value =
                serde_json::from_slice(&URL_SAFE_NO_PAD.decode(signed.split_once('.').unwrap().1).unwrap()).unwrap();
            assert_eq!(claims["iss"], "Iv1.abc");
            assert_eq!(claims["iat"], 1_700_000_000_i64 - 60);
            let length = claims["exp"].as_i64().unwrap() - 1_700_000_000;
            assert!(length > 0 && length <= 9 * 60);
        }
    }

    #[test]
    fn what_is_no_key_is_said_without_showing_it() {
        let long = STANDARD.encode([7; 200]);
        for (text, words) in [
            (long.clone(), "cannot be read"),
            (pem("PRIVATE KEY", &[7; 200]), "cannot be read"),
            (pem("RSA PRIVATE KEY", b""), "cannot be read"),
            (pem("OPENSSH PRIVATE KEY", &[7; 200]), "cannot be read"),
            (pem("ENCRYPTED PRIVATE KEY", &[7; 200]), "passphrase"),
            (String::new(), "cannot be read"),
        ] {
            let error = SigningKey::from_pem(&text).err().unwrap();
            assert!(error.message.contains(words) && !error.message.contains(&long[..20]), "{error}");
        }
    }
}
