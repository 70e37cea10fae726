//! One ask: what it says, whether it is granted, and what is said when it is done.

use std::time::Duration;

use copydesk_domain::{Actor, Ask, Job, Person, Project, PullRequestState, Status, Timestamp};
use copydesk_forge::{Ability, ForgeError, HostInterface, Place, Remark, text};
use copydesk_store::{Admission, Asked, Grant, Store, StoreError};

use super::{digest_of, is_same_label, words};
use crate::job_view::render;
use crate::jobs::{Draft, Jobs};

const DAY: Duration = Duration::from_secs(24 * 3600);
/// The first pause before a host is asked again; each is twice as long as the one before, up to the longest.
const PAUSE: Duration = Duration::from_secs(5);
const LONGEST_PAUSE: Duration = Duration::from_secs(15 * 60);

/// What is to become of an ask.
enum Verdict {
    /// It becomes this, for whoever asks.
    Grant(Box<Grant>, Person),
    /// It is nothing, and why.
    Refuse(String),
    /// These are to be looked at instead.
    Instead(Vec<Ask>),
    /// The label is gone: it can be given again.
    Unlabelled,
}

/// Looks at an ask that was heard.
pub(super) async fn look(store: &Store, jobs: &Jobs, asked: Asked) -> Result<(), StoreError> {
    let Some(project) = store.project(&asked.project_id).await? else { return Ok(()) };
    match judge(store, jobs, &project, &asked).await {
        Ok(Verdict::Grant(grant, by)) => grant_it(store, jobs, &project, &asked, *grant, &by).await,
        Ok(Verdict::Refuse(why)) => {
            tracing::info!(project = %project.id, ask = asked.key, why, "something asked for at the code host is not done");
            store.refuse_ask(&asked, &why).await
        }
        Ok(Verdict::Instead(asks)) => {
            if asks.is_empty() || store.hear_new(&project.id, asks).await? {
                return store.forget_ask(&asked).await;
            }
            store.put_off_ask(&asked, store.now().plus(LONGEST_PAUSE), "too much waits already").await
        }
        Ok(Verdict::Unlabelled) => {
            if let Ask::Unlabelled { issue, .. } = asked.ask
                && let Some(earlier) = store.ask(&project.id, &Ask::key_of_issue(issue)).await?
            {
                store.release_ask(&earlier).await?;
            }
            store.forget_ask(&asked).await
        }
        Err(Trouble::Store(error)) => Err(error),
        Err(Trouble::Host(error)) => match again_at(store, &asked, asked.heard_at, &error) {
            Some(at) => store.put_off_ask(&asked, at, &error.message).await,
            None => {
                tracing::warn!(project = %project.id, ask = asked.key, %error, "something asked for at the code host is given up");
                store.refuse_ask(&asked, &error.message).await
            }
        },
    }
}

/// Why there is no verdict.
enum Trouble {
    Store(StoreError),
    Host(ForgeError),
}

