use std::path::Path;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use copydesk_agent::{Editor, ModelTrial};
use copydesk_dashboard::{Dash, Settings};
use copydesk_desk::asks::answer_forever;
use copydesk_desk::credentials::Credentials;
use copydesk_desk::docs_job::{ChangeLimits, DocsEngine, Refreshes, Workshop};
use copydesk_desk::health::look_at;
use copydesk_desk::jobs::{JobRules, Jobs};
use copydesk_desk::people::{People, SignIn};
use copydesk_desk::runner::{Engine, Near, Runner};
use copydesk_desk::views::{Proxies, Views, ViewsSettings};
use copydesk_desk::webhooks::{AllowPrivate, WebhookSettings, Webhooks, deliver_forever};
use copydesk_desk::{Desk, KeyUse, Metrics, Retention, Sender, SenderSecrets, Stop, keep_up};
use copydesk_domain::{
    Clock, HostSettings, OnFindings, ProjectId, Repository, Scope, Timestamp, ViewSettings, WritePaths,
};
use copydesk_forge::{Forge, ForgeSettings, HostSecret, Hosts, HostsSettings, Signature};
use copydesk_server::{App, Limits, Pages, Served, api, serve};
use copydesk_store::{NewKey, NewProject, NewSource, QueueTerms, SecretName, SourceAdded, Store, Vault};
use copydesk_views::classify::Classifier;
use tempfile::TempDir;
use tokio::task::JoinHandle;

use crate::{Client, Description, ManualClock, PATIENCE, ProjectClient, TestDatabase, TestKey, TestViews};

/// The real server on a real port, in this process.
pub struct TestApp {
    app: App,
    client: Client,
    views: Arc<TestViews>,
    tasks: Mutex<Option<Tasks>>,
    mirrors: TempDir,
    keys: Arc<TempDir>,
    workshop: Arc<Workshop>,
}

struct Tasks {
    served: JoinHandle<Served>,
    /// What it does without being asked.
    chores: Vec<(&'static str, JoinHandle<()>)>,
    runner: Option<JoinHandle<()>>,
}

/// How people are let in, once it is known where the server is.
type Ways = Box<dyn FnOnce(&str, Vault) -> SignIn + Send>;

/// A server that is about to start.
pub struct Setup {
    database: Arc<TestDatabase>,
    clock: Arc<dyn Clock>,
    keys: Arc<TempDir>,
    rules: JobRules,
    http: Limits,
    shutdown_time: Duration,
    views: ViewsSettings,
    webhooks: WebhookSettings,
    terms: QueueTerms,
    engines: Vec<Arc<dyn Engine>>,
    editors: Vec<Arc<dyn Editor>>,
    model: Option<Arc<dyn ModelTrial>>,
    limits: ChangeLimits,
    hosts: HostsSettings,
    workers: usize,
    has_chores: bool,
    ways: Ways,
}

impl Setup {
    /// Changes what holds for jobs: `builtin`, `noop` and `gate` can be run, `builtin` is the default, nothing is limited.
    pub fn rules(mut self, change: impl FnOnce(&mut JobRules)) -> Self {
        change(&mut self.rules);
        self
    }

    /// Changes the limits of the HTTP face, which no test reaches by accident.
    pub fn http(mut self, change: impl FnOnce(&mut Limits)) -> Self {
        change(&mut self.http);
        self
    }

    /// Gives what runs so much time to end when the server stops.
    pub fn shutdown_time(mut self, time: Duration) -> Self {
        self.shutdown_time = time;
        self
    }

    /// Changes how page views are treated: nothing is limited, and doubles within a second are dropped.
    pub fn views(mut self, change: impl FnOnce(&mut ViewsSettings)) -> Self {
        change(&mut self.views);
        self
    }

    /// Changes how webhooks are delivered: to this machine, at most, and with pauses that are not stretched.
    pub fn webhooks(mut self, change: impl FnOnce(&mut WebhookSettings)) -> Self {
        change(&mut self.webhooks);
        self
    }

    /// Changes the rules of the queue.
    pub fn terms(mut self, change: impl FnOnce(&mut QueueTerms)) -> Self {
        change(&mut self.terms);
        self
    }

    /// Seals with the keys in that folder, as all servers of one database have to.
    pub fn keys(mut self, folder: Arc<TempDir>) -> Self {
        self.keys = folder;
        self
    }

