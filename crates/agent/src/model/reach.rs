//! What can be known of a provider, and of a key, without a call that costs something.

use std::time::Duration;

use copydesk_domain::ProjectId;
use copydesk_forge::Ability;

use super::driver::read_key;
use super::failure::CallFailure;
use super::{ModelEditor, ModelFact};

/// It is waited no longer for the list.
const PATIENCE: Duration = Duration::from_secs(15);

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
