//! What belongs to each project: its mirrors, its credential at the code host, its webhooks.

use std::time::Duration;

use copydesk_desk::docs_job::Workshop;
use copydesk_desk::projects::quick_trials;
use copydesk_desk::webhooks::Webhooks;
use copydesk_domain::Project;
use copydesk_forge::{HostsSettings, MirrorState};
use copydesk_store::{DeliveryFilter, Store, WebhookEndpoint};
use futures_util::StreamExt;
use futures_util::stream;

use super::Visit;
use super::report::Finding;
use crate::engines::{self, Place};
use crate::webhook;

/// How many projects are looked at at a time.
const AT_ONCE: usize = 8;
const MIRROR_LIMIT: Duration = Duration::from_secs(20);
const HOST_LIMIT: Duration = Duration::from_secs(30);
const WEBHOOK_LIMIT: Duration = Duration::from_secs(10);
/// How long one command of git and one request to a host may take.
const ONE_TRY: Duration = Duration::from_secs(10);
const NO_TIME: &str = "no time to look";
const ONE_BY_ONE: &str = "name one project with --project";

struct Tools<'a> {
    store: &'a Store,
    /// Whose mirrors are the real ones.
    workshop: &'a Workshop,
    /// The same with mirrors in a folder that goes when the command ends: asking a host fetches nothing into the real ones.
    aside: &'a Workshop,
    webhooks: &'a Webhooks,
}

pub(super) async fn check(visit: &Visit<'_>, store: &Store, projects: &[Project]) -> Vec<Finding> {
    let config = visit.config;
    let set_up = || {
        let folder =
            tempfile::tempdir().map_err(|error| crate::Failure::error(format!("no temporary folder: {error}")))?;
        let workshop = engines::workshop(config, store, visit.environment, config.public_url())?;
        let hosts = HostsSettings { time_limit: ONE_TRY, tries: 1, ..HostsSettings::default() };
        let place = Place { mirrors: folder.path().to_owned(), git_time: ONE_TRY, hosts };
        let aside = engines::workshop_at(config, store, visit.environment, config.public_url(), place);
        Ok((folder, workshop, aside, webhook::webhooks(config)?))
    };
    let (_folder, workshop, aside, webhooks) = match set_up() {
        Ok(made) => made,
        Err(failure) => return vec![Finding::of_failure("projects", failure)],
    };
    let tools = &Tools { store, workshop: &workshop, aside: &aside, webhooks: &webhooks };
    let each = stream::iter(projects).map(|project| of_project(visit, tools, project)).buffered(AT_ONCE);
    each.collect::<Vec<_>>().await.into_iter().flatten().collect()
}

async fn of_project(visit: &Visit<'_>, tools: &Tools<'_>, project: &Project) -> Vec<Finding> {
    let (mirrors, host, webhooks) =
        tokio::join!(mirrors(visit, tools, project), host(visit, tools, project), webhooks(visit, tools, project));
    let all = mirrors.into_iter().chain(host).chain(webhooks);
    all.map(|finding| finding.of_project(&project.id)).collect()
}

/// The mirror of the repository, and those of the code sources.
async fn mirrors(visit: &Visit<'_>, tools: &Tools<'_>, project: &Project) -> Vec<Finding> {
    let sources = match tools.store.sources(&project.id).await {
        Ok(sources) => sources,
        Err(error) => return vec![Finding::failed("mirror", error.to_string())],
    };
    let of_sources =
        sources.iter().map(|source| (format!("that of @{}", source.name), source.repository.clone_address()));
    let own = [("it".to_owned(), project.repository.clone_address())];
    let mut findings = Vec::new();
    for (which, address) in own.into_iter().chain(of_sources) {
        let late = || {
            let why = if visit.is_over() { NO_TIME } else { "it is too large to be looked through now" };
            MirrorState::Unknown(why.to_owned())
        };
        let state = visit.within(MIRROR_LIMIT, late, tools.workshop.forge.look(address, MIRROR_LIMIT)).await;
        findings.push(match state {
            MirrorState::Sound => Finding::ok("mirror", format!("{which} is sound")),
            MirrorState::Missing => Finding::ok("mirror", format!("{which} is not there yet; the first job makes it")),
            MirrorState::Damaged { folder, why } => Finding::failed("mirror", format!("{which} is damaged: {why}"))
                .hint(format!("remove the folder {}; the next job makes it anew", folder.display())),
            MirrorState::Unknown(why) => {
                Finding::unknown("mirror", format!("not known whether {which} is sound: {why}"))
            }
        });
    }
    findings
}

