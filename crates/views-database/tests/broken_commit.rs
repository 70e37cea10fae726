//! A batch whose connection breaks down while it is committed: it is found out what became of it, also from a server that has
//! crashed.
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test that cannot be set up should stop at once")]

use std::sync::{Arc, Mutex};

use copydesk_domain::{Clock, SystemClock};
use copydesk_testbase::{Backend, PostgresServer, ServerEnd, TestDatabase, eventually, relay};
use copydesk_views::store::{ViewStore, ViewsError};
use copydesk_views::{Appended, Batch, Bucket, Channel, Class, Client, Evidence, Facts, Network, Verdict, View};
use copydesk_views_database::{Database, Options};
use sqlx::{Connection, PgConnection};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;

/// When the connection is lost.
#[derive(Clone, Copy, PartialEq)]
enum Lost {
    BeforeTheCommit,
    /// On the client's side only: the server still has the transaction, and commits it later.
    InTheMiddle,
    BeforeTheAnswer,
}

/// What is to happen to the next commit, who is told when it is there, and who says that it goes on.
struct Trap {
    lost: Lost,
    is_there: oneshot::Sender<()>,
    goes_on: oneshot::Receiver<()>,
}

type Traps = Arc<Mutex<Option<Trap>>>;

/// A store whose connections lead by where traps can be set.
struct Trapped {
    store: Arc<Database>,
    traps: Traps,
}

impl Trapped {
    async fn at(server: &str) -> Self {
        let traps = Traps::default();
        let set = Arc::clone(&traps);
        let address = relay(server, move |client, server| pass_on(client, server, Arc::clone(&set))).await;
        let store = Database::open(&address, Options::new(Arc::new(SystemClock))).await.unwrap();
        // The project and its names are there by then.
        assert_eq!(store.append(batch()).await.unwrap().counted, 7);
        Self { store, traps }
    }

    /// Keeps a batch while its connection is lost, and does something before the others go on.
    async fn append(&self, lost: Lost, meanwhile: impl Future<Output = ()>) -> Result<Appended, ViewsError> {
        let ((is_there, there), (go_on, goes_on)) = (oneshot::channel(), oneshot::channel());
        *self.traps.lock().unwrap() = Some(Trap { lost, is_there, goes_on });
        let (appended, ()) = tokio::join!(self.store.append(batch()), async {
            there.await.unwrap();
            meanwhile.await;
            go_on.send(()).unwrap();
        });
        appended
    }

    async fn views(&self) -> u64 {
        self.store.status("docs").await.unwrap().views
    }
}

async fn pass_on(mut client: TcpStream, mut server: ServerEnd, traps: Traps) {
    let (mut asked, mut answered) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    loop {
        tokio::select! {
            read = client.read(&mut asked) => {
                let Ok(read @ 1..) = read else { return };
                let is_commit = asked[..read].windows(7).any(|bytes| bytes == b"COMMIT\0");
                let trap = if is_commit { traps.lock().unwrap().take() } else { None };
                if let Some(Trap { lost, is_there, goes_on }) = trap {
                    let mut client = Some(client);
                    if lost == Lost::InTheMiddle {
                        client.take();
                    }
                    if lost == Lost::BeforeTheAnswer {
                        server.write_all(&asked[..read]).await.unwrap();
                        assert!(server.read(&mut answered).await.unwrap() > 0);
                    }
                    is_there.send(()).unwrap();
                    goes_on.await.unwrap();
                    if lost == Lost::InTheMiddle {
                        server.write_all(&asked[..read]).await.unwrap();
                        assert!(server.read(&mut answered).await.unwrap() > 0);
                    }
                    return;
                }
                if server.write_all(&asked[..read]).await.is_err() {
                    return;
                }
            }
            read = server.read(&mut answered) => {
                let Ok(read @ 1..) = read else { return };
                if client.write_all(&answered[..read]).await.is_err() {
                    return;
                }
            }
        }
    }
}

/// Without ids: whoever is told that nothing was kept sends it again, and nothing else tells the two apart.
fn batch() -> Batch {
    let verdict = Verdict { class: Class::Human, agent: None, evidence: Evidence::Token, rule: "token".to_owned() };
    let facts = Facts {
        user_agent: "agent".to_owned(),
        markdown: false,
        network: Network::Unknown,
        signed_by: None,
        channel: Channel::Script,
    };
    let bucket = Bucket(u32::try_from(SystemClock.now().as_millis() / 900_000).unwrap());
    let client = Arc::new(Client { facts, verdict });
    let view = View { bucket, path: "/page".into(), client, count: 7, id: None };
    Batch { project: "docs".to_owned(), views: vec![view], ..Batch::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_found_out_whether_a_batch_was_kept() {
    let place = TestDatabase::new(Backend::Postgres).await;
    let trapped = Trapped::at(&place.url()).await;
    let refused = trapped.append(Lost::BeforeTheCommit, async {}).await;
    assert!(matches!(refused, Err(ViewsError::Unavailable(_))), "{refused:?}");
    assert_eq!(trapped.views().await, 7);
    let kept = trapped.append(Lost::BeforeTheAnswer, async {}).await;
    assert_eq!(kept.unwrap().counted, 7);
    assert_eq!(trapped.views().await, 14);
    let somebody_asks = async || {
        let waits = "SELECT pid::text FROM pg_stat_activity WHERE datname = current_database() \
                     AND wait_event_type = 'Lock' AND query LIKE '%views_receipts%'";
        eventually("somebody asks what became of it", async || place.query(waits).await.pop()).await;
    };
    let mut kept = trapped.append(Lost::InTheMiddle, somebody_asks()).await;
    // The server gives up a transaction in which nothing happens for 5 seconds, which a busy machine may take.
    for _ in 0..5 {
        if kept.is_err() && trapped.views().await == 14 {
            kept = trapped.append(Lost::InTheMiddle, somebody_asks()).await;
        }
    }
    assert_eq!(kept.unwrap().counted, 7, "it was committed later");
    assert_eq!(trapped.views().await, 21);
    assert_eq!(trapped.store.verify(Some("docs")).await.unwrap(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_that_a_crash_has_lost_is_not_taken_for_kept() {
    let server = PostgresServer::start();
    let trapped = Trapped::at(&server.url()).await;
    // A server that crashed gives numbers of transactions again that had not reached its disk.
    let others = async || {
        let mut connection = PgConnection::connect(&server.url()).await.unwrap();
        for _ in 0..20 {
            let some = sqlx::raw_sql("BEGIN; SELECT pg_current_xact_id(); COMMIT");
            some.execute(&mut connection).await.unwrap();
        }
    };
    for crash in ["the server", "one of its processes"] {
        let refused = trapped.append(Lost::BeforeTheCommit, async {
            if crash == "the server" {
                server.crash();
            } else {
                server.crash_one_process().await;
            }
            others().await;
        });
        let refused = refused.await;
        assert!(matches!(refused, Err(ViewsError::Unavailable(_))), "{crash}: {refused:?}");
        assert_eq!(trapped.views().await, 7, "{crash}");
    }
    assert_eq!(trapped.store.append(batch()).await.unwrap().counted, 7);
    assert_eq!(trapped.views().await, 14);
}
