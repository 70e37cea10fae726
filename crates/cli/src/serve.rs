use std::ffi::OsString;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use copydesk_dashboard::{Dash, Settings};
use copydesk_desk::ModelTrial;
use copydesk_desk::asks::answer_forever;
use copydesk_desk::docs_job::Workshop;
use copydesk_desk::health::watch_pages;
use copydesk_desk::jobs::{JobRules, Jobs};
use copydesk_desk::mirrors::care_for_mirrors;
use copydesk_desk::people::People;
use copydesk_desk::runner::Runner;
use copydesk_desk::webhooks::deliver_forever;
use copydesk_desk::{Desk, KeyUse, Metrics, Retention, SenderSecrets, Stop, follow_pulls, keep_up};
use copydesk_domain::Dollars;
use copydesk_server::{AdminListener, App, Limits, Operation, Pages, Served, api, listener, serve as serve_http};
use copydesk_store::{QueueTerms, Store};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::config::Config;
use crate::failure::Failure;
use crate::views::PageViewStore;
use crate::{engines, files, logging, output, secrets, sign_in, store, user, views, webhook};

/// How often a dormant copy is asked whether it still is.
const LOOK_FOR_WAKING: Duration = Duration::from_secs(1);

/// The variables that this process was started with.
pub(crate) type Environment = [(OsString, OsString)];

/// `copydesk serve`
pub(crate) async fn serve(config: Config, environment: &Environment) -> Result<ExitCode, Failure> {
    let telemetry = logging::start(&config, environment)?;
    // Before anybody can know that it runs: whoever ends it then must end it in order.
    let stop = stop_signal();
    git_ready().await?;
    let server = Server::start(&config, environment, migrated(&config).await?).await?;
    if let Some(telemetry) = &telemetry {
        telemetry.count_in(server.metrics.clone());
    }
    // Before it says that it listens: who waits for that may use it at once, and it must not end then.
    let first_link = user::first_link(&server.people, &config, &config.public_url_at(server.address)).await?;
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"),
        listen = %server.address,
        admin_listen = server.admin.as_ref().map(|admin| admin.address.to_string()),
        public_url = config.public_url(),
        workers = config.runner.workers,
        "listening"
    );
    if let Some(link) = first_link {
        // Not into the log, which others may read: it is a way in.
        let file = user::first_link_file(&config).display().to_string();
        output::line(&format!(
            "Nobody can sign in to the dashboard yet. Become its first administrator within {} at\n  {link}",
            user::lasts()
        ));
        tracing::info!(
            file,
            "nobody can sign in to the dashboard yet; the link for the first administrator is in the file"
        );
    }
    stop.await;
    tracing::info!("stopping: finishing running requests and jobs");
    match server.stop().await {
        Served::Finished => tracing::info!("stopped"),
        Served::CutOff => tracing::warn!("stopped; some requests were cut off"),
    }
    if let Some(telemetry) = telemetry {
        telemetry.end().await;
    }
    Ok(ExitCode::SUCCESS)
}

/// `copydesk worker`
pub(crate) async fn worker(mut config: Config, environment: &Environment) -> Result<ExitCode, Failure> {
    // There may be many of them on one server.
    config.database_connections.get_or_insert(store::WORKER_CONNECTIONS);
    let telemetry = logging::start(&config, environment)?;
    let signal = stop_signal();
    git_ready().await?;
    let (store, stop) = (migrated(&config).await?, Stop::new(config.limits.shutdown_time));
    let workshop = engines::workshop(&config, &store, environment, config.public_url())?;
    let metrics = Metrics::watching(Some(config.data_dir.clone()), env!("VERSION_AND_COMMIT"));
    if let Some(telemetry) = &telemetry {
        telemetry.count_in(metrics.clone());
    }
    let process = Operation::new(store.clone(), metrics.clone(), stop.clone(), config.limits.request_time, None);
    let caring = tokio::spawn(care_for_mirrors(store.clone(), workshop.clone(), stop.clone()));
    let runner = runner(&config, store, workshop, metrics, stop.clone())?;
    let admin = admin(&config, process)?;
    let running = tokio::spawn(runner.run(config.runner.workers as usize));
    let admin_listen = admin.as_ref().map(|admin| admin.address.to_string());
    let (workers, public_url) = (config.runner.workers, config.public_url());
    tracing::info!(version = env!("CARGO_PKG_VERSION"), workers, admin_listen, public_url, "working");
    if !config.says_public_url() {
        // The servers may have another; nobody would notice before people follow a link.
        tracing::warn!(
            public_url,
            "public_url is not set, so links in pull requests that this worker opens begin with its default; set it to the \
             address of the servers, with --public-url or COPYDESK_PUBLIC_URL"
        );
    }
    signal.await;
    tracing::info!("stopping: finishing running requests and jobs");
    stop.ask();
    for task in [running, caring] {
        finished(task, stop.time()).await;
    }
    if let Some(admin) = admin {
        admin.ended().await;
    }
    tracing::info!("stopped");
    if let Some(telemetry) = telemetry {
        telemetry.end().await;
    }
    Ok(ExitCode::SUCCESS)
}

