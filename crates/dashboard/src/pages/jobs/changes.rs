//! What a job has changed.

use askama::Template;
use askama::filters::Safe;
use axum::extract::{Path, Query, State};
use axum::http::header::{CONTENT_TYPE, HeaderMap, HeaderValue, SET_COOKIE};
use axum::response::{IntoResponse, Response};
use copydesk_desk::docs_job::Sides;
use copydesk_domain::{JobId, Project};
use copydesk_store::JobChange;

use super::{JobView, oops};
use crate::access::cookie;
use crate::dash::Dash;
use crate::diff::{self, FileDiff, FileKind, Look, View};
use crate::respond::{Oops, Reply, page};
use crate::shell::Shell;
use crate::who::InProject;
use crate::words;

/// How somebody wants to see a change.
#[derive(Default, serde::Deserialize)]
pub(crate) struct Looking {
    view: Option<String>,
    space: Option<String>,
    /// For the script: what is shown of a file, and no page around it.
    only: Option<String>,
}

/// A change as pages show it.
pub(crate) struct Changes {
    pub(crate) files: Vec<FileView>,
    pub(crate) added: usize,
    pub(crate) removed: usize,
    pub(crate) look: Look,
    /// The page that shows it.
    pub(crate) page: String,
    /// Where its files are, each under its number.
    pub(crate) address: String,
}

pub(crate) struct FileView {
    /// Its place in the change, from 1.
    pub(crate) number: usize,
    pub(crate) path: String,
    /// What happened to it beside its lines.
    pub(crate) notes: Vec<String>,
    pub(crate) added: usize,
    pub(crate) removed: usize,
    pub(crate) lines: usize,
    /// What is shown of it; none if that is fetched when somebody wants to see it.
    pub(crate) body: Option<Safe<String>>,
}

impl Changes {
    /// All files, of which the first are shown at once.
    pub(crate) async fn new(
        dash: &Dash,
        project: &Project,
        change: Option<&JobChange>,
        look: Look,
        page: String,
        address: String,
    ) -> Self {
        let text = change.map(|change| String::from_utf8_lossy(&change.diff)).unwrap_or_default();
        let files = diff::parse(&text);
        let opened = diff::opened(&files);
        let files = views(dash, project, change, look, &files, &opened).await;
        let (added, removed) = (files.iter().map(|file| file.added).sum(), files.iter().map(|file| file.removed).sum());
        Self { files, added, removed, look, page, address }
    }

