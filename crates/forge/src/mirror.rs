use std::fs::File;
use std::sync::{Arc, Mutex, Weak};

use copydesk_boxed::boxed;
use copydesk_domain::{Timestamp, git_ref, random_token};
use gix_hash::ObjectId;
use gix_object::{CommitRef, Kind as ObjectKind};
use tokio::sync::Semaphore;

use crate::commit_tree::CommitTree;
use crate::git::{Git, Output};
use crate::local::{self, Tip};
use crate::lock::lock;
use crate::mirror_folder::MirrorFolder;
use crate::objects::Objects;
use crate::remote::Address;
use crate::shared_fetch::SharedFetches;
use crate::{CommitId, CommitInfo, Diff, FileChange, ForgeError, ForgeSettings, Remote, Tree, build, diff, git_errors};

/// A bare copy of a repository on this machine, from which commits are read and to which they are written before they
/// are pushed. Cheap to clone. Its functions that are not `async` read and write files.
#[derive(Clone)]
pub struct Mirror {
    pub(crate) shared: Arc<SharedMirror>,
    pub(crate) remote: Arc<Remote>,
    /// For as long as it is open, no other process removes the mirror.
    pub(crate) _in_use: Arc<File>,
}

/// What all who use one mirror in this process share.
pub(crate) struct SharedMirror {
    pub(crate) settings: Arc<ForgeSettings>,
    pub(crate) address: Address,
    pub(crate) folder: MirrorFolder,
    pub(crate) objects: Arc<Objects>,
    pub(crate) fetches: SharedFetches,
    /// Permits to push: many jobs that end at once would start thousands of processes that stand in each other's way.
    pub(crate) pushes: Semaphore,
    /// What says to other processes that it is in use, if it is.
    pub(crate) uses: Mutex<Weak<File>>,
}

impl SharedMirror {
    pub(crate) async fn begin_use(&self) -> Result<Arc<File>, ForgeError> {
        if let Some(in_use) = lock(&self.uses).upgrade() {
            return Ok(in_use);
        }
        let in_use = Arc::new(self.folder.begin_use(self.settings.time_limit).await?);
        *lock(&self.uses) = Arc::downgrade(&in_use);
        Ok(in_use)
    }
}

/// For a repository on this machine: if somebody has the branch checked out there, their files follow it, provided that they
/// have changed nothing. git refuses it otherwise.
const WITH_FILES: &str = "--receive-pack=git -c receive.denyCurrentBranch=updateInstead receive-pack";

/// All tags of a repository, where the mirror keeps them: out of the way of names that git would take for a commit.
const ALL_TAGS: &str = "+refs/tags/*:refs/copydesk-tags/*";

/// Asks whether all that leads from the references of a mirror is there. What files hold is not read.
pub(crate) const IS_SOUND: [&str; 4] = ["fsck", "--connectivity-only", "--no-dangling", "--no-progress"];

/// What is fetched.
pub(crate) struct Wanted {
    /// What the mirror remembers its commit by.
    name: String,
    /// What it is called on the remote.
    from: String,
    /// Whether all tags come along.
    tags: bool,
    /// What git says if the remote does not have it.
    absence: &'static [&'static str],
}

/// A remote may also have a commit and not give it away.
const NO_COMMIT: &[&str] = &["couldn't find remote ref", "not our ref", "unadvertised object"];

impl Wanted {
    fn branch(branch: &str) -> Self {
        Self {
            name: branch.to_owned(),
            from: format!("refs/heads/{branch}"),
            tags: false,
            absence: git_errors::NO_REFERENCE,
        }
    }

    /// A branch, or what `HEAD` stands for, and all tags. No branch can have a colon in its name.
    pub(crate) fn with_tags(branch: Option<&str>) -> Self {
        match branch {
            Some(branch) => Self { tags: true, ..Self::branch(branch) },
            None => Self {
                name: ":HEAD".to_owned(),
                from: "HEAD".to_owned(),
                tags: true,
                absence: git_errors::NO_REFERENCE,
            },
        }
    }

