//! What seals the secrets of projects. The keys are in a file and the sealed secrets in the database, so that whoever
//! has only the one has nothing.

mod key_file;
mod keys;

use copydesk_boxed::boxed;
use std::fs::File;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::error::StoreError;

pub(crate) use keys::{Keys, Place, Sealed, Shut};

/// The most bytes that a secret may have.
pub const MAX_SECRET_BYTES: usize = 256 * 1024;

/// Why a secret could not be sealed or opened, as a sentence that says what to do.
#[derive(Debug, Clone, thiserror::Error)]
pub enum VaultError {
    /// There is no key file.
    #[error(
        "the key file {file} is missing, and without it stored secrets cannot be opened; put it back from a backup, \
         copy it from the machine that has it, or say where it is with credentials.key_file",
        file = .0.display()
    )]
    Missing(PathBuf),
    /// Others than its owner may read the key file.
    #[error("other users of this machine may read the key file {file}; run `chmod 600 {file}`", file = .0.display())]
    Exposed(PathBuf),
    /// The key file holds something else than keys.
    #[error("the key file {} is damaged: {problem}; put it back from a backup", .path.display())]
    Damaged {
        path: PathBuf,
        /// What is wrong with it, without anything that it holds.
        problem: String,
    },
    /// The key file cannot be read or written.
    #[error("the key file {} cannot be used: {problem}", .path.display())]
    Unusable { path: PathBuf, problem: String },
    /// The secret was sealed with a key that is not in the key file.
    #[error(
        "the secret was encrypted with the key {key_id}, which is not in the key file {}; put back the key file that has it, \
         or set the secret again",
        .path.display()
    )]
    OtherKey { key_id: String, path: PathBuf },
    /// The sealed bytes are not what was stored for that project under that name.
    #[error("the stored secret is damaged or was moved here from elsewhere; set it again")]
    Altered,
    /// It opens only with the secret file of an earlier version.
    #[error(
        "the secret is one of an earlier version and opens only with the secret file (secret_file, or secret.key in the \
         data folder); put that back and run `copydesk migrate`, or make a new secret"
    )]
    Unadopted,
    /// A secret that is too large to keep.
    #[error("the secret is longer than {MAX_SECRET_BYTES} bytes")]
    TooLong,
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The key file. It is small and read whenever it is needed, so that a change of it is seen at once.
#[derive(Debug, Clone)]
pub struct Vault {
    path: PathBuf,
}

