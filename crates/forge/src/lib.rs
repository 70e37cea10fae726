//! Git and code hosts: a mirror of each repository, a workspace over a commit that needs no checkout, one commit for a
//! change, its push, and the pull request. The only place that holds push credentials.

mod build;
mod commit;
mod complaint;
mod diff;
mod error;
mod flights;
mod forge;
mod git;
mod home;
mod host;
mod hosts;
mod local;
mod memory;
mod merge;
mod mirror;
mod naming;
mod objects;
mod path;
mod remote;
mod secret;
pub mod text;
mod tree;
mod workspace;

pub use commit::{CommitId, CommitInfo, MalformedCommitId};
pub use diff::{Diff, DiffKind, FileSummary, LONGEST_DIFF, MOST_DIFF_FILES, diff_workspace};
pub use error::{ForgeError, Trouble};
pub use forge::{Forge, ForgeSettings};
pub use host::{Abilities, Ability, CodeHost, NewPullRequest};
pub use hosts::{Connection, Hosts, HostsSettings, Media};
pub use memory::MemoryTree;
pub use merge::Merge;
pub use mirror::Mirror;
pub use naming::{branch_name, commit_message};
pub use remote::{Credential, Remote, Signature, SshKey, Trust};
pub use secret::{Secret, SecretError};
pub use workspace::{Entry, FileChange, Guard, Kind, LARGEST_TEXT, Refusal, Tree, Workspace};
