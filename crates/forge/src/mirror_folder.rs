use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use copydesk_domain::hex;
use sha2::{Digest, Sha256};

use crate::{CommitId, ForgeError};

/// More packs than this are made one: every look for an object goes through all of them.
const MOST_PACKS: usize = 50;
/// More loose objects than this are packed.
const MOST_LOOSE: usize = 5000;

/// No git command takes so long that it still needs a key of this age.
const OLD_KEY: Duration = Duration::from_secs(6 * 60 * 60);
/// How long a lock that nobody means to wait for is waited for: a process that is just being started holds the locks of the
/// one that starts it, until it has become the program it is to be.
pub(crate) const MOMENT: Duration = Duration::from_millis(500);

/// How the names of folders go on that stand beside a mirror for a while: one that is made, one that goes, a key.
const NEW: &str = ".new-";
const OLD: &str = ".old-";
const SSH: &str = ".ssh-";
/// How much of a hash is in a name.
const HASH_DIGITS: usize = 20;

/// Where one mirror lives on disk: a bare repository and, beside it, a file to lock for whoever changes it and one for those
/// who use it.
#[derive(Debug)]
pub(crate) struct MirrorFolder {
    parent: PathBuf,
    pub(crate) name: String,
    pub(crate) git_dir: PathBuf,
}

impl MirrorFolder {
    /// The place for the mirror of `address`.
    pub(crate) fn of(parent: &Path, address: &str) -> Self {
        Self::named(parent, &Self::name_of(address))
    }

