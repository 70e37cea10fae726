use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use copydesk_checks::Rules;

use crate::failure::Failure;

/// More of a file of rules is not read; what is longer is refused.
const MOST_RULES: u64 = 1024 * 1024;

/// Where a folder that is checked lies.
pub(super) struct Place {
    folder: PathBuf,
    /// The repository that it is in, if it is in one.
    root: Option<PathBuf>,
}

impl Place {
    pub(super) fn of(folder: &Path) -> Self {
        let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
        let root = folder.ancestors().find(|above| above.join(".git").exists()).map(Path::to_owned);
        Self { folder, root }
    }

    /// A path of the folder as seen from the repository's root, which is how code hosts name files.
    pub(super) fn in_repository(&self, path: &str) -> String {
        match self.below(self.root.as_deref().unwrap_or(&self.folder)).as_str() {
            "" => path.to_owned(),
            below => format!("{below}/{path}"),
        }
    }

    /// The rules of the folder, or of the nearest one above it up to the repository's root.
    pub(super) fn rules(&self) -> Result<Rules, Failure> {
        for above in self.folder.ancestors() {
            let file = above.join(Rules::FILE);
            if let Ok(metadata) = fs::symlink_metadata(&file) {
                return self.read(&file, metadata.is_file()).map(|rules| rules.seen_from(&self.below(above)));
            }
            if self.root.as_deref().is_none_or(|root| root == above) {
                break;
            }
        }
        Ok(Rules::default())
    }

    fn read(&self, file: &Path, is_file: bool) -> Result<Rules, Failure> {
        let shown = file.display();
        if !is_file {
            return Err(Failure::usage(format!("{shown} is not a regular file")));
        }
        let mut text = String::new();
        let read = fs::File::open(file).and_then(|file| file.take(MOST_RULES).read_to_string(&mut text));
        read.map_err(|error| Failure::usage(format!("cannot read {shown}: {error}")))?;
        Rules::parse(&text).map_err(|bad| Failure::usage(format!("{shown}:{}: {}", bad.line, bad.message)))
    }

    fn below(&self, above: &Path) -> String {
        let below = self.folder.strip_prefix(above).unwrap_or(Path::new(""));
        below.iter().map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/")
    }
}
