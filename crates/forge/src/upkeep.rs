//! What becomes of mirrors over time: those that nobody needs any more go, and the others are packed.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::time::Duration;

use copydesk_boxed::boxed;
use copydesk_domain::{HostKind, HostSettings, Repository};

use crate::lock::lock;
use crate::mirror_folder::{MOMENT, MirrorFolder};
use crate::{Forge, ForgeError, Remote, hosts};

/// How often a mirror is packed.
const PACK_EVERY: Duration = Duration::from_secs(24 * 3600);
/// Objects that nothing refers to are kept for so long: jobs write commits that no reference of the mirror leads to.
const UNREACHABLE_KEPT: &str = "30.days.ago";

/// The addresses under which git may come to a repository, each of which has a mirror of its own.
pub fn mirror_addresses(repository: &Repository, settings: &HostSettings) -> Vec<String> {
    let mut addresses = vec![repository.clone_address().to_owned()];
    let kind = settings.kind_of(repository);
    if kind != HostKind::Local {
        addresses.extend(hosts::address_of_apps(repository, kind, settings));
    }
    addresses
}

#[boxed]
impl Forge {
    /// The mirrors that there are, by name.
    pub fn mirrors(&self) -> io::Result<BTreeSet<String>> {
        let entries = match fs::read_dir(&self.settings.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
            entries => entries?,
        };
        let mut names = BTreeSet::new();
        for entry in entries {
            let name = entry?.file_name();
            names.extend(name.to_str().and_then(MirrorFolder::owner_of).map(str::to_owned));
        }
        Ok(names)
    }

    /// What the mirror of an address is called.
    pub fn mirror_name(address: &str) -> String {
        MirrorFolder::name_of(address)
    }

    /// Removes a mirror with all that belongs to it. False if somebody uses it, here or in another process. Whoever needs it
    /// afterwards has it made anew.
    pub async fn remove_mirror(&self, name: &str) -> Result<bool, ForgeError> {
        let folder = MirrorFolder::named(&self.settings.folder, name);
        let Ok(held) = folder.lock(MOMENT).await else { return Ok(false) };
        if !lock(&self.mirrors).forget(name) {
            return Ok(false);
        }
        let Ok(unused) = folder.end_use().await else { return Ok(false) };
        // There may be gigabytes of it, and others have work to do meanwhile.
        let removed = tokio::task::spawn_blocking(move || folder.remove(&held, &unused)).await;
        removed.map_err(io::Error::from).flatten().map_err(ForgeError::from_io)?;
        Ok(true)
    }

    /// Makes one pack of what a mirror has and drops what nothing has referred to for long, if that was not done for a day
    /// and nobody uses the mirror, here or in another process. Says whether it was done.
    pub async fn pack_mirror(&self, address: &str) -> Result<bool, ForgeError> {
        let folder = MirrorFolder::of(&self.settings.folder, address);
        if !folder.is_whole() || folder.packed_within(PACK_EVERY) {
            return Ok(false);
        }
        // Whoever has the mirror holds this, in whatever process. Those who come after this look find what they need: git takes
        // no pack away before there is another with the same in it.
        if folder.end_use().await.is_err() {
            return Ok(false);
        }
        let mirror = self.mirror(&Remote::at(address.to_owned())).await?;
        let Ok(held) = mirror.shared.folder.lock(MOMENT).await else { return Ok(false) };
        // Noted before: what cannot be packed today is not tried again and again.
        folder.note_packed().map_err(ForgeError::from_io)?;
        let unreachable = format!("--unpack-unreachable={UNREACHABLE_KEPT}");
        // Not `git gc`, which would pack references, and these are read from their files.
        let repack = ["repack", "--quiet", "-A", "-d", &unreachable];
        let prune = format!("--expire={UNREACHABLE_KEPT}");
        for arguments in [&repack[..], &["prune", &prune]] {
            let output = mirror.git().run(arguments, Some(&held)).await?;
            if !output.success {
                let said = output.stderr.lines().next().unwrap_or_default().to_owned();
                return Err(ForgeError::passing(format!("git cannot pack the mirror: {said}")));
            }
        }
        Ok(true)
    }
}
