use std::sync::Arc;
use std::time::Duration;

use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use argon2::{Algorithm, Argon2, Params, Version};
use copydesk_domain::SecretText;
use tokio::sync::Semaphore;

/// How long somebody waits for their turn before they are told to come again.
const PATIENCE: Duration = Duration::from_secs(10);

/// Hashes passwords with Argon2id at the cost that OWASP names for it (19 MiB, two passes). That takes a tenth of a second and
/// its memory on purpose, so only some are hashed at a time: the rest of the server must not notice.
#[derive(Clone)]
pub(super) struct Hasher {
    seats: Arc<Semaphore>,
}

impl Hasher {
    pub(super) fn new() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self { seats: Arc::new(Semaphore::new((cores / 2).max(1))) }
    }

    /// None: too many wait.
    pub(super) async fn hash(&self, password: &SecretText) -> Option<String> {
        let password = password.clone();
        self.seated(move || argon2().hash_password(password.expose().as_bytes()).ok().map(|hash| hash.to_string()))
            .await?
    }

    /// Whether the password is the one of that hash; without a hash it takes as long and is not. None: too many wait.
    pub(super) async fn verify(&self, password: &SecretText, hash: Option<&str>) -> Option<bool> {
        let (password, hash) = (password.clone(), hash.map(str::to_owned));
        self.seated(move || {
            let bytes = password.expose().as_bytes();
            match hash {
                Some(hash) => {
                    let parsed = argon2::password_hash::phc::PasswordHash::new(&hash);
                    parsed.is_ok_and(|parsed| argon2().verify_password(bytes, &parsed).is_ok())
                }
                None => {
                    let _ = argon2().hash_password(bytes);
                    false
                }
            }
        })
        .await
    }

    async fn seated<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        let seat = tokio::time::timeout(PATIENCE, self.seats.clone().acquire_owned()).await.ok()?.ok()?;
        let done = tokio::task::spawn_blocking(move || {
            // Held by the work and not by whoever waits for it: they may go away, and it goes on.
            let _seat = seat;
            work()
        });
        done.await.ok()
    }
}

fn argon2() -> Argon2<'static> {
    let params = Params::new(19 * 1024, 2, 1, None).unwrap_or(Params::DEFAULT);
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_password_fits_its_own_hash_only() {
        let hasher = Hasher::new();
        let hash = hasher.hash(&"four words put together".into()).await.unwrap();
        assert!(hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{hash}");
        assert_ne!(hasher.hash(&"four words put together".into()).await.unwrap(), hash, "it is salted");
        assert_eq!(hasher.verify(&"four words put together".into(), Some(&hash)).await, Some(true));
        assert_eq!(hasher.verify(&"four words put apart".into(), Some(&hash)).await, Some(false));
        assert_eq!(hasher.verify(&"x".into(), None).await, Some(false));
        assert_eq!(hasher.verify(&"x".into(), Some("not a hash")).await, Some(false));
    }
}
