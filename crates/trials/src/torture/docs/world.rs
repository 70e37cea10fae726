//! One job in a world of its own: a database, a repository, folders for mirrors, and processes that work on it.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use copydesk_desk::credentials::variable;
use copydesk_domain::{
    HostKind, HostSettings, OnFindings, ProjectId, Prompt, Repository, SystemClock, ViewSettings, Window, WritePaths,
};
use copydesk_store::{Admission, JobFilter, NewJob, NewProject, NewSource, SourceAdded, Store, Vault};
use copydesk_testkit::model::ModelServer;
use copydesk_testkit::{Backend, GitEntry, GitRepo, TestDatabase};
use tempfile::TempDir;

use super::super::worker::DATABASE;
use super::seen::{self, Seen, check_repository, check_soundness};
use super::story::{Asked, BASE, SOURCE, SOURCE_FILE, Story, base};
use super::trial_host::{LABEL, REPOSITORY, TrialHost};
use super::verify::verify;
use super::worker::FATAL_READING;

/// Long enough for a busy machine. It is not waited for: the second life's clock is ahead.
const LEASE: Duration = Duration::from_secs(3);
/// More than a lease, and more than the time that whoever opens a pull request may take.
const AHEAD: Duration = Duration::from_secs(150);

pub(super) struct World {
    pub(super) database: TestDatabase,
    pub(super) store: Store,
    pub(super) repo: Arc<GitRepo>,
    pub(super) project: ProjectId,
    /// Empty until somebody has made it of an issue.
    pub(super) job: String,
    pub(super) story: Story,
    /// Where the repository is, if it is not a folder.
    pub(super) host: Option<TrialHost>,
    /// The code source, if it reads one.
    source: Option<CodeRepo>,
    model: Arc<ModelServer>,
    folder: TempDir,
}

impl World {
    /// A world in which the job of `story` waits for somebody to work on it.
    pub(super) async fn new(backend: Backend, model: &Arc<ModelServer>, story: Story) -> Self {
        let database = TestDatabase::new(backend).await;
        let store = database.store(Arc::new(SystemClock)).await;
        let repo = tokio::task::spawn_blocking(|| Arc::new(GitRepo::new(BASE))).await.unwrap();
        let project = create_project(&store, &repo.address(), HostSettings::default()).await;
        let source = story.reads_source.then(CodeRepo::new);
        if let Some(source) = &source {
            source.add_to(&store, &project).await;
        }
        let job = create_job(&store, &project, &repo.address(), &story, model).await;
        let folder = tempfile::tempdir().unwrap();
        Self { database, store, repo, project, job, story, host: None, source, model: model.clone(), folder }
    }

    /// The same, with the repository on a code host of this kind.
    pub(super) async fn on_host(backend: Backend, model: &Arc<ModelServer>, story: Story, kind: HostKind) -> Self {
        let database = TestDatabase::new(backend).await;
        let store = database.store(Arc::new(SystemClock)).await;
        let (place, repo) = TrialHost::new(kind, story.moves).await;
        let address = place.host.address(REPOSITORY);
        let settings = HostSettings {
            kind: Some(kind),
            api_url: Some(place.host.api_url()),
            job_label: Some(LABEL.to_owned()),
            ..HostSettings::default()
        };
        let project = create_project(&store, &address, settings).await;
        let job = match story.asked {
            Asked::Job => {
                assert!(store.hear(&project, vec![place.issue(&story.prompts[0])]).await.unwrap());
                String::new()
            }
            _ => {
                let repository = Repository::from_stored(address);
                create_job(&store, &project, repository.public_address(), &story, model).await
            }
        };
        if let (Asked::FollowUp, Some(prompt)) = (story.asked, story.prompts.get(1)) {
            place.comment_later(store.clone(), project.clone(), job.clone(), prompt.clone());
        }
        let folder = tempfile::tempdir().unwrap();
        Self {
            database,
            store,
            repo,
            project,
            job,
            story,
            host: Some(place),
            source: None,
            model: model.clone(),
            folder,
        }
    }