    /// Goes by this clock instead of one that stands still.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Runs jobs too, on these engines, of which the first is the default model.
    pub fn runner(mut self, workers: usize, engines: Vec<Arc<dyn Engine>>) -> Self {
        if let Some(first) = engines.first() {
            self.rules.default_model = first.model().to_owned();
        }
        self.engines = engines;
        self.workers = workers;
        self
    }

    /// Has a model that can be tried out.
    pub fn model(mut self, model: Arc<dyn ModelTrial>) -> Self {
        self.model = Some(model);
        self
    }

    /// Runs jobs too, on these editors, of which the first is the default model.
    pub fn editors(mut self, workers: usize, editors: Vec<Arc<dyn Editor>>) -> Self {
        if let Some(first) = editors.first() {
            self.rules.default_model = first.model().to_owned();
        }
        for editor in &editors {
            if !self.rules.models.iter().any(|model| model == editor.model()) {
                self.rules.models.push(editor.model().to_owned());
            }
        }
        self.editors = editors;
        self.workers = workers;
        self
    }

    /// Changes how code hosts are spoken to: without pauses worth speaking of.
    pub fn hosts(mut self, change: impl FnOnce(&mut HostsSettings)) -> Self {
        change(&mut self.hosts);
        self
    }

    /// Does nothing by itself, so that nothing but requests looks at the clock.
    pub fn without_chores(mut self) -> Self {
        self.has_chores = false;
        self
    }

    /// Lets people in who are vouched for by others: made of the server's address and of what seals its secrets.
    pub fn ways(mut self, ways: impl FnOnce(&str, Vault) -> SignIn + Send + 'static) -> Self {
        self.ways = Box::new(ways);
        self
    }

    /// Changes how much a job may change.
    pub fn limits(mut self, change: impl FnOnce(&mut ChangeLimits)) -> Self {
        change(&mut self.limits);
        self
    }

    pub async fn start(self) -> TestApp {
        let mirrors = tempfile::tempdir().unwrap();
        let store = self.database.store(self.clock.clone()).await;
        let views = Arc::new(TestViews::new(self.clock.clone()));
        let listener = copydesk_server::listener(([127, 0, 0, 1], 0).into(), 0).unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let client = Client::new(base, Description::new(&self.rules.models));
        let workshop = Arc::new(Workshop {
            forge: forge(mirrors.path()),
            hosts: Hosts::new(self.hosts),
            credentials: credentials(&store, self.keys.path()),
            refreshes: Refreshes::default(),
            public_url: client.base().to_owned(),
            limits: self.limits,
            near: Near::default(),
        });
        let lists = self
            .views
            .lists
            .as_deref()
            .map_or_else(|| LISTS.clone(), |folder| Arc::new(Classifier::load(Some(folder)).unwrap()));
        let metrics = Metrics::new();
        let page_views = Arc::new(Views::new(views.clone(), self.clock, lists, self.views, metrics.clone()));
        let webhooks = Arc::new(Webhooks::new(self.webhooks, vault(self.keys.path())));
        let (stop, key_use) = (Stop::new(self.shutdown_time), KeyUse::default());
        let desk = Desk {
            store: store.clone(),
            metrics: metrics.clone(),
            stop: stop.clone(),
            key_use: key_use.clone(),
            senders: SenderSecrets::new(store.clone(), vault(self.keys.path())),
            people: People::new(store.clone()).letting_in((self.ways)(client.base(), vault(self.keys.path()))),
            jobs: Jobs::new(store.clone(), self.rules, Some(workshop.clone()), stop.clone()),
            views: Some(page_views.clone()),
            webhooks: Some(webhooks.clone()),
            model: self.model,
            tried: Arc::default(),
        };
        let app = App::new(desk, self.http);
        let mut engines = self.engines;
        for editor in self.editors {
            engines.push(Arc::new(DocsEngine::new(workshop.clone(), editor)));
        }
        let runner = Runner::new(store.clone(), engines, self.terms, metrics.clone(), stop.clone());
        let runner = (self.workers > 0).then(|| tokio::spawn(runner.run(self.workers)));
        let mut chores = Vec::new();
        if self.has_chores {
            let upkeep = keep_up(store.clone(), key_use, Some(page_views), Retention::default(), stop.clone());
            chores.push(("the upkeep", tokio::spawn(upkeep)));
            let asks = answer_forever(store.clone(), app.desk().jobs.clone(), stop.clone());
            chores.push(("what is asked for at hosts", tokio::spawn(asks)));
            chores.push(("the deliveries", tokio::spawn(deliver_forever(store, webhooks, metrics, stop))));
        }
        let tasks = Tasks {
            served: tokio::spawn(serve(
                app.clone(),
                api::router(app.clone(), pages(&app, client.base().to_owned())),
                listener,
            )),
            chores,
            runner,
        };
        TestApp { app, client, views, tasks: Mutex::new(Some(tasks)), mirrors, keys: self.keys, workshop }
    }
}

/// The dashboard, as the program serves it.
fn pages(app: &App, public_url: String) -> Pages {
    let settings = Settings { public_url, version: "0.0.0", workers: 0, data_dir: None };
    let (router, nothing_here) = copydesk_dashboard::router(Dash::new(app.desk().clone(), settings));
    Pages { router, nothing_here }
}

impl TestApp {
    /// A server over `database`, by a clock of its own that stands still and with nobody to run jobs.
    pub fn over(database: Arc<TestDatabase>) -> Setup {
        Setup {
            database,
            clock: Arc::new(ManualClock::new()),
            keys: Arc::new(tempfile::tempdir().unwrap()),
            rules: rules(),
            http: Limits { connections: 256, public_metrics: true, ..Limits::default() },
            shutdown_time: PATIENCE,
            views: views_settings(),
            webhooks: webhook_settings(),
            terms: terms(),
            engines: Vec::new(),
            editors: Vec::new(),
            model: None,
            limits: ChangeLimits { files: 100, lines: 10_000 },
            hosts: HostsSettings { first_pause: Duration::from_millis(1), ..HostsSettings::default() },
            workers: 0,
            has_chores: true,
            ways: Box::new(|_, _| SignIn::default()),
        }
    }

