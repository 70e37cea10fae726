//! The servers of ClickHouse, and what they say.

use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use clickhouse::error::Error;
use clickhouse::{Client, RowOwned, RowRead};
use url::Url;

use crate::error::{Fault, Result};
use crate::questions::Taken;

/// How long a server may take to say what it is.
const HELLO: Duration = Duration::from_secs(10);
/// What a server says that has lost Keeper or its replicas, or has too much to do: another one may not have. The tables are
/// read-only, no replica is there, it is not known whether an insert was done, Keeper does not answer, all attempts to connect
/// failed, a quorum is missing, a lagging replica waits.
const PASSING: [u32; 8] = [242, 254, 279, 285, 286, 319, 999, 236];
/// What is shown of an error of the server.
const SHOWN: usize = 300;
/// How long a statement on a cluster may take that nobody sets a limit for.
const LONGEST: Duration = Duration::from_secs(3600);
/// How long it may read for an answer of a few rows.
const READING: Duration = Duration::from_secs(60);
/// The longest query that it should read, in bytes: the readers of a project are named in it.
const LONGEST_QUERY: &str = "67108864";

/// Where ClickHouse is.
#[derive(Clone)]
pub struct ClickHouseAddress {
    nodes: Vec<Client>,
    pub(super) cluster: Option<String>,
}

impl std::fmt::Debug for ClickHouseAddress {
    // Their addresses may hold passwords.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClickHouseAddress").field("nodes", &self.nodes.len()).finish_non_exhaustive()
    }
}

impl ClickHouseAddress {
    /// How many servers there are.
    pub fn servers(&self) -> usize {
        self.nodes.len()
    }

    /// Reads `http://user:password@host:8123/database`, or several of them with commas between, which are replicas of one
    /// another. An error holds nothing of the text.
    pub fn parse(text: &str, cluster: Option<&str>) -> std::result::Result<Self, String> {
        let mut nodes = text.split(',').map(|one| client(one.trim())).collect::<std::result::Result<Vec<_>, _>>()?;
        if cluster.is_some() {
            // What is acknowledged is on most replicas: another one that is asked has it too, and it survives the loss of one.
            nodes = nodes.into_iter().map(|node| node.with_setting("insert_quorum", "auto")).collect();
        }
        let is_name = |name: &str| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))
        };
        if cluster.is_some_and(|name| !is_name(name)) {
            return Err("the name of a cluster has letters, digits, _, - and . only".to_owned());
        }
        if nodes.iter().any(|node| node.database() != nodes[0].database()) {
            return Err("all servers have the database under one name".to_owned());
        }
        Ok(Self { nodes, cluster: cluster.map(str::to_owned) })
    }
}

fn client(text: &str) -> std::result::Result<Client, String> {
    let wrong = || "must be http://user:password@host:8123/database, or several of them with commas between".to_owned();
    let mut url = Url::parse(text).map_err(|_| wrong())?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() || url.query().is_some() || url.fragment().is_some()
    {
        return Err(wrong());
    }
    let plain = |part: &str| match percent_encoding::percent_decode_str(part).decode_utf8() {
        Ok(part) => Ok(part.into_owned()),
        Err(_) => Err(wrong()),
    };
    let database = match url.path().trim_matches('/') {
        "" => "default".to_owned(),
        path => plain(path)?,
    };
    let (user, password) = (plain(url.username())?, url.password().map(plain).transpose()?);
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if !database.chars().all(is_name) {
        return Err("the name of a ClickHouse database has letters, digits and _ only".to_owned());
    }
    url.set_username("").and_then(|()| url.set_password(None)).map_err(|()| wrong())?;
    url.set_path("/");
    let mut client = Client::default().with_url(url.to_string()).with_database(database).with_validation(true);
    if !user.is_empty() {
        client = client.with_user(user);
    }
    if let Some(password) = password {
        client = client.with_password(password);
    }
    // Batches are made here. What is collected there is not on disk, and forgets its token.
    Ok(client.with_setting("async_insert", "0").with_setting("max_query_size", LONGEST_QUERY))
}

/// The servers, one of which is asked until it does not answer.
pub(crate) struct Nodes {
    all: Vec<Client>,
    current: AtomicUsize,
}

impl Nodes {
    pub(super) fn new(address: &ClickHouseAddress) -> Self {
        Self { all: address.nodes.clone(), current: AtomicUsize::new(0) }
    }

    /// The name of the database, which is the same on all of them.
    pub(super) fn database(&self) -> &str {
        self.all.first().and_then(Client::database).unwrap_or_default()
    }

    /// The server that answered last.
    pub(crate) fn client(&self) -> Client {
        let current = self.current.load(Ordering::Relaxed);
        self.all.get(current).or_else(|| self.all.first()).cloned().unwrap_or_default()
    }

