use std::sync::Arc;
use std::time::Duration;

use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use argon2::{Algorithm, Argon2, Params, Version};
use copydesk_domain::SecretText;
use tokio::sync::Semaphore;

/// How long somebody waits for their turn before they are told to come again, and how many wait: who comes then is told at
/// once, because whoever guesses comes faster than any of it is hashed.
const PATIENCE: Duration = Duration::from_secs(10);
const MOST_WAIT: usize = 16;

/// Hashes passwords with Argon2id at the cost that OWASP names for it (19 MiB, two passes). That takes a tenth of a second and
/// its memory on purpose, so only some are hashed at a time: the rest of the server must not notice.
#[derive(Clone)]
pub(super) struct Hasher {
    strangers: Arc<Line>,
    known: Arc<Line>,
}

/// Who stands in line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whose {
    /// Somebody of whom nothing is known.
    Stranger,
    /// Somebody who is signed in, or in whose browser the user has signed in before: they do not stand in line with those
    /// who guess.
    Known,
}

struct Line {
    seats: Arc<Semaphore>,
    /// Those who have a seat or wait for one.
    places: Arc<Semaphore>,
}

impl Line {
    fn new(seats: usize) -> Arc<Self> {
        let places = Arc::new(Semaphore::new(seats + MOST_WAIT));
        Arc::new(Self { seats: Arc::new(Semaphore::new(seats)), places })
    }
}

impl Hasher {
    pub(super) fn new() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self { strangers: Line::new((cores / 2).max(1)), known: Line::new(1) }
    }

    /// None: too many wait.
    pub(super) async fn hash(&self, password: &SecretText, whose: Whose) -> Option<String> {
        let password = password.clone();
        self.seated(whose, move || {
            argon2().hash_password(password.expose().as_bytes()).ok().map(|hash| hash.to_string())
        })
        .await?
    }

    /// Whether the password is the one of that hash; without a hash it takes as long and is not. None: too many wait.
    pub(super) async fn verify(&self, password: &SecretText, hash: Option<&str>, whose: Whose) -> Option<bool> {
        let (password, hash) = (password.clone(), hash.map(str::to_owned));
        self.seated(whose, move || {
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

    /// Whether a stranger would be told to come again.
    pub(super) fn is_full(&self) -> bool {
        self.strangers.places.available_permits() == 0
    }

    async fn seated<T: Send + 'static>(&self, whose: Whose, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        let line = if whose == Whose::Known { &self.known } else { &self.strangers };
        let _place = line.places.clone().try_acquire_owned().ok()?;
        let seat = tokio::time::timeout(PATIENCE, line.seats.clone().acquire_owned()).await.ok()?.ok()?;
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
        let hash = hasher.hash(&"four words put together".into(), Whose::Stranger).await.unwrap();
        assert!(hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{hash}");
        assert_ne!(
            hasher.hash(&"four words put together".into(), Whose::Stranger).await.unwrap(),
            hash,
            "it is salted"
        );
        assert_eq!(hasher.verify(&"four words put together".into(), Some(&hash), Whose::Stranger).await, Some(true));
        assert_eq!(hasher.verify(&"four words put apart".into(), Some(&hash), Whose::Stranger).await, Some(false));
        assert_eq!(hasher.verify(&"x".into(), None, Whose::Stranger).await, Some(false));
        assert_eq!(hasher.verify(&"x".into(), Some("not a hash"), Whose::Stranger).await, Some(false));
    }

    #[tokio::test]
    async fn who_comes_too_late_is_told_so_and_others_do_not_wait_for_them() {
        let hasher = Hasher::new();
        let all = hasher.strangers.places.available_permits();
        let places = hasher.strangers.places.clone().acquire_many_owned(all as u32).await.unwrap();
        assert!(hasher.is_full());
        assert_eq!(hasher.verify(&"x".into(), None, Whose::Stranger).await, None, "at once");
        assert_eq!(hasher.verify(&"x".into(), None, Whose::Known).await, Some(false));
        drop(places);
        assert_eq!(hasher.verify(&"x".into(), None, Whose::Stranger).await, Some(false));
    }
}
