use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

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
    /// The most answers a turn of a job.
    pub turns: u32,
    /// The most tokens a turn of a job, in and out.
    pub tokens: u64,
    /// The most US dollars a turn of a job. Takes prices to be of use.
    pub cost: Option<f64>,
    /// US dollars for a million tokens in.
    pub input_price: Option<f64>,
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
            output_price: None,
            silence: Duration::from_secs(120),
            pause: Duration::from_secs(1),
        }
    }
}

/// Whose interface a model has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Provider {
    /// Anthropic's Messages.
    Anthropic,
    /// OpenAI's Chat Completions, which many others have as well.
    OpenAi,
    /// Ollama's own. How much it can take in is set there (`OLLAMA_CONTEXT_LENGTH`), and must fit `context_tokens`.
    Ollama,
    /// Google's Gemini.
    Gemini,
}

impl Provider {
    /// Reads the name that is used in settings.
    pub fn parse(text: &str) -> Option<Self> {
        match text.trim().to_ascii_lowercase().as_str() {
            "anthropic" => Some(Self::Anthropic),
            "openai" => Some(Self::OpenAi),
            "ollama" => Some(Self::Ollama),
            "gemini" => Some(Self::Gemini),
            _ => None,
        }
    }

    pub(super) fn usual_url(self) -> &'static str {
        match self {
            Self::Anthropic => "https://api.anthropic.com/v1/",
            Self::OpenAi => "https://api.openai.com/v1/",
            Self::Ollama => "http://localhost:11434/",
            Self::Gemini => "https://generativelanguage.googleapis.com/v1beta/",
        }
    }
}

/// Something that must not be shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Hides `text`.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Shows it to whoever must have it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}

/// Where a provider's keys come from: one for all projects, or one a project.
#[derive(Clone)]
pub struct KeySource(Arc<KeyOf>);

type KeyOf = dyn Fn(&str) -> Option<Secret> + Send + Sync;

impl KeySource {
    /// No key: for servers that want none.
    pub fn none() -> Self {
        Self(Arc::new(|_| None))
    }

    /// The same key for all projects.
    pub fn one(key: Secret) -> Self {
        Self(Arc::new(move |_| Some(key.clone())))
    }

    /// A key a project, by the project's id. `key` is asked once a turn of a job, on a thread where it may block.
    pub fn by_project(key: impl Fn(&str) -> Option<Secret> + Send + Sync + 'static) -> Self {
        Self(Arc::new(key))
    }

    /// The key for a project, if there is one. One that is empty is none.
    pub fn key(&self, project_id: &str) -> Option<Secret> {
        (self.0)(project_id).map(|key| Secret(key.0.trim().to_owned())).filter(|key| !key.0.is_empty())
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
        settings.keys = KeySource::one(Secret::new("sk-planted"));
        let key = settings.keys.key("p").unwrap();
        assert_eq!(key.expose(), "sk-planted");
        assert!(!format!("{settings:?} {key:?}").contains("planted"));
    }

    #[test]
    fn an_empty_key_is_none() {
        assert_eq!(KeySource::one(Secret::new(" ")).key("p"), None);
        let by_project = KeySource::by_project(|id| (id == "a").then(|| Secret::new("k")));
        assert!(by_project.key("a").is_some() && by_project.key("b").is_none());
    }
}
