use std::sync::Arc;

use copydesk_checks::Scope;
use copydesk_domain::{Budgets, Message, ProjectId, Usage};
use copydesk_forge::{PastQuestion, Range, Renames, Tree, Workspace};
use futures_util::future::BoxFuture;

use crate::sources::{AskedRange, CodeSources, RangeQuestion};

/// What edits: given prompts and a workspace, it gives the workspace back, edited.
pub trait Editor: Send + Sync {
    /// The model whose jobs it runs.
    fn model(&self) -> &str;

    /// Does what the prompts say. It is dropped in the middle when the job is cancelled or lost, and started again from
    /// the beginning after a crash, with the answers that were recorded.
    fn edit<'a>(&'a self, assignment: Assignment<'a>) -> BoxFuture<'a, Result<Edited, EditFailure>>;
}

/// What an editor is given.
pub struct Assignment<'a> {
    /// The project the job belongs to.
    pub project_id: &'a ProjectId,
    /// The number of this round of the job: 1, and one more whenever there are new prompts after the work was done.
    pub round: u32,
    /// The number of the first prompt of this round. Those before are history: done, failed or cancelled, not to be
    /// done again.
    pub first_message: u32,
    /// All prompts of the job, oldest first; those of earlier rounds too.
    pub messages: &'a [Message],
    /// The files. In the first round the base commit, later what the rounds before have left.
    pub workspace: Workspace,
    /// The commit of the base branch that the job started from.
    pub base: Arc<dyn Tree>,
    /// Files in which the base branch and the job have changed the same places: they hold git's marks, and are to be
    /// resolved before anything else.
    pub conflicts: &'a [String],
    /// The folders that hold documentation, `.` for all of the repository.
    pub docs_paths: &'a [String],
    /// What may be written, for the checks of an editor that makes its own; the workspace holds to it anyway.
    pub scope: Arc<Scope>,
    /// The most files that may be different from `workspace` as it was given. More would be refused afterwards.
    pub max_files: usize,
    /// Where progress and answers are written down.
    pub notebook: &'a dyn Notebook,
    /// Where files have gone.
    pub history: &'a dyn History,
    /// What the round may cost, as the project and the job have it. An editor that costs something holds to the smallest,
    /// its own limit included.
    pub budgets: Budgets,
    /// Further repositories that may be read.
    pub sources: CodeSources,
    /// The range of commits of one of them that the job is about.
    pub changes: Option<&'a AskedRange>,
}

/// The history of the repository before the files that the editor is given, and of the code sources, as far as it needs
/// it.
pub trait History: Send + Sync {
    /// The renames on the way to the files that the editor is given. It takes a moment in a repository with a long past.
    /// The error says why the past cannot be read, as one sentence.
    fn renames(&self) -> BoxFuture<'_, Result<Renames, String>>;

    /// What a question about the past is answered with, that of a code source if one is named. The error says why it is
    /// not, as one sentence.
    fn past<'a>(&'a self, source: Option<&'a str>, asked: &'a PastQuestion) -> BoxFuture<'a, Result<String, String>>;

    /// What leads from one commit of a code source to another. The error says why that is not known, as one sentence.
    fn range<'a>(&'a self, asked: &'a RangeQuestion) -> BoxFuture<'a, Result<Range, String>>;
}

/// What an editor has done.
pub struct Edited {
    /// The files, edited or not.
    pub workspace: Workspace,
    /// What the change is called, in one line; empty if nothing was changed.
    pub title: String,
    /// What it says to the user: what it did, file by file, and what it left; or why nothing was to be done.
    pub summary: String,
    /// What of the request it could not do and why, a sentence each. Empty if all is done or nothing was to be done.
    pub not_done: Vec<String>,
    /// The number of the last prompt that was taken in.
    pub taken_through: u32,
}

/// Why an editor could not do what it was asked to.
#[derive(Debug)]
pub enum EditFailure {
    /// It may work later; why, as one sentence.
    Retry(String),
    /// It will not; what to tell the user, as one sentence.
    Fatal(String),
    /// What the prompts ask for cannot be done; what to tell the user, as one sentence that may quote them. It is for the job and
    /// for nobody else, so not for the log.
    Refused(String),
    /// The job is no longer to be worked on.
    Stopped(Stopped),
}

impl From<Stopped> for EditFailure {
    fn from(stopped: Stopped) -> Self {
        Self::Stopped(stopped)
    }
}

/// The job is no longer to be worked on, or it cannot be asked whether it is. The holder of the notebook knows why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the job is no longer to be worked on")]
pub struct Stopped;

/// An answer of a model that was paid for, and so is kept.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedAnswer {
    /// The round of the job that it belongs to.
    pub round: u32,
    /// The number of the last prompt that the model had seen.
    pub seen_through: u32,
    /// What the model said, in the editor's own words.
    pub said: serde_json::Value,
    pub usage: Usage,
}

/// Where an editor writes down what must outlive a crash and what the user is to see.
pub trait Notebook: Send + Sync {
    /// The job that is worked on, for the log.
    fn job_id(&self) -> &str;

    /// The answers recorded so far, of all rounds, oldest first.
    fn answers(&self) -> BoxFuture<'_, Result<Vec<RecordedAnswer>, Stopped>>;

    /// Records an answer and adds its usage to the job's. Before it is acted upon.
    fn record_answer<'a>(&'a self, answer: &'a RecordedAnswer) -> BoxFuture<'a, Result<(), Stopped>>;

    /// Tells the user about progress: an event of this kind. `data` is an object, bounded by whoever makes it.
    fn tell<'a>(&'a self, kind: &'static str, data: serde_json::Value) -> BoxFuture<'a, Result<(), Stopped>>;

    /// The prompts after number `after` that have come in meanwhile.
    fn messages_after(&self, after: u32) -> BoxFuture<'_, Result<Vec<Message>, Stopped>>;
}