/// Nobody else seals or changes keys while this is there.
#[derive(Debug)]
pub struct Held(#[allow(dead_code, reason = "the lock goes with the file")] File);

#[boxed]
impl Vault {
    /// The vault whose keys are in the file at `path`. The file is made when something is first sealed.
    pub fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// Where the keys are.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether there is a key file.
    pub fn is_there(&self) -> Result<bool, VaultError> {
        self.path.try_exists().map_err(|error| self.unusable(&error))
    }

    /// Waits until no other process seals, rotates or copies, and keeps them from it.
    pub async fn hold(&self) -> Result<Held, VaultError> {
        let vault = self.clone();
        let held = tokio::task::spawn_blocking(move || vault.lock()).await;
        held.map_err(|error| self.unusable(&io::Error::other(error)))?.map_err(|error| self.unusable(&error))
    }

    /// The folder is locked, since the file is replaced as a whole when it changes.
    fn lock(&self) -> io::Result<Held> {
        let folder = self.folder();
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let file = File::open(folder)?;
        file.lock()?;
        Ok(Held(file))
    }

    /// The keys; an error if there are none.
    pub(crate) fn keys(&self) -> Result<Keys, VaultError> {
        key_file::read(self)
    }

    /// The keys, of which one is made if there is no file yet.
    pub(crate) fn keys_or_new(&self, _held: &Held) -> Result<Keys, VaultError> {
        if !self.is_there()? {
            key_file::write(self, &Keys::default().with_new_first())?;
        }
        self.keys()
    }

    /// The keys with the one that is made from the secret of the installation, which is put behind the others.
    pub(crate) fn with_adopted(&self, _held: &Held, installation: &[u8; 32]) -> Result<Keys, VaultError> {
        let keys = if self.is_there()? { self.keys()? } else { Keys::default() };
        if keys.has(&Keys::adopted_id(installation)) {
            return Ok(keys);
        }
        let keys = keys.with_adopted(installation);
        key_file::write(self, &keys)?;
        Ok(keys)
    }

    /// Puts a new key before the others, which go on opening what they sealed. Gives its id.
    pub fn add_key(&self, _held: &Held) -> Result<String, VaultError> {
        let keys = self.keys()?.with_new_first();
        key_file::write(self, &keys)?;
        Ok(keys.first_id().to_owned())
    }

    /// Forgets all keys but the first and those in `used`. Says how many.
    pub fn drop_keys(&self, _held: &Held, used: &[String]) -> Result<usize, VaultError> {
        let keys = self.keys()?;
        let (before, kept) = (keys.len(), keys.without_unused(used));
        let dropped = before - kept.len();
        if dropped > 0 {
            key_file::write(self, &kept)?;
        }
        Ok(dropped)
    }

    /// Copies the key file to where there is none yet.
    pub fn copy_to(&self, _held: &Held, path: &Path) -> Result<(), VaultError> {
        key_file::write(&Self::new(path.to_owned()), &self.keys()?)
    }

    /// Seals a note that somebody else keeps for us, such as a browser in a cookie. It opens for this purpose only, with
    /// every vault that has the same keys.
    pub async fn seal_note(&self, purpose: &str, content: &[u8]) -> Result<String, VaultError> {
        let keys = if self.is_there()? { self.keys()? } else { self.keys_or_new(&self.hold().await?)? };
        let place = Place { project_id: "", name: purpose };
        let sealed = keys.seal(place, content).ok_or_else(|| self.unusable(&io::Error::other("it cannot encrypt")))?;
        Ok(format!("{}.{}", sealed.key_id, URL_SAFE_NO_PAD.encode(sealed.bytes)))
    }

    /// What a note says that was sealed for this purpose.
    pub fn open_note(&self, purpose: &str, note: &str) -> Result<Vec<u8>, VaultError> {
        let (key_id, bytes) = note.split_once('.').ok_or(VaultError::Altered)?;
        let bytes = URL_SAFE_NO_PAD.decode(bytes).map_err(|_| VaultError::Altered)?;
        let sealed = Sealed { key_id: key_id.to_owned(), bytes };
        let opened = self.keys()?.open(Place { project_id: "", name: purpose }, &sealed);
        opened.map_err(|shut| match shut {
            Shut::OtherKey => VaultError::OtherKey { key_id: sealed.key_id, path: self.path.clone() },
            Shut::Altered => VaultError::Altered,
        })
    }

    fn folder(&self) -> &Path {
        self.path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
    }

    fn unusable(&self, error: &io::Error) -> VaultError {
        VaultError::Unusable { path: self.path.clone(), problem: error.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_note_opens_with_the_same_keys_for_its_purpose_only() {
        let folder = tempfile::tempdir().unwrap();
        let vault = Vault::new(folder.path().join("one.key"));
        let note = vault.seal_note("sign-in", b"planted").await.unwrap();
        assert!(note.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte)), "{note}");
        assert_eq!(Vault::new(vault.path.clone()).open_note("sign-in", &note).unwrap(), b"planted");
        assert!(matches!(vault.open_note("sign-out", &note), Err(VaultError::Altered)));
        let mut altered = note.clone().into_bytes();
        *altered.last_mut().unwrap() ^= 2;
        let altered = String::from_utf8(altered).unwrap();
        for wrong in ["", ".", "x", "x.y", &altered, &note[1..], &note[..note.len() - 4]] {
            assert!(vault.open_note("sign-in", wrong).is_err(), "{wrong}");
        }
        let other = Vault::new(folder.path().join("other.key"));
        assert!(matches!(other.open_note("sign-in", &note), Err(VaultError::Missing(_))));
        other.seal_note("sign-in", b"").await.unwrap();
        assert!(matches!(other.open_note("sign-in", &note), Err(VaultError::OtherKey { .. })));
    }
}
