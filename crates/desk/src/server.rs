//! What can be told of the server as a whole.

use std::io;
use std::path::Path;

use copydesk_boxed::boxed;
use copydesk_views::store::ViewsError;

use crate::views::Views;

/// A disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Disk {
    /// Bytes that we may still write.
    pub free: u64,
    pub size: u64,
}

/// The disk that a folder is on.
pub fn disk_of(folder: &Path) -> io::Result<Disk> {
    let about = rustix::fs::statvfs(folder)?;
    Ok(Disk {
        free: about.f_bavail.saturating_mul(about.f_frsize),
        size: about.f_blocks.saturating_mul(about.f_frsize),
    })
}

/// What page views of all projects come to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ViewsKept {
    pub projects: usize,
    pub views: u64,
    /// On disk.
    pub bytes: u64,
}

#[boxed]
pub async fn views_kept(views: &Views) -> Result<ViewsKept, ViewsError> {
    let mut kept = ViewsKept::default();
    for project in views.store().projects().await? {
        let status = views.store().status(&project).await?;
        kept.projects += 1;
        kept.views += status.views;
        kept.bytes += status.bytes;
    }
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_on_a_disk() {
        let disk = disk_of(Path::new("/")).unwrap();
        assert!(disk.size > 0 && disk.free <= disk.size);
        assert!(disk_of(Path::new("/no/such/folder")).is_err());
    }
}