    /// A process that sees the job through, unless it dies at that reading of its clock. It keeps its mirrors in the
    /// folder of this name: the name of another machine, so to speak.
    pub(super) fn life(&self, machine: &str, fatal: Option<u64>) -> tokio::process::Command {
        let mut command = worker_command(&self.database.url(), &self.mirrors(machine), &self.model, 1, LEASE);
        command.args(["--project", &self.project, "--job", &self.job]);
        for prompt in self.story.prompts.iter().skip(1).filter(|_| self.story.asked == Asked::Nothing) {
            command.args(["--follow-up", prompt]);
        }
        if self.story.asked != Asked::Nothing {
            command.arg("--asked");
        }
        if !self.story.opens && self.story.changes() {
            command.arg("--publish");
        }
        match fatal {
            Some(reading) => command.env(FATAL_READING, reading.to_string()),
            None => command.env_remove(FATAL_READING),
        };
        if let Some(place) = &self.host {
            command.env(variable(&self.project), &place.token);
        }
        let mut command = tokio::process::Command::from(command);
        command.stdin(Stdio::piped()).kill_on_drop(true);
        command
    }

    /// The life after a death: a lease that nobody keeps alive has run out by then, and the code that is read has changed.
    pub(super) fn later_life(&self, machine: &str) -> tokio::process::Command {
        self.source.iter().for_each(CodeRepo::go_on);
        let mut command = self.life(machine, None);
        command.args(["--ahead-ms", &AHEAD.as_millis().to_string()]);
        command
    }

    /// The job, also if it was made of an issue.
    async fn job(&self) -> String {
        if !self.job.is_empty() {
            return self.job.clone();
        }
        let asks = self.store.asks(&self.project, 1).await.unwrap();
        asks.iter().find_map(|asked| asked.job_id.as_ref()).map(ToString::to_string).unwrap_or_default()
    }

    /// What there is to see of the job; none if nobody has made it yet.
    pub(super) async fn look(&self) -> Option<Seen> {
        let job = self.job().await;
        let whose = (&self.project, job.as_str());
        let seen = seen::look(&self.store, &self.database, &self.repo, &self.model, &self.story, whose).await;
        let mut seen = seen?;
        if let Some(place) = &self.host {
            seen.pulls.extend(place.pulls());
        }
        Some(seen)
    }

    /// What is wrong in the end.
    pub(super) async fn verify(&self) -> Vec<String> {
        let Some(seen) = self.look().await else { return vec![format!("{}: there is no job", self.story.tag)] };
        let mut wrong = verify(&self.story, &base(), &seen);
        wrong.extend(check_repository(&self.repo, &[self.job().await]).await);
        wrong.extend(self.verify_asks().await);
        wrong.extend(self.host.iter().flat_map(|place| place.verify(&self.story)));
        let mirrors = self.folder.path().to_owned();
        wrong.extend(tokio::task::spawn_blocking(move || check_mirrors(&mirrors)).await.unwrap());
        wrong
    }

    /// What was asked for at the host became one job or one follow-up.
    async fn verify_asks(&self) -> Vec<String> {
        let jobs = self.store.jobs(&self.project, JobFilter { limit: 10, ..JobFilter::default() }).await.unwrap();
        let messages = self.store.messages(&self.job().await.as_str().into()).await.unwrap();
        let expected = (1, self.story.prompts.len());
        let is_right = (jobs.len(), messages.len()) == expected;
        let wrong = format!("{}: {} jobs, {} messages", self.story.tag, jobs.len(), messages.len());
        (!is_right).then_some(wrong).into_iter().collect()
    }

    pub(super) async fn end(self) {
        let Self { database, store, .. } = self;
        drop(store);
        database.destroy().await;
    }

    fn mirrors(&self, machine: &str) -> PathBuf {
        self.folder.path().join(machine)
    }
}

