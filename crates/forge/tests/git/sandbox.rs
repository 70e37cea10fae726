use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use copydesk_domain::Timestamp;
use copydesk_forge::{CommitId, FileChange, Forge, ForgeSettings, Mirror, Remote, Signature};
use tempfile::TempDir;

/// A moment for commits.
pub const NOW: Timestamp = Timestamp::from_millis(1_794_706_496_120);

/// A bare repository to push to, a work tree to edit it from, and a folder for mirrors.
pub struct Sandbox {
    folder: TempDir,
}

impl Sandbox {
    /// With one commit on `main` that holds `files`.
    pub fn with(files: &[(&str, &str)]) -> Self {
        let sandbox = Self::empty();
        sandbox.write(files);
        sandbox.publish("first");
        sandbox
    }

    /// Without any commit.
    pub fn empty() -> Self {
        let sandbox = Self { folder: TempDir::new().unwrap() };
        run(sandbox.folder.path(), &["init", "-q", "--bare", "-b", "main", "remote.git"]);
        run(sandbox.folder.path(), &["init", "-q", "-b", "main", "work"]);
        sandbox
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, files: &[(&str, &str)]) {
        for (path, content) in files {
            let path = self.path("work").join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        }
    }

    /// Commits the work tree and pushes it to `main`.
    pub fn publish(&self, message: &str) -> CommitId {
        self.work(&["add", "-A"]);
        self.work(&["commit", "-q", "--allow-empty", "-m", message]);
        self.work(&["push", "-q", "--force", "../remote.git", "HEAD:refs/heads/main"]);
        self.work(&["rev-parse", "HEAD"]).trim().parse().unwrap()
    }

    /// Git in the work tree.
    pub fn work(&self, arguments: &[&str]) -> String {
        run(&self.path("work"), arguments)
    }

    /// Git in the repository that is pushed to.
    pub fn remote(&self, arguments: &[&str]) -> String {
        run(&self.path("remote.git"), arguments)
    }

    /// Git in the only mirror.
    pub fn mirror_git(&self, arguments: &[&str]) -> String {
        run(&self.mirror_folder(), arguments)
    }

    pub fn mirror_folder(&self) -> PathBuf {
        let mut folders = std::fs::read_dir(self.path("mirrors")).unwrap().map(|entry| entry.unwrap().path());
        folders.find(|path| path.extension().is_some_and(|it| it == "git")).unwrap()
    }

    pub fn address(&self) -> Remote {
        self.address_of("remote.git")
    }

    pub fn address_of(&self, name: &str) -> Remote {
        Remote::at(format!("file://{}", self.path(name).display()))
    }

    pub fn settings(&self) -> ForgeSettings {
        let author = Signature { name: "Copydesk".to_owned(), email: "copydesk@example.org".to_owned() };
        let time_limit = Duration::from_secs(60);
        ForgeSettings { folder: self.path("mirrors"), time_limit, author: author.clone(), committer: author }
    }

    pub fn forge(&self) -> Forge {
        Forge::new(self.settings())
    }

    /// The mirror of the remote, as a process that has just started sees it.
    pub async fn mirror(&self) -> Mirror {
        self.forge().mirror(&self.address()).await.unwrap()
    }

    /// The same for a process that waits no longer than this.
    pub async fn mirror_within(&self, time_limit: Duration) -> Mirror {
        let settings = ForgeSettings { time_limit, ..self.settings() };
        Forge::new(settings).mirror(&self.address()).await.unwrap()
    }
}

/// Runs git and gives what it prints. Panics if it fails.
pub fn run(folder: &Path, arguments: &[&str]) -> String {
    let (success, text) = try_run(folder, arguments);
    assert!(success, "git {arguments:?}: {text}");
    text
}

pub fn try_run(folder: &Path, arguments: &[&str]) -> (bool, String) {
    let mut command = Command::new("git");
    command.current_dir(folder).args(arguments).env_clear().env("PATH", std::env::var_os("PATH").unwrap());
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null").env("LC_ALL", "C");
    for role in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{role}_NAME"), "Writer").env(format!("GIT_{role}_EMAIL"), "writer@example.org");
        command.env(format!("GIT_{role}_DATE"), "1700000000 +0000");
    }
    let output = command.output().unwrap();
    let text = if output.status.success() { output.stdout } else { output.stderr };
    (output.status.success(), String::from_utf8_lossy(&text).into_owned())
}

pub fn put(path: &str, content: &str) -> FileChange {
    FileChange { path: path.to_owned(), content: Some(content.as_bytes().to_vec()) }
}

pub fn delete(path: &str) -> FileChange {
    FileChange { path: path.to_owned(), content: None }
}
