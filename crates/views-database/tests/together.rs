//! Several stores at once on one database: what is acknowledged is counted, and counted once.
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test that cannot be set up should stop at once")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use copydesk_domain::{Clock, SystemClock, Timestamp};
use copydesk_testbase::{Backend, TestDatabase};
use copydesk_views::store::{Question, Source, Sources, ViewStore, ViewsError};
use copydesk_views::{Batch, Bucket, Channel, Class, Client, Evidence, Facts, Mark, Network, Verdict, View, id_digest};
use copydesk_views_database::{Database, Options};
use sqlx::Connection;

const ALWAYS: Question =
    Question { from: Bucket::MIN, to: Bucket::MAX, sources: Sources { people: Source::Both, machines: Source::Both } };
const FIRST: u32 = 1_950_000;

async fn stores(place: &TestDatabase, count: usize) -> Vec<Arc<Database>> {
    let mut stores = Vec::new();
    for _ in 0..count {
        let options = Options { connections: 4, ..Options::new(Arc::new(SystemClock)) };
        stores.push(Database::open(&place.url(), options).await.unwrap());
    }
    stores
}

fn verdict(class: Class) -> Verdict {
    Verdict { class, agent: Some(class.as_str().to_owned()), evidence: Evidence::Token, rule: "token".to_owned() }
}

fn reader(number: u32) -> Arc<Client> {
    let class = [Class::Human, Class::Assistant, Class::TrainingCrawler][number as usize % 3];
    let channel = if number.is_multiple_of(2) { Channel::Script } else { Channel::Server };
    let user_agent = format!("agent {number}");
    let facts = Facts { user_agent, markdown: false, network: Network::Unknown, signed_by: None, channel };
    Arc::new(Client { facts, verdict: verdict(class) })
}

/// Views in an order that is another one for each sender.
fn batch(project: &str, sender: u32, number: u32, id: impl Fn(u32) -> Option<u128>) -> Batch {
    let view = |at: u32| {
        let mixed = (at * 7919 + sender * 104_729) % 120;
        View {
            bucket: Bucket(FIRST + mixed % 9 * 40),
            path: format!("/page-{}", mixed % 40).into(),
            client: reader(mixed % 12),
            count: 1,
            id: id(number * 120 + mixed),
        }
    };
    Batch { project: project.to_owned(), views: (0..120).map(view).collect(), ..Batch::default() }
}