    /// One commit by its id.
    pub(crate) fn commit(id: &CommitId) -> Self {
        Self { name: format!(":{id}"), from: id.to_string(), tags: false, absence: NO_COMMIT }
    }

    fn key(&self) -> String {
        format!("{}{}", if self.tags { "::" } else { "" }, self.name)
    }
}

#[boxed]
impl Mirror {
    /// Fetches a branch and gives the commit it is at.
    pub async fn fetch(&self, branch: &str) -> Result<CommitId, ForgeError> {
        match self.find_branch(branch).await? {
            Some(commit) => Ok(commit),
            None => Err(self.explain_absence(branch).await),
        }
    }

    /// Where a branch is on the remote now; none if it is not there. Its commit can be read afterwards.
    pub async fn find_branch(&self, branch: &str) -> Result<Option<CommitId>, ForgeError> {
        let branch = checked(branch)?;
        if let Some(folder) = self.shared.address.folder() {
            match local::tip(&folder, &branch) {
                Tip::At(commit) if self.has_commit(&commit) => return Ok(Some(commit)),
                Tip::Missing => return Ok(None),
                Tip::At(_) | Tip::Unknown => {}
            }
        }
        let what = Wanted::branch(&branch);
        self.fetch_shared(&what).await
    }

    /// Fetches, or waits for another caller who does.
    pub(crate) async fn fetch_shared(&self, what: &Wanted) -> Result<Option<CommitId>, ForgeError> {
        let key = (what.key(), Arc::clone(&self.remote));
        self.shared.fetches.share(key, || self.fetch_now(what)).await
    }

    /// Whether a commit is in the mirror.
    pub fn has_commit(&self, id: &CommitId) -> bool {
        matches!(self.shared.objects.header(&id.0), Ok(Some((ObjectKind::Commit, _))))
    }

    /// The files of a commit.
    pub fn tree(&self, commit: &CommitId) -> Result<Arc<dyn Tree>, ForgeError> {
        let data = self.read_commit(commit)?;
        Ok(Arc::new(CommitTree::new(Arc::clone(&self.shared.objects), parse_commit(&data)?.tree())))
    }

    /// What a commit says about itself.
    pub fn commit_info(&self, commit: &CommitId) -> Result<CommitInfo, ForgeError> {
        let data = self.read_commit(commit)?;
        let commit = parse_commit(&data)?;
        let seconds = commit.time().map(|time| time.seconds).unwrap_or_default();
        Ok(CommitInfo {
            tree: commit.tree().to_string(),
            parents: commit.parents().map(CommitId).collect(),
            message: String::from_utf8_lossy(commit.message).into_owned(),
            author_time: Timestamp::from_millis(seconds.saturating_mul(1000)),
        })
    }

    pub(crate) fn read_commit(&self, commit: &CommitId) -> Result<Vec<u8>, ForgeError> {
        let found = self.shared.objects.read(&commit.0, ObjectKind::Commit).map_err(ForgeError::from_io)?;
        found.ok_or_else(|| ForgeError::lasting(format!("the commit {commit} is not in the mirror of the repository")))
    }

    /// Writes blobs, trees and one commit over `parent`. The same input gives the same id. Says so if nothing changes.
    pub fn commit(
        &self,
        parent: &CommitId,
        changes: &[FileChange],
        message: &str,
        at: Timestamp,
    ) -> Result<CommitId, ForgeError> {
        let data = self.read_commit(parent)?;
        let old = parse_commit(&data)?.tree();
        let new = build::write_tree(&self.shared.objects, &old, changes)?;
        if new == old {
            return Err(ForgeError::lasting("the commit would change nothing"));
        }
        self.write_commit(&new, &[parent.0], at, message)
    }

