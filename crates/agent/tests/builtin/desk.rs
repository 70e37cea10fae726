//! A desk with files on it, to which the editor is called.

use std::sync::{Arc, Mutex};

use copydesk_agent::{
    Assignment, BuiltinEditor, CodeSources, EditFailure, Edited, Editor, History, Notebook, RangeQuestion,
    RecordedAnswer, Stopped,
};
use copydesk_checks::Scope;
use copydesk_domain::{Budgets, Message, Timestamp};
use copydesk_forge::{Guard, MemoryTree, PastQuestion, Range, Renames, Workspace};
use futures_util::future::BoxFuture;
use serde_json::Value;

/// Files, what may not be written, and prompts that come in while the editor works.
pub struct Desk {
    files: Vec<(String, Vec<u8>)>,
    forbidden: Vec<String>,
    later: Vec<Message>,
    max_files: usize,
    renames: Renames,
}

/// What the editor gives back.
pub struct Outcome {
    pub workspace: Workspace,
    pub title: String,
    pub summary: String,
    pub taken_through: u32,
    pub events: Vec<Value>,
}

impl Desk {
    pub fn of(files: &[(&str, &str)]) -> Self {
        let files = files.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect();
        Self { files, forbidden: Vec::new(), later: Vec::new(), max_files: 100, renames: Renames::default() }
    }

    pub fn forbidding(mut self, path: &str) -> Self {
        self.forbidden.push(path.to_owned());
        self
    }

    /// The file had another name once.
    pub fn renamed(mut self, old: &str, new: &str) -> Self {
        self.renames.pairs.push((old.to_owned(), new.to_owned()));
        self
    }

    /// The history is not known to its beginning.
    pub fn cut(mut self, why: &str) -> Self {
        self.renames.cut = Some(why.to_owned());
        self
    }

    pub fn at_most(mut self, max_files: usize) -> Self {
        self.max_files = max_files;
        self
    }

    pub fn later(mut self, number: u32, prompt: &str) -> Self {
        self.later.push(message(number, prompt));
        self
    }

    pub async fn edit(&self, prompt: &str) -> Outcome {
        self.edit_from(1, &[prompt]).await
    }

    pub async fn edit_from(&self, first_message: u32, prompts: &[&str]) -> Outcome {
        let (result, events) = self.run(first_message, prompts).await;
        let Edited { workspace, title, summary, taken_through, .. } =
            result.unwrap_or_else(|error| panic!("{error:?}"));
        Outcome { workspace, title, summary, taken_through, events }
    }

    /// The sentence with which it fails.
    pub async fn fail(&self, prompt: &str) -> String {
        match self.run(1, &[prompt]).await.0 {
            Err(EditFailure::Fatal(sentence) | EditFailure::Refused(sentence)) => sentence,
            Err(other) => panic!("{other:?}"),
            Ok(edited) => panic!("{prompt}: {}", edited.summary),
        }
    }

    async fn run(&self, first_message: u32, prompts: &[&str]) -> (Result<Edited, EditFailure>, Vec<Value>) {
        let messages: Vec<Message> = (1..).zip(prompts).map(|(number, prompt)| message(number, prompt)).collect();
        let notebook = Notes { later: self.later.clone(), events: Mutex::default() };
        let forbidden = self.forbidden.clone();
        let guard: Guard = Arc::new(move |path| match forbidden.iter().any(|one| one == path) {
            true => Err("it is generated".to_owned()),
            false => Ok(()),
        });
        let workspace = Workspace::new(Arc::new(MemoryTree::of(self.files.clone())), guard);
        let past = Past(self.renames.clone());
        let result = edit(workspace, self.max_files, first_message, &messages, &notebook, &past).await;
        (result, notebook.events.into_inner().unwrap())
    }
}

/// Has the editor do what one prompt says.
pub async fn edit_workspace(workspace: Workspace, max_files: usize, prompt: &str) -> Result<Edited, EditFailure> {
    let notebook = Notes { later: Vec::new(), events: Mutex::default() };
    edit(workspace, max_files, 1, &[message(1, prompt)], &notebook, &Past(Renames::default())).await
}

async fn edit(
    workspace: Workspace,
    max_files: usize,
    first_message: u32,
    messages: &[Message],
    notebook: &Notes,
    history: &Past,
) -> Result<Edited, EditFailure> {
    let editor = BuiltinEditor::new();
    assert_eq!(editor.model(), "builtin");
    let docs_paths = ["docs".to_owned()];
    let round = first_message;
    let assignment = Assignment {
        project_id: &"project".into(),
        round,
        first_message,
        messages,
        base: workspace.base().clone(),
        workspace,
        conflicts: &[],
        docs_paths: &docs_paths,
        scope: Arc::new(Scope::new(&docs_paths)),
        max_files,
        notebook,
        history,
        budgets: Budgets::default(),
        sources: CodeSources::default(),
        changes: None,
    };
    editor.edit(assignment).await
}

impl Outcome {
    pub fn file(&self, path: &str) -> String {
        self.workspace.text(path).unwrap()
    }

    pub fn changed(&self) -> Vec<String> {
        self.workspace.changed_paths().map(str::to_owned).collect()
    }

    /// A desk with what the editor left.
    pub fn as_base(&self) -> Desk {
        let paths = self.workspace.list("").unwrap();
        let files = paths.into_iter().map(|path| {
            let content = self.workspace.read(&path).unwrap().unwrap();
            (path, content)
        });
        Desk {
            files: files.collect(),
            forbidden: Vec::new(),
            later: Vec::new(),
            max_files: 100,
            renames: Renames::default(),
        }
    }
}

fn message(number: u32, prompt: &str) -> Message {
    Message { number, prompt: prompt.to_owned(), created_at: Timestamp::from_millis(0) }
}

struct Past(Renames);

impl History for Past {
    fn renames(&self) -> BoxFuture<'_, Result<Renames, String>> {
        Box::pin(async { Ok(self.0.clone()) })
    }

    fn past<'a>(&'a self, _: Option<&'a str>, _: &'a PastQuestion) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(async { Err("there is no past here".to_owned()) })
    }

    fn range<'a>(&'a self, _: &'a RangeQuestion) -> BoxFuture<'a, Result<Range, String>> {
        Box::pin(async { Err("there is no past here".to_owned()) })
    }
}

struct Notes {
    later: Vec<Message>,
    events: Mutex<Vec<Value>>,
}

impl Notebook for Notes {
    fn job_id(&self) -> &str {
        "j"
    }

    fn answers(&self) -> BoxFuture<'_, Result<Vec<RecordedAnswer>, Stopped>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn record_answer<'a>(&'a self, _: &'a RecordedAnswer) -> BoxFuture<'a, Result<(), Stopped>> {
        Box::pin(async { Ok(()) })
    }

    fn tell<'a>(&'a self, kind: &'static str, data: Value) -> BoxFuture<'a, Result<(), Stopped>> {
        assert_eq!(kind, "chore");
        self.events.lock().unwrap().push(data);
        Box::pin(async { Ok(()) })
    }

    fn messages_after(&self, after: u32) -> BoxFuture<'_, Result<Vec<Message>, Stopped>> {
        let next = self.later.iter().filter(|message| message.number == after + 1).cloned().collect();
        Box::pin(async { Ok(next) })
    }
}
