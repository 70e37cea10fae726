//! The same answers with page views counted in ClickHouse, behind the same ledger. `COPYDESK_TEST_CLICKHOUSE_URL` names a
//! server; `scripts/test` starts one that is built on chDB.
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test that cannot be set up should stop at once")]

#[path = "clickhouse/place.rs"]
mod place;
#[path = "clickhouse/proxy.rs"]
mod proxy;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use copydesk_domain::{Clock, SystemClock};
use copydesk_testbase::exact::{Keeper, config, play, steps};
use copydesk_testbase::{Backend, ManualClock, TestDatabase, eventually};
use copydesk_views::store::{Question, Source, Sources, Status, ViewStore, ViewsError};
use copydesk_views::{
    Batch, Bucket, Channel, Class, Client as Reader, Evidence, Facts, Mark, Network, Verdict, View, id_digest,
};
use copydesk_views_database::{ClickHouseAddress, ClickHouseOptions, Database, Options};
use place::Place;
use proptest::prelude::*;
use proxy::Proxy;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// So many servers on one ledger.
struct InClickHouse(usize);

impl Keeper for InClickHouse {
    type Store = Database;
    type Place = Place;

    async fn place(&self) -> Place {
        Place::new().await
    }

    async fn open(&self, place: &Place, clock: Arc<dyn Clock>) -> Vec<Arc<Database>> {
        let mut stores = Vec::new();
        for _ in 0..self.0 {
            stores.push(place.open(clock.clone()).await.expect("both answer"));
        }
        stores
    }

    async fn close(&self, store: &Database) {
        store.close().await;
    }

    async fn settle(&self, _: &Database) {}

    async fn restored(&self, copy: &Path) -> Place {
        let place = self.place().await;
        let store = place.open(Arc::new(SystemClock)).await.expect("both answer");
        store.fill_from(copy).await.expect("a whole copy");
        store.close().await;
        place
    }

    async fn leave(&self, place: Place) {
        place.destroy().await;
    }
}

