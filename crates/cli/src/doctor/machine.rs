//! Git, and the disk that everything is on.

use std::io::{ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::time::Duration;

use super::Visit;
use super::report::Finding;
use crate::output::bytes;
use crate::owner;

const LIMIT: Duration = Duration::from_secs(10);
/// With less than this nothing can be relied on.
const LEAST_FREE: u64 = 100_000_000;
/// With less than this it is time to make room: a mirror of a large repository takes as much.
const LITTLE_FREE: u64 = 2_000_000_000;

pub(super) async fn git(visit: &Visit<'_>) -> Vec<Finding> {
    let late = || Err("git --version does not end".to_owned());
    let checked = async { copydesk_forge::check_git().await.map_err(|error| error.message) };
    vec![match visit.within(LIMIT, late, checked).await {
        Ok(version) => Finding::ok("git", format!("version {version}")),
        Err(why) => Finding::failed("git", why)
            .hint("install git from the packages of the system, and see to the PATH of the service"),
    }]
}

/// The data folder: whether it is there, whose it is, who may look into it, whether it can be written to, what is free.
pub(super) async fn disk(visit: &Visit<'_>) -> Vec<Finding> {
    let config = visit.config.clone();
    // A network file system that hangs would keep everything waiting.
    let looking = tokio::task::spawn_blocking(move || {
        let folder = config.data_dir.as_path();
        match std::fs::metadata(folder) {
            Ok(about) if !about.is_dir() => {
                vec![Finding::failed("disk", format!("{} is no folder", folder.display()))]
            }
            Ok(about) => match owner::check(&config) {
                Ok(()) => look(folder, &about),
                Err(failure) => vec![Finding::of_failure("disk", failure)],
            },
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let hint = "name it with --data-dir; `copydesk serve` makes a new one";
                vec![Finding::failed("disk", format!("there is no data folder at {}", folder.display())).hint(hint)]
            }
            Err(error) => match owner::check(&config) {
                Err(failure) => vec![Finding::of_failure("disk", failure)],
                Ok(()) => vec![Finding::failed("disk", format!("{}: {error}", folder.display()))],
            },
        }
    });
    let late = || vec![Finding::failed("disk", "the data folder does not answer")];
    let failed = |error| vec![Finding::unknown("disk", format!("the look at it broke off: {error}"))];
    visit.within(LIMIT, late, async { looking.await.unwrap_or_else(failed) }).await
}

fn look(folder: &Path, about: &std::fs::Metadata) -> Vec<Finding> {
    vec![private(folder, about), writable(folder), free(folder)]
}

fn private(folder: &Path, about: &std::fs::Metadata) -> Finding {
    let (shown, mode) = (folder.display(), about.permissions().mode() & 0o7777);
    let (owner, user) = (owner::name(about.uid()), owner::name(rustix::process::geteuid().as_raw()));
    if mode & 0o077 != 0 {
        return Finding::failed("disk", format!("{shown} is open to other users (mode {mode:04o})"))
            .hint(format!("close it with `chmod 700 {shown}`"));
    }
    if owner != user {
        return Finding::warning("disk", format!("{shown} belongs to {owner}, and this command runs as {user}"))
            .hint(format!("run it as the user of the service, with its configuration: `sudo -u {owner} copydesk --config FILE doctor`"));
    }
    Finding::ok("disk", format!("{shown} belongs to {owner} and is closed to others"))
}

/// Nothing else shows what quotas, read-only file systems and access lists allow. The file is gone at once.
fn writable(folder: &Path) -> Finding {
    let tried = tempfile::Builder::new().prefix(".doctor-").tempfile_in(folder).and_then(|mut file| {
        file.write_all(&[0; 4096])?;
        file.as_file().sync_all()
    });
    match tried {
        Ok(()) => Finding::ok("disk", "files can be written"),
        Err(error) => Finding::failed("disk", format!("no file can be written: {error}"))
            .hint(format!("see to the permissions, the owner and the space of {}", folder.display())),
    }
}

fn free(folder: &Path) -> Finding {
    let room = match rustix::fs::statvfs(folder) {
        Ok(about) => about.f_bavail.saturating_mul(about.f_frsize),
        Err(error) => return Finding::unknown("disk", format!("the system does not tell what is free: {error}")),
    };
    let free = format!("{} are free", bytes(room));
    let hint = "make room, or move the data folder to a larger disk";
    match room {
        0..LEAST_FREE => Finding::failed("disk", free).hint(hint),
        LEAST_FREE..LITTLE_FREE => Finding::warning("disk", free).hint(hint),
        _ => Finding::ok("disk", free),
    }
}
