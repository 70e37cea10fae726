//! The engine that needs no model: a fixed set of documentation chores, recognised from the prompt and done exactly.

mod add_page;
mod address;
mod boxes;
mod chore;
mod docs;
mod excerpt;
mod follow;
mod front_matter;
mod headings;
mod language;
mod links;
mod navigation;
mod near;
mod prompt;
mod replace;
mod report;
mod scalar;
mod scope;
mod terms;
#[cfg(test)]
mod tests;
mod typos;
mod words;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use copydesk_domain::Message;
use copydesk_forge::{Renames, Workspace};
use futures_util::future::BoxFuture;

use crate::{Assignment, EditFailure, Edited, Editor, History, Notebook, seated};
use chore::Chore;
use docs::{ChoreFailure, Docs};
use report::Report;
use words::clip;

const MODEL: &str = "builtin";

/// No more than a pull request can hold; one chore says less than that.
const LONGEST_SUMMARY: usize = 60_000;

/// The editor that does the fixed chores.
#[derive(Debug, Default)]
pub struct BuiltinEditor {
    _private: (),
}

impl BuiltinEditor {
    /// The one there is: it has no settings.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Editor for BuiltinEditor {
    fn model(&self) -> &str {
        MODEL
    }

    fn edit<'a>(&'a self, assignment: Assignment<'a>) -> BoxFuture<'a, Result<Edited, EditFailure>> {
        Box::pin(edit(assignment))
    }
}

async fn edit(assignment: Assignment<'_>) -> Result<Edited, EditFailure> {
    let Assignment { first_message, messages, mut workspace, docs_paths, max_files, notebook, history, .. } =
        assignment;
    if let Some(first) = assignment.conflicts.first() {
        return Err(EditFailure::Fatal(format!(
            "The base branch has changed the same places of {} as the job; the builtin engine cannot resolve that: merge \
             the base branch into the branch of the job by hand, and send the message again.",
            clip(first, 300)
        )));
    }
    if assignment.changes.is_some() {
        let sentence = "The job is about a range of commits of a code source, which the engine `builtin` does not read; name a \
                        model in copydesk.toml, or leave `changes` out.";
        return Err(EditFailure::Fatal(sentence.to_owned()));
    }
    let mut work =
        ChoreWork { docs_paths, max_files, notebook, history, dropped: DropFlag::default(), finished: Vec::new() };
    let mut through = first_message.saturating_sub(1);
    let mut new: Vec<Message> = messages.iter().filter(|message| message.number >= first_message).cloned().collect();
    while let Some(last) = new.last().map(|message| message.number) {
        workspace = work.take(&new, workspace).await?;
        through = last;
        new = notebook.messages_after(through).await?;
    }
    let (title, summary) = conclusion(&work.finished, workspace.is_unchanged());
    Ok(Edited { workspace, title, summary, not_done: Vec::new(), taken_through: through })
}

/// The work on the prompts of a round. It keeps nothing that must outlive a crash: done again, it comes to the same.
struct ChoreWork<'a> {
    docs_paths: &'a [String],
    max_files: usize,
    notebook: &'a dyn Notebook,
    history: &'a dyn History,
    dropped: DropFlag,
    finished: Vec<(Chore, Report)>,
}

impl ChoreWork<'_> {
    /// Understands all of these prompts, then does what they say: a prompt that is not understood fails the job
    /// before anything is done.
    async fn take(&mut self, prompts: &[Message], mut workspace: Workspace) -> Result<Workspace, EditFailure> {
        let mut chores = Vec::new();
        for message in prompts {
            chores.extend(prompt::chores(&message.prompt).map_err(|error| EditFailure::Refused(error.sentence()))?);
        }
        for chore in chores {
            let report;
            (workspace, report) = self.run(&chore, workspace).await?;
            self.notebook.tell("chore", report.event(&chore)).await?;
            self.finished.push((chore, report));
        }
        Ok(workspace)
    }

    /// Runs a chore where it does not keep others from running.
    async fn run(&self, chore: &Chore, workspace: Workspace) -> Result<(Workspace, Report), EditFailure> {
        let mut docs = Docs::new(workspace, self.docs_paths, self.max_files, Arc::clone(&self.dropped.0));
        let chore = chore.clone();
        let past = match &chore {
            Chore::Links(links) if links.pages => self.history.renames().await,
            _ => Ok(Renames::default()),
        };
        if !matches!(chore, Chore::AddPage(_)) && docs.is_nowhere().unwrap_or(false) {
            let paths: Vec<String> = self.docs_paths.iter().map(|path| format!("`{path}`")).collect();
            return Err(EditFailure::Fatal(format!(
                "The repository has no {} on the branch that the job starts from, so there are no pages to work on: name \
                 another folder in the settings of the project, or add the first page.",
                paths.join(", ")
            )));
        }
        let work = seated(move |_| do_chore(&chore, &mut docs, &past).map(|()| (docs.workspace, docs.report)));
        match work.await {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(ChoreFailure::Refused(sentence))) => Err(EditFailure::Refused(sentence)),
            Ok(Err(ChoreFailure::Unreadable(why))) => Err(EditFailure::Retry(clip(&why, 300))),
            Err(error) if error.is_panic() => {
                Err(EditFailure::Fatal("The chore ended by a fault of the builtin engine itself.".to_owned()))
            }
            Ok(Err(ChoreFailure::Dropped)) | Err(_) => Err(EditFailure::Retry("the chore was interrupted".to_owned())),
        }
    }
}

/// Tells work on another thread that nobody waits for it any more.
#[derive(Default)]
struct DropFlag(Arc<AtomicBool>);

impl Drop for DropFlag {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// `past` is what the history tells of files that have moved, for the chores that ask for it.
fn do_chore(chore: &Chore, docs: &mut Docs, past: &Result<Renames, String>) -> Result<(), ChoreFailure> {
    match chore {
        Chore::Replace(it) => replace::run(it, docs),
        Chore::Typos(scope) => typos::run(scope, docs),
        Chore::FrontMatter(it) => front_matter::run(it, docs),
        Chore::Headings(scope) => headings::run(scope, docs),
        Chore::AddPage(it) => add_page::run(it, docs),
        Chore::Links(it) => links::run(it, docs, past),
    }
}

/// What the change is called, and what the user is told.
fn conclusion(finished: &[(Chore, Report)], unchanged: bool) -> (String, String) {
    let mut summary = String::new();
    for (number, (chore, report)) in finished.iter().enumerate() {
        let part = report.summary(chore);
        if summary.len() + part.len() > LONGEST_SUMMARY {
            summary.push_str(&format!("\n\nAnd {} more chores.", finished.len() - number));
            break;
        }
        let gap = if number > 0 { "\n\n" } else { "" };
        summary.push_str(&format!("{gap}{part}"));
    }
    if summary.is_empty() {
        "There was nothing new to do.".clone_into(&mut summary);
    }
    if unchanged {
        return (String::new(), summary);
    }
    let mut titles: Vec<String> =
        finished.iter().filter(|(_, report)| report.has_changes()).map(|(chore, _)| chore.title()).collect();
    titles.dedup();
    let title = match titles.as_slice() {
        [] => "Do documentation chores".to_owned(),
        [only] => only.clone(),
        [first, second] => format!("{first}; {}", small(second)),
        [first, rest @ ..] => format!("{first} and {} more chores", rest.len()),
    };
    (clip(&title, 200), summary)
}

/// A title in the middle of another.
fn small(title: &str) -> String {
    let mut letters = title.chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
}
