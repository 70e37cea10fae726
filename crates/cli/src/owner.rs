//! Whether a command may work in the data folder in the name of whoever runs it.

use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::client::shell_word;
use crate::config::Config;
use crate::failure::Failure;

/// What the service keeps in the data folder; whose these are, the service is.
const KEPT: [&str; 3] = ["copydesk.db", "credentials.key", "views"];

/// Refuses a command whose user cannot look into the data folder, and one of root in the folder of another user: what root
/// makes there, the service could not read.
pub(crate) fn check(config: &Config) -> Result<(), Failure> {
    let folder = config.data_dir.as_path();
    let Some(owner) = owner_of(config)? else { return Ok(()) };
    if rustix::process::geteuid().is_root() {
        let of_service =
            KEPT.iter().find_map(|name| std::fs::metadata(folder.join(name)).ok()).map(|about| about.uid());
        let user = of_service.unwrap_or(owner);
        return if user == 0 { Ok(()) } else { Err(not_roots(folder, user, &again(config))) };
    }
    look_into(config, owner)
}

/// Refuses the service itself only where it cannot look into the data folder: who it runs as, whoever starts it decides.
pub(crate) fn check_service(config: &Config) -> Result<(), Failure> {
    owner_of(config)?.map_or(Ok(()), |owner| look_into(config, owner))
}

/// Whose the data folder is; none if it is not there, so that it will be made, or missed by whoever needs it.
fn owner_of(config: &Config) -> Result<Option<u32>, Failure> {
    match std::fs::metadata(&config.data_dir) {
        Ok(about) => Ok(Some(about.uid())),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            Err(denied(&config.data_dir, None, &again(config)))
        }
        Err(_) => Ok(None),
    }
}

fn look_into(config: &Config, owner: u32) -> Result<(), Failure> {
    match std::fs::read_dir(&config.data_dir) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            Err(denied(&config.data_dir, Some(owner), &again(config)))
        }
        _ => Ok(()),
    }
}

/// The command that looks at the same installation: without the file the other user would look at another one.
fn again(config: &Config) -> String {
    config.file().map_or_else(
        || "copydesk".to_owned(),
        |file| format!("copydesk --config {}", shell_word(&file.display().to_string())),
    )
}

fn denied(folder: &Path, owner: Option<u32>, again: &str) -> Failure {
    let whose = owner.map(|owner| format!("; it belongs to the user {}", name(owner))).unwrap_or_default();
    let user = owner.map_or_else(|| "USER".to_owned(), name);
    Failure::error(format!(
        "permission denied: this user may not look into the data folder {}{whose}",
        folder.display()
    ))
    .hint(format!("run it as the user of the service: `sudo -u {user} {again} …`"))
}

fn not_roots(folder: &Path, user: u32, again: &str) -> Failure {
    let (folder, user) = (folder.display(), name(user));
    Failure::error(format!(
        "the data folder {folder} belongs to the user {user}; the service could not read files that root creates there"
    ))
    .hint(format!("run it as that user: `sudo -u {user} {again} …`"))
}

/// The name of a user of this machine, or the number as `sudo -u` takes it.
pub(crate) fn name(user: u32) -> String {
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let named = users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)? == user.to_string()).then(|| name.to_owned())
    });
    named.unwrap_or_else(|| format!("'#{user}'"))
}
