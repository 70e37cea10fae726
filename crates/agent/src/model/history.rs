//! What was said before: the earlier rounds of a job as a talk, and the answers of this one that need not be paid for
//! again.

use std::collections::{HashSet, VecDeque};

use copydesk_domain::{Message, Usage};

use crate::RecordedAnswer;
use crate::machine::{Talk, ToolResult};
use crate::said::{Call, Said};

const EARLIER: &str = "(done in an earlier turn; read the file again if you need to know)";

const OVER: &str = "(What was asked before this is over: it was done, or given up. Do only what follows. The files are as \
                    the tools show them now.)";

/// What a round begins with.
pub(super) struct History {
    /// The talk of the earlier rounds.
    pub(super) talk: Talk,
    /// The answers of this round, oldest first.
    pub(super) recorded: VecDeque<Recorded>,
    /// The prompts that the model has not seen yet.
    pub(super) prompts: Prompts,
    /// How many answers there are already.
    pub(super) answers: u64,
}

/// An answer that was recorded.
pub(super) struct Recorded {
    pub(super) seen_through: u32,
    pub(super) said: Said,
    pub(super) usage: Usage,
}

impl History {
    pub(super) fn new(
        context: &str,
        answers: Vec<RecordedAnswer>,
        round: u32,
        first: u32,
        messages: &[Message],
    ) -> Self {
        let mut talk = Talk::default();
        talk.user(context);
        let mut history =
            Self { talk, recorded: VecDeque::new(), prompts: Prompts::new(messages), answers: answers.len() as u64 };
        let mut ids = HashSet::new();
        for (number, answer) in (1..).zip(answers) {
            // One that cannot be read was made by another engine.
            let said = serde_json::from_value::<Said>(answer.said).unwrap_or_default();
            if answer.round == round {
                history.recorded.push_back(Recorded { seen_through: answer.seen_through, said, usage: answer.usage });
            } else {
                history.earlier(answer.seen_through, said, &mut ids, number);
            }
        }
        history.close_earlier(first, messages);
        history
    }

    /// Says that what was asked before is over. What is to be done again, because it came to nothing, is asked again.
    fn close_earlier(&mut self, first: u32, messages: &[Message]) {
        for prompt in self.prompts.through(first.saturating_sub(1)) {
            self.talk.user(&prompt);
        }
        if self.prompts.shown > 0 {
            self.talk.user(OVER);
        }
        let again = messages.iter().filter(|message| (first..=self.prompts.shown).contains(&message.number));
        for prompt in again.map(as_asked).collect::<Vec<_>>() {
            self.talk.user(&prompt);
        }
    }

    fn earlier(&mut self, seen_through: u32, mut said: Said, ids: &mut HashSet<String>, number: u32) {
        for prompt in self.prompts.through(seen_through) {
            self.talk.user(&prompt);
        }
        if said.calls.is_empty() && said.text.trim().is_empty() {
            return;
        }
        said.name_calls(ids, number);
        let result =
            |call: &Call| ToolResult { id: call.id.clone(), name: call.name.clone(), text: EARLIER.to_owned() };
        let results: Vec<ToolResult> = said.calls.iter().map(result).collect();
        self.talk.model(said);
        if !results.is_empty() {
            self.talk.results(results);
        }
    }
}

/// A prompt as the model is to see it.
fn as_asked(message: &Message) -> String {
    format!("Request from the user:\n{}", message.prompt)
}

/// Tokens in and out.
pub(super) fn tokens_of(usage: &Usage) -> u64 {
    usage.input_tokens.saturating_add(usage.output_tokens)
}

/// The prompts of a job, and how far they have been shown to the model.
#[derive(Default)]
pub(super) struct Prompts {
    waiting: VecDeque<Message>,
    /// The number of the last one that is known.
    pub(super) known: u32,
    /// The number of the last one that was shown.
    pub(super) shown: u32,
}

impl Prompts {
    fn new(messages: &[Message]) -> Self {
        let mut prompts = Self::default();
        prompts.add(messages.to_vec());
        prompts
    }

    /// Adds prompts that have come in; those that are known already are left out.
    pub(super) fn add(&mut self, mut messages: Vec<Message>) {
        messages.sort_by_key(|message| message.number);
        for message in messages {
            if message.number > self.known {
                self.known = message.number;
                self.waiting.push_back(message);
            }
        }
    }

    /// Takes those up to a number, as the model is to see them.
    pub(super) fn through(&mut self, number: u32) -> Vec<String> {
        let mut taken = Vec::new();
        while let Some(message) = self.waiting.pop_front_if(|message| message.number <= number) {
            self.shown = message.number;
            taken.push(as_asked(&message));
        }
        taken
    }
}
