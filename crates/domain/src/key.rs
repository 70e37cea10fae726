use rand::RngExt;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{ProjectId, SecretText, Timestamp, hex};

const PREFIX: &str = "copydesk_";
const RANDOM_CHARS: usize = 40;
const CHECKSUM_CHARS: usize = 6;
const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// An admin API key in the clear. It is never stored and never printed by accident.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKey(SecretText);

/// The text is not a key: wrong prefix, length, alphabet or checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a Copydesk API key")]
pub struct MalformedKey;

impl ApiKey {
    /// A new random key.
    pub fn generate() -> Self {
        let mut rng = crate::id::random();
        let mut text = String::with_capacity(PREFIX.len() + RANDOM_CHARS + CHECKSUM_CHARS);
        text.push_str(PREFIX);
        text.extend((0..RANDOM_CHARS).map(|_| char::from(BASE62[rng.random_range(0..BASE62.len())])));
        text.push_str(&checksum(&text));
        Self(text.into())
    }

    /// Reads a key, rejecting typos by the checksum alone.
    pub fn parse(text: &str) -> Result<Self, MalformedKey> {
        let body = text.strip_prefix(PREFIX).ok_or(MalformedKey)?;
        if body.len() != RANDOM_CHARS + CHECKSUM_CHARS || !body.bytes().all(|b| b.is_ascii_alphanumeric()) {
            return Err(MalformedKey);
        }
        let (signed, given) = text.split_at(text.len() - CHECKSUM_CHARS);
        if checksum(signed) == given { Ok(Self(text.into())) } else { Err(MalformedKey) }
    }

    /// The only form in which a key is stored. The key has 238 bits of randomness, so a plain hash cannot be
    /// searched for, and needs no salt.
    pub fn digest(&self) -> String {
        hex(&Sha256::digest(self.reveal()))
    }

    /// The key in the clear, to show it once.
    pub fn reveal(&self) -> &str {
        self.0.expose()
    }

    /// Enough of the key to recognise it by, too little to use it.
    pub fn hint(&self) -> String {
        format!("{PREFIX}{}…", &self.reveal()[PREFIX.len()..PREFIX.len() + 4])
    }
}

/// CRC-32 (IEEE) of `signed` in six base62 digits.
fn checksum(signed: &str) -> String {
    let mut rest = crc32fast::hash(signed.as_bytes()) as usize;
    let mut digits = [b'0'; CHECKSUM_CHARS];
    for digit in digits.iter_mut().rev() {
        *digit = BASE62[rest % 62];
        rest /= 62;
    }
    digits.iter().map(|&b| char::from(b)).collect()
}

/// What a key may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = KeyScope))]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Reads.
    Read,
    /// Reads and writes.
    Write,
    /// The administration of the server, and nothing of what the others may.
    Admin,
}

impl Scope {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Admin => "admin",
        }
    }

    /// The scope of that word.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Read, Self::Write, Self::Admin].into_iter().find(|scope| scope.as_str() == text)
    }

    /// Whether a key with this scope may do what needs `wanted`.
    pub fn covers(self, wanted: Self) -> bool {
        match self {
            Self::Read => wanted == Self::Read,
            Self::Write => wanted != Self::Admin,
            Self::Admin => wanted == Self::Admin,
        }
    }
}

/// A key, without the key itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Key))]
#[serde(rename_all = "camelCase")]
pub struct KeyRecord {
    /// The key's id, not a secret.
    pub id: String,
    /// The project that it is for; null: all projects.
    #[cfg_attr(feature = "openapi", schema(required, value_type = Option<String>))]
    pub project_id: Option<ProjectId>,
    /// What the owner calls it.
    pub name: String,
    /// What it may do.
    pub scope: Scope,
    /// The beginning of the key.
    pub hint: String,
    /// When it was made.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub created_at: Timestamp,
    /// When it expires.
    #[cfg_attr(feature = "openapi", schema(required, value_type = Option<String>, format = DateTime))]
    pub expires_at: Option<Timestamp>,
    /// When it was revoked.
    #[cfg_attr(feature = "openapi", schema(required, value_type = Option<String>, format = DateTime))]
    pub revoked_at: Option<Timestamp>,
    /// When it was last used, to the minute.
    #[cfg_attr(feature = "openapi", schema(required, value_type = Option<String>, format = DateTime))]
    pub last_used_at: Option<Timestamp>,
}

impl KeyRecord {
    /// Whether the key opens anything at `now`.
    pub fn is_valid_at(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|expiry| now < expiry)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// 0xCBF43926 is the check value that CRC-32 (IEEE) is published with.
    #[test]
    fn checksum_is_that_of_the_contract() {
        assert_eq!(checksum(""), "000000");
        assert_eq!(checksum("123456789"), to_base62(0xCBF4_3926));
    }

    /// Made with another program's CRC-32, from forty characters that are no secret.
    #[test]
    fn a_key_made_elsewhere_is_read() {
        assert!(ApiKey::parse("copydesk_aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3Z2POMvO").is_ok());
        assert!(ApiKey::parse("copydesk_aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3Z2POMvP").is_err());
    }

    fn to_base62(mut number: u64) -> String {
        let mut out = Vec::new();
        while number > 0 {
            out.push(BASE62[(number % 62) as usize]);
            number /= 62;
        }
        while out.len() < 6 {
            out.push(b'0');
        }
        out.reverse();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_new_key_reads_back_and_differs() {
        let (one, other) = (ApiKey::generate(), ApiKey::generate());
        assert_ne!(one, other);
        assert_eq!(one.reveal().len(), 55);
        assert_eq!(ApiKey::parse(one.reveal()), Ok(one));
    }

    #[test]
    fn debug_hides_the_key() {
        let key = ApiKey::generate();
        assert!(!format!("{key:?}").contains(&key.reveal()[14..]));
    }

    #[test]
    fn write_covers_read_and_not_the_other_way_round() {
        assert!(Scope::Write.covers(Scope::Read));
        assert!(!Scope::Read.covers(Scope::Write));
    }

    #[test]
    fn the_administration_is_a_scope_of_its_own() {
        for other in [Scope::Read, Scope::Write] {
            assert!(!Scope::Admin.covers(other) && !other.covers(Scope::Admin));
        }
        assert!(Scope::Admin.covers(Scope::Admin));
        assert_eq!(Scope::parse("admin"), Some(Scope::Admin));
    }

    proptest! {
        #[test]
        fn one_wrong_character_is_always_noticed(at in 0usize..55, to in "[0-9A-Za-z_]") {
            let key = ApiKey::generate();
            let mut text = key.reveal().to_owned();
            prop_assume!(text[at..=at] != to);
            text.replace_range(at..=at, &to);
            prop_assert_eq!(ApiKey::parse(&text), Err(MalformedKey));
        }

        #[test]
        fn any_text_is_read_without_a_panic(text in ".{0,80}") {
            prop_assert!(ApiKey::parse(&text).is_err());
        }
    }
}
