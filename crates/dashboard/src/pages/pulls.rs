//! Pull requests: all of them, and those that Copydesk keeps itself because no code host does.

use std::collections::HashMap;

use askama::Template;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::http::header::HeaderMap;
use copydesk_desk::docs_job::NotMerged;
use copydesk_domain::{Job, JobId, PullRequestState, Role, Timestamp};
use copydesk_store::{Brief, JobFilter, LocalPull, PullFilter};

use super::jobs::{Changes, Looking, file_of, file_only, keep_look, kept_look, pull_address};
use super::named::{pull_badge, title};
use super::{EDITOR, VIEWER};
use crate::access::Table;
use crate::dash::Dash;
use crate::respond::{Oops, Reply, page, page_with, to};
use crate::shell::Shell;
use crate::who::InProject;
use crate::{markdown, words};

/// How many of them a page shows.
const PAGE: u32 = 50;

pub(super) fn routes(table: Table) -> Table {
    table
        .get(VIEWER, "/p/{project}/pulls", list)
        .get(VIEWER, "/p/{project}/pulls/{number}", show)
        .get(VIEWER, "/p/{project}/pulls/{number}/changes/{file}", file)
        .post(EDITOR, "/p/{project}/pulls/{number}/merge", merge)
        .post(EDITOR, "/p/{project}/pulls/{number}/close", close)
        .post(EDITOR, "/p/{project}/pulls/{number}/reopen", reopen)
}

#[derive(serde::Deserialize)]
struct Wanted {
    #[serde(default)]
    state: String,
    #[serde(default)]
    cursor: String,
}

#[derive(Template)]
#[template(path = "pulls.html")]
struct PullsPage {
    shell: Shell,
    root: String,
    state: &'static str,
    pulls: Vec<Line>,
    older: Option<String>,
}

struct Line {
    job: Job,
    title: String,
    badge: (&'static str, &'static str),
    number: Option<u64>,
    address: String,
    is_elsewhere: bool,
}

impl PullsPage {
    fn states(&self) -> [(&'static str, &'static str); 4] {
        STATES
    }
}

/// What can be listed: what the address says, and the words.
const STATES: [(&str, &str); 4] = [("open", "Open"), ("merged", "Merged"), ("closed", "Closed"), ("all", "All")];

async fn list(State(dash): State<Dash>, who: InProject, Query(wanted): Query<Wanted>) -> Reply {
    let state = STATES.iter().map(|(state, _)| *state).find(|state| *state == wanted.state).unwrap_or("open");
    let pulls = PullRequestState::parse(state).map_or(PullFilter::Any, PullFilter::In);
    let before = Some(wanted.cursor.as_str()).filter(|cursor| !cursor.is_empty()).map(JobId::from);
    let filter = JobFilter { pulls: Some(pulls), before, limit: PAGE, ..JobFilter::default() };
    let (jobs, more) = dash.desk().jobs.list(&who.project.id, filter).await?;
    let ids: Vec<JobId> = jobs.iter().map(|job| job.id.clone()).collect();
    let briefs = dash.desk().store.briefs(&ids).await?;
    let briefs: HashMap<&JobId, &Brief> = briefs.iter().map(|brief| (&brief.job_id, brief)).collect();
    let root = who.path("");
    let older = ids.last().filter(|_| more).map(|last| format!("{root}/pulls?state={state}&cursor={last}"));
    let line = |job: Job| {
        let address = pull_address(&root, &job)?;
        Some(Line {
            title: title(&job, briefs.get(&job.id).copied()),
            badge: job.pull_request.as_ref().map_or(("", "a link"), pull_badge),
            number: job.pull_request.as_ref().map(|pull| pull.number),
            is_elsewhere: !address.starts_with('/'),
            address,
            job,
        })
    };
    let pulls = jobs.into_iter().filter_map(line).collect();
    page(&PullsPage { shell: Shell::inside(&dash, &who, "/pulls", "Pull requests"), root, state, pulls, older })
}

#[derive(Template)]
#[template(path = "pull.html")]
struct PullPage {
    shell: Shell,
    root: String,
    pull: LocalPull,
    job: Job,
    badge: (&'static str, &'static str),
    may_edit: bool,
    changes: Changes,
    /// Why something was not done.
    refused: Option<Refused>,
}

struct Refused {
    status: StatusCode,
    words: String,
    files: Vec<String>,
}

impl PullPage {
    fn is_open(&self) -> bool {
        self.pull.state == PullRequestState::Open
    }

    fn is_closed(&self) -> bool {
        self.pull.state == PullRequestState::Closed
    }

    /// Whether its job has let go of it.
    fn is_free(&self) -> bool {
        use copydesk_domain::Status::{Completed, Failed};
        matches!(self.job.status, Completed | Failed)
    }

    fn merged_at(&self) -> Option<Timestamp> {
        self.pull.merged_at
    }
}

async fn found(dash: &Dash, who: &InProject, number: &str) -> Result<LocalPull, Oops> {
    let number = number.parse::<u32>().map_err(|_| Oops::NotFound)?;
    dash.desk().store.local_pull_of(&who.project.id, number).await?.ok_or(Oops::NotFound)
}

