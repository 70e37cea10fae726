//! A project's credential: set, replaced, removed, never shown again.

use axum::extract::State;
use copydesk_domain::Actor;

use super::credential::{credentials, draft, keep};
use super::repository::repository;
use super::{Frame, OWNER, shell};
use crate::access::Table;
use crate::dash::Dash;
use crate::form::Form;
use crate::pages::ask::AskPage;
use crate::respond::{Reply, page, to, unfit};
use crate::who::InProject;

pub(super) fn routes(table: Table) -> Table {
    table
        .post_surely(OWNER, "/p/{project}/settings/repository/credential", set)
        .get(OWNER, "/p/{project}/settings/repository/credential/remove", ask)
        .post_surely(OWNER, "/p/{project}/settings/repository/credential/remove", remove)
}

async fn set(State(dash): State<Dash>, who: InProject, form: Form) -> Reply {
    let kind = form.text("kind").to_owned();
    let back = if form.text("back") == "new" {
        format!("/new/{}/test", who.project.id)
    } else {
        who.path("/settings/repository?said=credential")
    };
    match keep(&dash, Actor::user(&who.user), &who.project, draft(&form, &kind)).await? {
        Ok(()) => to(&back),
        Err(invalid) => {
            let frame = Frame::new(&who, "repository").wrong(invalid.clone());
            let mut template = repository(&dash, &who, frame, None).await?;
            template.say_wrong(invalid, kind);
            unfit(&template)
        }
    }
}

async fn ask(State(dash): State<Dash>, who: InProject) -> Reply {
    let action = who.path("/settings/repository/credential/remove");
    page(&AskPage {
        shell: shell(&dash, &who, "Remove the credential"),
        question: "Remove the credential?".to_owned(),
        words: "Jobs can then fetch only public repositories, and push nothing. Running jobs keep the credential that they have."
            .to_owned(),
        deed: "Remove it",
        keep: "Keep it",
        back: who.path("/settings/repository"),
        action,
    })
}

async fn remove(State(dash): State<Dash>, who: InProject) -> Reply {
    if let Some(credentials) = credentials(&dash) {
        credentials.by(Actor::user(&who.user)).remove(&who.project.id).await?;
    }
    to(&who.path("/settings/repository?said=no-credential"))
}
