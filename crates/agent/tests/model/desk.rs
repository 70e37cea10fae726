use std::sync::{Arc, Mutex};
use std::time::Duration;

use copydesk_agent::{
    Assignment, CodeSources, EditFailure, Edited, Editor, History, KeySource, ModelEditor, ModelSettings, Notebook,
    Provider, RangeQuestion, RecordedAnswer, SecretString, Stopped,
};
use copydesk_checks::Scope;
use copydesk_domain::{Budgets, Message, Timestamp};
use copydesk_forge::{Kind, MemoryTree, PastQuestion, Range, Renames, Workspace};
use futures_util::future::{BoxFuture, FutureExt};
use serde_json::Value;

use crate::stub::Stub;

pub const KEY: &str = "sk-planted-0123456789abcdef";

/// A notebook in memory.
#[derive(Default)]
pub struct Pages {
    pub answers: Mutex<Vec<RecordedAnswer>>,
    pub told: Mutex<Vec<(String, Value)>>,
    pub messages: Mutex<Vec<Message>>,
    /// After how many answers the job is lost; 0 for never.
    pub lost_after: Mutex<usize>,
}

impl Notebook for Pages {
    fn job_id(&self) -> &str {
        "j"
    }

    fn answers(&self) -> BoxFuture<'_, Result<Vec<RecordedAnswer>, Stopped>> {
        async { Ok(self.answers.lock().unwrap().clone()) }.boxed()
    }

    fn record_answer<'a>(&'a self, answer: &'a RecordedAnswer) -> BoxFuture<'a, Result<(), Stopped>> {
        async {
            let mut answers = self.answers.lock().unwrap();
            answers.push(answer.clone());
            if answers.len() == *self.lost_after.lock().unwrap() { Err(Stopped) } else { Ok(()) }
        }
        .boxed()
    }

    fn tell<'a>(&'a self, kind: &'static str, data: Value) -> BoxFuture<'a, Result<(), Stopped>> {
        async move {
            self.told.lock().unwrap().push((kind.to_owned(), data));
            Ok(())
        }
        .boxed()
    }

    fn messages_after(&self, after: u32) -> BoxFuture<'_, Result<Vec<Message>, Stopped>> {
        async move {
            let messages = self.messages.lock().unwrap();
            Ok(messages.iter().filter(|message| message.number > after).cloned().collect())
        }
        .boxed()
    }
}

impl Pages {
    pub fn with_prompt(prompt: &str) -> Self {
        let pages = Self::default();
        pages.prompt(prompt);
        pages
    }

    pub fn prompt(&self, prompt: &str) {
        let mut messages = self.messages.lock().unwrap();
        let number = u32::try_from(messages.len()).unwrap() + 1;
        messages.push(Message { number, prompt: prompt.to_owned(), created_at: Timestamp::from_millis(0) });
    }

    pub fn kinds(&self) -> Vec<String> {
        self.told.lock().unwrap().iter().map(|(kind, _)| kind.clone()).collect()
    }

    /// Everything that was told or kept, as text.
    pub fn everything(&self) -> String {
        format!("{:?} {:?}", self.told.lock().unwrap(), self.answers.lock().unwrap())
    }
}

pub fn workspace() -> Workspace {
    let tree = MemoryTree::of([
        ("docs/a.md", "# A\n\nOld text.\n"),
        ("docs/b.md", "# B\n\nSee [A](a.md).\n"),
        ("AGENTS.md", "Write plainly.\n"),
        (".github/workflows/ci.yml", "on: push\n"),
    ])
    .with("docs/link.md", Kind::Symlink, "a.md")
    .with("docs/logo.png", Kind::File, [0u8, 1, 2]);
    let guard = |path: &str| {
        if path.starts_with("docs/") { Ok(()) } else { Err(format!("{path:?} is not documentation")) }
    };
    Workspace::new(Arc::new(tree), Arc::new(guard))
}

pub fn settings(stub: &Stub, provider: Provider) -> ModelSettings {
    let mut settings = ModelSettings::new(provider, "test-model");
    settings.base_url = Some(stub.url.clone());
    settings.keys = KeySource::one(SecretString::from(KEY));
    settings.pause = Duration::from_millis(1);
    settings
}

pub fn editor(stub: &Stub, provider: Provider) -> ModelEditor {
    ModelEditor::new(settings(stub, provider)).unwrap()
}

/// A repository of which nothing is known but what is in it now.
struct NoHistory;

impl History for NoHistory {
    fn renames(&self) -> BoxFuture<'_, Result<Renames, String>> {
        async { Ok(Renames::default()) }.boxed()
    }

    fn past<'a>(&'a self, _: Option<&'a str>, _: &'a PastQuestion) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(async { Err("there is no past here".to_owned()) })
    }

    fn range<'a>(&'a self, _: &'a RangeQuestion) -> BoxFuture<'a, Result<Range, String>> {
        Box::pin(async { Err("there is no past here".to_owned()) })
    }
}

/// One round over a fresh workspace.
pub async fn round(editor: &ModelEditor, pages: &Pages, round: u32, first: u32) -> Result<Edited, EditFailure> {
    round_of_at_most(100, editor, pages, round, first).await
}

/// One round that may change at most so many files.
pub async fn round_of_at_most(
    max_files: usize,
    editor: &ModelEditor,
    pages: &Pages,
    round: u32,
    first: u32,
) -> Result<Edited, EditFailure> {
    round_of(workspace(), max_files, Budgets::default(), editor, pages, round, first).await
}

/// The first round, which may cost so much.
pub async fn round_within(budgets: Budgets, editor: &ModelEditor, pages: &Pages) -> Result<Edited, EditFailure> {
    round_of(workspace(), 100, budgets, editor, pages, 1, 1).await
}

/// The first round over another workspace.
pub async fn round_over(workspace: Workspace, editor: &ModelEditor, pages: &Pages) -> Result<Edited, EditFailure> {
    round_of(workspace, 100, Budgets::default(), editor, pages, 1, 1).await
}

async fn round_of(
    workspace: Workspace,
    max_files: usize,
    budgets: Budgets,
    editor: &ModelEditor,
    pages: &Pages,
    round: u32,
    first: u32,
) -> Result<Edited, EditFailure> {
    let messages = pages.messages.lock().unwrap().clone();
    let assignment = Assignment {
        project_id: &"p".into(),
        round,
        first_message: first,
        messages: &messages,
        base: workspace.base().clone(),
        workspace,
        conflicts: &[],
        docs_paths: &["docs".to_owned()],
        scope: Arc::new(Scope::new(&["docs".to_owned()])),
        max_files,
        notebook: pages,
        history: &NoHistory,
        budgets,
        sources: CodeSources::default(),
        changes: None,
    };
    editor.edit(assignment).await
}

pub async fn edit(editor: &ModelEditor, pages: &Pages) -> Result<Edited, EditFailure> {
    round(editor, pages, 1, 1).await
}

/// Why it failed for good.
pub fn fatal(result: Result<Edited, EditFailure>) -> String {
    match result {
        Err(EditFailure::Fatal(sentence)) => sentence,
        Err(other) => panic!("{other:?}"),
        Ok(edited) => panic!("finished: {}", edited.summary),
    }
}

pub fn text(edited: &Edited, path: &str) -> String {
    edited.workspace.text(path).unwrap()
}
