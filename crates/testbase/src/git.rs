//! A real git repository to work on.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// A bare repository in a temporary folder, as a code host would have it.
pub struct GitRepo {
    folder: TempDir,
}

/// Something to put into a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GitEntry {
    File(Vec<u8>),
    /// A file that may be executed.
    Executable(Vec<u8>),
    Symlink(String),
    /// Another repository at this commit.
    Submodule(String),
}

impl GitRepo {
    /// A repository whose branch `main` holds these files in one commit.
    pub fn new<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let entries = files.into_iter().map(|(path, text)| (path.to_owned(), GitEntry::File(text.into())));
        Self::with(entries)
    }

    /// A repository whose branch `main` holds these entries in one commit.
    pub fn with(entries: impl IntoIterator<Item = (String, GitEntry)>) -> Self {
        let repo = Self { folder: tempfile::tempdir().unwrap() };
        repo.git(&["init", "-q", "--bare", "-b", "main"]);
        repo.commit("main", "Write the documentation", entries);
        repo
    }

    /// Where it is, as git wants to hear it.
    pub fn address(&self) -> String {
        format!("file://{}", self.path().display())
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Puts entries into a new commit on `branch`, on top of what is there.
    pub fn commit(&self, branch: &str, message: &str, entries: impl IntoIterator<Item = (String, GitEntry)>) {
        let mut stream = Vec::new();
        let exists = self.branches().iter().any(|there| there == branch);
        write!(
            stream,
            "commit refs/heads/{branch}\ncommitter Acme <docs@acme.example> 1794700000 +0000\ndata {}\n{message}\n",
            message.len()
        )
        .unwrap();
        if exists {
            writeln!(stream, "from refs/heads/{branch}^0").unwrap();
        }
        for (path, entry) in entries {
            let (mode, content) = match &entry {
                GitEntry::File(content) => ("100644", content.as_slice()),
                GitEntry::Executable(content) => ("100755", content.as_slice()),
                GitEntry::Symlink(target) => ("120000", target.as_bytes()),
                GitEntry::Submodule(commit) => {
                    writeln!(stream, "M 160000 {commit} {path}").unwrap();
                    continue;
                }
            };
            writeln!(stream, "M {mode} inline {}", quoted(&path)).unwrap();
            writeln!(stream, "data {}", content.len()).unwrap();
            stream.extend_from_slice(content);
            stream.push(b'\n');
        }
        self.import(&stream);
    }

    /// Deletes a file in a new commit on `branch`.
    pub fn delete(&self, branch: &str, path: &str) {
        let who = "committer Acme <docs@acme.example> 1794700000 +0000";
        let path = quoted(path);
        let stream =
            format!("commit refs/heads/{branch}\n{who}\ndata 6\nDelete\nfrom refs/heads/{branch}^0\nD {path}\n");
        self.import(stream.as_bytes());
    }

    fn import(&self, stream: &[u8]) {
        let mut child = self.command(&["fast-import", "--quiet"]).stdin(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(stream).unwrap();
        assert!(child.wait().unwrap().success(), "git fast-import failed");
    }

    pub fn branches(&self) -> Vec<String> {
        let text = self.git(&["for-each-ref", "--format=%(refname:strip=2)", "refs/heads"]);
        text.lines().map(str::to_owned).collect()
    }

    /// Every file at a branch or commit.
    pub fn files(&self, at: &str) -> BTreeMap<String, GitEntry> {
        let listing = self.git_bytes(&["ls-tree", "-r", "-z", "--full-tree", at]);
        let mut files = BTreeMap::new();
        for line in listing.split(|b| *b == 0).filter(|line| !line.is_empty()) {
            let line = std::str::from_utf8(line).unwrap();
            let (about, path) = line.split_once('\t').unwrap();
            let mut about = about.split(' ');
            let (mode, _, id) = (about.next().unwrap(), about.next(), about.next().unwrap());
            let content = || self.git_bytes(&["cat-file", "blob", id]);
            let entry = match mode {
                "100755" => GitEntry::Executable(content()),
                "120000" => GitEntry::Symlink(String::from_utf8(content()).unwrap()),
                "160000" => GitEntry::Submodule(id.to_owned()),
                _ => GitEntry::File(content()),
            };
            files.insert(path.to_owned(), entry);
        }
        files
    }

    /// The text of a file at a branch or commit; none if it is not there.
    pub fn text(&self, at: &str, path: &str) -> Option<String> {
        match self.files(at).remove(path)? {
            GitEntry::File(content) | GitEntry::Executable(content) => Some(String::from_utf8(content).unwrap()),
            _ => None,
        }
    }

    /// The ids of the commits that `at` has and `without` does not, newest first.
    pub fn commits(&self, at: &str, without: &str) -> Vec<String> {
        self.git(&["rev-list", at, &format!("^{without}")]).lines().map(str::to_owned).collect()
    }

    pub fn message(&self, at: &str) -> String {
        self.git(&["show", "-s", "--format=%B", at])
    }

    /// Puts a hook of the repository's own into place.
    pub fn hook(&self, name: &str, script: &str) {
        use std::os::unix::fs::PermissionsExt;
        let path = self.path().join("hooks").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, script).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Runs git in it and gives what it prints; fails if git does.
    pub fn git(&self, arguments: &[&str]) -> String {
        String::from_utf8(self.git_bytes(arguments)).unwrap()
    }

    fn git_bytes(&self, arguments: &[&str]) -> Vec<u8> {
        let output = self.command(arguments).stdin(Stdio::null()).output().unwrap();
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("git");
        command.arg("-C").arg(self.path()).args(arguments);
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1").env("LC_ALL", "C");
        command
    }
}

/// A path as `git fast-import` reads it, whatever is in it.
fn quoted(path: &str) -> String {
    let mut out = String::from("\"");
    for byte in path.bytes() {
        match byte {
            b'"' | b'\\' => out.extend(['\\', char::from(byte)]),
            b' '..=b'~' => out.push(char::from(byte)),
            byte => out.push_str(&format!("\\{byte:03o}")),
        }
    }
    out.push('"');
    out
}
