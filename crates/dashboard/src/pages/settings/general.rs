//! What a project is called, and the zone of its days.

use askama::Template;
use axum::extract::{RawQuery, State};
use copydesk_desk::projects::ProjectDraft;

use super::{Frame, OWNER, save, shell};
use crate::access::Table;
use crate::dash::Dash;
use crate::form::{Form, Values, asked};
use crate::respond::{Reply, page, to, unfit};
use crate::shell::Shell;
use crate::who::InProject;

pub(super) fn routes(table: Table) -> Table {
    table.get(OWNER, "/p/{project}/settings/general", show).post(OWNER, "/p/{project}/settings/general", change)
}

#[derive(Template)]
#[template(path = "settings/general.html")]
struct GeneralPage {
    shell: Shell,
    frame: Frame,
    values: Values,
}

fn general(dash: &Dash, who: &InProject, frame: Frame, typed: Option<&Form>) -> GeneralPage {
    let project = &who.project;
    let now = vec![("name", project.name.clone()), ("time_zone", project.time_zone.clone())];
    GeneralPage { shell: shell(dash, who, "General settings"), frame, values: Values::new(now, typed) }
}

async fn show(State(dash): State<Dash>, who: InProject, query: RawQuery) -> Reply {
    page(&general(&dash, &who, Frame::new(&who, "general").said(&asked(query)), None))
}

async fn change(State(dash): State<Dash>, who: InProject, form: Form) -> Reply {
    let draft = ProjectDraft {
        name: Some(form.text("name").to_owned()),
        time_zone: Some(form.text("time_zone").to_owned()),
        ..ProjectDraft::default()
    };
    match save(&dash, &who, draft).await? {
        Ok(()) => to(&who.path("/settings/general?said=saved")),
        Err(invalid) => unfit(&general(&dash, &who, Frame::new(&who, "general").wrong(invalid), Some(&form))),
    }
}
