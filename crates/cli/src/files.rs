use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files that are for others than connections: the database, page views, git.
const OTHERS: u64 = 256;

/// Lets the process have as many files open as the machine allows it, and gives how many of `wanted` connections that is
/// enough for.
pub(crate) fn for_connections(wanted: usize) -> usize {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let raised = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).is_ok();
    let Some(files) = (if raised { maximum } else { current }) else { return wanted };
    let most = usize::try_from(files - OTHERS.min(files / 2)).unwrap_or(usize::MAX);
    if wanted > most {
        tracing::warn!(
            files,
            connections = most,
            wanted,
            "too few files may be open (`ulimit -n`) for limits.connections"
        );
    }
    wanted.min(most)
}
