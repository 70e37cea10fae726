//! Views that are put into a store without passing through its log: too many to be told one by one.

use std::io;
use std::path::Path;

use copydesk_views::Bucket;

use super::disk::{Disk, RealDisk};
use super::manifest::{Manifest, SegmentEntry, segment_file};
pub use crate::segment::{Builder, Info};

const ONLY: u64 = 1;

/// Makes a project out of one segment, in the folder of a store that nobody has open. `make` writes the segment to the
/// file that it is given. The script and the server side have sent since these quarter hours, if they have. A project
/// that is there already is refused.
pub fn place(
    folder: &Path,
    project: &str,
    script_since: Option<Bucket>,
    server_since: Option<Bucket>,
    make: impl FnOnce(&Path) -> io::Result<Info>,
) -> io::Result<()> {
    let folder = folder.join("projects").join(project);
    if Manifest::path(&folder).exists() {
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, "the project has views already"));
    }
    let disk = RealDisk;
    disk.create_folder(&folder)?;
    let info = make(&segment_file(&folder, ONLY))?;
    let segments = vec![SegmentEntry::new(ONLY, &info)];
    let manifest = Manifest { next: ONLY + 1, script_since, server_since, segments, ..Manifest::default() };
    Ok(manifest.switch(&disk, &folder)?)
}

#[cfg(test)]
mod tests {
    use super::super::samples::client;
    use super::super::tests::{always, batch, open, rows, view};
    use super::*;
    use crate::segment::Builder;

    #[test]
    fn a_placed_segment_is_a_project_that_takes_more_views() {
        let folder = tempfile::tempdir().unwrap();
        let make = |file: &Path| {
            let clients = vec![client(0)];
            let mut builder = Builder::create(file, vec!["/a".into(), "/b".into()], clients, vec![(0, 0), (1, 0)])?;
            builder.push(Bucket(100), 0, 3)?;
            builder.push(Bucket(101), 1, 4)?;
            builder.finish()
        };
        place(folder.path(), "p", Some(Bucket(100)), None, make).unwrap();
        let again = place(folder.path(), "p", None, None, make).unwrap_err();
        assert_eq!(again.kind(), io::ErrorKind::AlreadyExists);
        let store = open(folder.path());
        let counted = || {
            let ranking = store.ranking_now("p", always(Default::default())).unwrap();
            rows(&ranking).into_iter().map(|(path, human, ai)| (path, human + ai)).collect::<Vec<_>>()
        };
        assert_eq!(counted(), [("/b".to_owned(), 4), ("/a".to_owned(), 3)]);
        store.append_now(batch("p", vec![view(102, "/a", 0, None), view(102, "/a", 0, None)])).unwrap();
        assert_eq!(counted(), [("/a".to_owned(), 5), ("/b".to_owned(), 4)]);
    }
}
