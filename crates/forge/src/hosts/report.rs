//! What can be done with a repository, as `abilities` reports it.

use reqwest::Method;
use serde::de::DeserializeOwned;

use super::http::Line;
use super::message::Answer;
use super::refusal::Act;
use crate::{Abilities, Ability, ForgeError, Trouble};

/// The repository as the host shows it, or what cannot be done with it then.
pub(super) async fn look<T: DeserializeOwned>(line: &Line, path: &str) -> Result<(T, Answer), Box<Abilities>> {
    let asked = async { line.send(&line.call(Method::GET, path)?).await };
    let answer = match asked.await {
        Ok(answer) => answer,
        // The host may be there and refuse the credential before the repository is asked for, as for a GitHub App.
        Err(failed) if failed.error.trouble == Trouble::Lasting && line.is_there().await => {
            return Err(Box::new(unreadable(failed.error)));
        }
        Err(failed) => return Err(Box::new(unreachable(failed.error))),
    };
    let read = line.read(Act::Look, &answer).map_err(|error| Box::new(unreadable(error)))?;
    Ok((read, answer))
}

/// Nothing can be done with a host that does not answer.
pub(super) fn unreachable(error: ForgeError) -> Abilities {
    Abilities { reachable: Ability::No(error.message), ..Abilities::all(&Ability::Unknown(NOT_ASKED.to_owned())) }
}

/// The host answers, but not about the repository.
pub(super) fn unreadable(error: ForgeError) -> Abilities {
    let unknown = || Ability::Unknown(NOT_ASKED.to_owned());
    let readable = Ability::No(error.message);
    Abilities { reachable: Ability::Yes, readable, push: unknown(), pull_requests: unknown() }
}

const NOT_ASKED: &str = "it was not asked because the repository cannot be read";

/// A repository that can be looked at only.
pub(super) fn archived(line: &Line) -> Abilities {
    let no = || Ability::No(format!("{} is archived; nothing can be changed in it", line.name()));
    Abilities { reachable: Ability::Yes, readable: Ability::Yes, push: no(), pull_requests: no() }
}

pub(super) fn no_push(line: &Line) -> Ability {
    Ability::No(format!("the account of the {} may not write to {}", line.credential_title(), line.name()))
}
