use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use copydesk_agent::{BuiltinEditor, Editor, KeySource, ModelEditor, ModelSettings, Provider, SecretString};
use copydesk_desk::asks::answer_forever;
use copydesk_desk::credentials::Credentials;
use copydesk_desk::docs_job::{ChangeLimits, DocsEngine, Refreshes, Workshop, publish};
use copydesk_desk::jobs::Jobs;
use copydesk_desk::runner::{Engine, Near, Runner};
use copydesk_desk::{Metrics, Stop};
use copydesk_domain::{ProjectId, Prompt, Status, Window};
use copydesk_forge::{Hosts, HostsSettings};
use copydesk_store::{AskState, Store, Vault};
use copydesk_testkit::forge;
use copydesk_testkit::model::{ANTHROPIC_MODEL, KEY, OPENAI_MODEL};
use tokio::signal::unix::{SignalKind, signal};

use super::super::worker::{address, end_with_parent};
use super::clock::DeadlyClock;
use crate::args::milliseconds;
use crate::product::{SHUTDOWN_TIME, rules, terms};

/// Names the reading of the clock at which a process dies.
pub(super) const FATAL_READING: &str = "COPYDESK_TORTURE_FATAL_READING";
/// Where pull requests are said to be.
pub(super) const PUBLIC_URL: &str = "http://copydesk.example";

/// A worker process of `steps`, `hosts` and `jobs`.
#[derive(Debug, Clone, clap::Args)]
pub struct DocsWorkerOptions {
    #[arg(long)]
    pub workers: usize,
    #[arg(long = "lease-ms", value_parser = milliseconds)]
    pub lease: Duration,
    #[arg(long)]
    pub mirrors: PathBuf,
    #[arg(long)]
    pub model_url: String,
    /// How far its clock is ahead.
    #[arg(long = "ahead-ms", value_parser = milliseconds, default_value = "0")]
    pub ahead: Duration,
    /// A job to see through; then the process ends.
    #[command(flatten)]
    pub errand: Option<Errand>,
}

// What a client does about one job.
#[derive(Debug, Clone, clap::Args)]
pub struct Errand {
    #[arg(long, value_parser = ProjectId::parse, required = false, requires = "job")]
    pub project: ProjectId,
    #[arg(long, required = false, requires = "project")]
    pub job: String,
    /// What is said when what was said before is done.
    #[arg(long = "follow-up", requires = "job")]
    pub follow_ups: Vec<String>,
    /// Look at what is asked for at the code host, and wait until it is answered. A job that has no id yet is made so.
    #[arg(long, requires = "job")]
    pub asked: bool,
    /// Open the pull request in the end.
    #[arg(long, requires = "job")]
    pub publish: bool,
}

