//! What a job has left behind: in the database, in its repository, and with the model.

use std::sync::Arc;

use copydesk_domain::{Job, ProjectId, Timestamp};
use copydesk_forge::branch_name;
use copydesk_store::{Event, Round, Store};
use copydesk_testkit::model::ModelServer;
use copydesk_testkit::{GitEntry, GitRepo, TestDatabase};

use super::story::{Files, Story};
use super::worker::PUBLIC_URL;

/// All that there is to see of one job.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub(super) job: Job,
    pub(super) events: Vec<Event>,
    pub(super) rounds: Vec<Round>,
    /// When each of the model's answers was recorded.
    pub(super) answers: Vec<Timestamp>,
    /// What the model was asked.
    pub(super) calls: Vec<SeenCall>,
    pub(super) branches: Vec<SeenBranch>,
    pub(super) pulls: Vec<SeenPull>,
}

/// A call of the model.
#[derive(Debug, Clone)]
pub(super) struct SeenCall {
    /// The number of the answer that was asked for, from 0.
    pub(super) position: usize,
    pub(super) received_at: Timestamp,
}

/// A branch of the job's repository.
#[derive(Debug, Clone)]
pub(super) struct SeenBranch {
    pub(super) name: String,
    /// The commits that it has and the base branch does not, newest first.
    pub(super) commits: Vec<String>,
    pub(super) files: Files,
}

#[derive(Debug, Clone)]
pub(super) struct SeenPull {
    pub(super) number: u64,
    pub(super) head: String,
    /// Where people look at it.
    pub(super) url: String,
}

/// Looks at a job; none if it is not there.
pub(super) async fn look(
    store: &Store,
    database: &TestDatabase,
    repo: &Arc<GitRepo>,
    model: &ModelServer,
    story: &Story,
    (project, job): (&ProjectId, &str),
) -> Option<Seen> {
    let id = job.into();
    let seen = store.job(project, &id).await.unwrap()?;
    let calls = model.calls_of(&story.tag);
    let (repo, prefix) = (repo.clone(), branch_prefix(job));
    let branches = tokio::task::spawn_blocking(move || branches(&repo, &prefix)).await.unwrap();
    Some(Seen {
        job: seen,
        events: store.events(&id, 0, u32::MAX).await.unwrap(),
        rounds: store.rounds(&id).await.unwrap(),
        answers: answers(database, job).await,
        calls: calls.iter().map(|call| SeenCall { position: call.position, received_at: call.received_at }).collect(),
        branches,
        pulls: pulls(database, job).await,
    })
}

/// What the names of a job's branches begin with.
pub(super) fn branch_prefix(job: &str) -> String {
    let name = branch_name(job, "x");
    name.strip_suffix('x').unwrap_or(&name).to_owned()
}

fn branches(repo: &GitRepo, prefix: &str) -> Vec<SeenBranch> {
    let names = repo.branches().into_iter().filter(|name| name.starts_with(prefix));
    let look = |name: String| SeenBranch {
        commits: repo.commits(&name, "main"),
        files: repo.files(&name).into_iter().map(|(path, entry)| (path, text_of(entry))).collect(),
        name,
    };
    names.map(look).collect()
}

fn text_of(entry: GitEntry) -> String {
    match entry {
        GitEntry::File(content) => String::from_utf8_lossy(&content).into_owned(),
        other => format!("not a plain file: {other:?}"),
    }
}

async fn answers(database: &TestDatabase, job: &str) -> Vec<Timestamp> {
    let sql = format!("SELECT CAST(created_at AS TEXT) FROM answers WHERE job_id = '{job}' ORDER BY number");
    let rows = database.query(&sql).await;
    rows.iter().map(|row| Timestamp::from_millis(row[0].parse().unwrap())).collect()
}

async fn pulls(database: &TestDatabase, job: &str) -> Vec<SeenPull> {
    let columns = "CAST(number AS TEXT), head, token";
    let sql = format!("SELECT {columns} FROM pull_requests WHERE job_id = '{job}' ORDER BY number");
    let pull = |row: &Vec<String>| SeenPull {
        number: row[0].parse().unwrap(),
        head: row[1].clone(),
        url: format!("{PUBLIC_URL}/pull/{}", row[2]),
    };
    database.query(&sql).await.iter().map(pull).collect()
}

/// What is wrong with a repository as a whole: it must be sound, and every branch but `main` must be one of these jobs'.
pub(super) async fn check_repository(repo: &Arc<GitRepo>, jobs: &[String]) -> Vec<String> {
    let (repo, prefixes) = (repo.clone(), jobs.iter().map(|job| branch_prefix(job)).collect::<Vec<_>>());
    tokio::task::spawn_blocking(move || {
        let mut wrong = check_soundness(repo.path());
        let mut strays = repo.branches();
        strays.retain(|name| name != "main" && !prefixes.iter().any(|prefix| name.starts_with(prefix)));
        wrong.extend(strays.into_iter().map(|name| format!("the branch {name} belongs to no job")));
        wrong
    })
    .await
    .unwrap()
}

/// What `git fsck` has to complain about.
pub(super) fn check_soundness(folder: &std::path::Path) -> Vec<String> {
    let mut git = std::process::Command::new("git");
    git.arg("-C").arg(folder).args(["fsck", "--strict", "--no-dangling", "--no-progress"]);
    git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1").env("LC_ALL", "C");
    let output = git.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    // That HEAD names a branch which is not there yet is how a mirror is made.
    let complaint = |line: &&str| !line.starts_with("notice: ");
    let complaints: Vec<&str> = said.lines().filter(complaint).collect();
    match output.status.success() && complaints.is_empty() {
        true => Vec::new(),
        false => vec![format!("git fsck of a repository says {} {complaints:?}", output.status)],
    }
}

#[cfg(test)]
mod tests {
    use super::super::story::BASE;
    use super::*;

    #[tokio::test]
    async fn a_branch_that_belongs_to_no_job_is_seen() {
        let repo = Arc::new(GitRepo::new(BASE));
        let jobs = ["019a8f00-0000-7000-8000-0123456789ab".to_owned()];
        let mine = format!("{}x", branch_prefix(&jobs[0]));
        repo.git(&["branch", &mine, "main"]);
        assert_eq!(check_repository(&repo, &jobs).await, Vec::<String>::new());
        assert_eq!(check_repository(&repo, &[]).await, [format!("the branch {mine} belongs to no job")]);
    }

    #[tokio::test]
    async fn a_repository_with_a_broken_object_is_seen() {
        let repo = Arc::new(GitRepo::new(BASE));
        repo.git(&["branch", "copydesk/x", "main"]);
        let file = repo.path().join("refs/heads/copydesk/x");
        std::fs::write(file, "1234567890123456789012345678901234567890\n").unwrap();
        let found = check_soundness(repo.path());
        assert!(found.iter().any(|found| found.contains("git fsck")), "{found:?}");
    }
}