    pub(crate) fn views(&self) -> [(View, &'static str); 3] {
        View::ALL
    }
}

/// One file of a change as a page of its own.
#[derive(Template)]
#[template(path = "file.html")]
pub(crate) struct FilePage {
    pub(crate) shell: Shell,
    pub(crate) file: FileView,
    /// The page with the whole change.
    pub(crate) page: String,
}

/// The file of that number, if the change has so many.
pub(crate) async fn file_of(
    dash: &Dash,
    project: &Project,
    change: Option<&JobChange>,
    look: Look,
    number: &str,
) -> Result<FileView, Oops> {
    let text = change.map(|change| String::from_utf8_lossy(&change.diff)).unwrap_or_default();
    let files = diff::parse(&text);
    let at = number.parse::<usize>().ok().and_then(|number| number.checked_sub(1)).ok_or(Oops::NotFound)?;
    let wanted: Vec<bool> = (0..files.len()).map(|place| place == at).collect();
    views(dash, project, change, look, &files, &wanted).await.into_iter().nth(at).ok_or(Oops::NotFound)
}

/// A file as a page, or alone for the script.
pub(crate) fn file_only(looking: &Looking, file: FileView, shell: Shell, whole: String) -> Reply {
    if looking.only.is_some() {
        let kind = HeaderValue::from_static("text/html; charset=utf-8");
        return Ok(([(CONTENT_TYPE, kind)], file.body.map(|body| body.0).unwrap_or_default()).into_response());
    }
    page(&FilePage { shell, file, page: whole })
}

async fn views(
    dash: &Dash,
    project: &Project,
    change: Option<&JobChange>,
    look: Look,
    files: &[FileDiff<'_>],
    opened: &[bool],
) -> Vec<FileView> {
    let read: Vec<usize> = (0..files.len()).filter(|at| opened[*at] && diff::is_read(&files[*at], look)).collect();
    let paths = read.iter().map(|at| (files[*at].old_path.clone(), files[*at].new_path.clone())).collect();
    let sides = match change {
        Some(change) if !read.is_empty() => dash.desk().jobs.sides(project, change, paths).await,
        _ => None,
    };
    let sides = sides.unwrap_or_default();
    let side_of = |at: usize| read.iter().position(|read| *read == at).and_then(|place| sides.get(place));
    let view = |(at, file): (usize, &FileDiff<'_>)| FileView {
        number: at + 1,
        path: file.path().to_owned(),
        notes: notes(file),
        added: file.added,
        removed: file.removed,
        lines: file.lines(),
        body: opened[at].then(|| diff::body(file, look, side_of(at).and_then(|sides| both(file, sides)))),
    };
    files.iter().enumerate().map(view).collect()
}

/// Both sides of a file, if what should be there is there.
fn both<'s>(file: &FileDiff<'_>, sides: &'s Sides) -> Option<(&'s str, &'s str)> {
    let old = if file.kind == FileKind::Added { Some("") } else { sides.old.as_deref() };
    let new = if file.kind == FileKind::Deleted { Some("") } else { sides.new.as_deref() };
    old.zip(new)
}

fn notes(file: &FileDiff<'_>) -> Vec<String> {
    let what = match file.kind {
        FileKind::Added => Some("new".to_owned()),
        FileKind::Deleted => Some("deleted".to_owned()),
        FileKind::Renamed => Some(format!("was {}", file.old_path)),
        FileKind::Changed => None,
    };
    what.into_iter().chain(file.notes.iter().cloned()).collect()
}

/// How somebody looks at changes: as the address says, or as they did last.
pub(crate) fn kept_look(looking: &Looking, headers: &HeaderMap) -> Look {
    let kept = cookie(headers, "view").and_then(View::parse);
    let view = looking.view.as_deref().and_then(View::parse).or(kept).unwrap_or_default();
    Look { view, ignores_space: looking.space.as_deref() == Some("ignore") }
}

/// Lets the browser remember how it was looked at.
pub(crate) fn keep_look(mut response: Response, looking: &Looking) -> Response {
    if let Some(view) = looking.view.as_deref().and_then(View::parse) {
        let text = format!("view={}; Path=/; Max-Age=31536000; HttpOnly; SameSite=Lax", view.as_str());
        if let Ok(text) = HeaderValue::from_str(&text) {
            response.headers_mut().append(SET_COOKIE, text);
        }
    }
    response
}

#[derive(Template)]
#[template(path = "job_changes.html")]
struct ChangesPage {
    shell: Shell,
    it: JobView,
    changes: Changes,
    /// The commit that the change is held against.
    base_commit: String,
}

pub(super) async fn show(
    State(dash): State<Dash>,
    who: InProject,
    Path((_, id)): Path<(String, String)>,
    Query(looking): Query<Looking>,
    headers: HeaderMap,
) -> Reply {
    let it = JobView::new(&dash, &who, &id, "/changes").await?;
    let change = dash.desk().store.change(&it.job.id).await?;
    let address = who.path(&format!("/jobs/{}/changes", it.job.id));
    let look = kept_look(&looking, &headers);
    let changes = Changes::new(&dash, &who.project, change.as_ref(), look, address.clone(), address).await;
    let base_commit = change.map(|change| change.base_commit.chars().take(10).collect()).unwrap_or_default();
    let shell = Shell::inside(&dash, &who, "/jobs", format!("Changes of {}", it.title));
    Ok(keep_look(page(&ChangesPage { shell, it, changes, base_commit })?, &looking))
}

pub(super) async fn file(
    State(dash): State<Dash>,
    who: InProject,
    Path((_, id, number)): Path<(String, String, String)>,
    Query(looking): Query<Looking>,
    headers: HeaderMap,
) -> Reply {
    let job = dash.desk().store.job(&who.project.id, &JobId::from(id.as_str())).await?.ok_or(Oops::NotFound)?;
    let (change, look) = (dash.desk().store.change(&job.id).await?, kept_look(&looking, &headers));
    let file = file_of(&dash, &who.project, change.as_ref(), look, &number).await?;
    let shell = Shell::inside(&dash, &who, "/jobs", file.path.clone());
    file_only(&looking, file, shell, who.path(&format!("/jobs/{}/changes", job.id)))
}

pub(super) async fn patch(State(dash): State<Dash>, who: InProject, Path((_, id)): Path<(String, String)>) -> Reply {
    let diff = dash.desk().jobs.diff(&who.project.id, &JobId::from(id.as_str())).await.map_err(oops)?;
    let kind = HeaderValue::from_static("text/plain; charset=utf-8");
    Ok(([(CONTENT_TYPE, kind)], diff).into_response())
}
