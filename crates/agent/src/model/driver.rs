use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use copydesk_checks::Scope;
use copydesk_domain::{ProjectId, TRACE_TARGET, Usage};
use copydesk_forge::{FileChange, Workspace};
use futures_util::StreamExt;
use secrecy::SecretString;
use serde_json::{Value, json};
use tracing::Instrument;

use super::call::{self, NoAnswer};
use super::client::Question;
use super::history::{History, Prompts, Recorded, tokens_of};
use super::looking::{self, View, broken, unreadable};
use super::{ModelEditor, events};
use crate::machine::{Effect, Event, Machine};
use crate::review::{DocsChecks, Review, sentence};
use crate::said::{Call, Finish, Ran, Said, TokenCounts};
use crate::sources::CodeSources;
use crate::{Assignment, EditFailure, Edited, Notebook, RecordedAnswer, prompt, range_text, seated, tools};

const NO_PRICE: &str = "The job's `maxCost` cannot be held to, because the worker does not know the price of the model: \
                        set `model.input_price` and `model.output_price`, or create the job without it.";

/// Does what the machine says until it says that it is over.
pub(super) async fn edit(editor: &ModelEditor, assignment: Assignment<'_>) -> Result<Edited, EditFailure> {
    let (mut desk, mut machine) = Desk::set_up(editor, assignment).await?;
    let mut effect = machine.handle(Event::Start);
    loop {
        let event = match effect {
            Effect::Call => desk.answer(&mut machine).await?,
            Effect::Run(calls) => desk.run(calls).await?,
            Effect::Check => {
                let span = tracing::info_span!(target: TRACE_TARGET, "checks");
                desk.check().instrument(span).await?
            }
            Effect::Finish(finish) => return desk.clear(finish),
            Effect::Fail(sentence) => return Err(EditFailure::Fatal(sentence)),
        };
        effect = machine.handle(event);
    }
}

/// Where one round of a job is worked on.
struct Desk<'a> {
    editor: &'a ModelEditor,
    notebook: &'a dyn Notebook,
    /// The history of the repository.
    history: &'a dyn crate::History,
    /// What else may be read.
    sources: CodeSources,
    round: u32,
    key: Option<SecretString>,
    scope: Scope,
    /// None only while a tool has it.
    workspace: Option<Workspace>,
    /// What the workspace held when the round began.
    before: Vec<FileChange>,
    recorded: VecDeque<Recorded>,
    prompts: Prompts,
    /// The number of the last prompt that an answer was given to.
    taken_through: u32,
    answers: u64,
    /// Whether the last answer was new. What follows from one that was recorded was told before.
    live: bool,
}

impl<'a> Desk<'a> {
    async fn set_up(editor: &'a ModelEditor, assignment: Assignment<'a>) -> Result<(Desk<'a>, Machine), EditFailure> {
        let Assignment { project_id, round, first_message, messages, workspace, base, notebook, budgets, .. } =
            assignment;
        let key = read_key(editor, project_id).await?;
        if key.is_none() && editor.client.needs_key() {
            return Err(EditFailure::Fatal("There is no API key for the model provider.".to_owned()));
        }
        // Looked at when the job was made, but this worker may have another configuration, or the server another one now.
        if budgets.job.is_some() && !editor.settings.has_prices() {
            return Err(EditFailure::Fatal(NO_PRICE.to_owned()));
        }
        let answers = notebook.answers().await?;
        let before = workspace.changes();
        let mut desk = Desk {
            editor,
            notebook,
            history: assignment.history,
            sources: assignment.sources,
            round,
            key,
            scope: Scope { max_files: assignment.max_files, ..(*assignment.scope).clone() },
            workspace: Some(workspace),
            before,
            recorded: VecDeque::new(),
            prompts: Prompts::default(),
            taken_through: 0,
            answers: 0,
            live: false,
        };
        let room = editor.limits(budgets).context_bytes / 4;
        let sources = desk.sources.clone();
        let mut context = desk
            .with_workspace(move |_, scope, _| {
                let context = prompt::context(&*base, &scope.docs_paths, room)?;
                Ok(context + &prompt::sources(&*base, &sources, room)?)
            })
            .await?;
        context.push_str(&prompt::conflicts(assignment.conflicts));
        if let Some(asked) = assignment.changes {
            context.push_str(&range_text::fragment(asked, room));
        }
        let history = History::new(&context, answers, round, first_message, messages);
        desk.recorded = history.recorded;
        desk.prompts = history.prompts;
        desk.taken_through = desk.prompts.shown;
        desk.answers = history.answers.saturating_sub(desk.recorded.len() as u64);
        if !desk.recorded.is_empty() {
            desk.notebook.tell("resumed", resumed(&desk.recorded)).await?;
        }
        let machine = Machine::new(history.talk, editor.limits(budgets));
        Ok((desk, machine))
    }