impl From<StoreError> for Trouble {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<ForgeError> for Trouble {
    fn from(error: ForgeError) -> Self {
        Self::Host(error)
    }
}

/// When a host is asked again; none if that is of no use.
fn again_at(store: &Store, asked: &Asked, since: Timestamp, error: &ForgeError) -> Option<Timestamp> {
    let now = store.now();
    let pause = PAUSE.saturating_mul(1 << asked.tries.saturating_sub(1).min(10)).min(LONGEST_PAUSE);
    (error.may_pass() && now < since.plus(DAY)).then(|| now.plus(pause))
}

async fn judge(store: &Store, jobs: &Jobs, project: &Project, asked: &Asked) -> Result<Verdict, Trouble> {
    let Some(workshop) = jobs.workshop() else {
        return Err(ForgeError::passing("this process works on no documentation").into());
    };
    let connection = workshop.connect(project).await?;
    let Some(host) = connection.interface() else {
        return Ok(Verdict::Refuse("the code host has no interface to ask".to_owned()));
    };
    let host = &*host;
    match &asked.ask {
        Ask::Comment { pull, id } => remarked(store, project, host, *pull, host.comment(*pull, *id).await?).await,
        Ask::Review { pull, id } => remarked(store, project, host, *pull, host.review(*pull, *id).await?).await,
        Ask::Reviews { pull } => {
            let reviews = host.reviews(*pull).await?;
            // Those of long ago were told of long ago.
            let is_new = |(_, at): &(u64, Timestamp)| at.plus(DAY) > asked.heard_at;
            let new = reviews.into_iter().filter(is_new).map(|(id, _)| Ask::Review { pull: *pull, id });
            Ok(Verdict::Instead(new.collect()))
        }
        Ask::Labelled { issue, by, said } => labelled(jobs, project, host, *issue, by, said.as_deref()).await,
        Ask::Unlabelled { issue, by, said } => Ok(match wanted_issue(project, host, *issue).await? {
            Ok(_) => {
                let given = by.iter().map(|by| Ask::Labelled { issue: *issue, by: by.clone(), said: said.clone() });
                Verdict::Instead(given.collect())
            }
            Err(_) => Verdict::Unlabelled,
        }),
    }
}

async fn remarked(
    store: &Store,
    project: &Project,
    host: &dyn HostInterface,
    pull: u64,
    remark: Option<Remark>,
) -> Result<Verdict, Trouble> {
    let refuse = |why: &str| Ok(Verdict::Refuse(why.to_owned()));
    let Some(remark) = remark else { return refuse("it is gone") };
    let texts = remark.at_lines.iter().map(|line| line.text.as_str()).chain([remark.text.as_str()]);
    if texts.clone().any(text::is_reply) {
        return refuse("it is a reply of Copydesk");
    }
    if texts.clone().all(|text| text.trim().is_empty()) {
        return refuse("it says nothing");
    }
    if !project.host.takes_comment(texts) {
        return refuse("it does not mention Copydesk");
    }
    if remark.is_of_program {
        return refuse("it comes from a program");
    }
    let job = store.job_of_pull(&project.id, pull).await?;
    let is_here = |job: &Job| job.repository == project.repository.public_address();
    let Some(job) = job.filter(is_here) else { return refuse("the pull request is no job's") };
    if job.status == Status::Archived {
        return refuse("the job is archived");
    }
    if let Some(why) = why_not(host.may_write(&remark.by).await?) {
        return Ok(Verdict::Refuse(why));
    }
    // A job that still works on it says by itself what is wrong with it.
    if host.read(pull).await?.state != PullRequestState::Open {
        return refuse("the pull request is merged or closed");
    }
    match words::follow_up(&remark, project.host.mention()) {
        Ok(prompt) => Ok(Verdict::Grant(Box::new(Grant::FollowUp(job.id, prompt)), remark.by)),
        Err(error) => refuse(&error.to_string()),
    }
}

fn why_not(ability: Ability) -> Option<String> {
    match ability {
        Ability::Yes => None,
        Ability::No(why) | Ability::Unknown(why) => Some(why),
    }
}

/// The issue if it is open and has the label; otherwise why not.
async fn wanted_issue(
    project: &Project,
    host: &dyn HostInterface,
    number: u64,
) -> Result<Result<copydesk_forge::Issue, &'static str>, ForgeError> {
    let Some(label) = &project.host.job_label else { return Ok(Err("no label makes jobs here")) };
    Ok(match host.issue(number).await? {
        None => Err("the issue is gone"),
        Some(issue) if !issue.labels.iter().any(|one| is_same_label(one, label)) => Err("the label was taken back"),
        Some(issue) if !issue.is_open => Err("the issue is closed"),
        Some(issue) => Ok(issue),
    })
}