    /// Writes a commit whose tree is there already: a commit that can be found is complete.
    pub(crate) fn write_commit(
        &self,
        tree: &ObjectId,
        parents: &[ObjectId],
        at: Timestamp,
        message: &str,
    ) -> Result<CommitId, ForgeError> {
        let people = (&self.shared.settings.author, &self.shared.settings.committer);
        let commit = build::encode_commit(tree, parents, people, at, message);
        self.shared.objects.write(ObjectKind::Commit, &commit).map(CommitId).map_err(ForgeError::from_io)
    }

    /// Pushes a commit to a branch that must be at `expect` now, or must not be there. It is well if the branch is at
    /// `commit` already; if it is elsewhere the error is `Moved`.
    pub async fn push(&self, commit: &CommitId, branch: &str, expect: Option<&CommitId>) -> Result<(), ForgeError> {
        let branch = checked(branch)?;
        let expected = expect.map(CommitId::to_string).unwrap_or_default();
        let output = self.push_now(commit, &branch, &expected).await?;
        if output.success {
            return Ok(());
        }
        let tip = self.find_branch(&branch).await;
        // The same push from a process that was killed may have come first.
        if tip.as_ref().is_ok_and(|tip| tip.as_ref() == Some(commit)) {
            return Ok(());
        }
        Err(self.explain_rejection(&branch, &output, tip.is_ok_and(|tip| tip.as_ref() == expect)))
    }

    /// Deletes a branch, if it is at that commit. It is well if it is not there; elsewhere it stays.
    pub async fn delete_branch(&self, branch: &str, at: &CommitId) -> Result<(), ForgeError> {
        let branch = checked(branch)?;
        // It is never closed, so there is always a permit in the end.
        let _permit = self.shared.pushes.acquire().await;
        let lease = format!("--force-with-lease=refs/heads/{branch}:{at}");
        let what = format!(":refs/heads/{branch}");
        let to = self.shared.address.url.as_str();
        let output =
            self.git().run(&["push", "--porcelain", "--no-verify", "--no-signed", &lease, to, &what], None).await?;
        if output.success || output.stderr.contains("remote ref does not exist") {
            return Ok(());
        }
        Err(self.explain_rejection(&branch, &output, false))
    }

    /// Whether the remote would take a push, as far as it says so before there is one. Nothing is left behind.
    pub async fn check_push(&self) -> Result<(), ForgeError> {
        // The deletion of a branch that nobody has: the remote is asked for leave and not told anything.
        let what = format!(":refs/heads/copydesk/{}", random_token());
        let arguments = ["push", "--dry-run", "--porcelain", "--no-verify", self.shared.address.url.as_str(), &what];
        let output = self.git().run(&arguments, None).await?;
        let asked = output.success || output.stderr.contains("remote ref does not exist");
        if asked { Ok(()) } else { Err(git_errors::explain(&self.git(), &output.stderr)) }
    }

    /// The difference between the files of two commits.
    pub fn diff(&self, from: &CommitId, to: &CommitId) -> Result<Diff, ForgeError> {
        let root = |commit| Ok::<_, ForgeError>(parse_commit(&self.read_commit(commit)?)?.tree());
        diff::between(&self.shared.objects, &root(from)?, &root(to)?).map_err(ForgeError::from_io)
    }

    async fn push_now(&self, commit: &CommitId, branch: &str, expected: &str) -> Result<Output, ForgeError> {
        // It is never closed, so there is always a permit in the end.
        let _permit = self.shared.pushes.acquire().await;
        let lease = format!("--force-with-lease=refs/heads/{branch}:{expected}");
        let what = format!("{commit}:refs/heads/{branch}");
        let to = self.shared.address.url.as_str();
        let mut arguments = vec!["push", "--porcelain", "--no-verify", "--no-signed", "--no-follow-tags"];
        if to.starts_with("file://") {
            arguments.push(WITH_FILES);
        }
        arguments.extend([lease.as_str(), to, &what]);
        self.git().run(&arguments, None).await
    }

