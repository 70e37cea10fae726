//! Jobs, for whoever asks for them: created, followed, looked at, opened. Who may do that is decided by the caller.

mod budget;
mod draft;
mod error;
mod watch;

use std::sync::Arc;

use copydesk_boxed::boxed;
use copydesk_domain::{Actor, Invalid, Job, JobId, Project, ProjectId, Prompt, Standing, Status, TraceContext, Window};
use copydesk_store::{Admission, Dormancy, Event, Idempotency, JobChange, JobFilter, Revoking, Store, StoreError};

use crate::docs_job::{
    NotMerged, NotPublished, Sides, Workshop, merge, notice_merge, publish, refresh_soon, refreshed, settled, sides,
};
use crate::job_view::render;
use crate::stop::Stop;

pub use draft::{Draft, JobRules};
pub use error::JobError;
pub use watch::{StillAllowed, Watch};

/// How many events are read at a time, and the most that a list holds.
const EVENTS: u32 = 1000;

/// Jobs in a store. Cheap to clone.
#[derive(Clone)]
pub struct Jobs {
    store: Store,
    rules: Arc<JobRules>,
    /// With which pull requests can be opened and asked about.
    workshop: Option<Arc<Workshop>>,
    stop: Stop,
}

/// What became of a creation or a message.
pub struct Admitted {
    pub job_id: JobId,
    /// The job as it was shown the first time: the same request again gives the same answer.
    pub answer: String,
    /// Where the project stands, if it has a limit.
    pub standing: Option<Standing>,
}

#[boxed]
impl Jobs {
    pub fn new(store: Store, rules: JobRules, workshop: Option<Arc<Workshop>>, stop: Stop) -> Self {
        Self { store, rules: Arc::new(rules), workshop, stop }
    }

    /// The same for somebody, under whose name it is written down what is done.
    pub fn by(&self, actor: Actor) -> Self {
        Self { store: self.store.by(actor), ..self.clone() }
    }

    /// The same for what belongs to a trace, which the jobs that are created then belong to.
    pub fn traced(&self, trace: Option<TraceContext>) -> Self {
        Self { store: self.store.traced(trace), ..self.clone() }
    }

    pub fn rules(&self) -> &JobRules {
        &self.rules
    }

    /// What documentation jobs share, if this process can run or publish them.
    pub fn workshop(&self) -> Option<&Arc<Workshop>> {
        self.workshop.as_ref()
    }

    pub async fn create(
        &self,
        project: &Project,
        draft: Draft,
        idempotency: Option<Idempotency>,
    ) -> Result<Admitted, JobError> {
        let new = draft.check(project, &self.rules).map_err(JobError::Invalid)?;
        if let Some(range) = &new.changes {
            self.check_source(project, &range.source).await?;
        }
        let admission = self.store.create_job(new, self.window(project), idempotency, render).await?;
        admitted(admission, JobError::NoProject)
    }

    /// Whether a project has a code source of that name; if not, which it has.
    async fn check_source(&self, project: &Project, name: &str) -> Result<(), JobError> {
        let sources = self.store.sources(&project.id).await?;
        if sources.iter().any(|source| source.name == name) {
            return Ok(());
        }
        let names: Vec<&str> = sources.iter().map(|source| source.name.as_str()).collect();
        let has = if names.is_empty() { "it has none".to_owned() } else { format!("it has {}", names.join(", ")) };
        let wrong = format!("{name:?} is not a code source of this project; {has}");
        Err(JobError::Invalid(vec![Invalid::new("changes.source", wrong)]))
    }

    /// Sends a follow-up to a job.
    pub async fn message(
        &self,
        project: &Project,
        job_id: &JobId,
        prompt: &str,
        idempotency: Option<Idempotency>,
    ) -> Result<Admitted, JobError> {
        let wrong = |error: copydesk_domain::PromptError| vec![Invalid::new("prompt", error.to_string())];
        let prompt = Prompt::parse(prompt).map_err(|error| JobError::Invalid(wrong(error)))?;
        let window = self.window(project);
        if let (Some(workshop), Some(job)) = (&self.workshop, self.store.job(&project.id, job_id).await?) {
            notice_merge(workshop, &self.store, project, job).await;
        }
        let admission = self.store.message_job(&project.id, job_id, prompt, window, idempotency, render).await?;
        admitted(admission, JobError::NotFound)
    }

