//! The audit log, of a project or of all: pages of it, and the whole as a file.

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE, HeaderValue};
use axum::response::IntoResponse;
use copydesk_domain::{ActorKind, Deed, ProjectId};
use copydesk_store::{DeedFilter, Store, StoreError};
use futures_util::stream::{StreamExt, once, unfold};

use crate::dash::Dash;
use crate::form::Form;
use crate::respond::plain;
use crate::respond::{Oops, Reply};

/// Deeds on a page, and those that are read at a time for a file.
const SHOWN: u32 = 50;
const READ: u32 = 1000;

/// A page of the log.
pub(crate) struct Deeds {
    pub(crate) list: Vec<Deed>,
    /// The address of the log, without its query.
    pub(crate) address: String,
    pub(crate) older: Option<String>,
    pub(crate) is_first: bool,
    /// Whether deeds of several projects are among them.
    pub(crate) of_all: bool,
}

impl Deeds {
    pub(crate) async fn read(
        dash: &Dash,
        project_id: Option<ProjectId>,
        address: String,
        query: &Form,
    ) -> Result<Self, Oops> {
        let before = query.given("before").map(|before| plain(&before).map(str::to_owned)).transpose()?;
        let (is_first, of_all) = (before.is_none(), project_id.is_none());
        let mut list = dash.desk().store.deeds(DeedFilter { project_id, before, limit: SHOWN + 1 }).await?;
        let more = list.len() > SHOWN as usize;
        list.truncate(SHOWN as usize);
        let older = list.last().filter(|_| more).map(|last| format!("{address}?before={}", last.id));
        Ok(Self { list, address, older, is_first, of_all })
    }

    pub(crate) fn actor(&self, deed: &Deed) -> String {
        actor(deed)
    }

    pub(crate) fn words(&self, deed: &Deed) -> String {
        let known = WORDS.iter().find(|(action, _)| *action == deed.action);
        known.map_or_else(|| deed.action.clone(), |(_, words)| (*words).to_owned())
    }
}

fn actor(deed: &Deed) -> String {
    match deed.actor_kind {
        ActorKind::User => deed.actor_name.clone(),
        ActorKind::Key if deed.actor_name.is_empty() => "a key without a name".to_owned(),
        ActorKind::Key => format!("the key {}", deed.actor_name),
        ActorKind::Command => format!("{} at the command line", deed.actor_name),
        ActorKind::Host => format!("{} at the code host", deed.actor_name),
        ActorKind::Program => "Copydesk".to_owned(),
    }
}

/// What was done, as one says it of somebody.
const WORDS: [(&str, &str); 39] = [
    ("session.begin", "signed in"),
    ("session.end_all", "signed out everywhere"),
    ("job.create", "made the job"),
    ("job.message", "sent a message to the job"),
    ("job.cancel", "cancelled the job"),
    ("job.archive", "archived the job"),
    ("pull_request.open", "opened the pull request of"),
    ("pull_request.merge", "merged the pull request of"),
    ("pull_request.close", "closed the pull request of"),
    ("pull_request.reopen", "reopened the pull request of"),
    ("pull_request.revoke_link", "withdrew the link of"),
    ("key.create", "made the key"),
    ("key.rotate", "replaced the key"),
    ("key.revoke", "revoked the key"),
    ("secret.set", "set the credential"),
    ("secret.replace", "replaced the secret of"),
    ("secret.remove", "removed the credential"),
    ("project.create", "made the project"),
    ("project.change", "changed the project"),
    ("project.delete", "deleted the project"),
    ("identity.add", "signs in elsewhere as"),
    ("user.create", "joined as"),
    ("user.rename", "renamed"),
    ("user.password", "changed the password of"),
    ("user.make_administrator", "made an administrator of"),
    ("user.unmake_administrator", "took the administration from"),
    ("user.remove", "removed"),
    ("member.set", "gave a role to"),
    ("member.remove", "removed from the project"),
    ("source.add", "added the code source"),
    ("source.remove", "removed the code source"),
    ("webhook.create", "added the webhook"),
    ("webhook.pause", "paused the webhook"),
    ("webhook.resume", "resumed the webhook"),
    ("webhook.remove", "removed the webhook"),
    ("webhook.redeliver", "delivered again to the webhook"),
    ("invitation.create", "invited as"),
    ("invitation.withdraw", "withdrew the invitation"),
    ("invitation.take", "took the invitation as"),
];

/// How the whole log is written.
#[derive(Clone, Copy)]
pub(crate) enum Format {
    Csv,
    JsonLines,
}

/// The whole log as a file, oldest last, read as it is sent.
pub(crate) async fn file(dash: &Dash, project_id: Option<ProjectId>, format: Format) -> Reply {
    let store = dash.desk().store.clone();
    let name = project_id.as_ref().map_or("all".to_owned(), ToString::to_string);
    // What fails at once is a page that says so.
    let first = read(&store, project_id.clone(), None).await?;
    let (heading, kind, ending) = match format {
        Format::Csv => ("time,project,by,actor,action,target,detail\r\n", "text/csv; charset=utf-8", "csv"),
        Format::JsonLines => ("", "application/x-ndjson", "jsonl"),
    };
    let parts = unfold(Some(Ok(first)), move |page: Option<Result<Vec<Deed>, StoreError>>| {
        let (store, project_id) = (store.clone(), project_id.clone());
        async move {
            // A file that ends where the database failed must not look whole: the connection breaks off.
            let page = match page? {
                Ok(page) => page,
                Err(error) => return Some((Err(error), None)),
            };
            let text: String = page.iter().map(|deed| written(deed, format)).collect();
            let next = match page.last().filter(|_| page.len() == READ as usize) {
                Some(last) => Some(read(&store, project_id, Some(last.id.clone())).await),
                None => None,
            };
            Some((Ok(text), next))
        }
    });
    // Whoever compresses it asks once more after its end.
    let all = once(async move { Ok::<_, StoreError>(heading.to_owned()) }).chain(parts).fuse();
    let mut response = Body::from_stream(all).into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Ok(value) = HeaderValue::from_str(&format!("attachment; filename=\"audit-{name}.{ending}\"")) {
        headers.insert(CONTENT_DISPOSITION, value);
    }
    Ok(response)
}

async fn read(store: &Store, project_id: Option<ProjectId>, before: Option<String>) -> Result<Vec<Deed>, StoreError> {
    store.deeds(DeedFilter { project_id, before, limit: READ }).await
}

fn written(deed: &Deed, format: Format) -> String {
    match format {
        Format::Csv => {
            let project = deed.project_id.as_ref().map_or("", |id| id.as_str());
            let (time, by) = (deed.created_at.to_string(), deed.actor_kind.as_str());
            let cells = [&*time, project, by, &deed.actor_name, &deed.action, &deed.target, &deed.detail];
            cells.map(cell).join(",") + "\r\n"
        }
        // A deed holds only strings, so it is always written.
        Format::JsonLines => serde_json::to_string(deed).unwrap_or_default() + "\n",
    }
}

/// A cell that no program takes for a formula, and that does not end early.
pub(crate) fn cell(text: &str) -> String {
    let shield = if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { "'" } else { "" };
    format!("\"{shield}{}\"", text.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_stay_cells() {
        assert_eq!(cell("a, \"b\""), "\"a, \"\"b\"\"\"");
        assert_eq!(cell("=HYPERLINK(\"x\")"), "\"'=HYPERLINK(\"\"x\"\")\"");
        assert_eq!(cell("a\nb"), "\"a\nb\"");
    }
}
