//! The server as `copydesk serve` puts it together, in this process, for runs that load or measure it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use copydesk_desk::jobs::JobRules;
use copydesk_desk::runner::{Engine, Runner};
use copydesk_desk::{Desk, Retention, Stop, keep_up};
use copydesk_domain::{HostSettings, OnFindings, ProjectId, Repository, Scope, SystemClock, ViewSettings, WritePaths};
use copydesk_server::{App, Limits, Served, api, serve};
use copydesk_store::{DatabaseAddress, NewKey, NewProject, QueueTerms, Store, Vault};
use copydesk_testkit::TestDatabase;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// A server on a port of its own.
pub(crate) struct Product {
    pub(crate) app: App,
    pub(crate) address: SocketAddr,
    served: JoinHandle<Served>,
    others: [JoinHandle<()>; 2],
}

impl Product {
    /// Starts it, with `workers` that run jobs on `engine`. A job that names no model is for `model`.
    pub(crate) async fn start(
        store: Store,
        model: &str,
        engine: Arc<dyn Engine>,
        workers: usize,
        lease: Duration,
    ) -> Self {
        // Nothing is ever sealed here.
        let vault = Vault::new(std::env::temp_dir().join("copydesk-trial.key"));
        let desk = Desk::new(store.clone(), rules(model), vault, Stop::new(SHUTDOWN_TIME));
        let (stop, key_use) = (desk.stop.clone(), desk.key_use.clone());
        let runner = Runner::new(store.clone(), vec![engine], terms(lease), desk.metrics.clone(), stop.clone());
        let app = App::new(desk, Limits::default());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let served =
            tokio::spawn(serve(app.clone(), api::router(app.clone(), copydesk_server::Pages::default()), listener));
        let others = [
            tokio::spawn(runner.run(workers)),
            tokio::spawn(keep_up(store, key_use, None, Retention::default(), stop)),
        ];
        Self { app, address, served, others }
    }

    /// Stops it as SIGTERM would, and says what did not go as it should.
    pub(crate) async fn stop(self) -> Result<(), String> {
        self.app.desk().stop.ask();
        let [runner, upkeep] = self.others;
        let ended = async { tokio::join!(self.served, runner, upkeep) };
        match tokio::time::timeout(Duration::from_secs(15), ended).await {
            Ok((Ok(Served::Finished), Ok(()), Ok(()))) => Ok(()),
            other => Err(format!("the server did not stop as asked: {other:?}")),
        }
    }
}

/// How long what runs has to end.
pub(crate) const SHUTDOWN_TIME: Duration = Duration::from_secs(4);

/// What holds for jobs, with everything at its default but the model.
pub(crate) fn rules(model: &str) -> JobRules {
    JobRules {
        models: vec![model.to_owned()],
        default_model: model.to_owned(),
        priced_models: Vec::new(),
        jobs_per_hour: 100,
        running_per_project: 0,
        job_time: Duration::from_secs(1800),
        queue_time: Duration::from_secs(3600),
        job_cost: None,
    }
}

/// The rules of the queue: no limit of running jobs, and so many tries that no job is given up for being killed often.
pub(crate) fn terms(lease: Duration) -> QueueTerms {
    let hour = Duration::from_secs(3600);
    QueueTerms { lease, running_per_project: 0, job_time: hour, queue_time: hour, attempts: 1000, host_wait: hour }
}

/// A store with the schema in place and as many connections as a server has by default.
pub(crate) async fn open_store(database: &TestDatabase) -> Store {
    let address = match database.address() {
        DatabaseAddress::Postgres { address, .. } => {
            DatabaseAddress::Postgres { address: address.clone(), listen: None, connections: 10 }
        }
        file => file.clone(),
    };
    let store = Store::open(&address, Arc::new(SystemClock)).await.unwrap();
    store.migrate().await.unwrap();
    store
}

/// Makes a project and gives its id.
pub(crate) async fn create_project(store: &Store, jobs_per_hour: Option<u32>) -> ProjectId {
    let new = NewProject {
        id: None,
        name: "Docs".to_owned(),
        repository: Repository::from_stored("https://example.com/docs".to_owned()),
        base_ref: "main".to_owned(),
        docs_paths: vec![".".to_owned()],
        write_paths: WritePaths::default(),
        time_zone: "UTC".to_owned(),
        jobs_per_hour,
        max_running: None,
        time_limit_seconds: None,
        job_cost: None,
        on_findings: OnFindings::default(),
        views: ViewSettings::default(),
        host: HostSettings::default(),
    };
    store.create_project(new).await.unwrap().unwrap().id
}

/// Makes a key that opens everything.
pub(crate) async fn create_key(store: &Store) -> String {
    let new = NewKey { project_id: None, name: "all".to_owned(), scope: Scope::Write, expires_at: None };
    let (_, key) = store.create_key(new).await.unwrap().unwrap();
    key.reveal().to_owned()
}
