use std::time::Duration;

use copydesk_domain::git_ref;
use tempfile::TempDir;

use crate::git::Git;
use crate::mirror_folder::MirrorFolder;
use crate::remote::Address;
use crate::{ForgeError, Remote, git_errors, local};

/// The branch that `HEAD` of a repository stands for, as git tells it. Nothing is left behind on this machine.
pub(crate) async fn default_branch(remote: &Remote, time_limit: Duration) -> Result<String, ForgeError> {
    let address = Address::parse(&remote.address)?;
    if let Some(branch) = address.folder().and_then(|folder| local::head(&folder)) {
        return Ok(branch);
    }
    let temporary = tempfile::tempdir().map_err(ForgeError::from_io)?;
    let folder = made(&temporary, remote)?;
    let git = Git { folder: &folder, address: &address, remote, time_limit };
    let output = git.run(&["ls-remote", "--quiet", "--symref", address.url.as_str(), "HEAD"], None).await?;
    if !output.success {
        return Err(git_errors::explain(&git, &output.stderr));
    }
    head_of(&output.stdout)
        .ok_or_else(|| ForgeError::lasting("the repository does not say which branch is its main one"))
}

/// What a name stands for in a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Named {
    Branch,
    Tag,
    Nothing,
}

/// Whether a repository has a branch or a tag of that name, as git tells it. Nothing is left behind on this machine.
pub(crate) async fn named(remote: &Remote, name: &str, time_limit: Duration) -> Result<Named, ForgeError> {
    let address = Address::parse(&remote.address)?;
    let temporary = tempfile::tempdir().map_err(ForgeError::from_io)?;
    let folder = made(&temporary, remote)?;
    let git = Git { folder: &folder, address: &address, remote, time_limit };
    let (branch, tag) = (format!("refs/heads/{name}"), format!("refs/tags/{name}"));
    let output = git.run(&["ls-remote", "--quiet", address.url.as_str(), &branch, &tag], None).await?;
    if !output.success {
        return Err(git_errors::explain(&git, &output.stderr));
    }
    let has = |wanted: &str| output.stdout.lines().any(|line| line.split('\t').nth(1) == Some(wanted));
    Ok(if has(&branch) {
        Named::Branch
    } else if has(&tag) {
        Named::Tag
    } else {
        Named::Nothing
    })
}

/// The paths of all files of a branch: its last commit without what the files hold, where the host can leave that out.
/// Nothing is left behind on this machine.
pub(crate) async fn files(remote: &Remote, branch: &str, time_limit: Duration) -> Result<Vec<String>, ForgeError> {
    let address = Address::parse(&remote.address)?;
    let temporary = tempfile::tempdir().map_err(ForgeError::from_io)?;
    let folder = made(&temporary, remote)?;
    let git = Git { folder: &folder, address: &address, remote, time_limit };
    let what = format!("+refs/heads/{branch}:refs/heads/it");
    let fetch = ["fetch", "--quiet", "--no-tags", "--depth=1", "--filter=blob:none", address.url.as_str(), &what];
    let run = async |arguments: &[&str]| {
        let output = git.run(arguments, None).await?;
        if output.success {
            return Ok(output.stdout);
        }
        if git_errors::NO_REFERENCE.iter().any(|sign| output.stderr.contains(sign)) {
            return Err(git_errors::no_branch(&git, branch).await);
        }
        Err(git_errors::explain(&git, &output.stderr))
    };
    run(&fetch).await?;
    let listing = run(&["ls-tree", "-r", "-z", "--name-only", "refs/heads/it"]).await?;
    Ok(listing.split_terminator('\0').map(str::to_owned).collect())
}

/// A repository for one question.
fn made(temporary: &TempDir, remote: &Remote) -> Result<MirrorFolder, ForgeError> {
    let folder = MirrorFolder::of(temporary.path(), &remote.address);
    folder.make_anew().map_err(ForgeError::from_io)?;
    Ok(folder)
}

/// What `ref: refs/heads/main\tHEAD` names.
fn head_of(listing: &str) -> Option<String> {
    let of_head = |line: &str| line.strip_suffix("\tHEAD")?.strip_prefix("ref: refs/heads/").map(str::to_owned);
    git_ref("branch", &listing.lines().find_map(of_head)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_main_branch_is_in_the_listing() {
        let listing = "ref: refs/heads/docs/v2\tHEAD\n1234567890123456789012345678901234567890\tHEAD\n";
        assert_eq!(head_of(listing).as_deref(), Some("docs/v2"));
        assert_eq!(head_of("1234567890123456789012345678901234567890\tHEAD\n"), None);
        assert_eq!(head_of("ref: refs/heads/../x\tHEAD\n"), None);
        assert_eq!(head_of(""), None);
    }
}
