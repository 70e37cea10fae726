//! One call of a model, and what it shows: whether jobs can be done with it, and what is not known of it.

use std::time::{Duration, Instant};

use copydesk_domain::ProjectId;
use copydesk_forge::Ability;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::ModelEditor;
use super::client::Question;
use super::driver::read_key;
use super::failure::CallFailure;
use crate::machine::Talk;
use crate::said::Said;
use crate::tools;

/// It is waited no longer for an answer.
const PATIENCE: Duration = Duration::from_secs(60);
const WORDS: &str = "This is a trial of the connection; there is nothing to edit. Call the tool `plan` with one item, the \
                     word `ready`. Do nothing else.";

/// One thing that a trial of a model has shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelFact {
    /// A word for programs.
    pub name: &'static str,
    /// What was looked at, as a clause for people.
    pub what: String,
    pub ability: Ability,
}

/// A model that can be tried out.
pub trait ModelTrial: Send + Sync {
    /// What it is called.
    fn name(&self) -> &str;

    /// Makes one call, with the key that jobs of this project have, and says what works.
    fn try_out<'a>(&'a self, project_id: &'a ProjectId) -> BoxFuture<'a, Vec<ModelFact>>;
}

impl ModelTrial for ModelEditor {
    fn name(&self) -> &str {
        &self.settings.name
    }

    fn try_out<'a>(&'a self, project_id: &'a ProjectId) -> BoxFuture<'a, Vec<ModelFact>> {
        try_out(self, project_id).boxed()
    }
}

async fn try_out(editor: &ModelEditor, project_id: &ProjectId) -> Vec<ModelFact> {
    let host = editor.client.host();
    let reached =
        |ability| ModelFact { name: "answers", what: format!("{} at {host} answers", editor.name()), ability };
    let key = match read_key(editor, project_id).await {
        Ok(key) => key,
        Err(_) => return vec![reached(Ability::No("its key could not be read".to_owned()))],
    };
    if key.is_none() && editor.client.needs_key() {
        return vec![reached(Ability::No("there is no API key for the model provider".to_owned()))];
    }
    let mut talk = Talk::default();
    talk.user(WORDS);
    let question = Question { talk: &talk, has_sources: false };
    let begun = Instant::now();
    let asked = tokio::time::timeout(PATIENCE, editor.client.ask_counting(question, key.as_ref())).await;
    let (said, pieces) = match asked {
        Ok(Ok(answered)) => answered,
        Ok(Err(failure)) => return vec![reached(Ability::No(why(failure)))],
        Err(_) => {
            return vec![reached(Ability::No(format!("it did not answer within {} seconds", PATIENCE.as_secs())))];
        }
    };
    let took = begun.elapsed().as_secs_f64();
    let mut facts = vec![ModelFact {
        what: format!("{} at {host} answers, after {took:.1} s", editor.name()),
        ..reached(Ability::Yes)
    }];
    facts.extend(shown(editor, &said, pieces));
    facts
}

/// What an answer shows.
fn shown(editor: &ModelEditor, said: &Said, pieces: usize) -> Vec<ModelFact> {
    let fact = |name, what: &str, ability| ModelFact { name, what: what.to_owned(), ability };
    let has_called = said.calls.iter().any(|call| tools::plan_items(&call.name, &call.arguments_object()).is_some());
    let called = match (has_called, said.calls.is_empty()) {
        (true, _) => Ability::Yes,
        (false, true) => Ability::No("it answered in words; jobs need a model that calls tools".to_owned()),
        (false, false) => Ability::No("it called a tool in a way that cannot be understood".to_owned()),
    };
    let streamed = match pieces {
        0 | 1 => Ability::Unknown("the answer came in one piece, so long answers are waited for in silence".to_owned()),
        _ => Ability::Yes,
    };
    let counted = match &said.tokens {
        Some(_) => Ability::Yes,
        None => Ability::Unknown("it does not count tokens, so they are estimated from the length".to_owned()),
    };
    let cached = match &said.tokens {
        Some(tokens) if tokens.cached + tokens.cache_written > 0 => Ability::Yes,
        _ => Ability::Unknown(
            "the provider reported no cached tokens for this call; many cache only longer prompts".to_owned(),
        ),
    };
    let settings = &editor.settings;
    let (priced, price) = match said.tokens.as_ref().and_then(|tokens| settings.cost_of(tokens)) {
        Some(cost) => (Ability::Yes, format!("its price is known: this call cost ${cost:.5}")),
        None => {
            let why = "set `model.input_price` and `model.output_price`, else no job's cost is known or limited";
            (Ability::Unknown(why.to_owned()), "its price is known".to_owned())
        }
    };
    vec![
        fact("tools", "it calls tools", called),
        fact("streams", "it sends its answers as they come", streamed),
        fact("counts", "it counts tokens", counted),
        fact("caches", "it caches the beginning of a prompt, so that the next call costs less", cached),
        ModelFact { what: price, ..fact("priced", "", priced) },
    ]
}

fn why(failure: CallFailure) -> String {
    let sentence = match failure {
        CallFailure::TooLong => "it takes less than rules and tools alone; check its context length".to_owned(),
        CallFailure::Lasting(sentence) | CallFailure::Unreached(sentence) => sentence,
        CallFailure::Passing(_, sentence) => sentence,
        CallFailure::Garbled(why) => format!("its answer could not be understood: {why}"),
    };
    sentence.trim_end_matches('.').to_owned()
}
