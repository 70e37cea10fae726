//! `copydesk doctor`: what is wrong with an installation. It works beside a running server, repairs nothing, and ends in
//! bounded time: every check has a limit of its own, and all together have one. Without a server it opens the page views as
//! a start would, which tidies their log.

mod clock;
mod machine;
mod projects;
mod report;
mod services;

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Duration;

use copydesk_domain::Project;
use copydesk_store::Store;
use tokio::time::Instant;

use crate::args::DoctorFlags;
use crate::config::Config;
use crate::failure::Failure;
use crate::{data_folder, owner, store};
use report::Finding;

/// How long all checks may take together.
const ALL: Duration = Duration::from_secs(60);
/// The same with a call of the model, which is waited for.
const ALL_WITH_CALL: Duration = Duration::from_secs(90);

/// What the checks work with.
struct Visit<'a> {
    flags: &'a DoctorFlags,
    config: &'a Config,
    environment: &'a [(OsString, OsString)],
    /// After this nothing is waited for any more.
    end: Instant,
}

impl Visit<'_> {
    /// What a check finds, or `late` if it takes longer than `limit` or than there is time.
    async fn within<T>(&self, limit: Duration, late: impl FnOnce() -> T, check: impl Future<Output = T>) -> T {
        let end = self.end.min(Instant::now() + limit);
        tokio::time::timeout_at(end, check).await.unwrap_or_else(|_| late())
    }

    /// Whether the time for all checks is over. Whatever was cut off by that has not had its own, and need not be at fault.
    fn is_over(&self) -> bool {
        Instant::now() >= self.end
    }
}

pub(crate) async fn run(
    flags: &DoctorFlags,
    config: &Config,
    environment: &[(OsString, OsString)],
) -> Result<ExitCode, Failure> {
    let end = Instant::now() + if flags.call_model { ALL_WITH_CALL } else { ALL };
    let visit = Visit { flags, config, environment, end };
    let (git, disk, model, rest) =
        tokio::join!(machine::git(&visit), machine::disk(&visit), services::model(&visit), with_database(&visit));
    let findings: Vec<Finding> = git.into_iter().chain(disk).chain(model).chain(rest?).collect();
    report::show(&findings, flags)
}

/// What needs the database, or the files of the service.
async fn with_database(visit: &Visit<'_>) -> Result<Vec<Finding>, Failure> {
    // Files that root makes there the service could not read: SQLite's own would be among them.
    if owner::check(visit.config).is_err() {
        let why = "not looked at, because this user must not work in the data folder";
        return Ok(["database", "projects", "page views"].map(|name| Finding::unknown(name, why)).into());
    }
    // Whoever opens a database or page views writes beside them, and a backup would not be one any more.
    if let Err(failure) = data_folder::check(visit.config) {
        return Ok(vec![Finding::of_failure("data folder", failure)]);
    }
    let (database, opened) = services::database(visit).await;
    let projects = match &opened {
        Some(store) => chosen(visit, store).await?,
        None => None,
    };
    let mut findings = database;
    let Some((store, projects)) = opened.zip(projects) else {
        findings.push(Finding::unknown("projects", "the database does not tell which there are"));
        findings.extend(services::views(visit, None).await);
        return Ok(findings);
    };
    if let Ok(Some(dormancy)) = store.dormancy().await {
        findings.push(
            Finding::warning("dormancy", dormancy.sentence()).hint("run `copydesk wake` if the original is gone"),
        );
        findings.extend(services::views(visit, Some(&projects)).await);
        findings.push(Finding::unknown("projects", "not looked at, because nothing goes out of a dormant copy"));
        return Ok(findings);
    }
    if let Ok(Some(note)) = store.move_note().await {
        let hint = "`copydesk move` says how far it is; run it again if it was ended";
        findings.extend(note.sentence().map(|said| Finding::warning("move", said).hint(hint)));
    }
    let (clock, views, of_projects) = tokio::join!(
        clock::check(visit, &store, &projects),
        services::views(visit, Some(&projects)),
        projects::check(visit, &store, &projects)
    );
    Ok(findings.into_iter().chain(clock).chain(views).chain(of_projects).collect())
}

/// The projects to look at; none if they cannot be read. An error if the one that was named is not there.
async fn chosen(visit: &Visit<'_>, store: &Store) -> Result<Option<Vec<Project>>, Failure> {
    let Ok(projects) = store.projects().await else { return Ok(None) };
    let Some(id) = &visit.flags.project else { return Ok(Some(projects)) };
    let named = store::project_id(id)?;
    let found: Vec<Project> = projects.into_iter().filter(|project| project.id == named).collect();
    if found.is_empty() { Err(Failure::unknown_project(id)) } else { Ok(Some(found)) }
}