async fn labelled(
    jobs: &Jobs,
    project: &Project,
    host: &dyn HostInterface,
    number: u64,
    by: &Person,
    said: Option<&str>,
) -> Result<Verdict, Trouble> {
    let issue = match wanted_issue(project, host, number).await? {
        Ok(issue) => issue,
        // Nothing is asked for, and there is nothing to remember: the label may be given at any time.
        Err(why) => {
            tracing::info!(project = %project.id, issue = number, why, "an issue asks for nothing");
            return Ok(Verdict::Instead(Vec::new()));
        }
    };
    // Somebody else may write there than who has set the label.
    if said.is_some_and(|said| said != digest_of(&issue.title, &issue.text)) {
        return Ok(Verdict::Refuse("the issue was edited after the label was set; set it again".to_owned()));
    }
    if let Some(why) = why_not(host.may_write(by).await?) {
        return Ok(Verdict::Refuse(why));
    }
    let refuse = |why: String| Ok(Verdict::Refuse(why));
    let prompt = match words::job(&issue) {
        Ok(prompt) => prompt,
        Err(error) => return refuse(error.to_string()),
    };
    match Draft::of(prompt.as_str()).check(project, jobs.rules()) {
        Ok(new) => Ok(Verdict::Grant(Box::new(Grant::Job(new)), by.clone())),
        Err(wrong) => refuse(wrong.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")),
    }
}

async fn grant_it(
    store: &Store,
    jobs: &Jobs,
    project: &Project,
    asked: &Asked,
    grant: Grant,
    by: &Person,
) -> Result<(), StoreError> {
    let theirs = store.by(Actor::host(&by.name));
    match theirs.grant_ask(asked, grant, jobs.window(project), render).await? {
        // Somebody else was faster.
        None | Some(Admission::Done { .. }) => Ok(()),
        Some(Admission::Limited(_)) if store.now() > asked.heard_at.plus(DAY) => {
            store.refuse_ask(asked, "the project has used up its jobs of every hour for a day").await
        }
        Some(Admission::Limited(standing)) => {
            let at = store.now().plus(Duration::from_secs(standing.reset_seconds));
            store.put_off_ask(asked, at, "the project has used up its jobs of this hour").await
        }
        Some(Admission::NotFound | Admission::Refused(_) | Admission::KeyReused) => {
            store.refuse_ask(asked, "the job is archived or gone").await
        }
        Some(Admission::Merged) => store.refuse_ask(asked, "the pull request is merged").await,
    }
}

/// Says what became of an ask whose job has ended.
pub(super) async fn reply(store: &Store, jobs: &Jobs, asked: Asked) -> Result<(), StoreError> {
    let project = store.project(&asked.project_id).await?;
    let job = match &asked.job_id {
        Some(id) => store.job(&asked.project_id, id).await?,
        None => None,
    };
    let (Some(project), Some(job)) = (project, job) else { return Ok(()) };
    if job.status == Status::Archived {
        return store.end_ask(&asked, Some("the job was archived")).await;
    }
    match say(jobs, &project, &asked, &job).await {
        Ok(()) => store.end_ask(&asked, None).await,
        Err(error) => match again_at(store, &asked, job.updated_at, &error) {
            Some(at) => store.put_off_ask(&asked, at, &error.message).await,
            None => store.end_ask(&asked, Some(&error.message)).await,
        },
    }
}

async fn say(jobs: &Jobs, project: &Project, asked: &Asked, job: &Job) -> Result<(), ForgeError> {
    let Some(workshop) = jobs.workshop() else {
        return Err(ForgeError::passing("this process works on no documentation"));
    };
    let Some(host) = workshop.connect(project).await?.interface() else { return Ok(()) };
    let place = match &asked.ask {
        Ask::Labelled { issue, .. } => Place::Issue(*issue),
        other => Place::Pull(other.pull().unwrap_or_default()),
    };
    // An issue whose label is given again is asked for in the same words, and is another job.
    let mark = text::reply_mark(&project.id, &format!("{} {}", asked.key, job.id));
    let link = format!("{}/v2/agent/{}/job/{}", workshop.public_url, project.id, job.id);
    let pull = job.visible_pr_link().filter(|_| matches!(place, Place::Issue(_)));
    let said = text::reply(&text::Reply {
        is_done: job.status == Status::Completed,
        message: job.message.as_deref().unwrap_or_default(),
        pull,
        job_link: &link,
        job_id: &job.id,
        mark: &mark,
    });
    host.reply(place, &mark, &said).await
}