    /// Does something with the current server, and with the others if it cannot be reached.
    pub(crate) async fn with<T, F>(&self, limit: Duration, work: impl Fn(Client) -> F) -> Result<T>
    where
        F: Future<Output = Result<T>>,
    {
        let first = self.current.load(Ordering::Relaxed);
        let mut last = Fault::unavailable("no ClickHouse server is configured");
        for (place, client) in
            self.all.iter().enumerate().cycle().skip(first % self.all.len().max(1)).take(self.all.len())
        {
            let done = tokio::time::timeout(limit, work(client.clone())).await;
            last = match done.unwrap_or_else(|_| Err(Error::TimedOut.into())) {
                Err(fault) if fault.is_away() || self.all.len() > 1 && lacks_tables(&fault) => fault,
                done => {
                    self.current.store(place, Ordering::Relaxed);
                    return done;
                }
            };
        }
        Err(last)
    }

    /// Runs a statement that has no answer, and may be run twice.
    pub(crate) async fn execute(&self, sql: &str, limit: Duration) -> Result<()> {
        self.with(limit, |client| run(client, sql, limit)).await
    }

    /// Runs a statement that must not be run twice.
    pub(crate) async fn execute_once(&self, sql: &str) -> Result<()> {
        run(self.client(), sql, LONGEST).await
    }

    /// What a server says of itself.
    pub(crate) async fn hello<T: RowOwned + RowRead>(&self, sql: &str) -> Result<Vec<T>> {
        self.with(HELLO, |client| async move { Ok(client.query_raw(sql).fetch_all().await?) }).await
    }

    /// All rows of a short answer, for which it may have to read much.
    pub(crate) async fn rows<T: RowOwned + RowRead>(&self, sql: &str) -> Result<Vec<T>> {
        self.with(READING, |client| async move { Ok(client.query_raw(sql).fetch_all().await?) }).await
    }

    /// All rows of an answer to a question, which takes memory of its room and may take so long.
    pub(crate) async fn answer<T: RowOwned + RowRead>(
        &self,
        sql: &str,
        limit: Duration,
        room: &mut Taken<'_>,
    ) -> Result<Vec<T>> {
        let room = tokio::sync::Mutex::new(room);
        self.with(limit, |client| {
            let room = &room;
            async move {
                let seconds = limit.as_secs().max(1).to_string();
                let mut found = client.query_raw(sql).with_setting("max_execution_time", seconds).fetch::<T>()?;
                let mut rows = Vec::new();
                while let Some(row) = found.next().await? {
                    room.lock().await.take(size_of::<T>()).await?;
                    rows.push(row);
                }
                Ok(rows)
            }
        })
        .await
    }
}

async fn run(client: Client, sql: &str, limit: Duration) -> Result<()> {
    let statement = client
        .query_raw(sql)
        // Otherwise the errors of other servers come as rows of a statement that went well.
        .with_setting("distributed_ddl_output_mode", "none")
        // Otherwise what a cluster does for longer than three minutes fails, and goes on there.
        .with_setting("distributed_ddl_task_timeout", limit.as_secs().to_string());
    Ok(statement.execute().await?)
}

/// Whether a server has no such table or database: of several it may be one that has come anew.
fn lacks_tables(fault: &Fault) -> bool {
    let said = fault.to_string();
    said.contains("Code: 60.") || said.contains("Code: 81.")
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        match error {
            Error::Network(error) => {
                let mut said = error.to_string();
                let mut cause = error.source();
                while let Some(inner) = cause {
                    said = inner.to_string();
                    cause = inner.source();
                }
                Self::Away(format!("ClickHouse cannot be reached: {said}"))
            }
            Error::TimedOut => Self::Away("ClickHouse takes too long to answer".to_owned()),
            Error::BadResponse(said) if PASSING.iter().any(|code| said.contains(&format!("Code: {code}."))) => {
                Self::Away(format!("ClickHouse cannot do it now: {}", shown(&said)))
            }
            Error::BadResponse(said) => Self::unavailable(format!("ClickHouse refused: {}", shown(&said))),
            error => {
                Self::unavailable(format!("ClickHouse answers what is not understood: {}", shown(&error.to_string())))
            }
        }
    }
}

/// The beginning of what a server says.
fn shown(said: &str) -> String {
    let said: String = said.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    match said.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{} …", &said[..end]),
        None => said.trim().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_understood_or_refused_without_being_shown() {
        for good in ["http://localhost:8123", "https://a:b%40c@ch.example.com/docs", "http://a:1/x, http://b:1/x"] {
            let address = ClickHouseAddress::parse(good, Some("docs-1")).unwrap();
            assert!(!format!("{address:?}").contains("b@c"));
        }
        for bad in [
            "",
            "localhost:8123",
            "clickhouse://h",
            "http://u:secret@h/a-b",
            "http://u:secret@h/?database=x",
            "http://h,",
        ] {
            let said = ClickHouseAddress::parse(bad, None).unwrap_err();
            assert!(!said.contains("secret"), "{said}");
        }
        assert!(ClickHouseAddress::parse("http://h", Some("a'b")).is_err());
        let client = client("http://us%20er:p%2Bw@h:1/d_1").unwrap();
        assert_eq!(client.database(), Some("d_1"));
    }

    #[test]
    fn long_errors_are_cut_between_characters() {
        assert_eq!(shown("a\nb"), "a b");
        assert_eq!(shown(&"ä".repeat(1000)), format!("{} …", "ä".repeat(SHOWN)));
    }
}
