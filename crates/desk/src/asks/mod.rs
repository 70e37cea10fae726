//! What people ask for at the code host: a comment on a pull request of ours is a follow-up, an issue with a label is a job.
//!
//! What a host tells is written down before it gets its answer ([`hear`]). Everything else is asked of the host itself, with
//! the project's own credential, by whoever takes it up ([`answer_forever`]): what was said, by whom, and what they may do.
//! So a delivery that comes twice, late, or from somebody without rights leads to one follow-up, or to none.

mod look;
mod words;

use std::sync::Arc;
use std::time::Duration;

use copydesk_boxed::boxed;
use copydesk_domain::{Ask, Comments, Person, Project};
use copydesk_forge::text;
use copydesk_store::{AskState, Change, Store, StoreError};
use futures_util::future::BoxFuture;
use tokio::task::JoinSet;

use crate::jobs::Jobs;
use crate::stop::Stop;

/// How often is looked without a wake-up.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How many are looked at at once: a host that does not answer must not keep others waiting.
const AT_ONCE: usize = 8;
/// How long nobody else looks at one, unless whoever does has died.
const HOLD: Duration = Duration::from_secs(120);

/// How long a look may take.
const TIME: Duration = Duration::from_secs(100);

/// What a code host has told of, in no host's own words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    Comment {
        pull: u64,
        id: u64,
        text: String,
    },
    Review {
        pull: u64,
        /// None if the host does not say which.
        id: Option<u64>,
    },
    /// Something about the labels of an issue.
    Labels {
        issue: u64,
        /// Those that it has now, as far as the host tells.
        now: Vec<String>,
        /// Those that it has got or lost; none if the host does not say which, and then `now` may lack some.
        changed: Option<Vec<String>>,
        /// Who has done that.
        by: Person,
        /// What the issue says.
        title: String,
        text: String,
    },
}

/// What becomes of what was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    /// It is written down.
    Noted,
    /// It asks for nothing.
    Nothing,
    /// Too much waits already.
    TooMuch,
}

/// Writes down what may ask for something.
#[boxed]
pub async fn hear(store: &Store, project: &Project, told: Told) -> Result<Heard, StoreError> {
    // Where it is not told which label was changed, one that was there before may have been set by somebody else.
    let is_vague = matches!(&told, Told::Labels { changed: None, .. });
    let Some(ask) = asked_by(store, project, told).await? else { return Ok(Heard::Nothing) };
    let is_noted = match &ask {
        Ask::Labelled { .. } if is_vague => store.hear_new(&project.id, vec![ask]).await?,
        _ => store.hear(&project.id, vec![ask]).await?,
    };
    Ok(if is_noted { Heard::Noted } else { Heard::TooMuch })
}

async fn asked_by(store: &Store, project: &Project, told: Told) -> Result<Option<Ask>, StoreError> {
    let ask = match told {
        Told::Comment { pull, id, text } => {
            project.host.takes_comment([text.as_str()]).then_some(Ask::Comment { pull, id })
        }
        Told::Review { pull, id } => {
            let ask = id.map_or(Ask::Reviews { pull }, |id| Ask::Review { pull, id });
            (project.host.comments != Comments::Off).then_some(ask)
        }
        Told::Labels { issue, now, changed, by, title, text } => {
            let said = Some(digest_of(&title, &text));
            return labelled(store, project, &now, changed, Ask::Labelled { issue, by, said }).await;
        }
    };
    let Some((ask, pull)) = ask.and_then(|ask| ask.pull().map(|pull| (ask, pull))) else { return Ok(None) };
    // Pull requests of others are none of our business.
    Ok(store.job_of_pull(&project.id, pull).await?.map(|_| ask))
}

async fn labelled(
    store: &Store,
    project: &Project,
    now: &[String],
    changed: Option<Vec<String>>,
    ask: Ask,
) -> Result<Option<Ask>, StoreError> {
    let Some(wanted) = &project.host.job_label else { return Ok(None) };
    let has = |labels: &[String]| labels.iter().any(|label| is_same_label(label, wanted));
    if changed.as_ref().is_some_and(|changed| !has(changed)) {
        return Ok(None);
    }
    let key = ask.key();
    match ask {
        ask if has(now) => Ok(Some(ask)),
        Ask::Labelled { issue, by, said } if changed.is_none() => {
            Ok(Some(Ask::Unlabelled { issue, by: Some(by), said }))
        }
        // Of interest only if it was there.
        Ask::Labelled { issue, .. } => {
            Ok(store.ask(&project.id, &key).await?.map(|_| Ask::Unlabelled { issue, by: None, said: None }))
        }
        _ => Ok(None),
    }
}

/// What an issue says, so that it can be told whether somebody has changed it since.
fn digest_of(title: &str, text: &str) -> String {
    text::digest(&format!("{}\n{}", title.trim(), text.replace("\r\n", "\n").trim()))
}

/// Some hosts do not tell small letters from capitals in labels.
fn is_same_label(one: &str, other: &str) -> bool {
    one.to_lowercase() == other.to_lowercase()
}

/// Looks at what was told, makes jobs and follow-ups of it and says what became of them, until the stop. What is under way
/// then is taken up again by whoever comes next.
/// Boxed, so that this crate compiles it once, and not every program and test that starts it.
pub fn answer_forever(store: Store, jobs: Jobs, stop: Stop) -> BoxFuture<'static, ()> {
    Box::pin(async move {
        let jobs = Arc::new(jobs);
        let mut changes = store.changes_for_sender();
        let mut running = JoinSet::new();
        while !stop.is_asked() {
            if let Err(error) = take_up(&store, &jobs, &mut running).await {
                tracing::warn!(%error, "cannot look for what is asked for at code hosts; trying again");
            }
            tokio::select! {
                // What jobs have come to goes through the outbox.
                () = changes.wait_for(|change| matches!(change, Change::Asked | Change::Outbox)) => {}
                Some(ended) = running.join_next() => report_end(ended),
                () = tokio::time::sleep(LOOK_EVERY) => {}
                () = stop.asked() => {}
            }
        }
    })
}

async fn take_up(store: &Store, jobs: &Arc<Jobs>, running: &mut JoinSet<()>) -> Result<(), StoreError> {
    while running.len() < AT_ONCE {
        let Some(asked) = store.take_ask(HOLD).await? else { break };
        let (store, jobs) = (store.clone(), Arc::clone(jobs));
        running.spawn(async move {
            let (project, key) = (asked.project_id.clone(), asked.key.clone());
            let work = async {
                match asked.state {
                    AskState::Granted => look::reply(&store, &jobs, asked).await,
                    _ => look::look(&store, &jobs, asked).await,
                }
            };
            // Whoever takes it up after that must find nobody at it.
            let Ok(done) = tokio::time::timeout(TIME, work).await else {
                tracing::warn!(%project, key, "a code host takes too long over something asked for; trying again");
                return;
            };
            if let Err(error) = done {
                tracing::warn!(%error, %project, key, "cannot record the outcome of something asked for; trying again");
            }
        });
    }
    Ok(())
}

fn report_end(ended: Result<(), tokio::task::JoinError>) {
    if let Err(error) = ended {
        tracing::error!(%error, "looking at something asked for ended unexpectedly");
    }
}
