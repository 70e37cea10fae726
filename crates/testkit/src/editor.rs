use std::sync::Arc;

use copydesk_agent::{Assignment, EditFailure, Edited, Editor};
use copydesk_forge::Workspace;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::{Semaphore, mpsc};

/// What a [`TestEditor`] does to the files, given the newest prompt; gives the title and the summary.
pub type Edit = dyn Fn(&mut Workspace, &str) -> Result<(String, String), EditFailure> + Send + Sync;

/// An editor that does as the test says, and can be held up in the middle.
pub struct TestEditor {
    model: String,
    edit: Box<Edit>,
    gate: Option<Gate>,
}

struct Gate {
    arrived: mpsc::UnboundedSender<String>,
    go_on: Arc<Semaphore>,
}

/// Holds an editor up.
pub struct EditorGate {
    arrived: mpsc::UnboundedReceiver<String>,
    go_on: Arc<Semaphore>,
}

impl EditorGate {
    /// Waits until the editor has been given a job, and gives its newest prompt.
    pub async fn arrived(&mut self) -> String {
        let arrived = tokio::time::timeout(crate::PATIENCE, self.arrived.recv()).await;
        arrived.expect("no job came to the editor").expect("the editor holds a sender")
    }

    /// Whether the editor was given a job that nobody has looked at yet.
    pub fn has_arrived(&mut self) -> bool {
        self.arrived.try_recv().is_ok()
    }

    /// Lets one job go on.
    pub fn open(&self) {
        self.go_on.add_permits(1);
    }
}

impl TestEditor {
    /// An editor for the jobs of `model`.
    pub fn new(
        model: &str,
        edit: impl Fn(&mut Workspace, &str) -> Result<(String, String), EditFailure> + Send + Sync + 'static,
    ) -> Self {
        Self { model: model.to_owned(), edit: Box::new(edit), gate: None }
    }

    /// An editor that writes what the prompt says: `path = text`, one a line.
    pub fn writing() -> Self {
        Self::new("writer", |workspace, prompt| {
            for line in prompt.lines() {
                let Some((path, text)) = line.split_once(" = ") else { continue };
                let refused = |error: copydesk_forge::Refusal| EditFailure::Fatal(format!("Refused: {error}."));
                match text {
                    "(delete)" => workspace.delete(path).map_err(refused)?,
                    text => workspace.write(path, text.replace("\\n", "\n")).map_err(refused)?,
                }
            }
            Ok(("Write what was said".to_owned(), "I wrote it.".to_owned()))
        })
    }

    /// The same editor, which waits at a gate with every job.
    pub fn gated(mut self) -> (Self, EditorGate) {
        let (arrive, arrived) = mpsc::unbounded_channel();
        let go_on = Arc::new(Semaphore::new(0));
        self.gate = Some(Gate { arrived: arrive, go_on: go_on.clone() });
        (self, EditorGate { arrived, go_on })
    }
}

impl Editor for TestEditor {
    fn model(&self) -> &str {
        &self.model
    }

    fn edit<'a>(&'a self, assignment: Assignment<'a>) -> BoxFuture<'a, Result<Edited, EditFailure>> {
        async move {
            let mut workspace = assignment.workspace;
            let newest = assignment.messages.last().unwrap();
            if let Some(gate) = &self.gate {
                // The test may have gone on without looking.
                let _ = gate.arrived.send(newest.prompt.clone());
                gate.go_on.acquire().await.unwrap().forget();
            }
            let mut said = (String::new(), String::new());
            for message in assignment.messages.iter().filter(|it| it.number >= assignment.first_message) {
                said = (self.edit)(&mut workspace, &message.prompt)?;
            }
            Ok(Edited { workspace, title: said.0, summary: said.1, not_done: Vec::new(), taken_through: newest.number })
        }
        .boxed()
    }
}
