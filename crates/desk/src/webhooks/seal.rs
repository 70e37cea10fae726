//! How the secrets of webhooks lie in the database: the server must be able to read them, whoever has only the
//! database must not.

use aws_lc_rs::aead::{AES_256_GCM_SIV, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use aws_lc_rs::hmac;
use copydesk_domain::random_secret;
use copydesk_store::StoreError;

use crate::installation::InstallationSecret;

/// Seals what goes into the database, and opens what comes out.
pub trait Seal: Send + Sync {
    /// Seals `plain`, which belongs to `about` and can be opened for nothing else.
    fn seal(&self, about: &str, plain: &[u8]) -> Result<Vec<u8>, StoreError>;

    /// Opens what was sealed for `about`.
    fn open(&self, about: &str, sealed: &[u8]) -> Result<Vec<u8>, StoreError>;
}

/// Seals with a key that is made from the secret of the installation: a nonce, then the sealed bytes and their tag.
pub struct InstallationSeal(LessSafeKey);

impl InstallationSeal {
    pub fn new(secret: &InstallationSecret) -> Result<Self, StoreError> {
        // A key of its own, so that nothing else that is made from the secret has to do with it.
        let key = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes()), b"copydesk webhook secrets");
        let key = UnboundKey::new(&AES_256_GCM_SIV, key.as_ref());
        key.map(|key| Self(LessSafeKey::new(key))).map_err(|_| StoreError::Refused("no key to seal with".to_owned()))
    }
}

impl Seal for InstallationSeal {
    fn seal(&self, about: &str, plain: &[u8]) -> Result<Vec<u8>, StoreError> {
        let mut nonce = [0; NONCE_LEN];
        nonce.copy_from_slice(&random_secret()[..NONCE_LEN]);
        let mut sealed = plain.to_vec();
        self.0
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(about.as_bytes()), &mut sealed)
            .map_err(|_| StoreError::Refused("a webhook's secret cannot be sealed".to_owned()))?;
        Ok([&nonce[..], &sealed].concat())
    }

    fn open(&self, about: &str, sealed: &[u8]) -> Result<Vec<u8>, StoreError> {
        let cannot = || {
            let why = "a webhook's secret cannot be opened; is the secret file the one that it was sealed with?";
            StoreError::Unreadable(why.to_owned())
        };
        let (nonce, sealed) = sealed.split_at_checked(NONCE_LEN).ok_or_else(cannot)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| cannot())?;
        let mut sealed = sealed.to_vec();
        let plain = self.0.open_in_place(nonce, Aad::from(about.as_bytes()), &mut sealed).map_err(|_| cannot())?;
        Ok(plain.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sealed_opens_only_as_it_was_sealed() {
        let seal = InstallationSeal::new(&InstallationSecret::new([7; 32])).unwrap();
        let sealed = seal.seal("one", b"a secret of a webhook").unwrap();
        assert_eq!(seal.open("one", &sealed).unwrap(), b"a secret of a webhook");
        assert!(!sealed.windows(6).any(|six| six == b"secret"));
        assert_ne!(sealed, seal.seal("one", b"a secret of a webhook").unwrap(), "another nonce each time");
        assert!(seal.open("other", &sealed).is_err());
        assert!(InstallationSeal::new(&InstallationSecret::new([8; 32])).unwrap().open("one", &sealed).is_err());
        for at in [0, NONCE_LEN, sealed.len() - 1] {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert!(seal.open("one", &changed).is_err(), "{at}");
        }
        assert!(seal.open("one", &sealed[..NONCE_LEN - 1]).is_err());
        assert!(seal.open("one", b"").is_err());
    }
}
