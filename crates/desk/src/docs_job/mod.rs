//! A documentation job: from prompts to a pull request. Each step is recorded before the next begins, and each is safe to
//! do again, so that whoever takes the job over after a crash goes on from the last one.

mod changes;
mod failure;
mod furnish;
mod local_host;
mod merge;
mod notebook;
mod publish;
mod refresh;
mod review;
mod round;
mod sides;
mod sources;
mod turned_down;
mod update;

use std::sync::Arc;

use copydesk_agent::Editor;
use copydesk_boxed::boxed;
use copydesk_domain::{Outcome, Project};
use copydesk_forge::{CodeHost, Connection, Forge, ForgeError, Hosts, Mirror};
use copydesk_store::{Edit, Finish, Round, Verdict};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::credentials::Credentials;
use crate::runner::{Engine, Failure, Near, Task};

pub(crate) use merge::settled;
pub use merge::{NotMerged, merge};
pub use publish::{NotPublished, publish};
pub use refresh::Refreshes;
pub(crate) use refresh::{notice_merge, refresh_soon, refreshed};
pub use review::ChangeLimits;
pub use sides::{Sides, sides};

/// What documentation jobs need beside the store. Shared by all of them.
pub struct Workshop {
    pub forge: Forge,
    /// Where their pull requests live.
    pub hosts: Hosts,
    /// What is shown to them.
    pub credentials: Credentials,
    /// What they have told of.
    pub refreshes: Refreshes,
    /// Where users reach this server, without a slash at the end.
    pub public_url: String,
    /// How much a job may change.
    pub limits: ChangeLimits,
    /// The projects that have a mirror here.
    pub near: Near,
}

#[boxed]
impl Workshop {
    /// The way to a project's code host, with its credential.
    pub async fn connect(&self, project: &Project) -> Result<Connection, ForgeError> {
        self.check_awake().await?;
        let secret = self.credentials.of(&project.id).await?;
        self.hosts.connect(&project.repository, &project.host, secret)
    }

    /// Whoever wants to reach a code host comes through here: nothing goes out of a dormant copy.
    async fn check_awake(&self) -> Result<(), ForgeError> {
        let unknown = |error| ForgeError::passing(format!("whether this copy is dormant cannot be told: {error}"));
        let dormancy = self.credentials.store().dormancy().await.map_err(unknown)?;
        dormancy.map_or(Ok(()), |dormancy| Err(ForgeError::passing(dormancy.sentence())))
    }

    /// The mirror of a project's repository.
    async fn mirror(&self, connection: &Connection) -> Result<Mirror, Failure> {
        Ok(self.forge.mirror(&connection.remote().await?).await?)
    }
}

/// Runs the jobs of one editor.
pub struct DocsEngine {
    workshop: Arc<Workshop>,
    editor: Arc<dyn Editor>,
}

impl DocsEngine {
    /// An engine for the jobs of `editor`.
    pub fn new(workshop: Arc<Workshop>, editor: Arc<dyn Editor>) -> Self {
        Self { workshop, editor }
    }
}

impl Engine for DocsEngine {
    fn model(&self) -> &str {
        self.editor.model()
    }

    fn near(&self) -> Option<&Near> {
        Some(&self.workshop.near)
    }

    fn run<'a>(&'a self, task: Task<'a>) -> BoxFuture<'a, Result<Finish, Failure>> {
        async move {
            let project = task.project().await?;
            let connection = self.workshop.connect(&project).await?;
            let mirror = self.workshop.mirror(&connection).await?;
            self.workshop.near.add(&project.id);
            let host = connection.code_host();
            let bench = Bench {
                workshop: &self.workshop,
                task: &task,
                project: &project,
                connection: &connection,
                mirror: &mirror,
                host: host.as_deref(),
            };
            let rounds = bench.rounds(&*self.editor).await?;
            bench.conclude(&rounds).await
        }
        .boxed()
    }
}

/// One job with all that is needed to work on it.
struct Bench<'a> {
    workshop: &'a Workshop,
    task: &'a Task<'a>,
    project: &'a Project,
    connection: &'a Connection,
    mirror: &'a Mirror,
    /// Where pull requests live; none: Copydesk keeps them itself.
    host: Option<&'a dyn CodeHost>,
}

impl Bench<'_> {
    /// From the edited round, which is the last, to the end of the job.
    async fn conclude(&self, rounds: &[Round]) -> Result<Finish, Failure> {
        let Some((round, edit)) = rounds.last().and_then(|round| Some((round, round.edit.as_ref()?))) else {
            return Err(Failure::Retry("the round that was just edited is gone".to_owned()));
        };
        // Something that was committed before and has not gone out, perhaps because the push failed then.
        let kept = rounds.iter().rev().find(|round| round.is_kept());
        let waits = kept.is_some_and(|round| !round.pushed || self.task.job.pr_link.is_none());
        // A prompt that changed nothing more does not take away what this run has done.
        let of_this_run = kept.is_some_and(|round| round.run == self.task.job.run);
        let goes_on = edit.verdict == Verdict::Unchanged && (waits || of_this_run);
        let shown = kept.filter(|_| goes_on).and_then(|round| round.edit.as_ref()).unwrap_or(edit);
        // What is proposed as a whole is called by its first round, as its pull request is; a follow-up adds to it.
        let named = rounds.iter().find(|round| round.is_kept()).and_then(|round| round.edit.as_ref()).unwrap_or(shown);
        let finish = |outcome, message: String| Finish {
            title: (!named.title.is_empty()).then(|| named.title.clone()),
            checks: shown.checks.clone(),
            ..Finish::new(outcome, message, edit.taken_through)
        };
        match edit.verdict {
            Verdict::Unchanged if !goes_on && !edit.not_done.is_empty() => {
                return Ok(finish(Outcome::Blocked, with_not_done(edit)));
            }
            Verdict::Unchanged if !goes_on => return Ok(finish(Outcome::NoChanges, edit.summary.clone())),
            Verdict::Unchanged => {}
            Verdict::Refused => {
                let is_open = self.task.job.pr_link.is_some();
                return Ok(finish(Outcome::ChecksFailed, review::sentence(edit, is_open)));
            }
            Verdict::Good | Verdict::Draft => {}
        }
        if !self.task.job.open_pull_request {
            return Ok(finish(Outcome::ChangesReady, with_not_done(edit)));
        }
        if let Some(pull) = self.turned_down(edit).await? {
            let why = format!(
                "{}\n\nNo pull request was opened: {} proposed the same and was closed. Send a message, or open one from this \
                 change, if you still want it.",
                with_not_done(edit),
                pull.url
            );
            return Ok(finish(Outcome::ChangesReady, why));
        }
        let link = self.open(rounds).await?;
        let untold = self.project.host.untold(&self.project.repository);
        let untold = untold
            .map(|why| {
                format!(" No pull request was opened on the code host, and the link leads to the branch: {why}.")
            })
            .unwrap_or_default();
        Ok(Finish {
            branch: kept.or(Some(round)).and_then(|round| round.branch.clone()),
            pr_link: Some(link),
            ..finish(Outcome::PrCreated, format!("{}{untold}", with_not_done(edit)))
        })
    }
}

/// What is said to the user, with what could not be done.
fn with_not_done(edit: &Edit) -> String {
    if edit.not_done.is_empty() {
        return edit.summary.clone();
    }
    let items: Vec<String> = edit.not_done.iter().map(|item| format!("- {item}")).collect();
    format!("{}\n\nNot done:\n{}", edit.summary, items.join("\n"))
}
