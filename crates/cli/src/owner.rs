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
    // Without it the other user would look at another installation.
    let again = config.file().map_or_else(
        || "copydesk".to_owned(),
        |file| format!("copydesk --config {}", shell_word(&file.display().to_string())),
    );
    let owner = match std::fs::metadata(folder) {
        Ok(about) => about.uid(),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => return Err(denied(folder, None, &again)),
        // It will be made, or missed by whoever needs it.
        Err(_) => return Ok(()),
    };
    if rustix::process::geteuid().is_root() {
        let of_service =
            KEPT.iter().find_map(|name| std::fs::metadata(folder.join(name)).ok()).map(|about| about.uid());
        let user = of_service.unwrap_or(owner);
        return if user == 0 { Ok(()) } else { Err(not_roots(folder, user, &again)) };
    }
    match std::fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => Err(denied(folder, Some(owner), &again)),
        _ => Ok(()),
    }
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
