//! Which models a provider offers: what can be known of it, and of a key, without a call that costs something.

use std::time::Duration;

use copydesk_domain::ProjectId;
use copydesk_forge::Ability;
use serde_json::Value;

use super::driver::read_key;
use super::failure::CallFailure;
use super::{ModelEditor, ModelFact};

/// It is waited no longer for the list.
const PATIENCE: Duration = Duration::from_secs(15);

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
    fn has(&self, wanted: &str) -> bool {
        self.names.iter().any(|name| {
            let name = name.strip_prefix("models/").unwrap_or(name);
            name == wanted || name.strip_suffix(":latest") == Some(wanted)
        })
    }
}

impl ModelEditor {
    /// Where the provider is asked.
    pub fn address(&self) -> &str {
        self.client.address()
    }

    /// Whether the provider answers and takes the key that jobs of this project have. Only its list of models is asked for,
    /// which costs nothing.
    pub async fn look(&self, project_id: &ProjectId) -> Vec<ModelFact> {
        let (host, name) = (self.client.host(), &self.settings.name);
        let fact = |name, what: String, ability| ModelFact { name, what, ability };
        let answers = |ability| fact("answers", format!("the provider of {name} at {host} answers"), ability);
        let no = |why: &str| vec![answers(Ability::No(why.to_owned()))];
        let key = match read_key(self, project_id).await {
            Ok(key) => key,
            Err(_) => return no("its key could not be read"),
        };
        if key.is_none() && self.client.needs_key() {
            return no("there is no API key for the model provider");
        }
        let taken = |ability| fact("key", format!("{host} lets us in"), ability);
        let offer = match tokio::time::timeout(PATIENCE, self.client.offer(key.as_ref())).await {
            Err(_) => return no(&format!("it did not answer within {} seconds", PATIENCE.as_secs())),
            Ok(Err(CallFailure::Lasting(why))) => {
                return vec![answers(Ability::Yes), taken(Ability::No(why.trim_end_matches('.').to_owned()))];
            }
            Ok(Err(CallFailure::Passing(_, why) | CallFailure::Unreached(why))) => {
                return no(why.trim_end_matches('.'));
            }
            Ok(Err(CallFailure::TooLong | CallFailure::Garbled(_)) | Ok(None)) => {
                let why = "it gives no list of models, so nothing is known before a call";
                return vec![answers(Ability::Yes), taken(Ability::Unknown(why.to_owned()))];
            }
            Ok(Ok(Some(offer))) => offer,
        };
        let offered = match (offer.has(name), offer.is_part) {
            (true, _) => Ability::Yes,
            (false, true) => Ability::Unknown("its list of models is longer than what it gave".to_owned()),
            (false, false) => Ability::Unknown("it is not in the list of models that it gives".to_owned()),
        };
        let offers = fact("offered", format!("{host} offers {name}"), offered);
        vec![answers(Ability::Yes), taken(Ability::Yes), offers]
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
