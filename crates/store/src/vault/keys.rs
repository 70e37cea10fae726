use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};
use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use copydesk_domain::{hex, random_secret, random_suffix};

/// Begins every line of a key file.
const KEY_MARK: &str = "copydesk-key-v1";

/// Begins every sealed secret, and says how it was sealed.
const SEAL_VERSION: u8 = 1;

/// Keys, the first of which seals. All of them open.
#[derive(Clone, Default)]
pub(crate) struct Keys(Vec<Key>);

#[derive(Clone)]
struct Key {
    id: String,
    bytes: [u8; 32],
}

/// What a sealed secret is bound to: it opens in no other place.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) project_id: &'a str,
    pub(crate) name: &'a str,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sealed {
    pub(crate) key_id: String,
    pub(crate) bytes: Vec<u8>,
}

/// Why a sealed secret does not open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shut {
    /// Its key is not here.
    OtherKey,
    /// It is not what was sealed, or not where.
    Altered,
}

impl Keys {
    /// Reads the text of a key file. What is wrong is said without anything of the text.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut keys: Vec<Key> = Vec::new();
        for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let key = Key::parse(line).ok_or_else(|| format!("line {} is not `{KEY_MARK} ID KEY`", at + 1))?;
            if keys.iter().any(|other| other.id == key.id) {
                return Err(format!("line {} has the id of an earlier key", at + 1));
            }
            keys.push(key);
        }
        if keys.is_empty() { Err("it holds no key".to_owned()) } else { Ok(Self(keys)) }
    }

    /// As [`Keys::parse`] reads it.
    pub(super) fn to_text(&self) -> String {
        self.0.iter().map(|key| format!("{KEY_MARK} {} {}\n", key.id, STANDARD.encode(key.bytes))).collect()
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The id of the key that seals.
    pub(crate) fn first_id(&self) -> &str {
        self.0.first().map_or("", |key| &key.id)
    }

    pub(super) fn with_new_first(mut self) -> Self {
        let mut id = random_suffix();
        while self.key(&id).is_some() {
            id = random_suffix();
        }
        self.0.insert(0, Key { id, bytes: random_secret() });
        self
    }

    pub(super) fn without_unused(self, used: &[String]) -> Self {
        let keys = self.0.into_iter().enumerate();
        Self(keys.filter(|(at, key)| *at == 0 || used.contains(&key.id)).map(|(_, key)| key).collect())
    }

    /// None only if there is no key, or the system has no randomness.
    pub(crate) fn seal(&self, place: Place<'_>, content: &[u8]) -> Option<Sealed> {
        self.seal_with(self.first_id(), place, content)
    }

    /// Seals with another key than the first.
    pub(crate) fn seal_with(&self, id: &str, place: Place<'_>, content: &[u8]) -> Option<Sealed> {
        let key = self.key(id)?;
        let mut sealed = content.to_vec();
        let nonce = key.cipher()?.seal_in_place_append_tag(bound(place, &key.id), &mut sealed).ok()?;
        let mut bytes = vec![SEAL_VERSION];
        bytes.extend_from_slice(nonce.as_ref());
        bytes.append(&mut sealed);
        Some(Sealed { key_id: key.id.clone(), bytes })
    }

    pub(crate) fn open(&self, place: Place<'_>, sealed: &Sealed) -> Result<Vec<u8>, Shut> {
        let key = self.key(&sealed.key_id).ok_or(Shut::OtherKey)?;
        let opened = || {
            let (version, rest) = sealed.bytes.split_first()?;
            let (nonce, content) = rest.split_at_checked(NONCE_LEN)?;
            let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
            let mut content = (*version == SEAL_VERSION).then(|| content.to_vec())?;
            let length = key.cipher()?.open_in_place(nonce, bound(place, &key.id), &mut content).ok()?.len();
            content.truncate(length);
            Some(content)
        };
        opened().ok_or(Shut::Altered)
    }

    pub(crate) fn has(&self, id: &str) -> bool {
        self.key(id).is_some()
    }

    /// The id of the key that is made from the secret of an installation; see `secrets::adopt`.
    pub(crate) fn adopted_id(installation: &[u8; 32]) -> String {
        format!("adopted-{}", hex(&derive(installation, "copydesk key id")[..4]))
    }

    pub(super) fn with_adopted(mut self, installation: &[u8; 32]) -> Self {
        self.0.push(Key { id: Self::adopted_id(installation), bytes: derive(installation, "copydesk key") });
        self
    }

    fn key(&self, id: &str) -> Option<&Key> {
        self.0.iter().find(|key| key.id == id)
    }
}

