//! A database in ClickHouse that nobody else uses.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicU32, Ordering};

/// Names the server: `http://host:8123`, which needs no password. `scripts/test` starts one that is built on chDB. Several with
/// commas between are those of a cluster.
const SERVER: &str = "COPYDESK_TEST_CLICKHOUSE_URL";
/// Names the cluster, if it is one.
const CLUSTER: &str = "COPYDESK_TEST_CLICKHOUSE_CLUSTER";

/// It is dropped with this.
pub struct TestClickHouse {
    servers: Vec<String>,
    cluster: Option<String>,
    name: String,
}

impl TestClickHouse {
    #[allow(clippy::new_without_default, reason = "it is made on a server")]
    pub fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let Ok(servers) = std::env::var(SERVER) else {
            panic!("{SERVER} is not set: run scripts/test, or start scripts/clickhouse/shim.py and name its address");
        };
        let name = format!("copydesk_test_{}_{}", std::process::id(), COUNT.fetch_add(1, Ordering::SeqCst));
        let servers = servers.split(',').map(|server| server.trim().trim_end_matches('/').to_owned()).collect();
        let cluster = std::env::var(CLUSTER).ok().filter(|cluster| !cluster.is_empty());
        let place = Self { servers, cluster, name };
        place.execute(&format!("CREATE DATABASE {}{}", place.name, place.everywhere()));
        place
    }

    /// The server, or one of the cluster, without the name of a database.
    pub fn server(&self) -> &str {
        &self.servers[0]
    }

    pub fn cluster(&self) -> Option<&str> {
        self.cluster.as_deref()
    }

    /// What makes a statement one of the whole cluster, if it is one.
    pub fn everywhere(&self) -> String {
        self.cluster.as_ref().map(|cluster| format!(" ON CLUSTER '{cluster}'")).unwrap_or_default()
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// The database, as `views.clickhouse_url` takes it.
    pub fn url(&self) -> String {
        self.servers.iter().map(|server| format!("{server}/{}", self.name)).collect::<Vec<_>>().join(",")
    }

    /// Runs a statement; what it answers.
    pub fn execute(&self, sql: &str) -> String {
        let host = self.server().strip_prefix("http://").expect("an http:// address");
        let mut stream = TcpStream::connect(host).expect("ClickHouse answers");
        let head = format!("POST / HTTP/1.0\r\nHost: {host}\r\nContent-Length: {}\r\n\r\n", sql.len());
        stream.write_all(&[head.as_bytes(), sql.as_bytes()].concat()).expect("it listens");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers with text");
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        assert!(head.lines().next().is_some_and(|status| status.contains(" 200")), "{sql}: {answer}");
        body.to_owned()
    }

    /// The sum of the views in each of its tables.
    pub fn sums(&self) -> Vec<u64> {
        let sum = |table: &str| {
            let said = self.execute(&format!("SELECT toUInt64(sum(n)) FROM {}.{table} FORMAT TabSeparated", self.name));
            said.trim().parse().expect("a number")
        };
        ["views_cells", "views_days", "views_months", "views_site"].map(sum).to_vec()
    }
}

impl Drop for TestClickHouse {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // A replica must be gone before another one has its name. chDB would wait for ever.
            let sync = if self.cluster.is_some() { " SYNC" } else { "" };
            self.execute(&format!("DROP DATABASE {}{}{sync}", self.name, self.everywhere()));
        }
    }
}