/// The credential, and what it is good for at the code host.
async fn host(visit: &Visit<'_>, tools: &Tools<'_>, project: &Project) -> Vec<Finding> {
    let id = &project.id;
    let look = async {
        let known = match tools.aside.credentials.known(id).await {
            Ok(known) => known,
            Err(error) => return vec![Finding::failed("credential", error.to_string())],
        };
        if let Some(problem) = known.problem {
            let hint = format!("put the key file back, or set it again with `copydesk project credential set {id}`");
            return vec![Finding::failed("credential", problem).hint(hint)];
        }
        let again =
            format!("see the repository, the settings and the credential; `copydesk project test {id}` tries it again");
        let trials = quick_trials(tools.aside, project).await;
        trials.iter().map(|trial| Finding::of_trial("code host", trial).hint(again.clone())).collect()
    };
    let late = || {
        vec![if visit.is_over() {
            Finding::unknown("code host", NO_TIME).hint(ONE_BY_ONE)
        } else {
            Finding::failed("code host", "it does not answer in time")
        }]
    };
    visit.within(HOST_LIMIT, late, look).await
}

async fn webhooks(visit: &Visit<'_>, tools: &Tools<'_>, project: &Project) -> Vec<Finding> {
    let endpoints = match tools.store.webhooks(Some(&project.id)).await {
        Ok(endpoints) => endpoints,
        Err(error) => return vec![Finding::failed("webhook", error.to_string())],
    };
    let look = |endpoint: WebhookEndpoint| async move {
        let late = || Finding::unknown("webhook", format!("{}: {NO_TIME}", endpoint.id)).hint(ONE_BY_ONE);
        visit.within(WEBHOOK_LIMIT, late, webhook_of(tools, &endpoint)).await
    };
    stream::iter(endpoints).map(look).buffered(AT_ONCE).collect().await
}

/// Addresses may hold secrets, so a webhook is named by its id.
async fn webhook_of(tools: &Tools<'_>, endpoint: &WebhookEndpoint) -> Finding {
    let id = &endpoint.id;
    if endpoint.paused_at.is_some() {
        let why = endpoint.paused_why.as_deref().unwrap_or_default();
        return Finding::warning("webhook", format!("{id} is paused: {why}"))
            .hint(format!("`copydesk webhook resume {id}` goes on"));
    }
    if let Some(obstacle) = tools.webhooks.obstacle(&endpoint.url).await {
        return Finding::failed("webhook", format!("{id} cannot be reached: {obstacle}"))
            .hint("see its address, the names on this network, and `webhooks.allow_private`");
    }
    let Some(since) = endpoint.failing_since else {
        return Finding::ok("webhook", format!("{id} takes deliveries, as far as is known"));
    };
    let filter = DeliveryFilter { failed: true, before: None, limit: 1 };
    let last = tools.store.deliveries(id, filter).await.ok().and_then(|found| found.into_iter().next());
    let why = last.map(|last| match (last.last_status, last.last_error) {
        (_, Some(error)) => format!(", the last time: {error}"),
        (Some(status), None) => format!(", the last time with the status {status}"),
        (None, None) => String::new(),
    });
    Finding::failed("webhook", format!("{id} has failed since {since}{}", why.unwrap_or_default()))
        .hint(format!("`copydesk webhook deliveries {id} --failed` shows them, `copydesk webhook test {id}` tries it"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use copydesk_desk::projects::{ProjectDraft, create};
    use copydesk_domain::SystemClock;
    use copydesk_store::DatabaseAddress;
    use tokio::time::Instant;

    use super::*;
    use crate::args::DoctorFlags;
    use crate::config::{Config, Sources};

    #[tokio::test]
    async fn a_host_that_nobody_had_time_to_ask_has_not_failed() {
        let folder = tempfile::tempdir().unwrap();
        let working_dir = folder.path().to_owned();
        let sources = Sources { config_file: None, working_dir, environment: Vec::new(), flags: Vec::new() };
        let config = Config::load(sources).unwrap();
        let address = DatabaseAddress::Sqlite(folder.path().join("copydesk.db"));
        let store = Store::open(&address, Arc::new(SystemClock)).await.unwrap();
        store.migrate().await.unwrap();
        let text = |text: &str| Some(text.to_owned());
        let (name, repository) = (text("Docs"), text("https://127.0.0.1:9/docs.git"));
        let draft = ProjectDraft { name, repository, base_ref: text("main"), ..ProjectDraft::default() };
        let (project, _) = create(&store, None, draft.check(None, folder.path()).unwrap(), None).await.unwrap();
        let flags = DoctorFlags { project: None, call_model: false, strict: false, json: false };
        let visit = Visit { flags: &flags, config: &config, environment: &[], end: Instant::now() };
        let findings = serde_json::to_value(check(&visit, &store, &[project]).await).unwrap();
        let host = findings.as_array().unwrap().iter().find(|finding| finding["name"] == "code host").unwrap();
        assert_eq!((&host["result"], &host["what"]), (&"unknown".into(), &NO_TIME.into()), "{findings}");
        assert_eq!(host["hint"], ONE_BY_ONE);
    }
}
