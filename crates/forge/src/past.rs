//! What the history of a repository says: which commits touched something, and what one of them changed.

use crate::kept_back::{exclusions, is_kept_back};
use crate::path::plain_path;
use crate::{CommitId, ForgeError, Mirror};
use copydesk_boxed::boxed;

/// How many commits are named.
const MOST_COMMITS: &str = "--max-count=60";
/// Of how many files of a commit the changes are shown: more than anybody reads.
const MOST_FILES: usize = 500;

/// What is asked of the history before a commit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PastQuestion {
    /// Only what concerns this file or folder.
    pub path: Option<String>,
    /// Only commits after which this text is there more or less often than before.
    pub text: Option<String>,
    /// What this commit changed, instead of a list of commits; its id, or the beginning of it.
    pub commit: Option<String>,
}

#[boxed]
impl Mirror {
    /// Answers in git's words; an error that is lasting says what is wrong with the question.
    pub async fn past(&self, before: &CommitId, asked: &PastQuestion) -> Result<String, ForgeError> {
        let wrong = |what: String| ForgeError::lasting(what);
        let path = match &asked.path {
            Some(path) => Some(plain_path(path).map_err(|refusal| wrong(refusal.to_string()))?),
            None => None,
        };
        if let Some(path) = path.as_deref().filter(|path| is_kept_back(path)) {
            return Err(wrong(format!(
                "{path:?} is not shown: it may hold secrets, or has nothing to do with documentation"
            )));
        }
        let literal = path.as_deref().map(|path| format!(":(literal){path}"));
        let before = before.to_string();
        let mut arguments: Vec<&str>;
        let left_out = if asked.text.is_some() && path.is_none() { exclusions() } else { Vec::new() };
        if let Some(commit) = &asked.commit {
            if !(4..=40).contains(&commit.len()) || !commit.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                return Err(wrong(format!("{commit:?} is not the id of a commit")));
            }
            // Nothing of branches that the job has nothing to do with.
            let is_before = self.git().run(&["merge-base", "--is-ancestor", commit, &before], None).await?;
            if !is_before.success {
                return Err(wrong(format!("there is no commit {commit} in the history of this branch")));
            }
            let shown = self.changed_by(commit, literal.as_deref()).await?;
            arguments = vec!["show", "--format=%h %as %an: %s%n%n%-b", "--no-ext-diff", "--no-textconv", commit, "--"];
            // Without a path it would show everything, so it is told of one that is not there.
            arguments.extend(shown.iter().map(String::as_str).chain(shown.is_empty().then_some(":(literal).git")));
            let output = self.git().run(&arguments, None).await?;
            return if output.success {
                Ok(output.stdout)
            } else {
                Err(wrong("the history cannot be read".to_owned()))
            };
        } else {
            arguments = vec!["log", "--format=%h %as %an: %s", MOST_COMMITS, "--no-ext-diff", "--no-textconv"];
            if let Some(text) = &asked.text {
                arguments.extend(["-S", text]);
            }
            arguments.push(&before);
        }
        arguments.push("--");
        arguments.extend(literal.as_deref());
        arguments.extend(left_out.iter().map(String::as_str));
        let output = self.git().run(&arguments, None).await?;
        if !output.success {
            return Err(wrong("the history cannot be read".to_owned()));
        }
        Ok(output.stdout)
    }
}

impl Mirror {
    /// The files that a commit changed and that may be shown, as git is told of them.
    async fn changed_by(&self, commit: &str, within: Option<&str>) -> Result<Vec<String>, ForgeError> {
        let mut arguments = vec!["show", "--format=", "--name-only", "--no-renames", "-z", commit, "--"];
        arguments.extend(within);
        let names = self.git().run(&arguments, None).await?;
        let shown = names.stdout.split('\0').map(str::trim).filter(|path| !path.is_empty() && !is_kept_back(path));
        Ok(shown.take(MOST_FILES).map(|path| format!(":(literal){path}")).collect())
    }
}
