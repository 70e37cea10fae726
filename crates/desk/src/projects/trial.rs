//! What works with a project's code host and what is missing.

use std::sync::Arc;

use copydesk_agent::ModelFact;
use copydesk_boxed::boxed;
use copydesk_domain::{HostKind, Project};
use copydesk_forge::{Abilities, Ability, CommitId, Connection, ForgeError, Mirror, Named, Remote};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::docs_folder;
use crate::docs_job::Workshop;
use crate::jobs::JobRules;

/// One thing that was tested.
pub struct Trial {
    /// A fixed word, for programs.
    pub name: &'static str,
    /// What was tested, in words.
    pub what: String,
    pub ability: Ability,
}

impl Trial {
    pub(super) fn new(name: &'static str, what: impl Into<String>, ability: Ability) -> Self {
        Self { name, what: what.into(), ability }
    }
}

impl From<ModelFact> for Trial {
    fn from(fact: ModelFact) -> Self {
        Self { name: fact.name, what: fact.what, ability: fact.ability }
    }
}

/// One thing that was tested, or the end.
pub enum Tried {
    One(Trial),
    /// All was tried.
    All {
        /// Whether a job would succeed.
        works: bool,
    },
}

/// Whether a job would succeed.
pub fn works(trials: &[Trial]) -> bool {
    trials.iter().all(|trial| !matches!(trial.ability, Ability::No(_)))
}

/// Tries all that a job needs of a project's code host, and leaves nothing behind; and says whether what it may cost is
/// held to.
#[boxed]
pub async fn trials(workshop: &Workshop, project: &Project, rules: &JobRules) -> Vec<Trial> {
    let mut trials = Vec::new();
    try_out(workshop, project, Look::Fetch(has_model(rules)), |trial| trials.push(trial)).await;
    trials.extend(budget_trial(project, rules));
    trials
}

/// The same as far as it can be told without fetching the branch, which may be large: no file is looked at.
#[boxed]
pub async fn quick_trials(workshop: &Workshop, project: &Project) -> Vec<Trial> {
    let mut trials = Vec::new();
    try_out(workshop, project, Look::Ask, |trial| trials.push(trial)).await;
    trials
}

/// How the branch that jobs start from is looked at.
#[derive(Clone, Copy)]
enum Look {
    /// It is fetched, and its files are looked at; with whether there is a model, which could write the first page.
    Fetch(bool),
    /// The remote is asked whether it has it.
    Ask,
}

/// A limit that does not hold keeps no job from running, so it is no failure.
fn budget_trial(project: &Project, rules: &JobRules) -> Option<Trial> {
    let what = format!("a prompt is kept from costing more than {} US dollars", project.job_cost?);
    let ability = rules.budget_not_in_force(project).map_or(Ability::Yes, Ability::Unknown);
    Some(Trial::new("job_cost", what, ability))
}

/// Whether jobs can be done by anything but what is built in.
fn has_model(rules: &JobRules) -> bool {
    rules.models.iter().any(|model| !matches!(model.as_str(), "builtin" | "noop"))
}

/// The same, each as soon as it is known. It goes on to its end although nobody may listen any more.
pub fn trials_as_they_come(workshop: Arc<Workshop>, project: Project, rules: &JobRules) -> UnboundedReceiver<Tried> {
    let look = Look::Fetch(has_model(rules));
    let (tell, told) = unbounded_channel();
    tokio::spawn(async move {
        let mut works = true;
        let one = |trial: Trial| {
            works &= !matches!(trial.ability, Ability::No(_));
            // Whoever listened may have gone.
            let _ = tell.send(Tried::One(trial));
        };
        try_out(&workshop, &project, look, one).await;
        let _ = tell.send(Tried::All { works });
    });
    told
}

