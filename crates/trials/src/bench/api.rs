use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::routing::get;
use bytes::Bytes;
use copydesk_desk::runner::Noop;
use copydesk_server::{App, serve};
use copydesk_store::DatabaseAddress;
use copydesk_testkit::{Backend, TestDatabase};
use sqlx::{Connection as _, PgConnection};
use tokio::net::TcpListener;

use super::generator::generate;
use crate::args::seconds;
use crate::connection::{Connection, request};
use crate::figures::Measured;
use crate::product::{Product, create_key, create_project, open_store};

/// How fast jobs are read, beside a bare axum route in the same process, and how fast they are created.
#[derive(Debug, Clone, clap::Args)]
pub struct ApiOptions {
    /// sqlite, or postgres (on COPYDESK_TEST_POSTGRES).
    #[arg(long = "database", default_value_t = Backend::Sqlite)]
    pub backend: Backend,
    /// For how long each is measured.
    #[arg(long = "seconds", value_parser = seconds, default_value = "5")]
    pub time: Duration,
    /// Over how many connections.
    #[arg(long, default_value_t = 32)]
    pub connections: usize,
    /// How many workers the server has; none of them can run the jobs that are created.
    #[arg(long, default_value_t = 2)]
    pub workers: usize,
}

/// The bare route and the product take turns, so that whatever else the machine does falls on both.
const ROUNDS: u32 = 5;
const WARM_UP: Duration = Duration::from_secs(1);
/// No engine here runs it, so that jobs wait, and only their creation is measured.
const MODEL: &str = "builtin";
const PROMPT: &str = r#"{"prompt":"Fix the broken links in docs/guides"}"#;

/// Measures reading a job, beside a bare route of the same answer, and creating jobs; prints both.
pub fn bench_api(options: &ApiOptions) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let database = runtime.block_on(TestDatabase::new(options.backend));
    let server = runtime.block_on(Server::start(&database, options.workers));
    let address = server.product.address;
    let read = request("GET", &format!("{}/{}", server.jobs, server.job), &server.key, &[], None);
    let answer = runtime.block_on(fetch(address, &read));
    let bare = runtime.block_on(start_bare(server.product.app.clone(), answer));

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

    let create = request("POST", &server.unlimited, &server.key, &[], Some(PROMPT));
    let created = generate(address, create, 201, options.connections, options.time);
    println!("api create job, {name}: {}", created.in_words("jobs"));
    runtime.block_on(server.product.stop()).unwrap();
}

/// The product with something in it.
struct Server {
    product: Product,
    key: String,
    /// The address of a project's jobs, which has the default limits.
    jobs: String,
    /// That of a project without limits.
    unlimited: String,
    /// The job that is read.
    job: String,
}

impl Server {
    async fn start(database: &TestDatabase, workers: usize) -> Self {
        let store = open_store(database).await;
        let product = Product::start(store.clone(), MODEL, Arc::new(Noop), workers, Duration::from_secs(15)).await;
        let key = create_key(&store).await;
        let jobs = format!("/v2/agent/{}/job", create_project(&store, None).await);
        let unlimited = format!("/v2/agent/{}/job", create_project(&store, Some(0)).await);
        let create = request("POST", &jobs, &key, &[], Some(PROMPT));
        let made: serde_json::Value = serde_json::from_slice(&fetch(product.address, &create).await).unwrap();
        let job = made["id"].as_str().unwrap().to_owned();
        Self { product, key, jobs, unlimited, job }
    }
}

/// A route that gives the same bytes and does nothing for it, behind the same accept loop.
async fn start_bare(app: App, answer: Bytes) -> SocketAddr {
    let handler = move || {
        let answer = answer.clone();
        async move { ([(CONTENT_TYPE, "application/json")], answer) }
    };
    let router = Router::new().route("/v2/agent/{projectId}/job/{id}", get(handler));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(serve(app, router, listener));
    address
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