proptest! {
    #![proptest_config(config(8))]

    #[test]
    fn every_answer_is_that_of_the_list(steps in steps()) {
        play(&InClickHouse(3), &steps);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_never_heard_of_has_nothing() {
    let place = Place::new().await;
    let store = place.open(Arc::new(SystemClock)).await.unwrap();
    assert_eq!(store.status("nobody").await.unwrap(), Default::default());
    assert!(store.clients("nobody").await.unwrap().is_empty());
    assert!(store.projects().await.unwrap().is_empty());
    store.close().await;
    place.destroy().await;
}

fn clock() -> Arc<dyn Clock> {
    Arc::new(SystemClock)
}

fn reader() -> Arc<Reader> {
    let facts = Facts {
        user_agent: "Firefox".into(),
        markdown: false,
        network: Network::Unknown,
        signed_by: None,
        channel: Channel::Script,
    };
    let verdict = Verdict { class: Class::Human, agent: None, evidence: Evidence::Browser, rule: "browser".into() };
    Arc::new(Reader { facts, verdict })
}

/// Longer than anything takes.
const LONG: Duration = Duration::from_secs(60);
const NOON: i64 = 1_760_000_400;

/// So many views of a page, each with an id of its own.
fn batch(project: &str, first: u32, views: u32) -> Batch {
    let view = |number: u32| View {
        bucket: Bucket::of_seconds(NOON + i64::from(number % 7) * 86_400 * 9),
        path: format!("/page-{}", number % 3).into(),
        client: reader(),
        count: 1,
        id: Some(id_digest(&format!("{project}/{number}"))),
    };
    Batch { project: project.into(), views: (first..first + views).map(view).collect(), ..Batch::default() }
}

fn always() -> Question {
    let sources = Sources { people: Source::Both, machines: Source::Both };
    Question { from: Bucket::MIN, to: Bucket::MAX, sources }
}

async fn total(store: &Database, project: &str) -> Result<u64, ViewsError> {
    Ok(store.ranking(project, always()).await?.totals().total())
}

/// The same when ClickHouse is there again.
async fn total_at_last(store: &Database, project: &str) -> u64 {
    eventually("ClickHouse answers", async || total(store, project).await.ok()).await
}

/// A store whose way to ClickHouse leads through a proxy.
async fn open_through(place: &Place, proxy: &Proxy, patience: Duration) -> Arc<Database> {
    let url = format!("{}/{}", proxy.url, place.there.name());
    let address = ClickHouseAddress::parse(&url, place.there.cluster()).unwrap();
    let mut options = place.options(clock());
    options.clickhouse = options.clickhouse.map(|it| ClickHouseOptions { address, patience, ..it });
    Database::open(&place.ledger.url(), options).await.unwrap()
}

/// What is taken away of what makes it exact.
#[derive(Clone, Copy, PartialEq)]
enum Without {
    Nothing,
    Tokens,
    Window,
}

/// Counts the same 20 views three times, none with an id, loses answers to inserts, and says what the tables have then.
async fn after_lost_answers(without: Without) -> Vec<u64> {
    let place = Place::new().await;
    let proxy = Proxy::start(place.there.server()).await;
    let store = open_through(&place, &proxy, LONG).await;
    if without == Without::Tokens {
        proxy.drop_tokens();
    }
    if without == Without::Window {
        let tables = ["views_cells", "views_days", "views_months", "views_site"];
        let window = match place.there.cluster() {
            None => "non_replicated_deduplication_window",
            Some(_) => "replicated_deduplication_window",
        };
        place.alter(&tables, &format!("MODIFY SETTING {window} = 0"));
    }
    proxy.lose_answers(5);
    for _ in 0..3 {
        let mut batch = batch("docs", 0, 20);
        batch.views.iter_mut().for_each(|view| view.id = None);
        store.append(batch).await.unwrap();
        total(&store, "docs").await.unwrap();
    }
    assert!(proxy.lost_all(), "no answer was lost");
    let found = place.there.sums();
    store.close().await;
    place.destroy().await;
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_sent_again_counts_once_and_what_is_the_same_counts_again() {
    assert_eq!(after_lost_answers(Without::Nothing).await, [60; 4]);
    // Without either of what makes it so, it is not: the line above can fail.
    let found = after_lost_answers(Without::Tokens).await;
    assert!(found.iter().any(|views| *views < 60), "{found:?}");
    let found = after_lost_answers(Without::Window).await;
    assert!(found.iter().any(|views| *views > 60), "{found:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn views_are_taken_while_clickhouse_is_away_and_are_all_there_afterwards() {
    let place = Place::new().await;
    let mut proxy = Proxy::start(place.there.server()).await;
    // It is away when the server starts, too.
    proxy.cut().await;
    let store = open_through(&place, &proxy, Duration::from_secs(1)).await;
    assert_eq!(store.append(batch("docs", 0, 30)).await.unwrap().counted, 30);
    let said = total(&store, "docs").await.unwrap_err().to_string();
    assert!(said.contains("ClickHouse") || said.contains("on their way"), "{said}");
    proxy.mend().await;
    assert_eq!(total_at_last(&store, "docs").await, 30);
    proxy.cut().await;
    assert_eq!(store.append(batch("docs", 20, 30)).await.unwrap().duplicates.len(), 10);
    store.close().await;
    // Whoever is there then sends what another one has left.
    proxy.mend().await;
    let other = open_through(&place, &proxy, LONG).await;
    assert_eq!(total(&other, "docs").await.unwrap(), 50);
    assert_eq!(place.there.sums(), [50; 4]);
    assert!(other.verify(Some("docs")).await.unwrap().is_empty());
    other.close().await;
    place.destroy().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn damage_is_found_and_counted_anew() {
    let place = Place::new().await;
    let store = place.open(clock()).await.unwrap();
    store.append(batch("docs", 0, 30)).await.unwrap();
    assert_eq!(total(&store, "docs").await.unwrap(), 30);
    place.alter(&["views_days", "views_months"], "DELETE WHERE 1 SETTINGS mutations_sync = 2");
    let found = store.verify(Some("docs")).await.unwrap();
    assert_eq!(found.len(), 2, "{found:?}");
    store.repair(Some("docs")).await.unwrap();
    assert!(store.verify(Some("docs")).await.unwrap().is_empty());
    assert_eq!(place.there.sums(), [30; 4]);
    store.close().await;
    place.destroy().await;
}

/// Counting anew takes longer there than the database leaves a transaction alone, and is ended in the middle the first time.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_counted_and_nobody_is_answered_while_it_is_counted_anew() {
    let place = Place::new().await;
    let proxy = Proxy::start(place.there.server()).await;
    let store = open_through(&place, &proxy, LONG).await;
    store.append(batch("docs", 0, 30)).await.unwrap();
    assert_eq!(total(&store, "docs").await.unwrap(), 30);
    place.alter(&["views_days"], "DELETE WHERE 1 SETTINGS mutations_sync = 2");
    for is_ended in [true, false] {
        proxy.keep_back();
        let repairing = tokio::spawn({
            let store = Arc::clone(&store);
            async move { store.repair(Some("docs")).await }
        });
        proxy.keeps_one().await;
        // Twice, and each waits for its turn for five seconds.
        for _ in 0..2 {
            let said = store.append(batch("docs", 30, 1)).await.unwrap_err().to_string();
            assert!(said.contains("being changed as a whole"), "{said}");
        }
        let said = total(&store, "docs").await.unwrap_err().to_string();
        assert!(said.contains("counted anew") && said.contains("views repair"), "{said}");
        if is_ended {
            repairing.abort();
            let _ = repairing.await;
            proxy.let_go();
            let folder = tempfile::tempdir().unwrap();
            let said = store.backup(&folder.path().join("copy")).await.unwrap_err().to_string();
            assert!(said.contains("only there in part"), "{said}");
        } else {
            proxy.let_go();
            repairing.await.unwrap().unwrap();
        }
    }
    assert_eq!(total(&store, "docs").await.unwrap(), 30);
    assert!(store.verify(Some("docs")).await.unwrap().is_empty());
    assert_eq!(place.there.sums(), [30; 4]);
    store.close().await;
    place.destroy().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_belongs_to_one_ledger_and_a_ledger_counts_in_one_place() {
    let place = Place::new().await;
    let store = place.open(clock()).await.unwrap();
    store.append(batch("docs", 0, 1)).await.unwrap();
    let other = TestDatabase::new(Backend::Postgres).await;
    let said = Database::open(&other.url(), place.options(clock())).await.err().unwrap().to_string();
    assert!(said.contains("page views of another installation"), "{said}");
    let tables = Options { clickhouse: None, ..place.options(clock()) };
    let said = Database::open(&place.ledger.url(), tables.clone()).await.err().unwrap().to_string();
    assert!(said.contains("are counted in ClickHouse"), "{said}");
    // The other way round.
    let counted_here = TestDatabase::new(Backend::Postgres).await;
    let store_there = Database::open(&counted_here.url(), tables).await.unwrap();
    store_there.append(batch("docs", 0, 1)).await.unwrap();
    let said = Database::open(&counted_here.url(), place.options(clock())).await.err().unwrap().to_string();
    assert!(said.contains("not in ClickHouse"), "{said}");
    store_there.close().await;
    store.close().await;
    other.destroy().await;
    counted_here.destroy().await;
    place.destroy().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_goes_back_to_clickhouse_only_and_one_of_tables_to_both() {
    let place = Place::new().await;
    let store = place.open(clock()).await.unwrap();
    store.append(batch("docs", 0, 30)).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    store.backup(&folder.path().join("there")).await.unwrap();
    let tables = TestDatabase::new(Backend::Postgres).await;
    let here = Database::open(&tables.url(), Options { clickhouse: None, ..place.options(clock()) }).await.unwrap();
    let said = here.fill_from(&folder.path().join("there")).await.unwrap_err().to_string();
    assert!(said.contains("were counted in ClickHouse"), "{said}");
    let counted = copydesk_views_database::count_backup(&folder.path().join("there")).unwrap();
    assert_eq!(counted["docs"], 30);
    here.append(batch("docs", 0, 40)).await.unwrap();
    here.backup(&folder.path().join("here")).await.unwrap();
    let other = Place::new().await;
    let filled = other.open(clock()).await.unwrap();
    filled.fill_from(&folder.path().join("here")).await.unwrap();
    assert_eq!(total(&filled, "docs").await.unwrap(), 40);
    assert_eq!(filled.append(batch("docs", 30, 20)).await.unwrap().duplicates.len(), 10, "ids come along");
    assert_eq!(total(&filled, "docs").await.unwrap(), 50);
    for store in [&store, &here, &filled] {
        store.close().await;
    }
    tables.destroy().await;
    other.destroy().await;
    place.destroy().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removed_project_leaves_nothing() {
    let place = Place::new().await;
    let store = place.open(clock()).await.unwrap();
    let mark = Mark { log: "log".into(), bytes: 1, lines: 1, digest: "1".into(), replaces: None, followed: None };
    store.append(Batch { mark: Some(mark), ..batch("docs", 0, 30) }).await.unwrap();
    store.append(batch("api", 0, 5)).await.unwrap();
    assert_eq!(total(&store, "docs").await.unwrap(), 30);
    store.remove("docs").await.unwrap();
    assert_eq!(store.status("docs").await.unwrap(), Status::default());
    assert_eq!(store.projects().await.unwrap(), ["api"]);
    assert_eq!(place.there.sums(), [5; 4]);
    // It comes again, and begins with nothing.
    store.append(batch("docs", 0, 2)).await.unwrap();
    assert_eq!(total(&store, "docs").await.unwrap(), 2);
    store.close().await;
    place.destroy().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_that_are_gone_are_not_made_again_empty() {
    let place = Place::new().await;
    let proxy = Proxy::start(place.there.server()).await;
    let store = open_through(&place, &proxy, Duration::from_secs(1)).await;
    store.append(batch("docs", 0, 30)).await.unwrap();
    assert_eq!(total_at_last(&store, "docs").await, 30);
    place.there.execute(&format!("DROP TABLE {}.views_days{}", place.there.name(), place.there.everywhere()));
    // Views are taken, and nobody is told that there are none.
    assert_eq!(store.append(batch("docs", 30, 5)).await.unwrap().counted, 5);
    let refused = |said: String| {
        assert!(said.contains("does not have the page views") && said.contains("restore"), "{said}");
    };
    refused(
        eventually("it is noticed", async || {
            let said = total(&store, "docs").await.unwrap_err().to_string();
            said.contains("does not have").then_some(said)
        })
        .await,
    );
    store.close().await;
    refused(place.open(clock()).await.err().unwrap().to_string());
    place.destroy().await;
}

/// As a move does that ends in the middle of emptying the place it leaves.
#[tokio::test(flavor = "multi_thread")]
async fn tables_that_were_being_left_are_opened_again() {
    let place = Place::new().await;
    let store = place.open(clock()).await.unwrap();
    store.append(batch("docs", 0, 30)).await.unwrap();
    assert_eq!(total(&store, "docs").await.unwrap(), 30);
    store.close().await;
    place.ledger.execute("UPDATE views_counted_in_clickhouse SET is_there = FALSE").await;
    let local = if place.there.cluster().is_some() { " SYNC" } else { "" };
    let (name, everywhere) = (place.there.name(), place.there.everywhere());
    place.there.execute(&format!("TRUNCATE TABLE {name}.views_ledger{everywhere}{local}"));
    let looks_only = Options { makes_tables: false, ..place.options(clock()) };
    let store = Database::open(&place.ledger.url(), looks_only).await.unwrap();
    assert_eq!(total(&store, "docs").await.unwrap(), 30);
    store.close().await;
    place.destroy().await;
}

/// Whole months, because deleting part of one would write the rest of it anew.
#[tokio::test(flavor = "multi_thread")]
async fn old_months_are_forgotten_with_the_pages_that_only_they_knew() {
    let place = Place::new().await;
    let clock = Arc::new(ManualClock::new());
    let store = place.open(clock.clone()).await.unwrap();
    let day = |day: u16, path: &str| View {
        bucket: Bucket::of_seconds(NOON + i64::from(day) * 86_400),
        path: path.into(),
        client: reader(),
        count: 1,
        id: None,
    };
    // From the 9th of October on.
    let views = vec![day(0, "/old"), day(1, "/both"), day(25, "/early"), day(35, "/both"), day(60, "/late")];
    for project in ["docs", "api"] {
        store.append(Batch { project: project.into(), views: views.clone(), ..Batch::default() }).await.unwrap();
        assert_eq!(total(&store, project).await.unwrap(), 5);
    }
    let wait = async |days: u64| {
        clock.advance(Duration::from_secs(days * 86_400));
        for project in ["docs", "api"] {
            store.expire(project, 0).await.unwrap();
        }
    };
    store.retain("docs", Bucket::of_seconds(NOON + 30 * 86_400)).await.unwrap();
    wait(1).await;
    assert_eq!(total(&store, "docs").await.unwrap(), 2);
    assert_eq!(place.there.sums(), [10; 4], "it can still be brought back");
    wait(60).await;
    wait(1).await;
    assert_eq!(place.there.sums(), [8; 4], "the two of October");
    assert_eq!((total(&store, "docs").await.unwrap(), total(&store, "api").await.unwrap()), (2, 5));
    let pages = place.ledger.query("SELECT path FROM views_paths WHERE path = '/old'").await;
    assert_eq!(pages, [["/old"]], "that of the other project");
    for project in ["docs", "api"] {
        assert!(store.verify(Some(project)).await.unwrap().is_empty());
    }
    store.close().await;
    place.destroy().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_old_server_is_refused_with_a_sentence() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let answering = tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut buffer = [0; 4096];
            let _ = stream.read(&mut buffer).await;
            // One column called `version`, a String.
            let body = b"\x01\x07version\x06String\x0918.16.1.2";
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
            let _ = stream.write_all(&[head.as_bytes(), body].concat()).await;
        }
    });
    let ledger = TestDatabase::new(Backend::Postgres).await;
    let clickhouse = ClickHouseOptions::new(ClickHouseAddress::parse(&url, None).unwrap());
    let options = Options { clickhouse: Some(clickhouse), follows_database: false, ..Options::new(clock()) };
    let said = Database::open(&ledger.url(), options).await.err().unwrap().to_string();
    assert!(said.contains("has the version 18.16.1.2; page views need 24.8 or newer"), "{said}");
    answering.abort();
    ledger.destroy().await;
}