async fn pull_page(
    dash: &Dash,
    who: &InProject,
    number: &str,
    looking: &Looking,
    headers: &HeaderMap,
    refused: Option<Refused>,
) -> Reply {
    let pull = found(dash, who, number).await?;
    // Asks in the repository whether somebody has merged it by hand, if nobody has asked for a while.
    let job = who.jobs(dash).get(&who.project, &pull.job_id).await.map_err(|_| Oops::NotFound)?;
    let pull = found(dash, who, number).await.unwrap_or(pull);
    let change = dash.desk().store.published_change(&pull.job_id).await?;
    let address = who.path(&format!("/pulls/{}", pull.number));
    let look = kept_look(looking, headers);
    let files = format!("{address}/changes");
    let changes = Changes::new(dash, &who.project, change.as_ref(), look, address, files).await;
    let status = refused.as_ref().map_or(StatusCode::OK, |refused| refused.status);
    let template = PullPage {
        shell: Shell::inside(dash, who, "/pulls", format!("#{} {}", pull.number, pull.title)),
        root: who.path(""),
        badge: badge(&pull),
        may_edit: who.role.covers(Role::Editor),
        pull,
        job,
        changes,
        refused,
    };
    Ok(keep_look(page_with(status, &template)?, looking))
}

/// How a pull request that Copydesk keeps stands.
pub(super) fn badge(pull: &LocalPull) -> (&'static str, &'static str) {
    match pull.state {
        PullRequestState::Open if pull.draft => ("warn", "draft"),
        PullRequestState::Open => ("good", "open"),
        PullRequestState::Merged => ("good", "merged"),
        PullRequestState::Closed => ("", "closed"),
    }
}

async fn show(
    State(dash): State<Dash>,
    who: InProject,
    Path((_, number)): Path<(String, String)>,
    Query(looking): Query<Looking>,
    headers: HeaderMap,
) -> Reply {
    pull_page(&dash, &who, &number, &looking, &headers, None).await
}

async fn file(
    State(dash): State<Dash>,
    who: InProject,
    Path((_, number, place)): Path<(String, String, String)>,
    Query(looking): Query<Looking>,
    headers: HeaderMap,
) -> Reply {
    let pull = found(&dash, &who, &number).await?;
    let change = dash.desk().store.published_change(&pull.job_id).await?;
    let file = file_of(&dash, &who.project, change.as_ref(), kept_look(&looking, &headers), &place).await?;
    let shell = Shell::inside(&dash, &who, "/pulls", file.path.clone());
    file_only(&looking, file, shell, who.path(&format!("/pulls/{}", pull.number)))
}

async fn merge(
    State(dash): State<Dash>,
    who: InProject,
    Path((_, number)): Path<(String, String)>,
    headers: HeaderMap,
) -> Reply {
    let pull = found(&dash, &who, &number).await?;
    let merged = who.jobs(&dash).merge(who.project.clone(), pull.number).await;
    settled(&dash, &who, &pull, merged, &headers).await
}

async fn close(
    State(dash): State<Dash>,
    who: InProject,
    Path((_, number)): Path<(String, String)>,
    headers: HeaderMap,
) -> Reply {
    let pull = found(&dash, &who, &number).await?;
    let closed = who.jobs(&dash).close(&who.project.id, pull.number, true).await;
    settled(&dash, &who, &pull, closed, &headers).await
}

async fn reopen(
    State(dash): State<Dash>,
    who: InProject,
    Path((_, number)): Path<(String, String)>,
    headers: HeaderMap,
) -> Reply {
    let pull = found(&dash, &who, &number).await?;
    let opened = who.jobs(&dash).close(&who.project.id, pull.number, false).await;
    settled(&dash, &who, &pull, opened, &headers).await
}

/// The page again, with what stood in the way if something did.
async fn settled(
    dash: &Dash,
    who: &InProject,
    pull: &LocalPull,
    done: Result<Job, NotMerged>,
    headers: &HeaderMap,
) -> Reply {
    let refused = match done {
        Ok(_) => return to(&who.path(&format!("/pulls/{}", pull.number))),
        Err(NotMerged::NotFound) => return Err(Oops::NotFound),
        Err(NotMerged::Store(error)) => return Err(error.into()),
        Err(NotMerged::Broken(why)) => return Err(Oops::Broken(why)),
        Err(why) => in_words(pull, why),
    };
    pull_page(dash, who, &pull.number.to_string(), &Looking::default(), headers, Some(refused)).await
}

fn in_words(pull: &LocalPull, why: NotMerged) -> Refused {
    let refused = |status, words: String| Refused { status, words, files: Vec::new() };
    let (base, head) = (&pull.base, &pull.head);
    match why {
        NotMerged::Is(state) => refused(StatusCode::CONFLICT, format!("It is already {}.", state.as_str())),
        NotMerged::Running => {
            refused(StatusCode::CONFLICT, "Its job is still running. Wait until it ends, or cancel it.".to_owned())
        }
        NotMerged::Archived => refused(StatusCode::CONFLICT, "Its job is archived, which is final.".to_owned()),
        NotMerged::Conflicts(files) => Refused {
            status: StatusCode::CONFLICT,
            words: format!(
                "{base} and {head} have both changed the same places, so they cannot be merged as they are. If the job \
                 has a model, send it a message, and it brings {base} in first. Otherwise create the job again, or merge them \
                 by hand."
            ),
            files,
        },
        NotMerged::BranchGone(branch) => {
            refused(StatusCode::CONFLICT, format!("The branch {branch} is not in the repository any more."))
        }
        NotMerged::Failed(why) if why.contains("Working directory") || why.contains("checked out") => refused(
            StatusCode::CONFLICT,
            format!(
                "Somebody has {base} checked out in the folder of the repository, with changes that are not committed. Commit \
                 them there and try again, or merge there with the command below."
            ),
        ),
        NotMerged::Failed(why) => refused(StatusCode::CONFLICT, why),
        NotMerged::NotNow(why) => refused(StatusCode::SERVICE_UNAVAILABLE, why),
        _ => refused(StatusCode::SERVICE_UNAVAILABLE, "This server does not see the repository.".to_owned()),
    }
}