async fn total(store: &Database, project: &str) -> u64 {
    store.status(project).await.unwrap().views
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_that_many_tell_of_at_once_counts_once_and_nobody_waits_in_a_circle() {
    let place = TestDatabase::new(Backend::Postgres).await;
    let stores = stores(&place, 3).await;
    let mut senders = Vec::new();
    for sender in 0..9 {
        let store = Arc::clone(&stores[sender as usize % 3]);
        senders.push(tokio::spawn(async move {
            let mut counted = [0; 2];
            for number in 0..12 {
                for (project, counted) in ["docs", "api"].into_iter().zip(&mut counted) {
                    let all = batch(project, sender, number, |at| Some(id_digest(&at.to_string())));
                    let appended = store.append(all).await.unwrap();
                    assert_eq!(appended.counted + appended.duplicates.len() as u64, 120);
                    *counted += appended.counted;
                }
            }
            counted
        }));
    }
    // Whoever changes a project as a whole meanwhile takes nothing away.
    let judged = Arc::clone(&stores[0]);
    let judge = tokio::spawn(async move {
        for class in [Class::Human, Class::Library, Class::CodingAgent, Class::Human, Class::Assistant] {
            let clients = judged.clients("docs").await.unwrap();
            let changes = clients.into_iter().step_by(2).map(|(client, _)| (client, verdict(class))).collect();
            judged.relabel("docs", changes).await.unwrap();
        }
    });
    let mut counted = [0; 2];
    for sender in senders {
        counted.iter_mut().zip(sender.await.unwrap()).for_each(|(sum, more)| *sum += more);
    }
    judge.await.unwrap();
    assert_eq!(counted, [12 * 120; 2], "each id once");
    for store in &stores {
        for project in ["docs", "api"] {
            assert_eq!(total(store, project).await, 12 * 120, "{project}");
            assert_eq!(store.verify(Some(project)).await.unwrap(), [], "{project}");
            let clients = store.clients(project).await.unwrap();
            let of = |kind| clients.iter().filter(|it| it.0.verdict.counts_as() == kind).map(|it| it.1).sum::<u64>();
            let totals = store.ranking(project, ALWAYS).await.unwrap().totals();
            use copydesk_views::CountsAs::{Ai, Human};
            assert_eq!((totals.human, totals.ai), (of(Human), of(Ai)), "{project}");
        }
    }
    stores[0].remove("docs").await.unwrap();
    assert_eq!((total(&stores[1], "docs").await, total(&stores[1], "api").await), (0, 12 * 120));
    let left = place.query("SELECT count(DISTINCT project)::text FROM views_cells").await;
    assert_eq!(left, [["1"]]);
    let fresh = batch("docs", 0, 0, |_| None);
    assert_eq!(stores[2].append(fresh).await.unwrap().counted, 120, "what a process remembers of it is void");
    assert_eq!(stores[1].ranking("docs", ALWAYS).await.unwrap().len(), 40);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_acknowledged_is_counted_and_nothing_else_however_often_connections_break() {
    let place = Arc::new(TestDatabase::new(Backend::Postgres).await);
    let stores = stores(&place, 3).await;
    let done = Arc::new(AtomicBool::new(false));
    let killer = tokio::spawn({
        let (place, done) = (Arc::clone(&place), Arc::clone(&done));
        async move {
            while !done.load(Ordering::Relaxed) {
                place
                    .query(
                        "SELECT count(pg_terminate_backend(pid))::text FROM pg_stat_activity \
                         WHERE application_name = 'copydesk views' AND datname = current_database() AND random() < 0.3",
                    )
                    .await;
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
    });
    let refused = Arc::new(AtomicU64::new(0));
    let mut senders = Vec::new();
    for sender in 0..6 {
        let (store, refused) = (Arc::clone(&stores[sender as usize % 3]), Arc::clone(&refused));
        senders.push(tokio::spawn(async move {
            let mut counted = 0;
            for number in 0..25 {
                // Without ids: whoever is told that nothing was kept sends it again, and nothing else tells them apart.
                loop {
                    match store.append(batch("docs", sender, number, |_| None)).await {
                        Ok(appended) => break counted += appended.counted,
                        Err(ViewsError::Unavailable(_)) => _ = refused.fetch_add(1, Ordering::Relaxed),
                        Err(error) => panic!("{error}"),
                    }
                }
            }
            counted
        }));
    }
    let mut counted = 0;
    for sender in senders {
        counted += sender.await.unwrap();
    }
    done.store(true, Ordering::Relaxed);
    killer.await.unwrap();
    assert_eq!(counted, 6 * 25 * 120);
    let store = Database::open(&place.url(), Options::new(Arc::new(SystemClock))).await.unwrap();
    assert_eq!(total(&store, "docs").await, counted, "{} were refused", refused.load(Ordering::Relaxed));
    assert_eq!(store.verify(Some("docs")).await.unwrap(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_too_large_is_refused_and_not_cut_short() {
    let place = TestDatabase::new(Backend::Postgres).await;
    let options = Options { question_bytes: 5 << 20, ..Options::new(Arc::new(SystemClock)) };
    let store = Database::open(&place.url(), options).await.unwrap();
    store.append(batch("docs", 0, 0, |_| None)).await.unwrap();
    place
        .execute(
            "INSERT INTO views_paths (project, path) SELECT 1, '/many/' || i FROM generate_series(1, 60000) AS i; \
             INSERT INTO views_days SELECT 1, 20312, id, 1, 0, 0, 0 FROM views_paths WHERE path LIKE '/many/%'",
        )
        .await;
    let at = |from: u32, to: u32| Question { from: Bucket(from), to: Bucket(to), ..ALWAYS };
    let day = 20312 * Bucket::A_DAY;
    match store.ranking("docs", at(day, day + Bucket::A_DAY)).await {
        Err(ViewsError::Unavailable(why)) => assert!(why.contains("views.question_memory"), "{why}"),
        other => panic!("{:?}", other.map(|ranking| ranking.len())),
    }
    // Others are answered as ever.
    assert_eq!(store.series("docs", None, vec![Bucket::MIN, Bucket::MAX], ALWAYS.sources).await.unwrap().len(), 1);
    assert_eq!(store.ranking("docs", at(FIRST, FIRST + 1)).await.unwrap().len(), 14);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_agree_is_counted_anew_from_the_quarter_hours() {
    let place = TestDatabase::new(Backend::Postgres).await;
    let store = stores(&place, 1).await.remove(0);
    for number in 0..3 {
        store.append(batch("docs", number, number, |_| None)).await.unwrap();
        store.append(batch("api", number, number, |_| None)).await.unwrap();
    }
    // A floor in the middle of a day: what it cuts is not counted by.
    store.retain("api", Bucket(FIRST + 170)).await.unwrap();
    let answers = async || {
        let mut all = Vec::new();
        for project in ["docs", "api"] {
            let ranking = store.ranking(project, ALWAYS).await.unwrap();
            let agents = store.agents(project, ALWAYS, None, 5).await.unwrap();
            let course =
                store.series(project, None, vec![Bucket::MIN, Bucket(FIRST + 200), Bucket::MAX], ALWAYS.sources);
            all.push(format!("{ranking:?} {agents:?} {:?}", course.await.unwrap()));
        }
        all
    };
    let before = answers().await;
    for damage in [
        "UPDATE views_days SET hs = hs + 1, mv = mv + 3",
        "DELETE FROM views_months WHERE path % 2 = 0",
        "UPDATE views_machine_days SET n = n + 1; DELETE FROM views_machine_months",
        "DELETE FROM views_site WHERE quarter % 3 = 0",
    ] {
        place.execute(damage).await;
        for project in ["docs", "api"] {
            assert_ne!(store.verify(Some(project)).await.unwrap(), [], "{project}: {damage}");
            store.repair(Some(project)).await.unwrap();
            assert_eq!(store.verify(Some(project)).await.unwrap(), [], "{project}: {damage}");
        }
        assert_eq!(answers().await, before, "{damage}");
    }
    // What is left of damaged quarter hours does not replace days and months that are whole.
    for damage in ["DELETE FROM views_cells WHERE quarter % 3 = 0", "DELETE FROM views_cells; DELETE FROM views_site"] {
        place.execute(damage).await;
        let refused = store.repair(Some("docs")).await.unwrap_err();
        assert!(matches!(&refused, ViewsError::Damaged(why) if why.contains("restore a backup")), "{refused}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_two_import_at_once_is_counted_once() {
    let place = TestDatabase::new(Backend::Postgres).await;
    let stores = stores(&place, 2).await;
    let part = |number: u32| Batch {
        mark: Some(Mark {
            log: "access".to_owned(),
            lines: u64::from(number + 1) * 120,
            digest: number.to_string(),
            replaces: number.checked_sub(1).map(|before| before.to_string()),
            ..Mark::default()
        }),
        ..batch("docs", 0, number, |_| None)
    };
    for number in 0..4 {
        let (one, other) = tokio::join!(stores[0].append(part(number)), stores[1].append(part(number)));
        let refused = match (one, other) {
            (Ok(_), Err(refused)) | (Err(refused), Ok(_)) => refused.to_string(),
            both => panic!("{both:?}"),
        };
        assert!(refused.contains("another process is importing the same log"), "{refused}");
        assert_eq!(total(&stores[0], "docs").await, u64::from(number + 1) * 120);
    }
    // One that begins where the other has got to, and is faster.
    let mut later = part(4);
    later.mark.as_mut().unwrap().replaces = None;
    stores[1].append(later).await.unwrap();
    let refused = stores[0].append(part(4)).await.unwrap_err().to_string();
    assert!(refused.contains("another process"), "{refused}");
    assert_eq!(total(&stores[0], "docs").await, 5 * 120);
    // A mark that was too old to be kept was moved by nobody.
    place.execute("DELETE FROM views_marks").await;
    stores[0].append(part(5)).await.unwrap();
    assert_eq!(stores[1].marks("docs", "access").await.unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_project_that_is_held_for_long_refuses_its_own_views_and_nobody_elses() {
    let place = TestDatabase::new(Backend::Postgres).await;
    let store = stores(&place, 1).await.remove(0);
    for project in ["docs", "api"] {
        store.append(batch(project, 0, 0, |_| None)).await.unwrap();
    }
    // As whoever judges all readers of a large project anew does.
    let mut holder = sqlx::PgConnection::connect(&place.url()).await.unwrap();
    let number = xxhash_rust::xxh3::xxh3_64(b"docs") as u32 as i32;
    sqlx::raw_sql(sqlx::AssertSqlSafe(format!("BEGIN; SELECT pg_advisory_xact_lock({}, {number})", 0x7669_6577)))
        .execute(&mut holder)
        .await
        .unwrap();
    let held = (0..20).map(|number| store.append(batch("docs", 0, number, |_| None)));
    let (held, ()) = tokio::join!(futures_util::future::join_all(held), async {
        store.ranking("docs", ALWAYS).await.expect("who asks does not wait for who counts");
        store.append(batch("api", 0, 1, |_| None)).await.expect("nobody holds this one");
    });
    for refused in held {
        assert!(matches!(refused, Err(ViewsError::Unavailable(_))), "{refused:?}");
    }
    drop(holder);
    assert_eq!(total(&store, "docs").await, 120);
    assert_eq!(total(&store, "api").await, 240);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_whose_clock_is_wrong_forgets_no_ids() {
    #[derive(Debug)]
    struct Ahead;
    impl Clock for Ahead {
        fn now(&self) -> Timestamp {
            SystemClock.now().plus(Duration::from_secs(400 * 86_400))
        }
    }
    let place = TestDatabase::new(Backend::Postgres).await;
    let store = stores(&place, 1).await.remove(0);
    let told = || batch("docs", 0, 0, |at| Some(id_digest(&at.to_string())));
    assert_eq!(store.append(told()).await.unwrap().counted, 120);
    let wrong = Database::open(&place.url(), Options::new(Arc::new(Ahead))).await.unwrap();
    wrong.expire("docs", 0).await.unwrap();
    assert_eq!(wrong.append(told()).await.unwrap().counted, 0);
    assert_eq!(store.append(told()).await.unwrap().counted, 0);
}

#[tokio::test]
async fn a_program_runs_beside_a_newer_one_that_says_so() {
    let place = TestDatabase::new(Backend::Postgres).await;
    let store = stores(&place, 1).await.remove(0);
    store.append(batch("docs", 1, 0, |_| None)).await.unwrap();
    let mut connection = sqlx::PgConnection::connect(&place.url()).await.unwrap();
    let mut newer = async |sql: &'static str| {
        sqlx::raw_sql(sql).execute(&mut connection).await.unwrap();
        Database::open(&place.url(), Options::new(Arc::new(SystemClock))).await
    };
    let next = "INSERT INTO views_schema SELECT MAX(version) + 1, MAX(version) FROM views_schema";
    let beside = newer(next).await.unwrap();
    assert_eq!(total(&beside, "docs").await, 120);
    beside.append(batch("docs", 2, 1, |_| None)).await.unwrap();
    // What it does not know would be missing from its copy.
    let folder = tempfile::tempdir().unwrap();
    let refused = beside.backup(&folder.path().join("copy")).await.unwrap_err();
    assert!(refused.to_string().contains("newer Copydesk"), "{refused}");
    let refused = newer("UPDATE views_schema SET runs_from = version").await.err().unwrap();
    assert!(refused.to_string().contains("newer Copydesk"), "{refused}");
    let refused = newer("ALTER TABLE views_schema DROP COLUMN runs_from").await.err().unwrap();
    assert!(refused.to_string().contains("newer Copydesk"), "{refused}");
}
