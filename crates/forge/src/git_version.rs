//! Whether the git program of this machine can do what is asked of it.

use std::io;
use std::process::Stdio;

use tokio::process::Command;

use crate::ForgeError;

/// The oldest git that can do all of it: `merge-tree --write-tree`, by which branches are brought up to date. What keeps
/// the machine's own configuration out (`GIT_CONFIG_GLOBAL`, `GIT_CONFIG_COUNT`) is older.
const OLDEST: (u32, u32) = (2, 38);

/// The version of the git program that this process would start, or what is wrong with it.
pub async fn check_git() -> Result<String, ForgeError> {
    let (major, minor) = OLDEST;
    let wanted = format!("Copydesk needs git {major}.{minor} or newer");
    let output = Command::new("git").arg("--version").stdin(Stdio::null()).output().await;
    let output = output.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => ForgeError::lasting(format!("there is no git on the PATH; {wanted}")),
        _ => ForgeError::lasting(format!("the git on the PATH cannot be started: {error}; {wanted}")),
    })?;
    let said = String::from_utf8_lossy(&output.stdout);
    match version(&said) {
        Some((found, text)) if found >= OLDEST => Ok(text.to_owned()),
        Some((_, text)) => Err(ForgeError::lasting(format!("the git on the PATH is version {text}; {wanted}"))),
        None => Err(ForgeError::lasting(format!("the git on the PATH does not tell its version; {wanted}"))),
    }
}

/// Both numbers of `git version 2.39.5 (Apple Git-154)`, and all of the version as it is written.
fn version(said: &str) -> Option<((u32, u32), &str)> {
    let text = said.strip_prefix("git version ")?.split_whitespace().next()?;
    // Of `3.0-rc1` the digits count.
    let number = |part: &str| part.split(|c: char| !c.is_ascii_digit()).next()?.parse::<u32>().ok();
    let mut parts = text.split('.');
    Some(((number(parts.next()?)?, number(parts.next()?)?), text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_read_as_systems_write_it() {
        for (said, numbers) in [
            ("git version 2.39.5\n", Some((2, 39))),
            ("git version 2.39.5 (Apple Git-154)\n", Some((2, 39))),
            ("git version 2.47.0.windows.2\n", Some((2, 47))),
            ("git version 2.9.3\n", Some((2, 9))),
            ("git version 3.0-rc1\n", Some((3, 0))),
            ("busybox\n", None),
        ] {
            assert_eq!(version(said).map(|found| found.0), numbers, "{said}");
        }
        assert!((2, 9) < OLDEST && (3, 0) > OLDEST);
    }
}
