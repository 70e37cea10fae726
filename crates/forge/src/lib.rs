//! Git and code hosts: a mirror of each repository, a workspace over a commit that needs no checkout, one commit for a
//! change, its push, and the pull request. The only place that holds push credentials.

mod build;
mod commit;
mod commit_tree;
mod default_branch;
mod diff;
mod error;
mod forge;
mod git;
mod git_errors;
mod host;
mod host_secret;
mod hosts;
mod local;
mod lock;
mod memory;
mod merge;
mod mirror;
mod mirror_folder;
mod naming;
mod objects;
mod path;
mod remote;
mod settings;
mod shared_fetch;
pub mod text;
mod tree;
mod workspace;

pub use commit::{CommitId, CommitInfo, MalformedCommitId};
pub use diff::{Diff, DiffKind, FileSummary, LONGEST_DIFF, MOST_DIFF_FILES};
pub use error::{ForgeError, ForgeErrorKind, Refusal};
pub use forge::Forge;
pub use host::{Abilities, Ability, CodeHost, HostInterface, NewPullRequest};
pub use host_secret::{HostSecret, HostSecretError};
pub use hosts::{Connection, Hosts, HostsSettings};
pub use memory::MemoryTree;
pub use merge::Merge;
pub use mirror::Mirror;
pub use naming::{branch_name, commit_message};
pub use remote::{Credential, Remote, SshKey, Trust};
pub use settings::{ForgeSettings, Signature};
pub use tree::{Entry, FileChange, Kind, LARGEST_TEXT, Tree};
pub use workspace::{Guard, Workspace};
