use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::routing::get;
use bytes::Bytes;
use copydesk_domain::{Repository, Scope, SystemClock};
use copydesk_server::runner::{Engine, Noop, Runner};
use copydesk_server::{App, Metrics, api, keep_up, serve};
use copydesk_store::{DatabaseAddress, NewKey, NewProject, Store};
use sqlx::{Connection as _, PgConnection};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use super::generator::generate;
use crate::connection::{Connection, request};
use crate::figures::Measured;
use crate::torture::{settings, terms};
use crate::{Backend, TestDatabase};

/// How the interface is measured.
#[derive(Debug, Clone)]
pub struct ApiOptions {
    /// On which database.
    pub backend: Backend,
    /// For how long each thing is measured.
    pub time: Duration,
    /// Over how many connections.
    pub connections: usize,
    /// How many workers look for jobs meanwhile; none of them can run those that are created.
    pub workers: usize,
}

/// The bare route and the product take turns, so that whatever else the machine does falls on both.
const ROUNDS: u32 = 5;
const WARM_UP: Duration = Duration::from_secs(1);
/// No engine here runs it, so that jobs wait, and only their creation is measured.
const MODEL: &str = "builtin";

/// Measures reading a job, beside a bare route of the same answer, and creating jobs; prints both.
pub fn bench_api(options: &ApiOptions) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let database = runtime.block_on(TestDatabase::new(options.backend));
    let server = Server::start(&runtime, &database, options.workers);
    let address = server.address;
    let read = request("GET", &format!("{}/{}", server.jobs, server.job), &server.key, &[], None);
    let bare = start_bare(&runtime, &server, runtime.block_on(fetch(address, &read)));

    let measure = |address, time| generate(address, read.clone(), 200, options.connections, time);
    measure(bare, WARM_UP);
    measure(address, WARM_UP);
    let (mut of_bare, mut of_product) = (Measured::default(), Measured::default());
    for _ in 0..ROUNDS {
        of_bare.join(measure(bare, options.time / ROUNDS));
        of_product.join(measure(address, options.time / ROUNDS));
    }
    let name = runtime.block_on(describe(&database));
    println!(
        "api get job, {name}: {}; bare axum route: {}; ratio {:.2}",
        of_product.in_words("requests"),
        of_bare.in_words("requests"),
        of_product.rate() / of_bare.rate(),
    );

    let body = r#"{"prompt":"Fix the broken links in docs/guides"}"#;
    let create = request("POST", &server.unlimited, &server.key, &[], Some(body));
    let created = generate(address, create, 201, options.connections, options.time);
    println!("api create job, {name}: {}", created.in_words("jobs"));
    server.app.stop();
}

/// The product as `copydesk serve` runs it.
struct Server {
    app: App,
    address: SocketAddr,
    key: String,
    /// The address of a project's jobs, which has the default limits.
    jobs: String,
    /// That of a project without limits.
    unlimited: String,
    /// The job that is read.
    job: String,
}

impl Server {
    fn start(runtime: &Runtime, database: &TestDatabase, workers: usize) -> Self {
        let _guard = runtime.enter();
        let store = runtime.block_on(open(database));
        let app = App::new(store.clone(), settings(MODEL), Metrics::new());
        let engines: Vec<Arc<dyn Engine>> = vec![Arc::new(Noop)];
        tokio::spawn(Runner::new(app.clone(), engines, terms(Duration::from_secs(15))).run(workers));
        tokio::spawn(keep_up(app.clone()));
        let address = listen(runtime, &app, api::router(app.clone()));
        runtime.block_on(async {
            let key = NewKey { project_id: None, name: "bench".to_owned(), scope: Scope::Write, expires_at: None };
            let (_, key) = store.create_key(key).await.unwrap().unwrap();
            let key = key.reveal().to_owned();
            let jobs = create_project(&store, None).await;
            let unlimited = create_project(&store, Some(0)).await;
            let create = request("POST", &jobs, &key, &[], Some(r#"{"prompt":"Fix the broken links"}"#));
            let made: serde_json::Value = serde_json::from_slice(&fetch(address, &create).await).unwrap();
            let job = made["id"].as_str().unwrap().to_owned();
            Self { app, address, key, jobs, unlimited, job }
        })
    }
}

/// A store with as many connections as a server has by default.
async fn open(database: &TestDatabase) -> Store {
    let address = match database.address() {
        DatabaseAddress::Postgres { address, .. } => {
            DatabaseAddress::Postgres { address: address.clone(), connections: 10 }
        }
        file => file.clone(),
    };
    let store = Store::open(&address, Arc::new(SystemClock)).await.unwrap();
    store.migrate().await.unwrap();
    store
}

fn listen(runtime: &Runtime, app: &App, router: Router) -> SocketAddr {
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = listener.local_addr().unwrap();
    runtime.spawn(serve(app.clone(), router, listener));
    address
}

/// A route that gives the same bytes and does nothing for it.
fn start_bare(runtime: &Runtime, server: &Server, answer: Bytes) -> SocketAddr {
    let handler = move || {
        let answer = answer.clone();
        async move { ([(CONTENT_TYPE, "application/json")], answer) }
    };
    listen(runtime, &server.app, Router::new().route("/v2/agent/{projectId}/job/{id}", get(handler)))
}

async fn create_project(store: &Store, jobs_per_hour: Option<u32>) -> String {
    let new = NewProject {
        id: None,
        name: "Bench".to_owned(),
        repository: Repository::from_stored("https://example.com/docs".to_owned()),
        base_ref: "main".to_owned(),
        docs_paths: vec![".".to_owned()],
        time_zone: "UTC".to_owned(),
        jobs_per_hour,
        max_running: None,
        time_limit_seconds: None,
    };
    format!("/v2/agent/{}/job", store.create_project(new).await.unwrap().unwrap().id)
}

async fn fetch(address: SocketAddr, request: &[u8]) -> Bytes {
    let mut connection = Connection::open(address).await.unwrap();
    let reply = connection.exchange(request).await.unwrap();
    assert!(reply.status < 300, "{}", String::from_utf8_lossy(reply.body));
    Bytes::copy_from_slice(reply.body)
}

/// The database, and whether its commits are synced.
async fn describe(database: &TestDatabase) -> String {
    match database.address() {
        DatabaseAddress::Sqlite(_) => "sqlite".to_owned(),
        DatabaseAddress::Postgres { address, .. } => {
            let mut connection = PgConnection::connect(address).await.unwrap();
            let fsync: String = sqlx::query_scalar("SHOW fsync").fetch_one(&mut connection).await.unwrap();
            format!("postgres (fsync {fsync})")
        }
    }
}