/// A repository of code that jobs read.
pub(super) struct CodeRepo(GitRepo);

impl CodeRepo {
    /// One with a release, and a commit after that.
    pub(super) fn new() -> Self {
        let repo = Self(GitRepo::new([(SOURCE_FILE, "The limit is 1.\n")]));
        repo.0.git(&["tag", "v1", "main"]);
        repo.go_on();
        repo
    }

    /// Somebody works on it.
    pub(super) fn go_on(&self) {
        let text = format!("The limit is {}.\n", self.0.commits("main", "v1").len() + 2);
        self.0.commit("main", "Raise the limit", [(SOURCE_FILE.to_owned(), GitEntry::File(text.into()))]);
    }

    /// Lets the jobs of a project read it.
    pub(super) async fn add_to(&self, store: &Store, project: &ProjectId) {
        let new = NewSource {
            project_id: project.clone(),
            name: SOURCE.to_owned(),
            repository: Repository::from_stored(self.0.address()),
            branch: None,
            host: HostSettings::default(),
            secret: None,
        };
        // It has no credential, so nothing is sealed.
        let vault = Vault::new(PathBuf::from("/nonexistent/key"));
        let added = store.add_source(&vault, new).await.unwrap();
        assert!(matches!(added, SourceAdded::Done(_)), "{added:?}");
    }
}

/// What is wrong with the mirrors of all machines.
pub(super) fn check_mirrors(folder: &std::path::Path) -> Vec<String> {
    let mut wrong = Vec::new();
    for machine in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let mirrors = std::fs::read_dir(machine.path()).into_iter().flatten().flatten();
        for mirror in mirrors.filter(|entry| entry.path().join("HEAD").is_file()) {
            wrong.extend(check_soundness(&mirror.path()));
        }
    }
    wrong
}

/// The command of a process that works on documentation jobs.
pub(super) fn worker_command(
    database: &str,
    mirrors: &std::path::Path,
    model: &ModelServer,
    workers: usize,
    lease: Duration,
) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.arg("docs-worker").args(["--workers", &workers.to_string(), "--model-url", model.url()]);
    command.args(["--lease-ms", &lease.as_millis().to_string()]).arg("--mirrors").arg(mirrors);
    command.env(DATABASE, database);
    command
}

pub(super) async fn create_project(store: &Store, repository: &str, host: HostSettings) -> ProjectId {
    let new = NewProject {
        id: None,
        name: "Docs".to_owned(),
        repository: Repository::from_stored(repository.to_owned()),
        base_ref: "main".to_owned(),
        docs_paths: vec!["docs".to_owned()],
        write_paths: WritePaths::default(),
        time_zone: "UTC".to_owned(),
        jobs_per_hour: Some(0),
        max_running: None,
        time_limit_seconds: None,
        job_cost: None,
        on_findings: OnFindings::Fail,
        views: ViewSettings::default(),
        host,
    };
    store.create_project(new).await.unwrap().unwrap().id
}

/// Creates the job of a story, after the model has learnt what to say.
pub(super) async fn create_job(
    store: &Store,
    project: &ProjectId,
    repository: &str,
    story: &Story,
    model: &ModelServer,
) -> String {
    if let Some(script) = &story.script {
        model.add_script(&story.tag, script.clone());
    }
    let new = NewJob {
        project_id: project.clone(),
        repository: repository.to_owned(),
        base_ref: "main".to_owned(),
        model: story.model.to_owned(),
        draft: false,
        open_pull_request: story.opens,
        client_reference: None,
        max_cost: None,
        changes: None,
        prompt: Prompt::parse(&story.prompts[0]).unwrap(),
    };
    match store.create_job(new, Window::hourly(0), None, |job| job.id.to_string()).await.unwrap() {
        Admission::Done { job_id, .. } => job_id.to_string(),
        other => panic!("a job was not created: {other:?}"),
    }
}
