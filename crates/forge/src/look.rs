//! What can be seen of a repository and its mirror without leaving anything behind.

use std::path::PathBuf;
use std::time::Duration;

use copydesk_boxed::boxed;

use crate::git::Git;
use crate::mirror::IS_SOUND;
use crate::mirror_folder::MirrorFolder;
use crate::remote::Address;
use crate::{Forge, Remote};

/// The most of git's words about a damage that is passed on.
const MOST_WORDS: usize = 200;

/// How the mirror of a repository is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MirrorState {
    /// Nothing was fetched yet.
    Missing,
    Sound,
    Damaged {
        folder: PathBuf,
        /// What is wrong, as a clause.
        why: String,
    },
    /// It could not be told, and why.
    Unknown(String),
}

#[boxed]
impl Forge {
    /// How the mirror of the repository at `address` is: whether all that leads from its branches is there. What files
    /// hold is not read, so that it takes seconds; after `limit` it is given up. Nothing is locked, so that no job waits.
    pub async fn look(&self, address: &str, limit: Duration) -> MirrorState {
        let remote = Remote::at(address);
        let address = match Address::parse(address) {
            Ok(address) => address,
            Err(error) => return MirrorState::Unknown(error.message),
        };
        let folder = MirrorFolder::of(&self.settings.folder, &remote.address);
        match folder.git_dir.symlink_metadata() {
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return MirrorState::Missing,
            Err(error) => return MirrorState::Unknown(format!("its folder cannot be looked at: {error}")),
        }
        let damaged = |why: String| MirrorState::Damaged { folder: folder.git_dir.clone(), why };
        if !folder.is_whole() {
            return damaged("it lacks files without which git takes it for no repository".to_owned());
        }
        let git = Git { folder: &folder, address: &address, remote: &remote, time_limit: limit / 2 };
        let mut said = String::new();
        // Twice: a job may have packed it anew or replaced it under the first look.
        for _ in 0..2 {
            match git.run(&IS_SOUND, None).await {
                Ok(output) if output.success => return MirrorState::Sound,
                Ok(output) => said = output.stderr,
                Err(error) => return MirrorState::Unknown(error.message),
            }
        }
        let first = said.lines().find(|line| !line.trim().is_empty()).unwrap_or("git does not say why");
        damaged(format!("git finds fault with it: {}", &first[..first.floor_char_boundary(MOST_WORDS)]))
    }
}