    /// The next answer: a recorded one if there is one, else one from the model.
    async fn answer(&mut self, machine: &mut Machine) -> Result<Event, EditFailure> {
        if let Some(recorded) = self.recorded.pop_front() {
            self.show_prompts(machine, recorded.seen_through);
            return Ok(self.take_in(recorded, false));
        }
        self.prompts.add(self.notebook.messages_after(self.prompts.known).await?);
        self.show_prompts(machine, u32::MAX);
        let asked = machine.talk().bytes() + self.editor.fixed_bytes;
        let ModelEditor { client, settings, random, .. } = self.editor;
        let question = Question { talk: machine.talk(), has_sources: !self.sources.is_empty() };
        let said = match call::ask(client, question, self.key.as_ref(), settings.pause, *random, self.notebook).await {
            Ok(said) => said,
            Err(NoAnswer::TooLong) => return Ok(Event::TooLong),
            Err(NoAnswer::Failed(failure)) => return Err(failure),
        };
        let recorded = self.record(said, asked).await?;
        Ok(self.take_in(recorded, true))
    }

    fn show_prompts(&mut self, machine: &mut Machine, through: u32) {
        let prompts = self.prompts.through(through);
        if !prompts.is_empty() {
            machine.handle(Event::Prompted(prompts));
        }
    }

    /// Writes an answer down before anything is done with it, since it was paid for.
    async fn record(&mut self, said: Said, asked: usize) -> Result<Recorded, EditFailure> {
        let usage = self.editor.usage(&said, asked);
        let seen_through = self.prompts.shown;
        let kept = serde_json::to_value(&said)
            .map_err(|_| EditFailure::Fatal("The model's answer could not be kept.".to_owned()))?;
        let answer = RecordedAnswer { round: self.round, seen_through, said: kept, usage: usage.clone() };
        self.notebook.record_answer(&answer).await?;
        let told = json!({
            "number": self.answers + 1,
            "inputTokens": usage.input_tokens,
            "cachedInputTokens": usage.cached_input_tokens,
            "outputTokens": usage.output_tokens,
            "costUsd": usage.cost_usd,
            "toolCalls": said.calls.len(),
        });
        self.notebook.tell("model_call", told).await?;
        Ok(Recorded { seen_through, said, usage })
    }

    fn take_in(&mut self, recorded: Recorded, live: bool) -> Event {
        self.live = live;
        self.answers += 1;
        self.taken_through = self.prompts.shown;
        let cost = recorded.usage.cost_usd.unwrap_or(0.0);
        Event::Answered { said: recorded.said, tokens: tokens_of(&recorded.usage), cost }
    }

    async fn run(&mut self, calls: Vec<Call>) -> Result<Event, EditFailure> {
        let mut outcomes = Vec::with_capacity(calls.len());
        // Calls in a row that change nothing run at once; one that does waits for all before it.
        for calls in calls.chunk_by(|one, next| tools::only_looks(one) && tools::only_looks(next)) {
            match calls {
                [call] => {
                    let span = tools::span(call);
                    let ran = self.run_one(call.clone()).instrument(span).await?;
                    self.ran(call, ran, &mut outcomes).await?;
                }
                calls => self.look(calls, &mut outcomes).await?,
            }
        }
        let workspace = self.workspace()?;
        let edited =
            if self.before.is_empty() { !workspace.is_unchanged() } else { workspace.changes() != self.before };
        Ok(Event::Ran { outcomes, edited })
    }

    async fn run_one(&mut self, call: Call) -> Result<Ran, EditFailure> {
        if call.name == tools::HISTORY {
            return Ok(looking::past(self.history, &self.sources, &call).await);
        }
        if call.name == tools::SOURCE_DIFF {
            let ran = match tools::range_question(&call, &self.sources) {
                Ok((asked, from_line)) => tools::range_answered(self.history.range(&asked).await, &asked, from_line),
                Err(ran) => ran,
            };
            return Ok(ran);
        }
        let sources = self.sources.clone();
        self.with_workspace(move |workspace, scope, is_enough| {
            tools::run(workspace, &sources, &call, scope, &DocsChecks { scope, is_enough })
        })
        .await
    }

