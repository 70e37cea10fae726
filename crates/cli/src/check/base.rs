use std::io;
use std::path::Path;

use copydesk_checks::Files;
use copydesk_forge::{CommitFiles, ForgeError, WorkTree};

use crate::failure::Failure;
use crate::output::printable;

/// What a folder is compared with.
pub(super) struct Base {
    pub(super) commit: String,
    pub(super) files: AtCommit,
    pub(super) changed: Vec<String>,
}

impl Base {
    pub(super) fn find(folder: &Path, reference: &str) -> Result<Self, Failure> {
        let failed = |error: ForgeError| Failure::usage(printable(&format!("--base {reference}: {error}")));
        let tree = WorkTree::open(folder).map_err(failed)?;
        let base = tree.base(reference).map_err(|error| {
            failed(error).hint("the clone may hold only the newest commits; fetch the commit to compare with")
        })?;
        if !base.is_common {
            eprintln!("copydesk: HEAD and {} share no history here; comparing with its files", printable(reference));
        }
        let files = AtCommit(tree.files(&base.id).map_err(failed)?);
        Ok(Self { changed: tree.changed(&base.id).map_err(failed)?, commit: base.id, files })
    }
}

/// The files of a commit, without those that are not looked at on disk either.
pub(super) struct AtCommit(CommitFiles);

impl Files for AtCommit {
    fn read(&self, path: &str) -> io::Result<Option<Vec<u8>>> {
        if is_package(path) { Ok(None) } else { self.0.read(path) }
    }

    fn exists(&self, path: &str) -> io::Result<bool> {
        Ok(!is_package(path) && self.0.exists(path))
    }

    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        Ok(self.0.below(folder).filter(|path| !is_package(path)).map(str::to_owned).collect())
    }
}

fn is_package(path: &str) -> bool {
    path.split('/').rev().skip(1).any(|part| part == "node_modules")
}