impl Key {
    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split_whitespace();
        let (mark, id, key) = (words.next()?, words.next()?, words.next()?);
        let plain = (1..=64).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        let bytes = STANDARD.decode(key).ok()?.try_into().ok()?;
        (mark == KEY_MARK && plain && words.next().is_none()).then(|| Self { id: id.to_owned(), bytes })
    }

    fn cipher(&self) -> Option<RandomizedNonceKey> {
        RandomizedNonceKey::new(&AES_256_GCM, &self.bytes).ok()
    }
}

fn derive(installation: &[u8; 32], purpose: &str) -> [u8; 32] {
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, installation), purpose.as_bytes());
    let mut bytes = [0; 32];
    bytes.copy_from_slice(tag.as_ref());
    bytes
}

/// Neither ids nor names hold a NUL, so no two places look the same.
fn bound(place: Place<'_>, key_id: &str) -> Aad<Vec<u8>> {
    Aad::from(format!("copydesk-secret\0{}\0{}\0{key_id}", place.project_id, place.name).into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: Place<'static> = Place { project_id: "docs", name: "git" };

    fn keys() -> Keys {
        Keys::default().with_new_first()
    }

    #[test]
    fn what_is_sealed_opens_where_it_was_sealed() {
        let keys = keys();
        for content in [&b""[..], b"planted", &[0xff; 100_000]] {
            let sealed = keys.seal(HERE, content).unwrap();
            assert_eq!(keys.open(HERE, &sealed), Ok(content.to_vec()));
            assert_eq!(keys.clone().with_new_first().open(HERE, &sealed), Ok(content.to_vec()), "older keys open");
        }
    }

    #[test]
    fn it_opens_nowhere_else() {
        let keys = keys();
        let sealed = keys.seal(HERE, b"planted").unwrap();
        for place in [
            Place { project_id: "other", ..HERE },
            Place { name: "webhook", ..HERE },
            Place { project_id: "docs\0git", name: "" },
        ] {
            assert_eq!(keys.open(place, &sealed), Err(Shut::Altered), "{place:?}");
        }
        assert_eq!(Keys::default().with_new_first().open(HERE, &sealed), Err(Shut::OtherKey));
        // The same key under another name, as somebody could write it into both places.
        let mut renamed = keys.clone();
        renamed.0[0].id = "renamed".to_owned();
        assert_eq!(renamed.open(HERE, &Sealed { key_id: "renamed".to_owned(), ..sealed }), Err(Shut::Altered));
    }

    #[test]
    fn every_bit_counts() {
        let keys = keys();
        let sealed = keys.seal(HERE, b"planted").unwrap();
        for at in 0..sealed.bytes.len() {
            let mut altered = sealed.clone();
            altered.bytes[at] ^= 1;
            assert_eq!(keys.open(HERE, &altered), Err(Shut::Altered), "byte {at}");
            altered.bytes.truncate(at);
            assert_eq!(keys.open(HERE, &altered), Err(Shut::Altered), "cut at {at}");
        }
    }

    #[test]
    fn the_same_secret_is_sealed_differently_each_time() {
        let keys = keys();
        assert_ne!(keys.seal(HERE, b"planted").unwrap(), keys.seal(HERE, b"planted").unwrap());
    }

    #[test]
    fn a_key_file_comes_back_and_a_wrong_one_is_refused() {
        let keys = keys().with_new_first();
        let text = keys.to_text();
        assert_eq!(Keys::parse(&text).map(|keys| keys.to_text()), Ok(text.clone()));
        let (first, second) = text.trim_end().split_once('\n').unwrap();
        let twice = format!("{first}\n{first}\n");
        let cut = &second[..second.len() - 5];
        for wrong in ["", "\n \n", "hello", cut, &twice, &format!("{first} x"), &first.replace("v1", "v2")] {
            let problem = Keys::parse(wrong).map(|keys| keys.to_text()).unwrap_err();
            let key = first.rsplit(' ').next().unwrap();
            assert!(!problem.contains(key), "{problem}");
        }
    }
}
