use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use copydesk_domain::{Dollars, ProjectId};
use secrecy::{ExposeSecret, SecretString};

use crate::said::TokenCounts;

/// How to reach a model, and how far it may go.
#[derive(Debug, Clone)]
pub struct ModelSettings {
    /// Whose interface it is.
    pub provider: Provider,
    /// The model's name, as the provider has it.
    pub name: String,
    /// Where the provider is, if it is not where it usually is: for example `http://localhost:8000/v1`.
    pub base_url: Option<String>,
    /// Where keys come from.
    pub keys: KeySource,
    /// The most tokens of one answer.
    pub max_output_tokens: u32,
    /// How many tokens the model can take in, its answer included.
    pub context_tokens: u32,
    /// The most turns (an answer of the model and what its calls bring) a round of a job.
    pub turns: u32,
    /// The most tokens a round of a job, in and out.
    pub tokens: u64,
    /// The most US dollars a round of a job. Takes prices to be of use.
    pub cost: Option<Dollars>,
    /// US dollars for a million tokens in.
    pub input_price: Option<f64>,
    /// US dollars for a million tokens in that came from the provider's cache. If it is not known, a part of
    /// `input_price`.
    pub cached_input_price: Option<f64>,
    /// US dollars for a million tokens out.
    pub output_price: Option<f64>,
    /// After how long without a byte a call is given up and made again.
    pub silence: Duration,
    /// How long to wait before a call is made again; longer each time.
    pub pause: Duration,
}

impl ModelSettings {
    /// Settings with the usual limits.
    pub fn new(provider: Provider, name: impl Into<String>) -> Self {
        Self {
            provider,
            name: name.into(),
            base_url: None,
            keys: KeySource::none(),
            max_output_tokens: 8_192,
            context_tokens: 128_000,
            turns: 100,
            tokens: 5_000_000,
            cost: None,
            input_price: None,
            cached_input_price: None,
            output_price: None,
            silence: Duration::from_secs(120),
            pause: Duration::from_secs(1),
        }
    }

    /// Whether it is known what an answer costs.
    pub fn has_prices(&self) -> bool {
        self.input_price.is_some() && self.output_price.is_some()
    }

    /// What an answer cost in US dollars, if prices are known.
    pub(super) fn cost_of(&self, tokens: &TokenCounts) -> Option<f64> {
        let (input, output) = (self.input_price?, self.output_price?);
        // Anthropic has the same parts for all models. OpenAI's, Google's and others' differ, and half of the price is
        // the most that any of them takes: too high a figure stops a job early, too low a one lets it cost too much.
        let (read, write) = if self.provider == Provider::Anthropic { (0.1, 1.25) } else { (0.5, 1.0) };
        let fresh = tokens.input.saturating_sub(tokens.cached).saturating_sub(tokens.cache_written);
        let cost = fresh as f64 * input
            + tokens.cached as f64 * self.cached_input_price.unwrap_or(input * read)
            + tokens.cache_written as f64 * input * write
            + tokens.output as f64 * output;
        Some(cost / 1_000_000.0)
    }
}

/// Whose interface a model has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    Anthropic,
    /// OpenAI's Chat Completions, which many others have as well.
    OpenAi,
    /// Ollama, through its interface like OpenAI's. How much it can take in is set there (`OLLAMA_CONTEXT_LENGTH`), and must fit `context_tokens`.
    Ollama,
    /// Google's Gemini, through its interface like OpenAI's.
    Gemini,
}

impl Provider {
    pub(super) fn usual_url(self) -> &'static str {
        match self {
            Self::Anthropic => "https://api.anthropic.com",
            Self::OpenAi => "https://api.openai.com",
            Self::Ollama => "http://localhost:11434",
            Self::Gemini => "https://generativelanguage.googleapis.com",
        }
    }
}

/// Where a provider's keys come from: one for all projects, or one a project.
#[derive(Clone)]
pub struct KeySource(Arc<KeyOf>);

type KeyOf = dyn Fn(&ProjectId) -> Option<SecretString> + Send + Sync;

impl KeySource {
    /// No key: for servers that want none.
    pub fn none() -> Self {
        Self(Arc::new(|_| None))
    }

    /// The same key for all projects.
    pub fn one(key: SecretString) -> Self {
        Self(Arc::new(move |_| Some(key.clone())))
    }

    /// A key a project, by the project's id. `key` is asked once a round of a job, on a thread where it may block.
    pub fn by_project(key: impl Fn(&ProjectId) -> Option<SecretString> + Send + Sync + 'static) -> Self {
        Self(Arc::new(key))
    }

    /// The key for a project, if there is one. One that is empty is none.
    pub fn key(&self, project_id: &ProjectId) -> Option<SecretString> {
        let key = (self.0)(project_id)?;
        let key = key.expose_secret().trim();
        (!key.is_empty()).then(|| SecretString::from(key))
    }
}

impl fmt::Debug for KeySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeySource")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_do_not_show() {
        let mut settings = ModelSettings::new(Provider::Anthropic, "m");
        settings.keys = KeySource::one(SecretString::from("sk-planted"));
        let key = settings.keys.key(&"p".into()).unwrap();
        assert_eq!(key.expose_secret(), "sk-planted");
        assert!(!format!("{settings:?} {key:?}").contains("planted"));
    }

    #[test]
    fn an_empty_key_is_none() {
        assert!(KeySource::one(SecretString::from(" ")).key(&"p".into()).is_none());
        let by_project = KeySource::by_project(|id| (id.as_str() == "a").then(|| SecretString::from("k")));
        assert!(by_project.key(&"a".into()).is_some() && by_project.key(&"b".into()).is_none());
    }

    #[test]
    fn what_is_cached_costs_less() {
        let tokens = TokenCounts { input: 1_000_000, cached: 800_000, cache_written: 100_000, output: 10_000 };
        let cost = |provider, cached| {
            let mut settings = ModelSettings::new(provider, "m");
            (settings.input_price, settings.output_price, settings.cached_input_price) =
                (Some(3.0), Some(15.0), cached);
            (settings.cost_of(&tokens).unwrap() * 1_000.0).round()
        };
        // 100,000 fresh, and what was written: 0.30 and 0.15 dollars.
        assert_eq!(cost(Provider::Anthropic, None), 450.0 + 240.0 + 375.0);
        assert_eq!(cost(Provider::OpenAi, None), 450.0 + 1_200.0 + 300.0);
        assert_eq!(cost(Provider::OpenAi, Some(0.3)), 450.0 + 240.0 + 300.0);
        assert_eq!(ModelSettings::new(Provider::OpenAi, "m").cost_of(&tokens), None);
    }
}