/// Without it every job would fail, and nobody would look for the reason there.
async fn git_ready() -> Result<(), Failure> {
    let hint = "install git, and make sure that it is on the PATH of the service";
    copydesk_forge::check_git().await.map(drop).map_err(|error| Failure::error(error.message).hint(hint))
}

async fn migrated(config: &Config) -> Result<Store, Failure> {
    views::check_place(config)?;
    let store = store::open(config).await?;
    if let Some(version) = store.migrate().await?.last() {
        tracing::info!(version, "database migrated");
    }
    store.check_settled().await?;
    match secrets::adopt(config, &store).await {
        Ok(None) => {}
        Ok(Some(news)) => tracing::warn!("{news}"),
        Err(failure) => tracing::error!("{failure}"),
    }
    secrets::check_shared(config, &store).await?;
    if let Some(dormancy) = store.dormancy().await? {
        tracing::warn!("{}", dormancy.sentence());
        tokio::spawn(tell_of_waking(store.clone()));
    }
    Ok(store)
}

/// Waits for `copydesk wake` and says so. A copy is made dormant before anything runs on it, so this is said once.
async fn tell_of_waking(store: Store) {
    loop {
        tokio::time::sleep(LOOK_FOR_WAKING).await;
        // What cannot be told now is told when the database can be asked again, and others say that it cannot.
        if let Ok(None) = store.dormancy().await {
            return tracing::info!("this copy is awake: jobs run, and what has waited goes out");
        }
    }
}

/// A server in this process.
pub(crate) struct Server {
    stop: Stop,
    views: Arc<PageViewStore>,
    pub(crate) address: SocketAddr,
    pub(crate) people: People,
    metrics: Metrics,
    admin: Option<AdminListener>,
    http: tokio::task::JoinHandle<Served>,
    others: Vec<tokio::task::JoinHandle<()>>,
}

impl Server {
    /// Starts to listen, to run jobs and to do the chores.
    pub(crate) async fn start(config: &Config, environment: &Environment, store: Store) -> Result<Self, Failure> {
        let limits = limits(config);
        let listening = listener(config.listen, limits.connections);
        let cannot = |error| Failure::error(format!("cannot listen on {}: {error}", config.listen));
        let listener = listening.map_err(|error| cannot(error).hint("choose another address with --listen"))?;
        let address = listener.local_addr().map_err(cannot)?;
        let workshop = engines::workshop(config, &store, environment, config.public_url_at(address))?;
        let (stop, key_use) = (Stop::new(config.limits.shutdown_time), KeyUse::default());
        let metrics = Metrics::watching(Some(config.data_dir.clone()), env!("VERSION_AND_COMMIT"));
        let (shared, page_views) = views::serving(config, metrics.clone()).await?;
        let webhooks = Arc::new(webhook::webhooks(config)?);
        let ways = sign_in::ways(config, &config.public_url_at(address))?;
        let runner = runner(config, store.clone(), workshop.clone(), metrics.clone(), stop.clone())?;
        let jobs = Jobs::new(store.clone(), job_rules(config), Some(workshop.clone()), stop.clone());
        let app = App::new(
            Desk {
                store: store.clone(),
                metrics: metrics.clone(),
                stop: stop.clone(),
                key_use: key_use.clone(),
                senders: SenderSecrets::new(store.clone(), secrets::vault(config)),
                people: People::new(store.clone()).letting_in(ways),
                jobs: jobs.clone(),
                views: Some(page_views.clone()),
                webhooks: Some(webhooks.clone()),
                model: engines::model(config)?.map(|model| -> Arc<dyn ModelTrial> { Arc::new(model) }),
                tried: Arc::default(),
            },
            limits,
        );
        let admin = admin(config, app.operation().clone())?;
        let people = app.desk().people.clone();
        let settings = Settings {
            public_url: config.public_url_at(address),
            version: env!("CARGO_PKG_VERSION"),
            workers: config.runner.workers as usize,
            data_dir: Some(config.data_dir.clone()),
        };
        let pages = {
            let (router, nothing_here) = copydesk_dashboard::router(Dash::new(app.desk().clone(), settings));
            Pages { router, nothing_here }
        };
        let http = tokio::spawn(serve_http(app.clone(), api::router(app, pages), listener));
        let retention = Retention { jobs: config.retention.jobs, events: config.retention.events };
        let others = vec![
            tokio::spawn(care_for_mirrors(store.clone(), workshop.clone(), stop.clone())),
            tokio::spawn(runner.run(config.runner.workers as usize)),
            tokio::spawn(keep_up(store.clone(), key_use, Some(page_views), retention, stop.clone())),
            tokio::spawn(watch_pages(store.clone(), workshop, stop.clone())),
            tokio::spawn(follow_pulls(store.clone(), jobs.clone(), retention, stop.clone())),
            tokio::spawn(answer_forever(store.clone(), jobs, stop.clone())),
            tokio::spawn(deliver_forever(store, webhooks, metrics.clone(), stop.clone())),
        ];
        Ok(Self { stop, views: shared, address, people, metrics, admin, http, others })
    }

