//! Several users of one folder: one holds the store, the others ask it, and one of them takes over when it is gone.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should stop at once")]

use std::path::Path;
use std::sync::Arc;

use copydesk_domain::SystemClock;
use copydesk_views::store::{Counts, Question, Sources, ViewStore};
use copydesk_views::{Batch, Bucket, Channel, Class, Client, Evidence, Facts, Mark, Network, Verdict, View, id_digest};
use copydesk_views_embedded::{Options, SharedStore};

const DAY: Bucket = Bucket(1_900_800);

fn client(class: Class, channel: Channel) -> Arc<Client> {
    let facts = Facts {
        user_agent: class.as_str().to_owned(),
        markdown: class == Class::MarkdownFetch,
        network: Network::Inside("a list".to_owned()),
        signed_by: Some("somebody".to_owned()),
        channel,
    };
    let verdict = Verdict { class, agent: Some("x".to_owned()), evidence: Evidence::Token, rule: "token:x".to_owned() };
    Arc::new(Client { facts, verdict })
}

fn view(path: &str, class: Class, count: u32, id: Option<&str>) -> View {
    View { bucket: DAY, path: path.into(), client: client(class, Channel::Server), count, id: id.map(id_digest) }
}

fn batch(views: Vec<View>) -> Batch {
    Batch { project: "docs".to_owned(), views, ..Batch::default() }
}

const ALL: Question = Question {
    from: Bucket::MIN,
    to: Bucket::MAX,
    sources: Sources { people: copydesk_domain::Source::Auto, machines: copydesk_domain::Source::Auto },
};

async fn open(folder: &Path) -> SharedStore {
    SharedStore::open(folder, Options::new(Arc::new(SystemClock))).await.unwrap()
}

async fn totals(store: &SharedStore) -> Counts {
    store.ranking("docs", ALL).await.unwrap().totals()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_guest_gets_the_answers_of_the_holder() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("views");
    let (holder, guest) = (open(&path).await, open(&path).await);
    assert!(holder.is_holder() && !guest.is_holder());
    let mark = Mark { log: "l".to_owned(), bytes: 7, lines: 1, digest: "d".to_owned(), replaces: None, followed: None };
    let views = vec![
        view("/a", Class::Human, 3, None),
        view("/ü \"b\"", Class::Assistant, 1, Some("one")),
        view("/a", Class::Assistant, 1, Some("one")),
        view("/c", Class::TrainingCrawler, 5, None),
    ];
    let appended = guest.append(Batch { mark: Some(mark.clone()), ..batch(views) }).await.unwrap();
    assert_eq!((appended.counted, appended.duplicates), (9, vec![2]));
    for store in [&holder, &guest] {
        assert_eq!(totals(store).await, Counts { human: 3, ai: 1 });
        let ranking = store.ranking("docs", ALL).await.unwrap();
        let (pages, more) = ranking.page(1, 5);
        assert_eq!((&*pages[0].path, pages[0].counts.ai, more), ("/ü \"b\"", 1, false));
        let edges = vec![DAY, Bucket(DAY.0 + 1), Bucket(DAY.0 + 2)];
        let series = store.series("docs", Some("/a"), edges, Sources::default()).await.unwrap();
        assert_eq!(series, [Counts { human: 3, ai: 0 }, Counts::default()]);
        assert_eq!(store.marks("docs", "l").await.unwrap(), std::slice::from_ref(&mark));
        assert_eq!(store.projects().await.unwrap(), ["docs"]);
    }
    assert_eq!(holder.agents("docs", ALL, None, 3).await.unwrap(), guest.agents("docs", ALL, None, 3).await.unwrap());
    assert_eq!(holder.clients("docs").await.unwrap(), guest.clients("docs").await.unwrap());
    assert_eq!(holder.status("docs").await.unwrap(), guest.status("docs").await.unwrap());
    let crawler = client(Class::TrainingCrawler, Channel::Server);
    let other = Verdict { class: Class::Assistant, ..crawler.verdict.clone() };
    guest.relabel("docs", vec![(crawler, other)]).await.unwrap();
    assert_eq!(totals(&holder).await, Counts { human: 3, ai: 6 });
    guest.retain("docs", Bucket(DAY.0 + 1)).await.unwrap();
    assert_eq!(totals(&holder).await, Counts::default());
    guest.remove("docs").await.unwrap();
    assert!(holder.projects().await.unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_guest_takes_over_when_the_holder_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let (holder, guest) = (open(folder.path()).await, open(folder.path()).await);
    guest.append(batch(vec![view("/a", Class::Human, 1, None)])).await.unwrap();
    holder.close().await;
    assert!(holder.append(batch(Vec::new())).await.is_err(), "closed is closed");
    guest.append(batch(vec![view("/a", Class::Human, 1, None)])).await.unwrap();
    assert!(guest.is_holder());
    assert_eq!(totals(&guest).await.human, 2);
    let newcomer = open(folder.path()).await;
    assert_eq!((newcomer.is_holder(), totals(&newcomer).await.human), (false, 2));
}

/// A socket's address has hardly more than 100 bytes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_path_is_no_obstacle() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x".repeat(150)).join("views");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let (holder, guest) = (open(&path).await, open(&path).await);
    guest.append(batch(vec![view("/a", Class::Human, 1, None)])).await.unwrap();
    assert_eq!(totals(&holder).await.human, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_asked_for_by_a_guest_is_a_store() {
    let folder = tempfile::tempdir().unwrap();
    let (holder, guest) = (open(&folder.path().join("views")).await, open(&folder.path().join("views")).await);
    guest.append(batch(vec![view("/a", Class::Human, 4, None)])).await.unwrap();
    let copy = folder.path().join("copy");
    guest.backup(&copy).await.unwrap();
    guest.append(batch(vec![view("/a", Class::Human, 4, None)])).await.unwrap();
    assert!(guest.backup(&copy).await.is_err(), "there is something already");
    assert_eq!(totals(&open(&copy).await).await.human, 4);
    assert_eq!(totals(&holder).await.human, 8);
}

#[tokio::test]
async fn rubbish_on_the_socket_harms_nobody() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let folder = tempfile::tempdir().unwrap();
    let holder = open(folder.path()).await;
    for rubbish in [&b"\xff\xff\xff\xff"[..], b"\x03\0\0\0abc", b"\x05\0\0\0\"x\"", b""] {
        let mut stream = tokio::net::UnixStream::connect(folder.path().join("views-3.sock")).await.unwrap();
        stream.write_all(rubbish).await.unwrap();
        stream.shutdown().await.unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.unwrap();
        assert!(answer.is_empty());
    }
    assert_eq!(totals(&holder).await, Counts::default());
}