async fn try_out(workshop: &Workshop, project: &Project, look: Look, mut tell: impl FnMut(Trial)) {
    let connection = match workshop.connect(project).await {
        Ok(connection) => connection,
        Err(error) => return tell(Trial::new("settings", "the settings and the credential can be used", no(&error))),
    };
    tell(settings_trial(&connection));
    let (fetched, pushed, by_credential) = git_trials(workshop, &connection, project, look).await;
    fetched.into_iter().for_each(&mut tell);
    let Some(host) = connection.interface() else {
        if let Some(pushed) = pushed {
            tell(Trial::new("push", PUSH, pushed));
        }
        if let Some(why) = project.host.untold(&project.repository) {
            tell(Trial::new("pull_requests", "pull requests can be opened", Ability::Unknown(why.to_owned())));
        }
        return;
    };
    let git_may = pushed == Some(Ability::Yes);
    let Abilities { reachable, readable, writable, pull_requests } = host.abilities(git_may && by_credential).await;
    // Git servers may let a reader begin to push and refuse afterwards, and interfaces tell the rights of users and not
    // those of tokens: both have to agree.
    let pushed = match (pushed, writable) {
        (Some(Ability::Yes), Ability::No(why)) if by_credential => Some(Ability::No(why)),
        (pushed, _) => pushed,
    };
    if let Some(pushed) = pushed {
        tell(Trial::new("push", PUSH, pushed));
    }
    tell(Trial::new("host_reachable", "the interface of the code host answers", reachable));
    tell(Trial::new("host_readable", "it shows the repository", readable));
    tell(Trial::new("pull_requests", OPEN, pull_requests));
}

/// What was looked at and is right, which is no credential where there is none.
pub(super) fn settings_trial(connection: &Connection) -> Trial {
    let kind = connection.kind().title();
    let what = match (connection.has_credential(), connection.kind()) {
        (true, _) => format!("the settings and the credential can be used for {kind}"),
        (false, HostKind::Local) => format!("the settings can be used for {kind}"),
        (false, _) => format!("the settings can be used for {kind}; no credential is set"),
    };
    Trial::new("settings", what, Ability::Yes)
}

const PUSH: &str = "git may push a branch";
const OPEN: &str = "it lets pull requests be opened";

/// What git says: the branch that jobs start from can be fetched; whether a branch can be pushed, if that could be asked;
/// and whether it was the credential for the host that was shown.
async fn git_trials(
    workshop: &Workshop,
    connection: &Connection,
    project: &Project,
    look: Look,
) -> (Vec<Trial>, Option<Ability>, bool) {
    let address = project.repository.public_address();
    // Whether all of it is there is only known to who has fetched it.
    let reach = match look {
        Look::Fetch(_) => format!("git reaches {address} and its branch {}", project.base_ref),
        Look::Ask => {
            format!("git reaches {address}, which has a branch {}; nothing of it was fetched", project.base_ref)
        }
    };
    let opened: Result<(Mirror, Remote), ForgeError> = async {
        let remote = connection.remote().await?;
        Ok((workshop.forge.mirror(&remote).await?, remote))
    }
    .await;
    let (mirror, remote) = match opened {
        Ok(opened) => opened,
        Err(error) => return (vec![Trial::new("fetch", reach, no(&error))], None, false),
    };
    let base = match look {
        Look::Fetch(_) => mirror.fetch(&project.base_ref).await.map(Some),
        Look::Ask => match connection.named(&project.base_ref).await {
            Ok(Named::Branch) => Ok(None),
            Ok(Named::Tag | Named::Nothing) => Err(mirror.explain_absence(&project.base_ref).await),
            Err(error) => Err(error),
        },
    };
    let mut fetched = vec![Trial::new("fetch", reach, base.as_ref().map_or_else(no, |_| Ability::Yes))];
    if let (Look::Fetch(has_model), Ok(Some(base))) = (look, base) {
        fetched.push(docs_trial(&mirror, project, &base, has_model));
    }
    let pushed = mirror.check_push().await.map_or_else(|error| no(&error), |()| Ability::Yes);
    (fetched, Some(pushed), remote.shows_credential())
}

/// Whether the documentation is where the project says. Where there is none at all, a job may be to write the first page, for
/// which it needs a model.
fn docs_trial(mirror: &Mirror, project: &Project, base: &CommitId, has_model: bool) -> Trial {
    let tree = mirror.tree(base).map_err(|error| error.message);
    let looked = tree.and_then(|tree| {
        docs_folder::in_tree(&*tree, &project.docs_paths, &project.base_ref).map_err(|error| error.to_string())
    });
    let ability = match looked {
        Ok(None) => Ability::Yes,
        Ok(Some(missing)) if missing.is_fatal(project) => Ability::No(missing.why),
        Ok(Some(missing)) if !missing.is_unread() && !has_model => Ability::No(format!(
            "{}; no model is configured, and `builtin` can do nothing there but add a page by its path",
            missing.why
        )),
        Ok(Some(missing)) => Ability::Unknown(missing.why),
        Err(why) => Ability::No(why),
    };
    Trial::new("docs_paths", "the documentation is where the project says", ability)
}

fn no(error: &ForgeError) -> Ability {
    Ability::No(error.message.clone())
}