    /// A name that people recognise and a hash that keeps addresses apart.
    pub(crate) fn name_of(address: &str) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
        let tail = address.trim_end_matches('/').trim_end_matches(".git").rsplit('/').next().unwrap_or_default();
        let slug: String = tail.chars().map(plain).take(40).collect();
        format!("{slug}-{}", short_hash(address))
    }

    /// The mirror that a file or folder belongs to, by its name. None for what somebody else has put there.
    pub(crate) fn owner_of(file: &str) -> Option<&str> {
        let (name, rest) = file.split_once('.')?;
        let (slug, hash) = name.rsplit_once('-')?;
        let is_plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
        let is_ours = slug.bytes().all(|b| is_plain(b) || b == b'-')
            && hash.len() == HASH_DIGITS
            && hash.bytes().all(|b| is_plain(b) && b.is_ascii_hexdigit());
        let is_part = ["git", "lock", "use"].contains(&rest)
            || [NEW, OLD, SSH].iter().any(|part| rest.starts_with(part.trim_start_matches('.')));
        (is_ours && is_part).then_some(name)
    }

    pub(crate) fn named(parent: &Path, name: &str) -> Self {
        Self { parent: parent.to_owned(), git_dir: parent.join(format!("{name}.git")), name: name.to_owned() }
    }

    /// Whether the mirror is there and has all that git needs to take it for a repository.
    pub(crate) fn is_whole(&self) -> bool {
        let text = |name: &str| fs::read_to_string(self.git_dir.join(name)).unwrap_or_default();
        text("HEAD") == HEAD
            && text("config") == CONFIG
            && ["objects/pack", "refs/copydesk"].iter().all(|name| self.git_dir.join(name).is_dir())
    }

    /// Waits for the file lock. It is let go when the file and all its copies are closed, also by a crash.
    pub(crate) async fn lock(&self, patience: Duration) -> Result<File, ForgeError> {
        self.locked(self.lock_file(), File::try_lock, patience).await
    }

    /// Says to other processes that the mirror is in use, until the file is closed. Any number may say so at once.
    pub(crate) async fn begin_use(&self, patience: Duration) -> Result<File, ForgeError> {
        self.locked(self.use_file(), File::try_lock_shared, patience).await
    }

    /// Sees that no process uses the mirror, nor begins to until the file is closed. An error if one does.
    pub(crate) async fn end_use(&self) -> Result<File, ForgeError> {
        self.locked(self.use_file(), File::try_lock, MOMENT).await
    }

    async fn locked(
        &self,
        path: PathBuf,
        try_lock: fn(&File) -> Result<(), TryLockError>,
        patience: Duration,
    ) -> Result<File, ForgeError> {
        fs::create_dir_all(&self.parent).map_err(ForgeError::from_io)?;
        let open = || File::options().create(true).append(true).read(true).open(&path).map_err(ForgeError::from_io);
        let waited = tokio::time::timeout(patience, async {
            let mut pause = Duration::from_millis(2);
            let mut file = open()?;
            loop {
                match try_lock(&file) {
                    Ok(()) if is_at(&file, &path) => return Ok(file),
                    // Whoever had it has removed the mirror and the file with it, and another may be locked by now.
                    Ok(()) => file = open()?,
                    Err(TryLockError::WouldBlock) => tokio::time::sleep(pause).await,
                    Err(TryLockError::Error(error)) => return Err(ForgeError::from_io(error)),
                }
                pause = (pause * 2).min(Duration::from_millis(50));
            }
        });
        match waited.await {
            Ok(locked) => locked,
            Err(_) => Err(ForgeError::passing("another process has been busy with the repository for too long")),
        }
    }

    fn lock_file(&self) -> PathBuf {
        self.parent.join(format!("{}.lock", self.name))
    }

    fn use_file(&self) -> PathBuf {
        self.parent.join(format!("{}.use", self.name))
    }

    /// Removes everything of the mirror, which nobody uses, the lock last.
    pub(crate) fn remove(&self, _held: &File, _unused: &File) -> io::Result<()> {
        let old = self.temporary(OLD)?;
        match fs::rename(&self.git_dir, old.path().join("mirror")) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => old.close()?,
        }
        for entry in self.siblings(&[NEW, OLD, SSH]) {
            fs::remove_dir_all(entry.path())?;
        }
        fs::remove_file(self.use_file())?;
        fs::remove_file(self.lock_file())
    }

    /// Whether the mirror was packed, or made, in that time.
    pub(crate) fn packed_within(&self, time: Duration) -> bool {
        let age = |name: &str| fs::metadata(self.git_dir.join(name)).ok()?.modified().ok()?.elapsed().ok();
        age(PACKED).or_else(|| age("HEAD")).is_some_and(|age| age < time)
    }

    pub(crate) fn note_packed(&self) -> io::Result<()> {
        fs::write(self.git_dir.join(PACKED), "")
    }

    /// Puts an empty mirror in place of whatever is there. It appears as a whole. Under the lock.
    pub(crate) fn make_anew(&self) -> io::Result<()> {
        // What a crash in the middle of this has left.
        for entry in self.siblings(&[NEW, OLD]) {
            fs::remove_dir_all(entry.path())?;
        }
        let new = self.temporary(NEW)?;
        for name in ["objects/pack", "objects/info", "refs/heads", "refs/copydesk"] {
            fs::create_dir_all(new.path().join(name))?;
        }
        fs::write(new.path().join("HEAD"), HEAD)?;
        fs::write(new.path().join("config"), CONFIG)?;
        if self.git_dir.symlink_metadata().is_ok() {
            let old = self.temporary(OLD)?;
            fs::rename(&self.git_dir, old.path().join("mirror"))?;
        }
        // It bears its new name from here on, so it must not be removed under the old one.
        fs::rename(new.keep(), &self.git_dir)
    }

    fn temporary(&self, suffix: &str) -> io::Result<tempfile::TempDir> {
        tempfile::Builder::new().prefix(&format!("{}{suffix}", self.name)).tempdir_in(&self.parent)
    }

    /// A folder for the key of one git command, closed to other users.
    pub(crate) fn key_folder(&self) -> io::Result<tempfile::TempDir> {
        fs::create_dir_all(&self.parent)?;
        let mut builder = tempfile::Builder::new();
        builder.permissions(fs::Permissions::from_mode(0o700));
        builder.prefix(&format!("{}{SSH}", self.name)).tempdir_in(&self.parent)
    }

    /// Removes the keys that a killed process has left. If one stays, the next sweep tries again.
    fn sweep_keys(&self) {
        for entry in self.siblings(&[SSH]) {
            let age = || entry.metadata().ok()?.modified().ok()?.elapsed().ok();
            if age().is_some_and(|age| age > OLD_KEY) {
                _ = fs::remove_dir_all(entry.path());
            }
        }
    }

    /// What stands beside the mirror under its name and one of these suffixes.
    fn siblings(&self, suffixes: &[&str]) -> impl Iterator<Item = fs::DirEntry> {
        fs::read_dir(&self.parent).into_iter().flatten().flatten().filter(|entry| {
            let name = entry.file_name();
            let rest = name.to_str().and_then(|name| name.strip_prefix(&self.name));
            rest.is_some_and(|rest| suffixes.iter().any(|suffix| rest.starts_with(suffix)))
        })
    }

    /// Removes what a git that was killed has left: half a pack, or a lock that nobody holds. Under the lock.
    pub(crate) fn sweep(&self) {
        let stale = |folder: &str, is_stale: fn(&str) -> bool| {
            let entries = fs::read_dir(self.git_dir.join(folder)).into_iter().flatten().flatten();
            for entry in entries.filter(|entry| entry.file_name().to_str().is_some_and(is_stale)) {
                // If it stays, git will say so.
                _ = fs::remove_file(entry.path());
            }
        };
        stale("objects/pack", |name| name.starts_with("tmp_") || name.starts_with(".tmp-"));
        stale("refs/copydesk", |name| name.ends_with(".lock"));
        stale("", |name| name.ends_with(".lock"));
        sweep_locks(&self.git_dir.join("refs/copydesk-tags"), DEEPEST_TAG);
        self.sweep_keys();
    }

    /// Whether there are so many files that looking for an object takes long.
    pub(crate) fn is_scattered(&self) -> bool {
        let count = |folder: &str, suffix: &str| {
            let entries = fs::read_dir(self.git_dir.join(folder)).into_iter().flatten().flatten();
            entries.filter(|entry| entry.file_name().to_str().is_some_and(|name| name.ends_with(suffix))).count()
        };
        // Ids are spread evenly, so one of the 256 folders stands for all.
        count("objects/pack", ".idx") > MOST_PACKS || count("objects/17", "") > MOST_LOOSE / 256
    }

    /// Where the mirror remembers a branch. Hashed, because `a` and `a/b` cannot both be references.
    pub(crate) fn reference(branch: &str) -> String {
        format!("refs/copydesk/{}", short_hash(branch))
    }

    /// The commit that was fetched for a branch.
    pub(crate) fn remembered(&self, branch: &str) -> Option<CommitId> {
        let text = fs::read_to_string(self.git_dir.join(Self::reference(branch))).ok()?;
        text.trim_end().parse().ok()
    }
}

/// How deep the folders are in which tags are looked at.
const DEEPEST_TAG: usize = 8;

/// Removes the locks of references below a folder. No reference can be called like one.
fn sweep_locks(folder: &Path, depth: usize) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder && depth > 0 {
            sweep_locks(&entry.path(), depth - 1);
        } else if !is_folder && entry.file_name().to_str().is_some_and(|name| name.ends_with(".lock")) {
            // If it stays, git will say so.
            _ = fs::remove_file(entry.path());
        }
    }
}

/// Its age says when the mirror was last packed.
const PACKED: &str = "copydesk-packed";

/// Whether a file is still the one of that path.
fn is_at(file: &File, path: &Path) -> bool {
    let same = |a: fs::Metadata, b: fs::Metadata| (a.dev(), a.ino()) == (b.dev(), b.ino());
    file.metadata().and_then(|file| Ok(same(file, fs::metadata(path)?))).unwrap_or(false)
}

const HEAD: &str = "ref: refs/heads/copydesk\n";
const CONFIG: &str = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n\tlogAllRefUpdates = false\n\
                      [gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n";

fn short_hash(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes())[..HASH_DIGITS / 2])
}
