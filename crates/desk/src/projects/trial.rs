//! What works with a project's code host and what is missing.

use copydesk_domain::Project;
use copydesk_forge::{Abilities, Ability, Connection, ForgeError, Mirror, Remote};

use crate::docs_job::Workshop;

/// One thing that was tried.
pub struct Trial {
    /// A word for programs.
    pub name: &'static str,
    /// What was tried, as a clause for people.
    pub what: String,
    pub ability: Ability,
}

impl Trial {
    fn new(name: &'static str, what: impl Into<String>, ability: Ability) -> Self {
        Self { name, what: what.into(), ability }
    }
}

/// Tries all that a job needs of a project's code host, and leaves nothing behind.
pub async fn trials(workshop: &Workshop, project: &Project) -> Vec<Trial> {
    let address = project.repository.public_address();
    let connection = match workshop.connect(project).await {
        Ok(connection) => connection,
        Err(error) => return vec![Trial::new("settings", "the settings and the credential can be used", no(&error))],
    };
    let kind = connection.kind().title();
    let mut trials =
        vec![Trial::new("settings", format!("the settings and the credential can be used for {kind}"), Ability::Yes)];
    let (git_trials, pushed, by_credential) = git_trials(workshop, &connection, project, address).await;
    trials.extend(git_trials);
    let Some(host) = connection.interface() else {
        trials.extend(pushed.map(|pushed| Trial::new("push", PUSH, pushed)));
        let untold = project.host.untold(&project.repository).map(|why| Ability::Unknown(why.to_owned()));
        trials.extend(untold.map(|untold| Trial::new("pull_requests", "pull requests can be opened", untold)));
        return trials;
    };
    let git_may = pushed == Some(Ability::Yes);
    let Abilities { reachable, readable, writable, pull_requests } = host.abilities(git_may && by_credential).await;
    // Git servers may let a reader begin to push and refuse afterwards, and interfaces tell the rights of users and not
    // those of tokens: both have to agree.
    let pushed = match (pushed, writable) {
        (Some(Ability::Yes), Ability::No(why)) if by_credential => Some(Ability::No(why)),
        (pushed, _) => pushed,
    };
    trials.extend(pushed.map(|pushed| Trial::new("push", PUSH, pushed)));
    trials.push(Trial::new("host_reachable", "the interface of the code host answers", reachable));
    trials.push(Trial::new("host_readable", "it shows the repository", readable));
    trials.push(Trial::new("pull_requests", OPEN, pull_requests));
    trials
}

const PUSH: &str = "git may push a branch";
const OPEN: &str = "it lets pull requests be opened";

/// What git says: the branch that jobs start from can be fetched; whether a branch can be pushed, if that could be asked;
/// and whether it was the credential for the host that was shown.
async fn git_trials(
    workshop: &Workshop,
    connection: &Connection,
    project: &Project,
    address: &str,
) -> (Vec<Trial>, Option<Ability>, bool) {
    let reach = format!("git reaches {address} and its branch {}", project.base_ref);
    let opened: Result<(Mirror, Remote), ForgeError> = async {
        let remote = connection.remote().await?;
        Ok((workshop.forge.mirror(&remote).await?, remote))
    }
    .await;
    let (mirror, remote) = match opened {
        Ok(opened) => opened,
        Err(error) => return (vec![Trial::new("fetch", reach, no(&error))], None, false),
    };
    let fetched = mirror.fetch(&project.base_ref).await.map_or_else(|error| no(&error), |_| Ability::Yes);
    let pushed = mirror.check_push().await.map_or_else(|error| no(&error), |()| Ability::Yes);
    (vec![Trial::new("fetch", reach, fetched)], Some(pushed), remote.shows_credential())
}

fn no(error: &ForgeError) -> Ability {
    Ability::No(error.message.clone())
}
