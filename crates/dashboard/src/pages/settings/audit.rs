//! Who did what in a project.

use askama::Template;
use axum::extract::{RawQuery, State};

use super::{Frame, OWNER, shell};
use crate::access::Table;
use crate::dash::Dash;
use crate::form::asked;
use crate::pages::deeds::{Deeds, Format, file};
use crate::respond::{Reply, page};
use crate::shell::Shell;
use crate::who::InProject;

pub(super) fn routes(table: Table) -> Table {
    table.get(OWNER, "/p/{project}/settings/audit", show).get(OWNER, "/p/{project}/settings/audit.csv", csv).get(
        OWNER,
        "/p/{project}/settings/audit.jsonl",
        json_lines,
    )
}

#[derive(Template)]
#[template(path = "settings/audit.html")]
struct AuditPage {
    shell: Shell,
    frame: Frame,
    deeds: Deeds,
}

async fn show(State(dash): State<Dash>, who: InProject, query: RawQuery) -> Reply {
    let (query, address) = (asked(query), who.path("/settings/audit"));
    let deeds = Deeds::read(&dash, Some(who.project.id.clone()), address, &query).await?;
    page(&AuditPage { shell: shell(&dash, &who, "Audit log"), frame: Frame::new(&who, "audit"), deeds })
}

async fn csv(State(dash): State<Dash>, who: InProject) -> Reply {
    file(&dash, Some(who.project.id), Format::Csv).await
}

async fn json_lines(State(dash): State<Dash>, who: InProject) -> Reply {
    file(&dash, Some(who.project.id), Format::JsonLines).await
}
