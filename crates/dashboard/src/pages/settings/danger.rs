//! The end of a project.

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use copydesk_desk::projects::{NotDeleted, delete_surely};
use copydesk_domain::Invalid;

use super::{Frame, OWNER, shell};
use crate::access::Table;
use crate::dash::Dash;
use crate::form::Form;
use crate::respond::{Oops, Reply, page, to, unfit};
use crate::shell::Shell;
use crate::who::InProject;

pub(super) fn routes(table: Table) -> Table {
    table.get(OWNER, "/p/{project}/settings/danger", show).post_surely(
        OWNER,
        "/p/{project}/settings/danger/delete",
        delete,
    )
}

#[derive(Template)]
#[template(path = "settings/danger.html")]
struct DangerPage {
    shell: Shell,
    frame: Frame,
    name: String,
    typed: String,
}

fn danger(dash: &Dash, who: &InProject, frame: Frame, typed: &str) -> DangerPage {
    let (name, typed) = (who.project.name.clone(), typed.to_owned());
    DangerPage { shell: shell(dash, who, "Delete the project"), frame, name, typed }
}

async fn show(State(dash): State<Dash>, who: InProject) -> Reply {
    page(&danger(&dash, &who, Frame::new(&who, "danger"), ""))
}

async fn delete(State(dash): State<Dash>, who: InProject, form: Form) -> Reply {
    let typed = form.text("typed");
    if typed != who.project.id.as_str() {
        let invalid = Invalid::new("typed", format!("must be {}, the id of the project", who.project.id));
        return unfit(&danger(&dash, &who, Frame::new(&who, "danger").wrong(invalid), typed));
    }
    let none = || Oops::refused(StatusCode::SERVICE_UNAVAILABLE, "This process has no page views to delete.");
    let views = dash.desk().views.as_ref().ok_or_else(none)?.store().clone();
    match delete_surely(who.store(&dash), views, who.project.id.clone()).await {
        Ok(true) => to("/"),
        Ok(false) => Err(Oops::NotFound),
        Err(NotDeleted::Store(error)) => Err(error.into()),
        Err(error @ NotDeleted::Views(_)) => {
            tracing::error!(%error, project = who.project.id.as_str(), "a project is not wholly deleted");
            Err(Oops::refused(
                StatusCode::INTERNAL_SERVER_ERROR,
                format!("{}.", crate::words::capital(&error.to_string())),
            ))
        }
    }
}
