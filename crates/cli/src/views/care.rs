//! What an operator does about damage, and about views that should not have been forgotten.

use std::process::ExitCode;

use copydesk_domain::Project;
use copydesk_views::Bucket;
use copydesk_views::store::{Loss, ViewStore, ViewsError};
use serde_json::json;

use super::PageViewStore;
use crate::failure::Failure;
use crate::output::{self, printable};

/// A loss in a line.
pub(super) fn told(loss: &Loss) -> String {
    let project = loss.project.as_deref().unwrap_or("any project");
    printable(&format!("lost, {project}: {} ({})", loss.sentence(), loss.file))
}

/// Everything that is damaged now, project by project; says how far it is.
async fn damaged(views: &PageViewStore) -> Result<Vec<Loss>, ViewsError> {
    let mut found = views.verify(None).await?;
    let projects = views.projects().await?;
    for (done, project) in projects.iter().enumerate() {
        tracing::debug!(project, done, of = projects.len(), "reading");
        found.extend(views.verify(Some(project)).await?);
    }
    Ok(found)
}

/// `copydesk views verify`
pub(super) async fn verify(views: &PageViewStore, as_json: bool) -> Result<ExitCode, Failure> {
    let found = damaged(views).await?;
    let lost = views.losses(None).await?.list;
    let well = found.is_empty() && lost.is_empty();
    if as_json {
        output::json(&json!({ "damaged": found, "losses": lost }))?;
    } else {
        for loss in &found {
            output::line(&printable(&format!("damaged: {} ({})", loss.what, loss.file)));
        }
        lost.iter().for_each(|loss| output::line(&told(loss)));
        let hint = match (found.is_empty(), lost.is_empty()) {
            (true, true) if views.is_database() => {
                "no damage found: the counts by quarter hour, day and month agree; the files are the database's own affair"
            }
            (true, true) => "no damage found: all page views match their checksums",
            (false, _) if views.is_database() => {
                "`copydesk views repair` counts the site, days and months anew from the quarter hours"
            }
            (false, _) => "`copydesk views repair` rewrites damaged files with what can be saved",
            (true, false) => {
                "nothing is damaged now; `copydesk views repair --accept` dismisses the report of what was lost"
            }
        };
        output::line(hint);
    }
    Ok(if well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// `copydesk views repair`
pub(super) async fn repair(views: &PageViewStore, accept: bool, as_json: bool) -> Result<ExitCode, Failure> {
    views.repair(None).await?;
    for project in views.projects().await? {
        views.repair(Some(&project)).await?;
    }
    let lost = views.losses(None).await?.list;
    if accept {
        views.accept().await?;
    }
    let found = damaged(views).await?;
    if as_json {
        output::json(&json!({ "damaged": found, "losses": lost, "accepted": accept }))?;
    } else {
        found
            .iter()
            .for_each(|loss| output::line(&printable(&format!("still damaged: {} ({})", loss.what, loss.file))));
        lost.iter().for_each(|loss| output::line(&told(loss)));
        if lost.is_empty() && found.is_empty() {
            output::line("nothing is missing");
        }
    }
    Ok(if found.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// `copydesk views restore`
pub(super) async fn restore(views: &PageViewStore, project: &Project) -> Result<ExitCode, Failure> {
    let before = views.status(&project.id).await?;
    let Some(from) = before.restorable else {
        return Err(Failure::error("nothing was forgotten within the last seven days")
            .hint("what was forgotten before them is gone"));
    };
    let floor = views.restore(&project.id).await?;
    let after = views.status(&project.id).await?;
    let back = after.views.saturating_sub(before.views);
    let since = floor.filter(|_| from > Bucket::MIN).map(|floor| format!(", from {} on", floor.begins()));
    let are = if back == 1 { "is" } else { "are" };
    output::line(&format!("{} {are} back{}", output::counted(back, "view"), since.unwrap_or_default()));
    Ok(ExitCode::SUCCESS)
}
