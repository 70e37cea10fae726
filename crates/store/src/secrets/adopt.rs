//! Secrets of earlier versions. Those of log drains and code hosts' hooks were made from a secret of the installation,
//! those of webhooks sealed with it. Whoever still has that secret, in a file of its own, brings them under the key file.

use aws_lc_rs::aead::{AES_256_GCM_SIV, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use aws_lc_rs::hmac;
use copydesk_boxed::boxed;
use copydesk_domain::hex;

use super::{SecretName, SecretRecord, update};
use crate::conn::{Conn, Result, values};
use crate::database::Store;
use crate::vault::{Keys, Place, Vault, VaultError};

/// Stands for a key where a secret waits to be adopted.
pub(crate) const UNADOPTED: &str = "installation";

#[boxed]
impl Store {
    /// How many secrets wait to be adopted.
    pub async fn unadopted_secrets(&self) -> Result<usize> {
        Ok(self.secrets(None).await?.iter().filter(|secret| secret.key_id == UNADOPTED).count())
    }

    /// Seals what was made from, or sealed with, the secret of the installation. The key for that is itself made from
    /// the secret, so that every machine that has the secret puts the same key into its key file, whoever comes first.
    /// Gives how many were adopted.
    pub async fn adopt_secrets(&self, vault: &Vault, installation: &[u8; 32]) -> Result<usize, VaultError> {
        let mut all = self.secrets(None).await?;
        // Those of webhooks first: they do not open with the secret of another installation, while the others are made
        // from whatever it is.
        all.sort_by_key(|secret| !matches!(secret.name, SecretName::Webhook(_)));
        let key_id = Keys::adopted_id(installation);
        if !all.iter().any(|secret| secret.key_id == UNADOPTED || secret.key_id == key_id) {
            return Ok(0);
        }
        let held = vault.hold().await?;
        let keys = vault.with_adopted(&held, installation)?;
        let mut adopted = 0;
        for secret in all.into_iter().filter(|secret| secret.key_id == UNADOPTED) {
            let (keys, installation, key_id) = (keys.clone(), *installation, key_id.clone());
            let done = self.write(move |c| Box::pin(adopt(c, keys, key_id, installation, secret))).await?;
            adopted += usize::from(done);
        }
        drop(held);
        Ok(adopted)
    }
}

/// False if another process was faster.
async fn adopt(
    c: &mut dyn Conn,
    keys: Keys,
    key_id: String,
    installation: [u8; 32],
    secret: SecretRecord,
) -> Result<bool, VaultError> {
    let name = secret.name.text();
    let sql = "SELECT sealed FROM secrets WHERE project_id = $1 AND name = $2 AND generation = $3 AND key_id = $4";
    let place = values![&secret.project_id, &*name, secret.generation, UNADOPTED];
    let Some(bytes): Option<Vec<u8>> = c.row_held(sql, place).await? else { return Ok(false) };
    let content = content(&installation, &secret, &bytes).ok_or(VaultError::Altered)?;
    let place = Place { project_id: &secret.project_id, name: &name };
    let sealed = keys.seal_with(&key_id, place, &content).ok_or(VaultError::Altered)?;
    update(c, &secret, sealed).await?;
    Ok(true)
}

fn content(installation: &[u8; 32], secret: &SecretRecord, sealed: &[u8]) -> Option<Vec<u8>> {
    let made = |purpose: &str| Some(hex(&sign(installation, &format!("{purpose}:{}", secret.project_id))).into_bytes());
    match &secret.name {
        SecretName::Drain => made("drain"),
        SecretName::Hook => made("hook"),
        SecretName::Webhook(id) => open(installation, id, sealed),
        SecretName::Git | SecretName::Source(_) => None,
    }
}

/// A nonce, then the sealed bytes and their tag, bound to the id of the webhook.
fn open(installation: &[u8; 32], webhook: &str, sealed: &[u8]) -> Option<Vec<u8>> {
    let key = UnboundKey::new(&AES_256_GCM_SIV, &sign(installation, "copydesk webhook secrets")).ok()?;
    let (nonce, sealed) = sealed.split_at_checked(NONCE_LEN)?;
    let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
    let mut sealed = sealed.to_vec();
    let plain = LessSafeKey::new(key).open_in_place(nonce, Aad::from(webhook.as_bytes()), &mut sealed).ok()?;
    Some(plain.to_vec())
}

fn sign(installation: &[u8; 32], text: &str) -> Vec<u8> {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, installation), text.as_bytes()).as_ref().to_vec()
}