    /// Finishes what runs, hands leases back and ends.
    pub(crate) async fn stop(self) -> Served {
        self.stop.ask();
        for task in self.others {
            finished(task, self.stop.time()).await;
        }
        let served = self.http.await.unwrap_or(Served::CutOff);
        if let Some(admin) = self.admin {
            admin.ended().await;
        }
        // Last: until now there may have been views to keep.
        self.views.close().await;
        served
    }
}

/// Waits for a part of the server to end, but no longer than a shutdown may take: a database that hangs must not keep
/// the process alive.
async fn finished(mut task: tokio::task::JoinHandle<()>, time: Duration) {
    match tokio::time::timeout(time, &mut task).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::error!(%error, "a part of the server ended unexpectedly"),
        Err(_) => {
            tracing::warn!("a part of the server did not stop in time; no longer waiting for it");
            task.abort();
        }
    }
}

fn runner(
    config: &Config,
    store: Store,
    workshop: Arc<Workshop>,
    metrics: Metrics,
    stop: Stop,
) -> Result<Runner, Failure> {
    let engines = engines::engines(config, workshop)?;
    let terms = QueueTerms {
        lease: config.runner.lease,
        running_per_project: config.limits.running_per_project,
        job_time: config.limits.job_time,
        queue_time: config.limits.queue_time,
        attempts: config.runner.attempts,
        host_wait: config.limits.host_wait,
    };
    Ok(Runner::new(store, engines, terms, metrics, stop))
}

pub(crate) fn job_rules(config: &Config) -> JobRules {
    JobRules {
        models: config.jobs.models.clone(),
        default_model: config.jobs.default_model.clone(),
        priced_models: priced_models(config),
        jobs_per_hour: config.limits.jobs_per_hour,
        running_per_project: config.limits.running_per_project,
        job_time: config.limits.job_time,
        queue_time: config.limits.queue_time,
        job_cost: config.limits.job_cost.map(Dollars::rounded),
    }
}

/// Those that cost nothing, and the one that is configured, if its prices are. What others cost, which other workers run, is
/// not known here.
fn priced_models(config: &Config) -> Vec<String> {
    let model = &config.model;
    let is_priced = model.input_price.is_some() && model.output_price.is_some();
    let named = model.name.clone().filter(|_| is_priced);
    ["builtin", "noop"].map(str::to_owned).into_iter().chain(named).collect()
}

/// Health and figures on a listener of their own, if there is to be one.
fn admin(config: &Config, process: Operation) -> Result<Option<AdminListener>, Failure> {
    let Some(address) = config.admin_listen else { return Ok(None) };
    let cannot = |error| Failure::error(format!("cannot listen on {address}: {error}"));
    AdminListener::start(address, process)
        .map(Some)
        .map_err(|error| cannot(error).hint("choose another address with --admin-listen"))
}

fn limits(config: &Config) -> Limits {
    let limits = &config.limits;
    Limits {
        request_time: limits.request_time,
        head_time: limits.head_time,
        connections: files::for_connections(limits.connections as usize),
        connections_per_peer: limits.connections_per_peer as usize,
        body_memory: limits.body_memory as usize * 1_000_000,
        body_rate: limits.body_rate,
        public_metrics: limits.public_metrics,
    }
}

/// Waits for Ctrl-C or SIGTERM, from this call on and not only from when it is first awaited. A second one ends the
/// process at once.
pub(crate) fn stop_signal() -> impl Future<Output = ()> {
    let mut signals = Signals::listen();
    async move {
        signals.next().await;
        tokio::spawn(async move {
            signals.next().await;
            std::process::exit(130);
        });
    }
}

struct Signals([Option<Signal>; 2]);

impl Signals {
    fn listen() -> Self {
        // Where one cannot be listened to, it does what it always does.
        Self([SignalKind::interrupt(), SignalKind::terminate()].map(|kind| signal(kind).ok()))
    }

    async fn next(&mut self) {
        let [interrupt, terminate] = &mut self.0;
        tokio::select! {
            () = received(interrupt) => {}
            () = received(terminate) => {}
        }
    }
}

async fn received(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}
