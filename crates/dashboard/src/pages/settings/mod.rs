//! A project's settings, one page a subject.

mod audit;
mod checks;
mod collection;
mod credential;
mod credential_forms;
mod danger;
mod general;
mod invitations;
mod members;
mod model;
mod repository;
mod talk;
mod webhook;
mod webhooks;

use std::path::Path as FilePath;

use copydesk_desk::projects::{ProjectDraft, Reach};
use copydesk_domain::Invalid;
use copydesk_store::StoreError;

use super::OWNER;
use crate::access::Table;
use crate::dash::Dash;
use crate::form::{Form, Wrong, lines};
use crate::respond::{Oops, Reply, to};
use crate::shell::Shell;
use crate::who::InProject;

pub(crate) use collection::{FirstView, Snippets};
pub(crate) use credential::{CredentialState, credential_state, draft as credential_draft, keep as keep_credential};
pub(crate) use repository::{HOSTS, streamed_test};

/// The subjects: what their addresses end with, and their names.
const SECTIONS: [(&str, &str); 10] = [
    ("general", "General"),
    ("repository", "Repository"),
    ("talk", "Pull requests"),
    ("model", "Model and limits"),
    ("checks", "Checks"),
    ("collection", "Collection"),
    ("webhooks", "Webhooks"),
    ("members", "Members"),
    ("audit", "Audit log"),
    ("danger", "Delete"),
];

pub(super) fn routes(table: Table) -> Table {
    let table = table.get(OWNER, "/p/{project}/settings", first);
    let table = general::routes(table);
    let table = repository::routes(table);
    let table = talk::routes(table);
    let table = credential_forms::routes(table);
    let table = model::routes(table);
    let table = checks::routes(table);
    let table = collection::routes(table);
    let table = webhooks::routes(table);
    let table = webhook::routes(table);
    let table = members::routes(table);
    let table = invitations::routes(table);
    let table = audit::routes(table);
    danger::routes(table)
}

async fn first(who: InProject) -> Reply {
    to(&who.path("/settings/general"))
}

/// What surrounds the form of a subject.
struct Frame {
    project_id: String,
    here: &'static str,
    /// What was just done.
    said: Option<&'static str>,
    wrong: Wrong,
}

impl Frame {
    fn new(who: &InProject, here: &'static str) -> Self {
        Self { project_id: who.project.id.to_string(), here, said: None, wrong: Wrong::default() }
    }

    /// After what the address says was just done.
    fn said(mut self, query: &Form) -> Self {
        self.said = match query.text("said") {
            "saved" => Some("Saved."),
            "credential" => Some("The credential is stored. Test the connection to see what it may do."),
            "no-credential" => Some("The credential is removed. Revoke it at the code host too."),
            "removed" => Some("Removed."),
            "again" => Some("It is on its way again."),
            "tested" => Some("A test was delivered, or tried: see the first line below."),
            "withdrawn" => Some("The invitation is withdrawn. Its link no longer works."),
            _ => None,
        };
        self
    }

    fn wrong(mut self, wrong: impl Into<Wrong>) -> Self {
        self.wrong = wrong.into();
        self
    }

    fn sections(&self) -> [(&'static str, &'static str); 10] {
        SECTIONS
    }
}

fn shell(dash: &Dash, who: &InProject, title: &str) -> Shell {
    Shell::inside(dash, who, "/settings", title)
}

/// The same where no line means that there is to be nothing.
fn lines_or_none(form: &Form, name: &str) -> Vec<String> {
    let lines = lines(form, name);
    if lines.is_empty() { vec!["none".to_owned()] } else { lines }
}

/// How far somebody may lead the server: whoever owns the machine may name everything that it reaches.
pub(crate) fn reach(is_admin: bool) -> Reach {
    if is_admin { Reach::Anywhere } else { Reach::internet() }
}

/// Changes the project, or says which field is wrong.
async fn save(dash: &Dash, who: &InProject, draft: ProjectDraft) -> Result<Result<(), Invalid>, Oops> {
    if let Err(invalid) = reach(who.user.is_admin).check(&draft).await {
        return Ok(Err(invalid));
    }
    let checked = match draft.check(Some(&who.project), FilePath::new("/")) {
        Ok(checked) => checked,
        Err(invalid) => return Ok(Err(invalid)),
    };
    match who.store(dash).update_project(&who.project.id, checked.change).await {
        Ok(Some(_)) => Ok(Ok(())),
        Ok(None) => Err(Oops::NotFound),
        Err(StoreError::DomainTaken(domain)) => Ok(Err(taken(&domain))),
        Err(error) => Err(error.into()),
    }
}

pub(crate) fn taken(domain: &str) -> Invalid {
    Invalid::new("domain", format!("{domain} belongs to another project already"))
}