/// A process that works on documentation jobs until SIGTERM, until its errand is done, until its clock kills it, or until
/// its parent is gone.
pub async fn run_docs_worker(options: DocsWorkerOptions) -> ExitCode {
    std::thread::spawn(end_with_parent);
    let mut terminate = signal(SignalKind::terminate()).unwrap();
    let fatal = std::env::var(FATAL_READING).ok().map(|reading| reading.parse().unwrap());
    let store = match Store::open(&address(), Arc::new(DeadlyClock::new(fatal, options.ahead))).await {
        Ok(store) => store,
        Err(error) => {
            eprintln!("a worker cannot open the database: {error}");
            return ExitCode::FAILURE;
        }
    };
    let workshop = Arc::new(workshop(&store, &options.mirrors));
    let mut engines: Vec<Arc<dyn Engine>> = Vec::new();
    for editor in editors(&options.model_url) {
        engines.push(Arc::new(DocsEngine::new(workshop.clone(), editor)));
    }
    let stop = Stop::new(SHUTDOWN_TIME);
    let runner = Runner::new(store.clone(), engines, terms(options.lease), Metrics::new(), stop.clone());
    let runner = tokio::spawn(runner.run(options.workers));
    let Some(errand) = &options.errand else {
        terminate.recv().await;
        stop.ask();
        runner.await.unwrap();
        return ExitCode::SUCCESS;
    };
    if errand.asked {
        let jobs = Jobs::new(store.clone(), rules("builtin"), Some(workshop.clone()), stop.clone());
        tokio::spawn(answer_forever(store.clone(), jobs, stop.clone()));
        return match until_answered(&store, errand).await {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("a worker cannot wait for what is asked for: {error}");
                ExitCode::FAILURE
            }
        };
    }
    // The job is done then, and how a process stops is not what this is about.
    match see_through(&store, &workshop, errand).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("a worker cannot do its errand: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Repositories with mirrors in `folder`. What is shown to code hosts is in the environment: every machine has that.
pub(super) fn workshop(store: &Store, folder: &std::path::Path) -> Workshop {
    let vault = Vault::new(folder.join("credentials.key"));
    let environment: Vec<(OsString, OsString)> = std::env::vars_os().collect();
    Workshop {
        forge: forge(folder),
        hosts: Hosts::new(HostsSettings::default()),
        credentials: Credentials::new(store.clone(), vault, &environment),
        refreshes: Refreshes::default(),
        public_url: PUBLIC_URL.to_owned(),
        limits: ChangeLimits { files: 100, lines: 10_000 },
        near: Near::default(),
    }
}

fn editors(model_url: &str) -> Vec<Arc<dyn Editor>> {
    let model = |provider, name: &str| -> Arc<dyn Editor> {
        let settings = ModelSettings {
            base_url: Some(format!("{model_url}/v1")),
            keys: KeySource::one(SecretString::from(KEY)),
            ..ModelSettings::new(provider, name)
        };
        Arc::new(ModelEditor::new(settings).unwrap())
    };
    let openai = model(Provider::OpenAi, OPENAI_MODEL);
    let anthropic = model(Provider::Anthropic, ANTHROPIC_MODEL);
    vec![Arc::new(BuiltinEditor::new()), openai, anthropic]
}

/// Waits until all that is asked for at the code host is answered.
async fn until_answered(store: &Store, errand: &Errand) -> Result<(), String> {
    loop {
        let asks = store.asks(&errand.project, 10).await.map_err(|error| error.to_string())?;
        match asks.first().map(|asked| asked.state) {
            Some(AskState::Answered) => return Ok(()),
            Some(AskState::Refused) => return Err(format!("it was refused: {:?}", asks[0].note)),
            Some(AskState::Heard | AskState::Granted) | None => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
}

/// Does what a client would: waits, sends the follow-ups, opens the pull request. What was done before is not done again.
async fn see_through(store: &Store, workshop: &Workshop, errand: &Errand) -> Result<(), String> {
    let failed = |error: copydesk_store::StoreError| error.to_string();
    loop {
        let job = store.job(&errand.project, &errand.job.as_str().into()).await.map_err(failed)?;
        let job = job.ok_or("the job is gone")?;
        match job.status {
            Status::Active => {
                tokio::time::sleep(Duration::from_millis(10)).await;
                continue;
            }
            Status::Completed => {}
            other => return Err(format!("the job is {}: {:?}", other.as_str(), job.message)),
        }
        let said = store.messages(&job.id).await.map_err(failed)?.len();
        if let Some(prompt) = errand.follow_ups.get(said.saturating_sub(1)) {
            let prompt = Prompt::parse(prompt).map_err(|error| format!("{error:?}"))?;
            let window = Window::hourly(0);
            store
                .message_job(&errand.project, &job.id, prompt, window, None, |_| String::new())
                .await
                .map_err(failed)?;
        } else if errand.publish && job.pr_link.is_none() {
            open_later(store, workshop, errand).await?;
        } else {
            return Ok(());
        }
    }
}

pub(super) async fn open_later(store: &Store, workshop: &Workshop, errand: &Errand) -> Result<(), String> {
    let project = store.project(&errand.project).await.map_err(|error| error.to_string())?;
    let project = project.ok_or("the project is gone")?;
    let published = publish(workshop, store, &project, &errand.job.as_str().into()).await;
    published.map(drop).map_err(|why| format!("the job cannot be opened: {why:?}"))
}
