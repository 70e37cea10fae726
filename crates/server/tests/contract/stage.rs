//! What every behaviour starts from: an empty database, a clock that stands still, and servers on demand.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use copydesk_testkit::{Backend, ManualClock, PATIENCE, ProjectClient, Setup, TestApp, TestDatabase};
use tempfile::TempDir;

/// Databases of behaviours that are over. They are dropped by the next one: by then nobody is connected to them any
/// more, and PostgreSQL need not wait for that.
static RETIRED: Mutex<Vec<Arc<TestDatabase>>> = Mutex::new(Vec::new());

pub struct Stage {
    pub backend: Backend,
    pub db: Arc<TestDatabase>,
    pub clock: Arc<ManualClock>,
    keys: Arc<TempDir>,
    apps: Mutex<Vec<Arc<TestApp>>>,
}

/// Runs one behaviour on a database of its own, then stops its servers and sees that they leave nothing behind. A
/// behaviour that hangs fails.
pub fn run(backend: Backend, threads: usize, behaviour: impl AsyncFnOnce(&Stage)) {
    let whole = async {
        let stage = Stage::new(backend).await;
        behaviour(&stage).await;
        stage.end().await;
    };
    let bounded = async { tokio::time::timeout(4 * PATIENCE, whole).await };
    runtime(threads).block_on(bounded).expect("the behaviour came to no end");
}

pub fn runtime(threads: usize) -> tokio::runtime::Runtime {
    crate::log::install();
    let mut builder = match threads {
        1 => tokio::runtime::Builder::new_current_thread(),
        _ => tokio::runtime::Builder::new_multi_thread(),
    };
    builder.worker_threads(threads).enable_all().build().unwrap()
}

impl Stage {
    pub async fn new(backend: Backend) -> Self {
        let retired = std::mem::take(&mut *RETIRED.lock().unwrap());
        for db in retired {
            db.destroy().await;
        }
        let db = Arc::new(TestDatabase::new(backend).await);
        Self {
            backend,
            db,
            clock: Arc::new(ManualClock::new()),
            keys: Arc::new(tempfile::tempdir().unwrap()),
            apps: Mutex::default(),
        }
    }

    /// Starts a server.
    pub async fn app(&self) -> Arc<TestApp> {
        self.app_with(|setup| setup).await
    }

    /// Starts a server that differs from the usual one. All of a stage go by the same clock and database.
    pub async fn app_with(&self, change: impl FnOnce(Setup) -> Setup) -> Arc<TestApp> {
        let setup = TestApp::over(self.db.clone()).clock(self.clock.clone()).keys(self.keys.clone());
        let app = Arc::new(change(setup).start().await);
        self.apps.lock().unwrap().push(app.clone());
        app
    }

    /// Starts a server with one project.
    pub async fn project(&self) -> ProjectClient {
        self.app().await.project("Docs").await
    }

    pub fn advance(&self, by: Duration) {
        self.clock.advance(by);
    }

    pub async fn end(&self) {
        let apps = std::mem::take(&mut *self.apps.lock().unwrap());
        for app in apps {
            app.stop().await;
        }
        RETIRED.lock().unwrap().push(self.db.clone());
    }
}
