//! ClickHouse itself, asked past the product, and the commands that kill it.

use std::time::{Duration, Instant};

use reqwest::{Client, Url};
use tokio::process::Command;

/// How long a server may take to come back.
const PATIENCE: Duration = Duration::from_secs(120);
/// How long it may take to answer.
const ANSWER: Duration = Duration::from_secs(60);
/// How often it is asked whether it is back.
const AGAIN: Duration = Duration::from_millis(20);

/// Where the product counts. In a cluster each server has its own part of a table under this name and `_local`.
const TABLES: [&str; 4] = ["views_cells", "views_days", "views_months", "views_site"];

/// A database of its own on each of the servers.
pub(crate) struct ClickHouse {
    http: Client,
    servers: Vec<Url>,
    database: String,
    is_cluster: bool,
}

/// The views of each project that a table has, the most first.
pub(crate) struct Sums {
    pub(crate) place: String,
    pub(crate) views: Vec<u64>,
}

impl ClickHouse {
    pub(crate) async fn new(addresses: &str, database: String, is_cluster: bool) -> Self {
        let servers = addresses.split(',').map(|one| one.trim().parse().unwrap()).collect();
        let http = Client::builder().no_proxy().tls_certs_only([]).timeout(ANSWER).build().unwrap();
        let made = Self { http, servers, database, is_cluster };
        for server in &made.servers {
            made.ask(server, &format!("CREATE DATABASE {}", made.database)).await.unwrap();
        }
        made
    }

    /// As `views.clickhouse_url` takes it.
    pub(crate) fn address(&self) -> String {
        let one = |server: &Url| format!("{}/{}", server.as_str().trim_end_matches('/'), self.database);
        self.servers.iter().map(one).collect::<Vec<_>>().join(",")
    }

    /// What each server has in each table.
    pub(crate) async fn sums(&self) -> Vec<Sums> {
        let mut all = Vec::new();
        for (number, server) in self.servers.iter().enumerate() {
            for table in TABLES {
                let local = if self.is_cluster { "_local" } else { "" };
                let name = format!("{}.{table}{local}", self.database);
                if self.is_cluster {
                    // It may still fetch from the others what it missed while it was away.
                    self.ask(server, &format!("SYSTEM SYNC REPLICA {name}")).await.unwrap();
                }
                let sql = format!("SELECT sum(n) AS views FROM {name} GROUP BY project ORDER BY views DESC");
                let told = self.ask(server, &sql).await.unwrap();
                let views = told.lines().map(|line| line.parse().unwrap()).collect();
                all.push(Sums { place: format!("{table} of server {number}"), views });
            }
        }
        all
    }

    pub(crate) async fn drop_database(&self) {
        for server in &self.servers {
            self.ask(server, &format!("DROP DATABASE {} SYNC", self.database)).await.unwrap();
        }
    }

    /// Waits until every server answers.
    pub(crate) async fn is_back(&self) {
        let give_up = Instant::now() + PATIENCE;
        for server in &self.servers {
            while let Err(why) = self.ask(server, "SELECT 1").await {
                assert!(Instant::now() < give_up, "ClickHouse does not come back: {why}");
                tokio::time::sleep(AGAIN).await;
            }
        }
    }

    async fn ask(&self, server: &Url, sql: &str) -> Result<String, String> {
        // A connection that is kept open could be one to a server that was killed.
        let asked = self.http.post(server.clone()).header("connection", "close").body(sql.to_owned());
        let reply = asked.send().await.map_err(|error| error.to_string())?;
        let is_well = reply.status().is_success();
        let text = reply.text().await.map_err(|error| error.to_string())?;
        if is_well { Ok(text) } else { Err(text) }
    }
}

/// Runs a command of the shell to its end.
pub(crate) async fn run(command: &str) {
    let output = Command::new("sh").args(["-c", command]).output().await.unwrap();
    assert!(output.status.success(), "{command} failed: {}", String::from_utf8_lossy(&output.stderr));
}