    /// Why a push did not work; `unmoved` if the branch is where it was expected nevertheless.
    fn explain_rejection(&self, branch: &str, output: &Output, unmoved: bool) -> ForgeError {
        const MOVED: &[&str] =
            &["stale info", "non-fast-forward", "fetch first", "already exists", "failed to", "lock", "old value"];
        let rejection = output.stdout.lines().find_map(|line| line.strip_prefix("!\t"));
        let Some(summary) = rejection.and_then(|line| line.rsplit('\t').next()) else {
            return git_errors::explain(&self.git(), &output.stderr);
        };
        if !unmoved && MOVED.iter().any(|sign| summary.contains(sign)) {
            return ForgeError::moved(format!("the branch `{branch}` is not where it was: somebody else has pushed"));
        }
        git_errors::rejected(&self.git(), summary, &output.stderr)
    }

    async fn fetch_now(&self, what: &Wanted) -> Result<Option<CommitId>, ForgeError> {
        let shared = &self.shared;
        let lock = shared.folder.lock(shared.settings.time_limit).await?;
        shared.folder.sweep();
        if shared.objects.is_damaged() || !shared.folder.is_whole() {
            shared.make_anew()?;
        }
        let mut output = self.fetch_once(what, &lock).await?;
        if !output.success && git_errors::is_damage(&output.stderr) && !self.is_sound(&lock).await {
            shared.make_anew()?;
            output = self.fetch_once(what, &lock).await?;
        }
        if output.success {
            self.tidy(&lock).await;
            return Ok(shared.folder.remembered(&what.name));
        }
        if what.absence.iter().any(|sign| output.stderr.contains(sign)) {
            return Ok(None);
        }
        Err(git_errors::explain(&self.git(), &output.stderr))
    }

    async fn fetch_once(&self, what: &Wanted, lock: &File) -> Result<Output, ForgeError> {
        let one = format!("+{}:{}", what.from, MirrorFolder::reference(&what.name));
        let mut arguments = vec!["fetch", "--quiet", "--no-write-fetch-head", "--no-tags", "--no-auto-gc"];
        if what.tags {
            // A tag that is gone may stand in the way of a new one: `a` and `a/b` cannot both be references.
            arguments.push("--prune");
        }
        arguments.extend([self.shared.address.url.as_str(), &one]);
        arguments.extend(what.tags.then_some(ALL_TAGS));
        self.git().run(&arguments, Some(lock)).await
    }

    /// Whether the mirror itself is in order: a repository on this machine may be the broken one.
    async fn is_sound(&self, lock: &File) -> bool {
        self.git().run(&IS_SOUND, Some(lock)).await.is_ok_and(|output| output.success)
    }

    /// Makes one pack of many small ones. All objects are kept, also those that nothing refers to yet.
    async fn tidy(&self, lock: &File) {
        if self.shared.folder.is_scattered() {
            // If it fails, the next fetch tries again; until then everything works, only slower.
            _ = self.git().run(&["repack", "--quiet", "-d", "--geometric=2"], Some(lock)).await;
        }
    }

    /// Why there is no branch: the repository may have none at all.
    pub async fn explain_absence(&self, branch: &str) -> ForgeError {
        git_errors::no_branch(&self.git(), branch).await
    }

    pub(crate) fn git(&self) -> Git<'_> {
        Git {
            folder: &self.shared.folder,
            address: &self.shared.address,
            remote: &self.remote,
            time_limit: self.shared.settings.time_limit,
        }
    }
}

impl SharedMirror {
    /// Throws the mirror away and begins with an empty one. Under the lock.
    fn make_anew(&self) -> Result<(), ForgeError> {
        self.folder.make_anew().and_then(|()| self.objects.reopen()).map_err(ForgeError::from_io)
    }
}

pub(crate) fn checked(branch: &str) -> Result<String, ForgeError> {
    git_ref("branch", branch).map_err(|_| ForgeError::lasting("that is not a branch name that git accepts"))
}

pub(crate) fn parse_commit(data: &[u8]) -> Result<CommitRef<'_>, ForgeError> {
    CommitRef::from_bytes(data, gix_hash::Kind::Sha1).map_err(|_| ForgeError::lasting("a commit is malformed"))
}
