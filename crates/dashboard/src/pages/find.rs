//! What the palette finds: jobs and pages. A fragment of the page, for the script.

use askama::Template;
use axum::extract::{RawQuery, State};

use super::VIEWER;
use super::named::named;
use crate::access::Table;
use crate::dash::Dash;
use crate::form::Form;
use crate::respond::{Reply, page};
use crate::who::InProject;
use crate::words::part;

/// Things of a kind at most.
const MOST: u32 = 6;
/// Letters of what is looked for at most.
const LETTERS: usize = 100;

pub(super) fn routes(table: Table) -> Table {
    table.get(VIEWER, "/p/{project}/find", find)
}

#[derive(Template)]
#[template(path = "found.html")]
struct Found {
    /// What it is, its name, more of it, and where it leads.
    found: Vec<(&'static str, String, String, String)>,
}

async fn find(State(dash): State<Dash>, who: InProject, RawQuery(query): RawQuery) -> Reply {
    let query = Form::parse(query.unwrap_or_default().as_bytes());
    let wanted: String = query.text("q").chars().take(LETTERS).collect();
    let mut found = Vec::new();
    if !wanted.is_empty() {
        let store = &dash.desk().store;
        let jobs = store.find_jobs(&who.project.id, &wanted, MOST).await?;
        for job in named(store, jobs).await? {
            found.push(("Job", job.name, job.standing.to_owned(), who.path(&format!("/jobs/{}", part(&job.job.id)))));
        }
        for known in store.find_pages(&who.project.id, &wanted, MOST).await? {
            let link = match &known.page {
                Some(address) => who.path(&format!("/views?path={}", part(address))),
                None => who.path(&format!("/pages?q={}", part(&known.file))),
            };
            found.push(("Page", known.title, known.page.unwrap_or(known.file), link));
        }
    }
    page(&Found { found })
}
