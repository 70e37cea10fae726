//! The engine `model`: a language model edits with tools.

mod anthropic;
mod call;
mod client;
mod driver;
mod events;
mod failure;
mod history;
mod looking;
mod offer;
mod openai;
mod reach;
mod settings;
mod sse;
mod trial;

use copydesk_domain::Budgets;
use futures_util::future::{BoxFuture, FutureExt};

use crate::machine::Limits;
use crate::{Assignment, EditFailure, Edited, Editor, prompt, tools};
use client::ModelClient;
pub use failure::cause_of;
pub use settings::{KeySource, ModelSettings, Provider};
pub use trial::{ModelFact, ModelTrial};

/// Answers that a model has to repair what the checks find.
const REPAIR_TURNS: u32 = 8;
/// What a conversation needs at least, in bytes.
const LEAST_ROOM: usize = 2_000;

/// Edits by asking a language model.
pub struct ModelEditor {
    settings: ModelSettings,
    client: ModelClient,
    random: fn() -> f64,
    /// What rules and tools take in every request.
    fixed_bytes: usize,
}

impl ModelEditor {
    /// An editor with these settings, or what is wrong with them.
    pub fn new(settings: ModelSettings) -> Result<Self, String> {
        let client = ModelClient::new(&settings)?;
        let tools = tools::definitions(true);
        let tool_bytes: usize = tools
            .iter()
            .map(|tool| tool.name.len() + tool.description.len() + tool.schema.to_string().len() + 80)
            .sum();
        let fixed_bytes = prompt::SYSTEM.len() + tool_bytes;
        let editor = Self { settings, client, random: copydesk_domain::random_fraction, fixed_bytes };
        if editor.limits(Budgets::default()).context_bytes < LEAST_ROOM {
            return Err(
                "`context_tokens` leaves no room for a conversation besides rules, tools and the answer".to_owned()
            );
        }
        Ok(editor)
    }

    /// Where a round ends by itself. The server's own limit stands beside those of the project and the job.
    fn limits(&self, budgets: Budgets) -> Limits {
        let room = u64::from(self.settings.context_tokens.saturating_sub(self.settings.max_output_tokens));
        let context_bytes = usize::try_from(bytes_of(room)).unwrap_or(usize::MAX).saturating_sub(self.fixed_bytes);
        Limits {
            turns: self.settings.turns,
            tokens: self.settings.tokens,
            cost: Budgets { server: self.settings.cost, ..budgets }.smallest(),
            context_bytes,
            repair_turns: REPAIR_TURNS,
        }
    }
}

impl Editor for ModelEditor {
    fn model(&self) -> &str {
        &self.settings.name
    }

    fn edit<'a>(&'a self, assignment: Assignment<'a>) -> BoxFuture<'a, Result<Edited, EditFailure>> {
        driver::edit(self, assignment).boxed()
    }
}

/// About how many tokens so many bytes are: 3.5 bytes each.
fn tokens_in(bytes: usize) -> u64 {
    (bytes as u64).saturating_mul(2) / 7
}

/// About how many bytes so many tokens are.
fn bytes_of(tokens: u64) -> u64 {
    tokens.saturating_mul(7) / 2
}