    /// What the server is made of.
    pub fn app(&self) -> &App {
        &self.app
    }

    pub fn store(&self) -> &Store {
        self.app.store()
    }

    pub fn views(&self) -> &TestViews {
        &self.views
    }

    /// Looks at the pages of a project, as the upkeep of the program does now and then.
    pub async fn look_at_pages(&self, project: &ProjectId) {
        let project = self.store().project(project).await.unwrap().unwrap();
        self.store().begin_health(&project.id, Duration::ZERO).await.unwrap();
        look_at(self.store(), &self.workshop, &project).await.unwrap();
    }

    /// The secret of a project's log drains.
    pub async fn drain_secret(&self, project: &ProjectId) -> String {
        self.app.desk().senders.show(project, Sender::Drain).await.unwrap().unwrap()
    }

    /// The secret of the webhooks that a project's code host sends.
    pub async fn hook_secret(&self, project: &ProjectId) -> String {
        self.app.desk().senders.show(project, Sender::Hook).await.unwrap().unwrap()
    }

    /// What seals the secrets of the server.
    pub fn vault(&self) -> Vault {
        vault(self.keys.path())
    }

    /// Keeps what a project shows to its code host.
    pub async fn set_secret(&self, project: &ProjectId, secret: &HostSecret) {
        let (vault, bytes) = (self.vault(), secret.to_bytes());
        let stored = self.store().set_secret(&vault, project, &SecretName::Git, secret.title(), &bytes).await;
        stored.unwrap().unwrap();
    }

    /// Gives a project a code source, with what it shows to its host if it is not to be what the project shows.
    pub async fn add_source(&self, project: &ProjectId, name: &str, address: &str, secret: Option<&HostSecret>) {
        let new = NewSource {
            project_id: project.clone(),
            name: name.to_owned(),
            repository: Repository::parse(address, Path::new("/")).unwrap(),
            branch: None,
            host: HostSettings::default(),
            secret: secret.map(|secret| (secret.title().to_owned(), secret.to_bytes().to_vec())),
        };
        let added = self.store().add_source(&self.vault(), new).await.unwrap();
        assert!(matches!(added, SourceAdded::Done(_)), "{added:?}");
    }

    pub fn mirrors(&self) -> &Path {
        self.mirrors.path()
    }

    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Makes a project, and a client with a key that may write to it.
    pub async fn project(&self, name: &str) -> ProjectClient {
        self.project_with(name, |_| {}).await
    }

    /// A project that another server has made, with the same key.
    pub fn project_of(&self, there: &ProjectClient) -> ProjectClient {
        ProjectClient::new(&self.client, &there.id, there.key.clone())
    }

