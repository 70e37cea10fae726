//! A pull request for whoever has its link, also without signing in.

use askama::Template;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::http::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};
use axum::response::IntoResponse;
use copydesk_domain::Project;
use copydesk_store::LocalPull;

use super::jobs::{Changes, Looking, file_of, file_only, keep_look, kept_look};
use super::pulls::badge;
use crate::access::{Needs, Table};
use crate::dash::Dash;
use crate::respond::{Oops, Reply, page};
use crate::shell::Shell;
use crate::who::Asks;
use crate::{markdown, words};

pub(super) fn routes(table: Table) -> Table {
    table.get(Needs::Nothing, "/pull/{token}", show).get(Needs::Nothing, "/pull/{token}/changes/{file}", file)
}

#[derive(Template)]
#[template(path = "pull_link.html")]
struct LinkPage {
    shell: Shell,
    pull: LocalPull,
    badge: (&'static str, &'static str),
    changes: Changes,
}

async fn found(dash: &Dash, token: &str) -> Result<(LocalPull, Project), Oops> {
    let well_formed = token.len() == 32 && token.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    let pull = if well_formed { dash.desk().store.local_pull_at(token).await? } else { None };
    let pull = pull.ok_or(Oops::NotFound)?;
    let project = dash.desk().store.project(&pull.project_id).await?.ok_or(Oops::NotFound)?;
    Ok((pull, project))
}

async fn show(
    State(dash): State<Dash>,
    asks: Asks,
    path: Option<Path<String>>,
    Query(looking): Query<Looking>,
    headers: HeaderMap,
) -> Reply {
    let Path(token) = path.unwrap_or(Path(String::new()));
    let (pull, project) = match found(&dash, &token).await {
        Ok(found) => found,
        Err(Oops::NotFound) if !is_browser(&headers) => return nothing(),
        Err(oops) => return Err(oops),
    };
    let change = dash.desk().store.published_change(&pull.job_id).await?;
    let (address, look) = (format!("/pull/{token}"), kept_look(&looking, &headers));
    let files = format!("{address}/changes");
    let changes = Changes::new(&dash, &project, change.as_ref(), look, address, files).await;
    let shell = Shell::new(&dash, Some(&asks), format!("{} · pull request #{}", pull.title, pull.number));
    Ok(keep_look(page(&LinkPage { shell, badge: badge(&pull), pull, changes })?, &looking))
}

async fn file(
    State(dash): State<Dash>,
    asks: Asks,
    Path((token, place)): Path<(String, String)>,
    Query(looking): Query<Looking>,
    headers: HeaderMap,
) -> Reply {
    let (pull, project) = found(&dash, &token).await?;
    let change = dash.desk().store.published_change(&pull.job_id).await?;
    let file = file_of(&dash, &project, change.as_ref(), kept_look(&looking, &headers), &place).await?;
    let shell = Shell::new(&dash, Some(&asks), file.path.clone());
    file_only(&looking, file, shell, format!("/pull/{token}"))
}

fn is_browser(headers: &HeaderMap) -> bool {
    headers.get_all(ACCEPT).iter().any(|value| value.as_bytes().windows(9).any(|part| part == b"text/html"))
}

/// The address is part of the described interface, whose clients are told in its own shape that there is nothing.
fn nothing() -> Reply {
    let body = r#"{"error":"There is nothing at this address; see /docs for what there is.","code":"not_found"}"#;
    Ok((StatusCode::NOT_FOUND, [(CONTENT_TYPE, HeaderValue::from_static("application/json"))], body).into_response())
}
