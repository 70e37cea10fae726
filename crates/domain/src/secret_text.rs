use std::hash::{Hash, Hasher};

use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;

/// Text that must not be seen: `Debug` hides it, nothing serialises it by accident, and it is wiped from memory when it
/// is dropped.
#[derive(Debug, Clone, Deserialize)]
#[serde(transparent)]
pub struct SecretText(SecretString);

impl SecretText {
    /// The text itself, for whoever it is meant for.
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }
}

impl From<String> for SecretText {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

impl From<&str> for SecretText {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

// For whoever holds two of them. A secret that a stranger offers is compared by its digest.
impl PartialEq for SecretText {
    fn eq(&self, other: &Self) -> bool {
        self.expose() == other.expose()
    }
}

impl Eq for SecretText {}

impl Hash for SecretText {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.expose().hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_does_not_show() {
        let secret = SecretText::from("planted");
        assert_eq!(secret.expose(), "planted");
        assert!(!format!("{secret:?} {:?}", Some(&secret)).contains("planted"));
        assert_eq!(serde_json::from_str::<SecretText>("\"planted\"").unwrap(), secret);
    }
}
