use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use copydesk_checks::{Rules, is_foreign, paths};

use crate::failure::Failure;

/// More of a file of rules is not read; what is longer is refused.
const MOST_RULES: u64 = 1024 * 1024;

/// Where a folder that is checked lies. Its pages lead to other folders of the repository, whose files say how the site
/// is made, so that all of the repository is looked at.
pub(super) struct Place {
    /// The root of the repository; the folder itself if it is in none, or where no documentation is looked for.
    pub(super) root: PathBuf,
    /// The folder, seen from there; empty for the root itself.
    pub(super) below: String,
}

impl Place {
    pub(super) fn of(folder: &Path) -> Self {
        let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
        let root = folder.ancestors().find(|above| above.join(".git").exists()).unwrap_or(&folder);
        let below = relative(&folder, root);
        if is_foreign(&paths::join(&below, "page.md")) {
            return Self { root: folder, below: String::new() };
        }
        Self { root: root.to_owned(), below }
    }

    /// Nothing to look at is no good news.
    pub(super) fn without_pages(&self, folder: &Path) -> Failure {
        let shown = folder.display();
        let is_bare = |folder: &Path| folder.join("objects").is_dir() && folder.join("HEAD").is_file();
        if is_bare(&self.root.join(&self.below)) {
            return Failure::usage(format!("{shown} is a bare git repository, which has no files to check"))
                .hint("clone it, and check the clone");
        }
        Failure::usage(format!("there is no page in {shown}, so nothing was checked")).hint(
            "name the folder of the documentation; Markdown and MDX are read, but for what .copydesk.toml excludes",
        )
    }

    /// A path from the root as seen from the folder, which is where whoever asked is.
    pub(super) fn shown(&self, path: &str) -> String {
        let mut folder = self.below.as_str();
        let mut shown = String::new();
        while !folder.is_empty() {
            if let Some(rest) = path.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/')) {
                return shown + rest;
            }
            shown.push_str("../");
            folder = folder.rsplit_once('/').map_or("", |(above, _)| above);
        }
        shown + path
    }

    /// The rules of the folder, or of the nearest one above it up to the repository's root.
    pub(super) fn rules(&self) -> Result<Rules, Failure> {
        for above in self.root.join(&self.below).ancestors() {
            let file = above.join(Rules::FILE);
            if let Ok(metadata) = fs::symlink_metadata(&file) {
                return Self::read(&file, metadata.is_file())
                    .map(|rules| rules.in_folder(&relative(above, &self.root)));
            }
            if self.root == above {
                break;
            }
        }
        Ok(Rules::default())
    }

    fn read(file: &Path, is_file: bool) -> Result<Rules, Failure> {
        let shown = file.display();
        if !is_file {
            return Err(Failure::usage(format!("{shown} is not a regular file")));
        }
        let mut text = String::new();
        let read = fs::File::open(file).and_then(|file| file.take(MOST_RULES).read_to_string(&mut text));
        read.map_err(|error| Failure::usage(format!("cannot read {shown}: {error}")))?;
        Rules::parse(&text).map_err(|bad| Failure::usage(format!("{shown}:{}: {}", bad.line, bad.message)))
    }
}

/// A folder as seen from one above it.
fn relative(folder: &Path, above: &Path) -> String {
    let below = folder.strip_prefix(above).unwrap_or(Path::new(""));
    below.iter().map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_shown_from_the_folder_that_was_named() {
        let place = |below: &str| Place { root: PathBuf::from("/r"), below: below.to_owned() };
        assert_eq!(place("").shown("docs/a.md"), "docs/a.md");
        assert_eq!(place("docs").shown("docs/a.md"), "a.md");
        assert_eq!(place("docs").shown("mkdocs.yml"), "../mkdocs.yml");
        assert_eq!(place("docs").shown("docs-old/a.md"), "../docs-old/a.md");
        assert_eq!(place("web/docs").shown("web/sidebars.js"), "../sidebars.js");
        assert_eq!(place("web/docs").shown("docs/a.md"), "../../docs/a.md");
    }
}
