//! What can be done with a repository, as `abilities` reports it.

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::client::HostClient;
use super::exchange::HostResponse;
use super::refusal::{Act, needed};
use super::subject::Subject;
use crate::{Abilities, Ability, ForgeError, ForgeErrorKind};

const NOT_ASKED: &str = "it was not asked because the repository cannot be read";

/// What a host says of a repository that it shows.
pub(super) struct Rights {
    pub(super) writable: Ability,
    pub(super) pull_requests: Ability,
}

/// What an account may, as GitHub and Forgejo put it.
#[derive(Deserialize)]
pub(super) struct Permissions {
    #[serde(default)]
    pub(super) push: bool,
}

/// Why a repository cannot be looked at.
pub(super) struct Unseen {
    pub(super) error: ForgeError,
    /// Whether it was the host that said so.
    answered: bool,
}

impl From<Unseen> for ForgeError {
    fn from(unseen: Unseen) -> Self {
        unseen.error
    }
}

/// The repository as the host shows it.
pub(super) async fn look<T: DeserializeOwned>(client: &HostClient, path: &str) -> Result<(T, HostResponse), Unseen> {
    let answer = client.look(path).await.map_err(|failed| Unseen { error: failed.error, answered: false })?;
    let read = client.read(Act::Look, &answer).map_err(|error| Unseen { error, answered: true })?;
    Ok((read, answer))
}

/// What is known although the repository cannot be looked at.
pub(super) async fn without_a_look(client: &HostClient, Unseen { error, answered }: Unseen) -> Abilities {
    let unknown = || Ability::Unknown(NOT_ASKED.to_owned());
    // The host may be there and refuse the credential before the repository is asked for, as for a GitHub App.
    let is_there = answered || (error.kind == ForgeErrorKind::Lasting && client.transport.answers().await);
    let why = Ability::No(error.message);
    let (reachable, readable) = if is_there { (Ability::Yes, why) } else { (why, unknown()) };
    Abilities { reachable, readable, writable: unknown(), pull_requests: unknown() }
}

pub(super) fn archived(subject: &Subject) -> Rights {
    let no = || Ability::No(format!("the repository {} is archived; nothing can be changed in it", subject.repository));
    Rights { writable: no(), pull_requests: no() }
}

/// Whether the account may write, by what the host says of that; none if it says nothing.
pub(super) fn writable(subject: &Subject, may: Option<bool>) -> Ability {
    match may {
        Some(true) => Ability::Yes,
        Some(false) => Ability::No(format!(
            "the account of the {} may only read {}; it needs {}",
            subject.credential.title(),
            subject.repository,
            needed(subject.kind, Act::Push)
        )),
        None => Ability::Unknown("the host does not say who may write to the repository".to_owned()),
    }
}
