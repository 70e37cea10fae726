//! Somebody's own repository with the files that they work on: what differs from a commit, and the files of that commit.
//! Nothing is checked out, fetched or written.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use crate::ForgeError;

/// Larger files of a commit are read up to here.
const LARGEST: u64 = 16 * 1024 * 1024;

/// A folder in a work tree.
#[derive(Debug)]
pub struct WorkTree {
    folder: PathBuf,
}

/// The commit that a work tree is compared with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseCommit {
    pub id: String,
    /// Whether it is where the branch was begun; otherwise nothing in common was found, and it is what was named itself.
    pub is_common: bool,
}

impl WorkTree {
    /// A folder, if it is in a work tree.
    pub fn open(folder: &Path) -> Result<Self, ForgeError> {
        let tree = Self { folder: folder.to_owned() };
        let told = tree.run(&["rev-parse", "--is-inside-work-tree"])?;
        match told.as_deref().map(<[u8]>::trim_ascii) {
            Ok(b"true") => Ok(tree),
            Err(said) if said.contains("dubious ownership") => {
                Err(ForgeError::lasting("the repository belongs to another user; see git's setting safe.directory"))
            }
            _ => Err(ForgeError::lasting("the folder is not in the work tree of a git repository")),
        }
    }

    /// The commit at which HEAD left what is named, or that itself if they have nothing in common here.
    pub fn base(&self, reference: &str) -> Result<BaseCommit, ForgeError> {
        let named = format!("{reference}^{{commit}}");
        let commit = self.line(&["rev-parse", "--verify", "--quiet", "--end-of-options", &named])?;
        let commit = commit.ok_or_else(|| ForgeError::lasting(format!("there is no commit {reference:?} here")))?;
        Ok(match self.line(&["merge-base", &commit, "HEAD"])? {
            Some(id) => BaseCommit { id, is_common: true },
            None => BaseCommit { id: commit, is_common: false },
        })
    }

    /// The files that differ from a commit, also those that are not committed or not even added; without those that are
    /// ignored. Paths are from the folder.
    pub fn changed(&self, commit: &str) -> Result<Vec<String>, ForgeError> {
        let flags = ["--name-only", "-z", "--no-renames", "--no-ext-diff", "--no-textconv", "--ignore-submodules=all"];
        let mut paths = self.paths(&[&["diff"], &flags[..], &["--relative", commit, "--", "."]].concat())?;
        paths.extend(self.paths(&["ls-files", "-z", "--others", "--exclude-standard"])?);
        paths.sort();
        paths.dedup();
        Ok(paths)
    }

    /// The files of a commit below the folder.
    pub fn files(&self, commit: &str) -> Result<CommitFiles, ForgeError> {
        let listed = self.must(&["ls-tree", "-r", "-z", commit])?;
        let mut files = BTreeMap::new();
        for entry in listed.split(|byte| *byte == 0) {
            let Some((head, path)) = std::str::from_utf8(entry).ok().and_then(|entry| entry.split_once('\t')) else {
                continue;
            };
            let mut head = head.split(' ');
            if let (Some("100644" | "100755"), Some("blob"), Some(id)) = (head.next(), head.next(), head.next()) {
                files.insert(path.to_owned(), id.to_owned());
            }
        }
        let mut child = self
            .command(&["cat-file", "--batch"])
            .stdin(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(not_started)?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(ForgeError::lasting("the git program cannot be talked to"));
        };
        Ok(CommitFiles { files, batch: Mutex::new(Batch { child, input, output: BufReader::new(output) }) })
    }

    /// Git in the folder, as its user has set it up, but nothing that a repository brings along is run.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("git");
        command.current_dir(&self.folder);
        // A hook that calls us has these for its own repository, as seen from its own folder.
        for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_EXTERNAL_DIFF"] {
            command.env_remove(name);
        }
        // Messages are read by this program, and nobody is there to answer a question.
        command.env("LC_ALL", "C").env("GIT_TERMINAL_PROMPT", "0");
        // Nothing is written in passing.
        command.arg("--no-optional-locks");
        // Commands that git would start.
        command.args(["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"]);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// What git printed; its complaint if it was not content.
    fn run(&self, arguments: &[&str]) -> Result<Result<Vec<u8>, String>, ForgeError> {
        let output = self.command(arguments).output().map_err(not_started)?;
        let complaint = || String::from_utf8_lossy(&output.stderr).trim().chars().take(400).collect();
        Ok(if output.status.success() { Ok(output.stdout) } else { Err(complaint()) })
    }

    fn must(&self, arguments: &[&str]) -> Result<Vec<u8>, ForgeError> {
        let told = self.run(arguments)?;
        told.map_err(|complaint| ForgeError::lasting(format!("git cannot compare the files: {complaint}")))
    }

    fn line(&self, arguments: &[&str]) -> Result<Option<String>, ForgeError> {
        let told = self.run(arguments)?.ok().and_then(|told| String::from_utf8(told).ok());
        Ok(told.and_then(|told| told.lines().next().map(str::to_owned)).filter(|line| !line.is_empty()))
    }

    fn paths(&self, arguments: &[&str]) -> Result<Vec<String>, ForgeError> {
        let told = self.must(arguments)?;
        // A name that is not text cannot be in a link.
        let paths = told.split(|byte| *byte == 0).filter_map(|path| std::str::from_utf8(path).ok());
        Ok(paths.filter(|path| !path.is_empty()).map(str::to_owned).collect())
    }
}

fn not_started(error: io::Error) -> ForgeError {
    match error.kind() {
        io::ErrorKind::NotFound => ForgeError::lasting("the git program is not installed"),
        kind => ForgeError::passing(format!("the git program cannot be started: {kind}")),
    }
}

/// The regular files of a commit, read by one process.
#[derive(Debug)]
pub struct CommitFiles {
    files: BTreeMap<String, String>,
    batch: Mutex<Batch>,
}

#[derive(Debug)]
struct Batch {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl CommitFiles {
    pub fn exists(&self, path: &str) -> bool {
        self.files.contains_key(path)
    }

    /// The paths of the files below a folder, sorted by bytes; all if the folder is empty.
    pub fn below(&self, folder: &str) -> impl Iterator<Item = &str> {
        let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let found = self.files.range(prefix.clone()..).map(|(path, _)| path.as_str());
        found.take_while(move |path| path.starts_with(&prefix))
    }

    /// What is in a file; none if there is no such file.
    pub fn read(&self, path: &str) -> io::Result<Option<Vec<u8>>> {
        match self.files.get(path) {
            Some(id) => self.batch.lock().unwrap_or_else(PoisonError::into_inner).read(id).map(Some),
            None => Ok(None),
        }
    }
}

impl Batch {
    fn read(&mut self, id: &str) -> io::Result<Vec<u8>> {
        writeln!(self.input, "{id}")?;
        self.input.flush()?;
        let mut head = String::new();
        self.output.read_line(&mut head)?;
        // `ID blob SIZE`, or `ID missing`.
        let size = head.trim_end().rsplit(' ').next().and_then(|size| size.parse::<u64>().ok());
        let size = size.ok_or_else(|| io::Error::other(format!("git does not have {id}; the clone is incomplete")))?;
        let mut content = Vec::new();
        (&mut self.output).take(size.min(LARGEST)).read_to_end(&mut content)?;
        // The rest, and the line break after it.
        io::copy(&mut (&mut self.output).take(size.saturating_sub(LARGEST) + 1), &mut io::sink())?;
        Ok(content)
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        // It fails if the process has ended already.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}
