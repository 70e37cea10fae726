//! The projects that somebody has a place in.

use askama::Template;
use axum::extract::State;
use copydesk_domain::{Project, Role};

use crate::access::{Needs, Table};
use crate::dash::Dash;
use crate::respond::{Reply, page};
use crate::shell::Shell;
use crate::who::SignedIn;
use crate::words;

pub(super) fn routes(table: Table) -> Table {
    table.get(Needs::SignedIn, "/", projects)
}

#[derive(Template)]
#[template(path = "projects.html")]
struct ProjectsPage {
    shell: Shell,
    projects: Vec<(Project, Role)>,
}

async fn projects(State(dash): State<Dash>, who: SignedIn) -> Reply {
    let projects = dash.desk().store.projects_of(&who.user).await?;
    page(&ProjectsPage { shell: Shell::outside(&dash, &who, "Projects"), projects })
}
