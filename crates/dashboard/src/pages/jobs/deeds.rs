//! What can be done with a job.

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use copydesk_desk::docs_job::NotPublished;
use copydesk_desk::jobs::JobError;
use copydesk_domain::JobId;

use super::show::{Typed, job_page};
use super::{JobView, limit_words, oops};
use crate::dash::Dash;
use crate::form::Form;
use crate::once;
use crate::respond::{Oops, Reply, page, page_with, to};
use crate::shell::Shell;
use crate::who::InProject;
use copydesk_domain::Invalid;

/// The address of a job.
type Place = Path<(String, String)>;

fn back(who: &InProject, id: &str) -> Reply {
    to(&who.path(&format!("/jobs/{id}")))
}

pub(super) async fn message(State(dash): State<Dash>, who: InProject, Path((_, id)): Place, form: Form) -> Reply {
    let prompt = form.prose("prompt");
    let once = once::idempotency(&format!("message {id}"), &form);
    let sent = who.jobs(&dash).message(&who.project, &JobId::from(id.as_str()), &prompt, once).await;
    let (status, wrong) = match sent {
        Ok(sent) => return back(&who, &sent.job_id),
        Err(JobError::Invalid(_)) if prompt.trim().is_empty() => {
            let words = "is needed: say what to do next, or what to do differently";
            (StatusCode::UNPROCESSABLE_ENTITY, vec![Invalid::new("prompt", words)])
        }
        Err(JobError::Invalid(wrong)) => (StatusCode::UNPROCESSABLE_ENTITY, wrong),
        Err(JobError::Limited(standing)) => {
            let words = limit_words(&standing);
            let words = words.trim_end_matches('.').to_owned();
            (StatusCode::TOO_MANY_REQUESTS, vec![Invalid::new("prompt", words)])
        }
        Err(error) => return Err(oops(error)),
    };
    let typed = Typed { text: prompt, wrong: wrong.into() };
    page_with(status, &job_page(&dash, &who, &id, None, typed).await?)
}

pub(super) async fn cancel(State(dash): State<Dash>, who: InProject, Path((_, id)): Place) -> Reply {
    match who.jobs(&dash).cancel(&who.project.id, &JobId::from(id.as_str())).await {
        // It has ended by itself meanwhile, which its page says.
        Ok(_) | Err(JobError::NotActive(_)) => back(&who, &id),
        Err(error) => Err(oops(error)),
    }
}

#[derive(Template)]
#[template(path = "archive_job.html")]
struct ArchivePage {
    shell: Shell,
    it: JobView,
}

pub(super) async fn ask_archive(State(dash): State<Dash>, who: InProject, Path((_, id)): Place) -> Reply {
    let it = JobView::new(&dash, &who, &id, "").await?;
    page(&ArchivePage { shell: Shell::inside(&dash, &who, "/jobs", "Archive a job"), it })
}

pub(super) async fn archive(State(dash): State<Dash>, who: InProject, Path((_, id)): Place) -> Reply {
    who.jobs(&dash).archive(&who.project.id, &JobId::from(id.as_str())).await.map_err(oops)?;
    back(&who, &id)
}

pub(super) async fn open(State(dash): State<Dash>, who: InProject, Path((_, id)): Place) -> Reply {
    let conflict = |words: &str| Oops::refused(StatusCode::CONFLICT, words);
    let away = |words: String| Oops::refused(StatusCode::SERVICE_UNAVAILABLE, words);
    match who.jobs(&dash).open(who.project.clone(), JobId::from(id.as_str())).await {
        Ok(_) => back(&who, &id),
        Err(NotPublished::NotFound) => Err(Oops::NotFound),
        Err(NotPublished::NotCompleted(status)) => Err(Oops::refused(
            StatusCode::CONFLICT,
            format!("The job is {}; only a completed one can be opened.", status.as_str()),
        )),
        Err(NotPublished::NothingChanged) => Err(conflict("The job has changed nothing, so there is nothing to open.")),
        Err(NotPublished::Busy) => Err(conflict("It is being opened. Look again in a moment.")),
        Err(NotPublished::Overtaken) => Err(conflict("Somebody has archived the job or sent it a message meanwhile.")),
        Err(NotPublished::Failed(why)) => Err(conflict(&why)),
        Err(NotPublished::NotNow(why)) => Err(away(why)),
        Err(NotPublished::NotHere) => Err(away("This server cannot open pull requests.".to_owned())),
        Err(NotPublished::Store(error)) => Err(error.into()),
        Err(NotPublished::Broken(why)) => Err(Oops::Broken(why)),
    }
}
