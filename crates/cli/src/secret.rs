//! The secret of this installation, from which those of log drains are made. It is in a file of its own and not in the
//! database, so that whoever has only the one does not have the other.

use std::io::{self, Write};
use std::path::Path;

use copydesk_desk::InstallationSecret;
use copydesk_domain::{hex, random_secret, unhex};

use crate::config::Config;
use crate::failure::Failure;

/// Reads the secret, making it when there is none.
pub(crate) fn read_or_make(config: &Config) -> Result<InstallationSecret, Failure> {
    let path = config.secret_path();
    let told = |error: io::Error| Failure::error(format!("the secret file {}: {error}", path.display()));
    let secret = match std::fs::read_to_string(&path) {
        Ok(text) => decode(text.trim()).ok_or_else(|| {
            let wrong = io::Error::new(io::ErrorKind::InvalidData, "must hold 64 hexadecimal digits");
            told(wrong).hint("put it back from a backup; without it, log drains need their new secrets")
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => make(&path).map_err(told),
        Err(error) => Err(told(error)),
    };
    secret.map(InstallationSecret::new)
}

/// Two processes that start together must end up with the same one: the file appears whole, and the first one wins.
fn make(path: &Path) -> io::Result<[u8; 32]> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let secret = random_secret();
    // Temporary files are private to their owner.
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    writeln!(file, "{}", hex(&secret))?;
    file.as_file().sync_all()?;
    match file.persist_noclobber(path) {
        Ok(_) => Ok(secret),
        Err(taken) if taken.error.kind() == io::ErrorKind::AlreadyExists => {
            let text = std::fs::read_to_string(path)?;
            decode(text.trim()).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))
        }
        Err(other) => Err(other.error),
    }
}

fn decode(text: &str) -> Option<[u8; 32]> {
    unhex(text.as_bytes())?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_survives_being_written_down() {
        let secret = random_secret();
        assert_eq!(decode(&hex(&secret)), Some(secret));
        for wrong in ["", "00", &"g".repeat(64), &"0".repeat(65), &"é".repeat(32)] {
            assert_eq!(decode(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn those_who_make_it_together_have_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/secret.key");
        let made: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| make(&path).unwrap())).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(made.iter().all(|secret| *secret == made[0]));
        let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&path).unwrap().permissions());
        assert_eq!(mode & 0o077, 0);
    }
}