    /// The job, with its pull request as it stands now if it is time to ask for that.
    pub async fn get(&self, project: &Project, job_id: &JobId) -> Result<Job, JobError> {
        let job = self.find(&project.id, job_id).await?;
        let job = match &self.workshop {
            Some(workshop) => refreshed(workshop, &self.store, project, job).await,
            None => job,
        };
        let dormancy = self.dormancy(std::slice::from_ref(&job)).await?;
        Ok(self.with_wait(job, dormancy.as_ref()).await?)
    }

    /// Whether this copy is dormant, if that matters for any of the jobs.
    async fn dormancy(&self, jobs: &[Job]) -> Result<Option<Dormancy>, StoreError> {
        let is_any_active = jobs.iter().any(|job| job.status == Status::Active);
        if is_any_active { self.store.dormancy().await } else { Ok(None) }
    }

    /// A job that nobody works on says so, because nothing goes out of this copy, or because its model has gone from the
    /// configuration: it looks like work otherwise.
    async fn with_wait(&self, job: Job, dormancy: Option<&Dormancy>) -> Result<Job, StoreError> {
        if let Some(dormancy) = dormancy.filter(|_| job.status == Status::Active) {
            return Ok(Job { message: Some(dormancy.sentence()), ..job });
        }
        let is_gone = job.status == Status::Active && !self.rules.models.contains(&job.model);
        let since = if is_gone { self.store.untaken_since(&job.id).await? } else { None };
        let Some(since) = since else { return Ok(job) };
        let message = format!(
            "The job waits for the model `{}`, which is not among `jobs.models` of this server any more. It goes on when a \
             worker runs that model, and fails at {} if none does.",
            job.model,
            since.plus(self.rules.queue_time)
        );
        Ok(Job { message: Some(message), ..job })
    }

    /// Jobs, newest first, and whether there are more behind them.
    pub async fn list(&self, project_id: &ProjectId, mut filter: JobFilter) -> Result<(Vec<Job>, bool), StoreError> {
        let wanted = filter.limit as usize;
        // One more than asked for tells whether there is a next page.
        filter.limit += 1;
        let mut jobs = self.store.jobs(project_id, filter).await?;
        let more = jobs.len() > wanted;
        jobs.truncate(wanted);
        let dormancy = self.dormancy(&jobs).await?;
        let mut shown = Vec::with_capacity(jobs.len());
        for job in jobs {
            shown.push(self.with_wait(job, dormancy.as_ref()).await?);
        }
        Ok((shown, more))
    }

    pub async fn cancel(&self, project_id: &ProjectId, job_id: &JobId) -> Result<Job, JobError> {
        self.store.cancel_job(project_id, job_id).await?.ok_or(JobError::NotFound)
    }

    /// Archives a job for good; an active one is cancelled first.
    pub async fn archive(&self, project_id: &ProjectId, job_id: &JobId) -> Result<Job, JobError> {
        self.store.archive_job(project_id, job_id).await?.ok_or(JobError::NotFound)
    }

    /// Gives the page of a job's pull request another address, if it is one that Copydesk keeps.
    pub async fn revoke_link(&self, project_id: &ProjectId, job_id: &JobId) -> Result<Job, JobError> {
        match self.store.revoke_pull_link(project_id, job_id).await?.ok_or(JobError::NotFound)? {
            Revoking::Done(job) => Ok(*job),
            Revoking::NoLink => Err(JobError::NoLink),
            Revoking::Busy => Err(JobError::Busy),
            Revoking::Archived => Err(JobError::LinkEnded),
        }
    }

    /// What the job has changed so far, as a unified diff.
    pub async fn diff(&self, project_id: &ProjectId, job_id: &JobId) -> Result<Vec<u8>, JobError> {
        self.find(project_id, job_id).await?;
        Ok(self.store.diff(job_id).await?.unwrap_or_default())
    }

