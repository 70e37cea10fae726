//! Which models a provider offers, as it says.

use serde_json::Value;

/// The names in a list of models.
pub(super) struct Offer {
    pub(super) names: Vec<String>,
    /// Whether there are more than those that were given.
    pub(super) is_part: bool,
}

impl Offer {
    /// None if it is no list as OpenAI's and Anthropic's interfaces give it.
    pub(super) fn read(body: &[u8]) -> Option<Self> {
        let list: Value = serde_json::from_slice(body).ok()?;
        let name = |model: &Value| model["id"].as_str().map(str::to_owned);
        let names = list["data"].as_array()?.iter().filter_map(name).collect();
        Some(Self { names, is_part: list["has_more"] == true })
    }

    /// Gemini puts a word before its names, and Ollama a tag behind those that have none.
    pub(super) fn has(&self, wanted: &str) -> bool {
        self.names.iter().any(|name| {
            let name = name.strip_prefix("models/").unwrap_or(name);
            name == wanted || name.strip_suffix(":latest") == Some(wanted)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_as_providers_write_them() {
        let list = r#"{"data":[{"id":"models/gemini-x"},{"id":"llama3:latest"},{"id":"gpt-y"},{"name":"no id"}]}"#;
        let offer = Offer::read(list.as_bytes()).unwrap();
        assert!(["gemini-x", "llama3", "gpt-y"].iter().all(|name| offer.has(name)) && !offer.has("gpt"));
        assert!(Offer::read(br#"{"data":[],"has_more":true}"#).is_some_and(|offer| offer.is_part));
        for other in ["", "[]", "{}", "{\"data\":3}", "<html>"] {
            assert!(Offer::read(other.as_bytes()).is_none(), "{other}");
        }
    }
}
