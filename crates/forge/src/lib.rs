//! Git and code hosts: a mirror of each repository, a workspace over a commit that needs no checkout, one commit for a
//! change, its push, and the pull request. The only place that holds push credentials.

mod error;
mod host;
mod memory;
mod path;
mod workspace;

pub use error::{ForgeError, Trouble};
pub use host::{CodeHost, NewPullRequest, PullRequest, PullRequestState};
pub use memory::MemoryTree;
pub use workspace::{Entry, FileChange, Guard, Kind, LARGEST_TEXT, Refusal, Tree, Workspace};