    /// The first events after that number.
    pub async fn events(&self, project_id: &ProjectId, job_id: &JobId, after: u32) -> Result<Vec<Event>, JobError> {
        self.find(project_id, job_id).await?;
        Ok(self.store.events(job_id, after, EVENTS).await?)
    }

    /// The events after that number as they appear, for as long as the watcher is allowed to see them.
    pub async fn watch<A: StillAllowed>(
        &self,
        project_id: &ProjectId,
        job_id: &JobId,
        after: u32,
        allowed: A,
    ) -> Result<Watch<A>, JobError> {
        // Before the first look, so that nothing can happen unseen between the two.
        let changes = self.store.changes_of_jobs();
        self.find(project_id, job_id).await?;
        Ok(Watch::new(self.store.clone(), self.stop.clone(), project_id, job_id, after, changes, allowed))
    }

    /// Opens the pull request of a job that has ended without one. Again gives the same.
    pub async fn open(&self, project: Project, job_id: JobId) -> Result<Job, NotPublished> {
        let (workshop, store) = (self.workshop.clone().ok_or(NotPublished::NotHere)?, self.store.clone());
        // On its own, so that a client who goes away does not leave it half done.
        let work = tokio::spawn(async move { publish(&workshop, &store, &project, &job_id).await });
        work.await.unwrap_or_else(|error| Err(NotPublished::Broken(error.to_string())))
    }

    /// Merges a pull request that Copydesk keeps into its base branch. Again gives the same.
    pub async fn merge(&self, project: Project, number: u32) -> Result<Job, NotMerged> {
        let (workshop, store) = (self.workshop.clone().ok_or(NotMerged::NotHere)?, self.store.clone());
        // On its own, so that a browser that goes away does not leave it half done.
        let work = tokio::spawn(async move { merge(&workshop, &store, &project, number).await });
        work.await.unwrap_or_else(|error| Err(NotMerged::Broken(error.to_string())))
    }

    /// Closes a pull request that Copydesk keeps, or opens it again.
    pub async fn close(&self, project_id: &ProjectId, number: u32, close: bool) -> Result<Job, NotMerged> {
        settled(self.store.close_pull(project_id, number, close).await?)
    }

    /// The files of a change before and after, by their paths there; none if this process does not have them.
    pub async fn sides(
        &self,
        project: &Project,
        change: &JobChange,
        paths: Vec<(String, String)>,
    ) -> Option<Vec<Sides>> {
        sides(self.workshop.as_deref()?, project, change, paths).await
    }

    /// The code host has told that something happened to a pull request: asks it in the background, so that it is not
    /// kept waiting for its own answer.
    pub async fn pull_changed(&self, project: Project, number: u64) -> Result<(), StoreError> {
        if let Some(workshop) = &self.workshop
            && let Some(job) = self.store.job_of_pull(&project.id, number).await?
        {
            refresh_soon(workshop.clone(), self.store.clone(), project, job);
        }
        Ok(())
    }

    async fn find(&self, project_id: &ProjectId, job_id: &JobId) -> Result<Job, JobError> {
        self.store.job(project_id, job_id).await?.ok_or(JobError::NotFound)
    }

    /// The rate limit of a project's creations and messages.
    pub(crate) fn window(&self, project: &Project) -> Window {
        Window::hourly(project.jobs_per_hour.unwrap_or(self.rules.jobs_per_hour))
    }
}

fn admitted(admission: Admission, not_found: JobError) -> Result<Admitted, JobError> {
    match admission {
        Admission::Done { job_id, answer, standing, .. } => Ok(Admitted { job_id, answer, standing }),
        Admission::NotFound => Err(not_found),
        Admission::Limited(standing) => Err(JobError::Limited(standing)),
        Admission::KeyReused => Err(JobError::KeyReused),
        Admission::Refused(_) => Err(JobError::Archived),
        Admission::Merged => Err(JobError::Merged),
    }
}