    /// Makes a project that differs from the usual one.
    pub async fn project_with(&self, name: &str, change: impl FnOnce(&mut NewProject)) -> ProjectClient {
        let mut new = NewProject {
            id: None,
            name: name.to_owned(),
            repository: Repository::parse("https://example.com/acme/docs.git", Path::new("/")).unwrap(),
            base_ref: "main".to_owned(),
            docs_paths: vec!["docs".to_owned()],
            write_paths: WritePaths::default(),
            time_zone: "UTC".to_owned(),
            jobs_per_hour: None,
            max_running: None,
            time_limit_seconds: None,
            job_cost: None,
            on_findings: OnFindings::default(),
            views: ViewSettings::default(),
            host: HostSettings::default(),
        };
        change(&mut new);
        let project = self.store().create_project(new).await.unwrap().unwrap();
        let key = self.key(Some(&project.id), Scope::Write, None).await;
        ProjectClient::new(&self.client, &project.id, key)
    }

    /// Makes a key for a project, or for all of them.
    pub async fn key(&self, project: Option<&ProjectId>, scope: Scope, expires_at: Option<Timestamp>) -> TestKey {
        let new = NewKey { project_id: project.cloned(), name: "a test".to_owned(), scope, expires_at };
        let (record, key) = self.store().create_key(new).await.unwrap().unwrap();
        TestKey { id: record.id, secret: key.reveal().to_owned() }
    }

    /// Stops as a signal would. Fails unless everything that ran has come to its end in time and no job is left in
    /// the hands of a worker. Again does nothing.
    pub async fn stop(&self) {
        let stop = &self.app.desk().stop;
        stop.ask();
        let Some(tasks) = self.tasks.lock().unwrap().take() else { return };
        let patience = stop.time() + PATIENCE;
        let served = tokio::time::timeout(patience, tasks.served).await.expect("the server stops").unwrap();
        assert_eq!(served, Served::Finished, "a connection was cut off");
        for (what, chore) in tasks.chores {
            let ended = tokio::time::timeout(patience, chore).await;
            ended.unwrap_or_else(|_| panic!("{what} must stop")).unwrap();
        }
        let Some(runner) = tasks.runner else { return };
        tokio::time::timeout(patience, runner).await.expect("the runner stops").unwrap();
        let depth = self.store().queue_depth().await.unwrap();
        assert_eq!(depth.running, 0, "a job is still in the hands of a worker");
    }
}

/// Read once: every server has the same, and reading them takes longer than most tests.
static LISTS: LazyLock<Arc<Classifier>> = LazyLock::new(|| Arc::new(Classifier::builtin()));

/// Credentials that are sealed with keys in `folder`.
pub(crate) fn credentials(store: &Store, folder: &Path) -> Credentials {
    Credentials::new(store.clone(), vault(folder), &[])
}

fn vault(folder: &Path) -> Vault {
    Vault::new(folder.join("credentials.key"))
}

/// Repositories whose mirrors are in `folder`.
pub fn forge(folder: &Path) -> Forge {
    let signature = Signature { name: "Copydesk".to_owned(), email: "copydesk@localhost".to_owned() };
    Forge::new(ForgeSettings {
        folder: folder.to_owned(),
        time_limit: Duration::from_secs(60),
        author: signature.clone(),
        committer: signature,
    })
}

pub(crate) fn rules() -> JobRules {
    JobRules {
        models: ["builtin", "noop", "gate"].map(str::to_owned).to_vec(),
        default_model: "builtin".to_owned(),
        priced_models: ["builtin", "noop", "gate"].map(str::to_owned).to_vec(),
        jobs_per_hour: 0,
        running_per_project: 0,
        job_time: Duration::from_secs(1800),
        queue_time: Duration::from_secs(24 * 3600),
        job_cost: None,
    }
}

/// No limit, and a window of a second.
fn views_settings() -> ViewsSettings {
    ViewsSettings {
        per_minute: 0,
        per_network: 0,
        duplicate_window: Duration::from_secs(1),
        keep_days: 0,
        proxies: Proxies::default(),
        host: None,
        lists: None,
    }
}

/// To this machine, where the receivers of tests are.
fn webhook_settings() -> WebhookSettings {
    let allow_private = AllowPrivate::parse("127.0.0.1").unwrap();
    WebhookSettings { allow_private, jitter: || 0.0, ..WebhookSettings::default() }
}

/// Three tries, half an hour a job, as many at a time as there are workers.
fn terms() -> QueueTerms {
    QueueTerms {
        // So long that nobody learns of a change in time by keeping a lease alive: whoever must be told, is told.
        lease: 10 * PATIENCE,
        running_per_project: 0,
        job_time: Duration::from_secs(1800),
        queue_time: Duration::from_secs(24 * 3600),
        attempts: 3,
        host_wait: Duration::from_secs(3600),
    }
}
