//! The file that holds the keys: closed to others, and replaced as a whole.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;

use super::{Keys, Vault, VaultError};

/// Far more than a hundred keys.
const MAX_BYTES: u64 = 64 * 1024;

pub(super) fn read(vault: &Vault) -> Result<Keys, VaultError> {
    let told = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => VaultError::Missing(vault.path.clone()),
        _ => vault.unusable(&error),
    };
    let file = File::open(&vault.path).map_err(told)?;
    let about = file.metadata().map_err(told)?;
    if about.permissions().mode() & 0o077 != 0 {
        return Err(VaultError::Exposed(vault.path.clone()));
    }
    let damaged = |problem: String| VaultError::Damaged { path: vault.path.clone(), problem };
    if about.len() > MAX_BYTES {
        return Err(damaged(format!("it is longer than {MAX_BYTES} bytes")));
    }
    let mut bytes = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut bytes).map_err(told)?;
    let text = String::from_utf8(bytes).map_err(|_| damaged("it is not text".to_owned()))?;
    Keys::parse(&text).map_err(damaged)
}

/// Whoever looks finds the old file or the new one, also after a power cut.
pub(super) fn write(vault: &Vault, keys: &Keys) -> Result<(), VaultError> {
    let replaced = || {
        // A link goes on pointing to the file that it points to.
        let path = if vault.path.is_symlink() { vault.path.canonicalize()? } else { vault.path.clone() };
        let target = Vault::new(path);
        // Temporary files are private to their owner.
        let mut file = tempfile::Builder::new().prefix(".credentials-").tempfile_in(target.folder())?;
        file.write_all(keys.to_text().as_bytes())?;
        file.as_file().sync_all()?;
        file.persist(&target.path)?;
        File::open(target.folder())?.sync_all()
    };
    replaced().map_err(|error: io::Error| vault.unusable(&error))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn vault(folder: &tempfile::TempDir) -> Vault {
        Vault::new(folder.path().join("new/credentials.key"))
    }

    fn mode(path: &PathBuf) -> u32 {
        std::fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[tokio::test]
    async fn it_is_made_once_and_for_its_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let vault = vault(&folder);
        assert!(matches!(vault.keys(), Err(VaultError::Missing(_))));
        let held = vault.hold().await.unwrap();
        let made = vault.keys_or_new(&held).unwrap().to_text();
        assert_eq!(vault.keys_or_new(&held).unwrap().to_text(), made);
        assert_eq!(mode(&vault.path), 0o600);
        assert_eq!(mode(&vault.folder().to_owned()), 0o700);
    }

    #[tokio::test]
    async fn those_who_make_it_together_have_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let made = (0..8).map(|_| {
            let vault = vault(&folder);
            tokio::spawn(async move {
                let held = vault.hold().await.unwrap();
                vault.keys_or_new(&held).unwrap().to_text()
            })
        });
        let made = futures_util::future::join_all(made).await;
        let first = made[0].as_ref().unwrap();
        assert!(made.iter().all(|keys| keys.as_ref().unwrap() == first));
    }

    #[tokio::test]
    async fn a_file_that_is_open_to_others_damaged_or_no_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let vault = vault(&folder);
        let held = vault.hold().await.unwrap();
        let text = vault.keys_or_new(&held).unwrap().to_text();
        for shown in [0o640, 0o604, 0o620, 0o601] {
            std::fs::set_permissions(&vault.path, PermissionsExt::from_mode(shown)).unwrap();
            let error = vault.keys_or_new(&held).err().unwrap();
            assert!(matches!(error, VaultError::Exposed(_)), "{shown:o}");
            assert!(error.to_string().contains("chmod 600"), "{error}");
        }
        std::fs::set_permissions(&vault.path, PermissionsExt::from_mode(0o600)).unwrap();
        let long = text.repeat(2000);
        for wrong in [&b""[..], b"hello", &[0xff, 0xfe], long.as_bytes()] {
            std::fs::write(&vault.path, wrong).unwrap();
            let error = vault.add_key(&held).unwrap_err();
            assert!(matches!(error, VaultError::Damaged { .. }), "{error}");
            assert_eq!(std::fs::read(&vault.path).unwrap(), wrong, "it is left as it was");
        }
        std::fs::remove_file(&vault.path).unwrap();
        std::fs::create_dir(&vault.path).unwrap();
        assert!(vault.keys_or_new(&held).is_err());
    }

    #[tokio::test]
    async fn a_link_stays_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let real = Vault::new(folder.path().join("real.key"));
        let held = real.hold().await.unwrap();
        real.keys_or_new(&held).unwrap();
        let link = Vault::new(folder.path().join("link.key"));
        std::os::unix::fs::symlink(real.path(), link.path()).unwrap();
        let id = link.add_key(&held).unwrap();
        assert!(link.path().is_symlink());
        assert_eq!(real.keys().unwrap().first_id(), id);
    }
}
