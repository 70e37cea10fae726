//! The database, the model and the store of page views.

use std::time::Duration;

use copydesk_agent::ModelTrial;
use copydesk_desk::projects::Trial;
use copydesk_domain::{Project, ProjectId};
use copydesk_store::{Store, StoreError};
use copydesk_views::store::ViewStore;

use super::Visit;
use super::report::Finding;
use crate::config::{Config, DatabaseUrl, ViewsPlace};
use crate::failure::Failure;
use crate::{engines, secrets, store, views};

const DATABASE_LIMIT: Duration = Duration::from_secs(15);
const MODEL_LIMIT: Duration = Duration::from_secs(20);
/// A model may take a minute to answer, by which `copydesk model test` gives up by itself.
const CALL_LIMIT: Duration = Duration::from_secs(65);
const VIEWS_LIMIT: Duration = Duration::from_secs(30);
const CLOSE_LIMIT: Duration = Duration::from_secs(5);

/// Whether the database is there, as this program needs it, and takes writes; and the store, if it can be read.
pub(super) async fn database(visit: &Visit<'_>) -> (Vec<Finding>, Option<Store>) {
    let which = visit.config.database().masked();
    let late = || (vec![Finding::failed("database", format!("{which} does not answer"))], None);
    let look = async {
        let store = match opened(visit.config).await {
            Ok(store) => store,
            Err(failure) => return (vec![Finding::of_failure("database", failure)], None),
        };
        if let Err(error) = store.check_schema().await {
            return (vec![Finding::failed("database", error.to_string())], None);
        }
        let written = match store.ping().await {
            Ok(()) => Finding::ok("database", format!("{which} is up to date and takes writes")),
            Err(StoreError::Moved(why)) => Finding::failed("database", why)
                .hint("stop the servers and workers of this place, unless `copydesk move` is at work"),
            Err(error) => Finding::failed("database", format!("{which} can be read only: {error}"))
                .hint("see to its permissions, its disk, and whether it is the primary server"),
        };
        let mut findings = vec![written];
        if let Err(failure) = secrets::check_shared(visit.config, &store).await {
            findings.push(Finding::of_failure("keys", failure));
        }
        (findings, Some(store))
    };
    visit.within(DATABASE_LIMIT, late, look).await
}

/// Makes nothing where nothing is.
async fn opened(config: &Config) -> Result<Store, Failure> {
    if let DatabaseUrl::Sqlite(path) = config.database()
        && !path.try_exists().is_ok_and(|is_there| is_there)
    {
        return Err(Failure::error(format!("there is no Copydesk database at {}", path.display()))
            .hint("name the data folder with --data-dir; `copydesk serve` makes a new one"));
    }
    store::connect(config).await
}

pub(super) async fn model(visit: &Visit<'_>) -> Vec<Finding> {
    let model = match engines::model(visit.config) {
        Ok(Some(model)) => model,
        Ok(None) => return vec![Finding::ok("model", "none is configured; jobs are done by `builtin`")],
        Err(failure) => return vec![Finding::of_failure("model", failure)],
    };
    // An id names the file of a project's key; what is none has no key of its own.
    let project = visit.flags.project.as_deref().and_then(|id| ProjectId::parse(id).ok());
    let project = project.unwrap_or_else(|| ProjectId::from(""));
    let (limit, hint) = match visit.flags.call_model {
        true => (CALL_LIMIT, "see the settings below `model`; `copydesk model test` makes a call by itself"),
        false => (MODEL_LIMIT, "see the settings below `model`; `copydesk model test` makes a call"),
    };
    let asking = async {
        let facts = match visit.flags.call_model {
            true => model.try_out(&project).await,
            false => model.look(&project).await,
        };
        facts.into_iter().map(Trial::from).map(|trial| Finding::of_trial("model", &trial).hint(hint)).collect()
    };
    let late = || vec![Finding::failed("model", "its provider does not answer").hint(hint)];
    visit.within(limit, late, asking).await
}

/// The store of page views: whether it opens, what was lost, and whether its files are as they were written.
pub(super) async fn views(visit: &Visit<'_>, projects: Option<&[Project]>) -> Vec<Finding> {
    let mut findings = match views::lists(visit.config) {
        Ok(_) => Vec::new(),
        Err(failure) => vec![Finding::of_failure("page views", failure)],
    };
    match visit.config.views_folder().try_exists() {
        Ok(true) => {}
        _ if visit.config.views.store.is_shared() => {}
        Ok(false) => {
            findings.push(Finding::ok("page views", "there are none yet"));
            return findings;
        }
        Err(error) => {
            findings.push(Finding::failed("page views", format!("their folder cannot be looked at: {error}")));
            return findings;
        }
    }
    let opening = async { views::look_at_views(visit.config).await.map_err(|failure| failure.into_parts().0) };
    let late = || Err("page views: their store does not answer".to_owned());
    let store = match visit.within(VIEWS_LIMIT / 2, late, opening).await {
        Ok(store) => store,
        Err(why) => {
            findings.push(Finding::failed("page views", why));
            return findings;
        }
    };
    let late = || Finding::unknown("page views", "there are too many to read all of them now").hint(VERIFY);
    findings.push(visit.within(VIEWS_LIMIT / 2, late, sound(&*store, projects, visit.config.views.store)).await);
    // A read that took too long goes on, and closing waits for it. What is not closed, the next one to open it puts right.
    // On its own, because a store that is dropped half closed would be waited for as well.
    let closing = tokio::spawn(async move { store.close().await });
    visit.within(CLOSE_LIMIT, || (), async { drop(closing.await) }).await;
    findings
}

const VERIFY: &str = "`copydesk views verify` reads every byte of them";

async fn sound(views: &dyn ViewStore, projects: Option<&[Project]>, place: ViewsPlace) -> Finding {
    let looked = async {
        let lost = views.losses(None).await?.list;
        let mut damaged = views.verify(None).await?;
        for project in projects.unwrap_or_default() {
            damaged.extend(views.verify(Some(&project.id)).await?);
        }
        Ok::<_, copydesk_views::store::ViewsError>((lost, damaged))
    };
    match looked.await {
        Err(error) => Finding::failed("page views", format!("they cannot be read: {error}")),
        Ok((_, damaged)) if !damaged.is_empty() => {
            let first =
                damaged.first().map(|loss| format!(", first {} ({})", loss.what, loss.file)).unwrap_or_default();
            Finding::failed("page views", format!("{} of their files or tables are damaged{first}", damaged.len()))
                .hint("`copydesk views repair` writes anew what is left of them")
        }
        Ok((lost, _)) if !lost.is_empty() => {
            let first = lost.first().map(|loss| format!(", first: {}", loss.sentence())).unwrap_or_default();
            Finding::warning("page views", format!("some were lost, {} times{first}", lost.len()))
                .hint("`copydesk views repair --accept` says no more of it")
        }
        Ok(_) if projects.is_none() => {
            Finding::unknown("page views", "only what all projects share was read").hint(VERIFY)
        }
        Ok(_) => Finding::ok(
            "page views",
            match place {
                ViewsPlace::Embedded => "every byte of them is as it was written",
                ViewsPlace::Database => "in the database, and their counts by quarter hour, day and month agree",
                ViewsPlace::ClickHouse => {
                    "in ClickHouse, which has all that the database has sent, and counts by quarter hour, day and month agree"
                }
            },
        ),
    }
}
