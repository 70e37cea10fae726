//! What can be done with a repository, as `abilities` reports it.

use serde::de::DeserializeOwned;

use super::client::HostClient;
use super::exchange::HostResponse;
use super::refusal::Act;
use super::subject::Subject;
use crate::{Abilities, Ability, ForgeErrorKind};

const NOT_ASKED: &str = "it was not asked because the repository cannot be read";

/// The repository as the host shows it, or what cannot be done with it then.
pub(super) async fn look<T: DeserializeOwned>(
    client: &HostClient,
    path: &str,
) -> Result<(T, HostResponse), Box<Abilities>> {
    let unknown = || Ability::Unknown(NOT_ASKED.to_owned());
    let unreadable = |why| Abilities { reachable: Ability::Yes, readable: Ability::No(why), pull_requests: unknown() };
    let answer = match client.look(path).await {
        Ok(answer) => answer,
        // The host may be there and refuse the credential before the repository is asked for, as for a GitHub App.
        Err(failed) if failed.error.kind == ForgeErrorKind::Lasting && client.transport.answers().await => {
            return Err(Box::new(unreadable(failed.error.message)));
        }
        Err(failed) => {
            let reachable = Ability::No(failed.error.message);
            return Err(Box::new(Abilities { reachable, readable: unknown(), pull_requests: unknown() }));
        }
    };
    let read = client.read(Act::Look, &answer).map_err(|error| Box::new(unreadable(error.message)))?;
    Ok((read, answer))
}

pub(super) fn archived(subject: &Subject) -> Ability {
    Ability::No(format!("{} is archived; nothing can be changed in it", subject.repository))
}