    /// Runs calls that change nothing.
    async fn look(&mut self, calls: &[Call], outcomes: &mut Vec<Ran>) -> Result<(), EditFailure> {
        let workspace = Arc::new(self.workspace.take().ok_or_else(broken)?);
        let view = View { workspace, sources: self.sources.clone(), history: self.history };
        let mut looks = looking::look(&view, calls);
        for call in calls {
            let ran = looks.next().await.ok_or_else(broken)??;
            self.ran(call, ran, outcomes).await?;
        }
        drop(looks);
        self.workspace = Some(Arc::unwrap_or_clone(view.workspace));
        Ok(())
    }

    async fn ran(&self, call: &Call, ran: Ran, outcomes: &mut Vec<Ran>) -> Result<(), EditFailure> {
        if self.live {
            self.tell_about(call, &ran).await?;
        }
        outcomes.push(ran);
        Ok(())
    }

    async fn tell_about(&self, call: &Call, ran: &Ran) -> Result<(), EditFailure> {
        if let Some(items) = tools::plan_items(&call.name, &call.arguments).filter(|_| ran.ok) {
            self.notebook.tell("plan", json!({"items": items})).await?;
        }
        Ok(self.notebook.tell("tool_call", events::tool_call(call, ran)).await?)
    }

    async fn check(&mut self) -> Result<Event, EditFailure> {
        let found =
            self.with_workspace(|workspace, scope, is_enough| DocsChecks { scope, is_enough }.new_problems(workspace));
        let findings: Vec<String> = found.await?.iter().map(sentence).collect();
        if self.live && !findings.is_empty() {
            self.notebook.tell("repairing", events::repairing(&findings)).await?;
        }
        Ok(Event::Checked(findings))
    }

    /// Lends the workspace to a thread that may block.
    async fn with_workspace<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&mut Workspace, &Scope, &AtomicBool) -> io::Result<T> + Send + 'static,
    ) -> Result<T, EditFailure> {
        let mut workspace = self.workspace.take().ok_or_else(broken)?;
        let scope = self.scope.clone();
        let done = seated(move |is_enough| {
            let done = work(&mut workspace, &scope, is_enough);
            (workspace, done)
        });
        let (workspace, done) = done.await.map_err(|_| broken())?;
        self.workspace = Some(workspace);
        done.map_err(unreadable)
    }

    fn workspace(&self) -> Result<&Workspace, EditFailure> {
        self.workspace.as_ref().ok_or_else(broken)
    }

    fn clear(self, finish: Finish) -> Result<Edited, EditFailure> {
        let Finish { title, summary, not_done } = finish;
        let taken_through = self.taken_through;
        let workspace = self.workspace.ok_or_else(broken)?;
        Ok(Edited { workspace, title, summary, not_done, taken_through })
    }
}

/// Answers are taken from what was recorded, and nobody pays for them again.
fn resumed(recorded: &VecDeque<Recorded>) -> Value {
    let tokens = recorded.iter().map(|answer| answer.usage.input_tokens.saturating_add(answer.usage.output_tokens));
    json!({ "replayedAnswers": recorded.len(), "tokensSaved": tokens.fold(0, u64::saturating_add) })
}

/// The key of a project, read once a round. It may come from a file, so not where it would keep others waiting.
pub(super) async fn read_key(
    editor: &ModelEditor,
    project_id: &ProjectId,
) -> Result<Option<SecretString>, EditFailure> {
    let (keys, project_id) = (editor.settings.keys.clone(), project_id.clone());
    let read = tokio::task::spawn_blocking(move || keys.key(&project_id));
    read.await.map_err(|_| EditFailure::Retry("The API key of the model provider could not be read.".to_owned()))
}

impl ModelEditor {
    /// What an answer cost. Tokens are estimated if the provider does not count them.
    fn usage(&self, said: &Said, asked: usize) -> Usage {
        let estimated = || {
            let (input, output) = (super::tokens_in(asked), super::tokens_in(said.bytes()));
            TokenCounts { input, output, ..TokenCounts::default() }
        };
        let tokens = said.tokens.unwrap_or_else(estimated);
        let cost_usd = self.settings.cost_of(&tokens);
        let (input_tokens, cached_input_tokens, output_tokens) = (tokens.input, tokens.cached, tokens.output);
        Usage { input_tokens, cached_input_tokens, output_tokens, model_calls: 1, cost_usd }
    }
}
