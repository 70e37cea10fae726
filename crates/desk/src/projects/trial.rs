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
    let (git_trials, pushes) = git_trials(workshop, &connection, project, address).await;
    trials.extend(git_trials);
    let Some(host) = connection.interface() else { return trials };
    let Abilities { reachable, readable, pull_requests } = host.abilities(pushes).await;
    trials.push(Trial::new("host_reachable", "the interface of the code host answers", reachable));
    trials.push(Trial::new("host_readable", "it shows the repository", readable));
    trials.push(Trial::new("pull_requests", "it lets pull requests be opened", pull_requests));
    trials
}

/// What git says: the branch that jobs start from can be fetched, and a branch can be pushed. And whether it was the
/// credential for the host that let it push. It is git that pushes, so what an interface says about that does not count.
async fn git_trials(
    workshop: &Workshop,
    connection: &Connection,
    project: &Project,
    address: &str,
) -> (Vec<Trial>, bool) {
    let reach = format!("git reaches {address} and its branch {}", project.base_ref);
    let opened: Result<(Mirror, Remote), ForgeError> = async {
        let remote = connection.remote().await?;
        Ok((workshop.forge.mirror(&remote).await?, remote))
    }
    .await;
    let (mirror, remote) = match opened {
        Ok(opened) => opened,
        Err(error) => return (vec![Trial::new("fetch", reach, no(&error))], false),
    };
    let fetched = mirror.fetch(&project.base_ref).await;
    let pushed = mirror.check_push().await;
    let pushes = pushed.is_ok() && remote.shows_credential();
    let trials = vec![
        Trial::new("fetch", reach, fetched.map_or_else(|error| no(&error), |_| Ability::Yes)),
        Trial::new("push", "git may push a branch", pushed.map_or_else(|error| no(&error), |()| Ability::Yes)),
    ];
    (trials, pushes)
}

fn no(error: &ForgeError) -> Ability {
    Ability::No(error.message.clone())
}
