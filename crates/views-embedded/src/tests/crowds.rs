//! More pages and kinds of readers than are told apart, and more pages than are answered for at once.

use copydesk_views::page::OTHER_PAGES;
use copydesk_views::store::{Counts, ViewStore};
use copydesk_views::{Client, Facts};
use proptest::prelude::*;

use super::*;

const DAY: u32 = Bucket::A_DAY;

fn bounded(folder: &Path, pages_a_day: usize, readers_a_day: usize) -> Arc<Embedded> {
    let options = Options { pages_a_day, readers_a_day, ..Options::new(ManualClock::new()) };
    Embedded::open(folder, options).unwrap()
}

/// A reader of the kind `who` who calls itself something else.
fn named(who: usize, name: u32) -> Arc<Client> {
    let kind = client(who);
    let facts = Facts { user_agent: format!("Agent {name}"), ..kind.facts.clone() };
    Arc::new(Client { facts, verdict: kind.verdict.clone() })
}

#[test]
fn pages_beyond_the_bound_of_a_day_are_one_page_and_all_views_count() {
    let folder = tempfile::tempdir().unwrap();
    let store = bounded(folder.path(), 3, 0);
    let at = |bucket, path: &str| view(bucket, path, 0, None);
    let first = ["/a", "/b", "/c", "/d", "/e", "/a"].map(|path| at(DAY, path));
    assert_eq!(store.append_now(batch("p", first.to_vec())).unwrap().counted, 6);
    store.append_now(batch("p", ["/d", "/a", "/f"].map(|path| at(2 * DAY - 1, path)).to_vec())).unwrap();
    // Another day and another project begin anew.
    store.append_now(batch("p", vec![at(2 * DAY, "/d")])).unwrap();
    store.append_now(batch("q", vec![at(DAY, "/d")])).unwrap();
    let expected = [(OTHER_PAGES, 4), ("/a", 3), ("/b", 1), ("/c", 1), ("/d", 1)];
    let total = |store: &Embedded| {
        let ranking = store.ranking_now("p", always(BOTH)).unwrap();
        let rows = rows(&ranking).into_iter().map(|(path, human, ai)| (path, human + ai)).collect::<Vec<_>>();
        assert_eq!(rows, expected.map(|(path, views)| (path.to_owned(), views)));
        assert_eq!(ranking.totals().total(), 10);
    };
    total(&store);
    assert_eq!(store.ranking_now("q", always(BOTH)).unwrap().page(0, 9).0[0].path.as_ref(), "/d");
    store.close();
    // What was written is what was counted.
    total(&bounded(folder.path(), 3, 0));
}

#[test]
fn readers_beyond_the_bound_of_a_day_are_counted_as_what_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let store = bounded(folder.path(), 0, 2);
    let mut totals = Counts::default();
    let mut views = Vec::new();
    for name in 0..40 {
        let client = named(name as usize % 4, name);
        match client.verdict.counts_as() {
            copydesk_views::CountsAs::Human => totals.human += 1,
            copydesk_views::CountsAs::Ai => totals.ai += 1,
            copydesk_views::CountsAs::Other => {}
        }
        views.push(View { client, ..view(DAY, "/a", 0, None) });
    }
    store.append_now(batch("p", views)).unwrap();
    assert_eq!(store.ranking_now("p", always(BOTH)).unwrap().totals(), totals);
    let clients = block_on(store.clients("p")).unwrap();
    assert_eq!(clients.iter().map(|(_, views)| views).sum::<u64>(), 40);
    let (others, told_apart): (Vec<_>, Vec<_>) = clients.iter().partition(|(client, _)| client.is_others());
    assert_eq!(told_apart.len(), 2);
    assert!(others.len() <= 4, "{others:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn the_totals_of_every_day_are_exact_whatever_the_bounds(
        sent in prop::collection::vec((0..3u32, 0..20u32, 0..4usize, 0..20u32), 1..200), pages in 0..8usize, readers in 0..8usize,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let store = bounded(folder.path(), pages, readers);
        for some in sent.chunks(7) {
            let view = |(day, page, who, name): &(u32, u32, usize, u32)| {
                View { client: named(*who, *name), ..view(DAY * (day + 1), &format!("/{page}"), *who, None) }
            };
            store.append_now(batch("p", some.iter().map(view).collect())).unwrap();
        }
        for day in 0..3 {
            let question = Question { from: Bucket(DAY * (day + 1)), to: Bucket(DAY * (day + 2)), sources: BOTH };
            let ranking = store.ranking_now("p", question).unwrap();
            let counted = |as_what| {
                let of_day = sent.iter().filter(|(of, ..)| *of == day);
                of_day.filter(|(_, _, who, _)| client(*who).verdict.counts_as() == as_what).count() as u64
            };
            let expected = Counts { human: counted(copydesk_views::CountsAs::Human), ai: counted(copydesk_views::CountsAs::Ai) };
            prop_assert_eq!(ranking.totals(), expected);
            let named = rows(&ranking).iter().filter(|(path, ..)| path != OTHER_PAGES).count();
            prop_assert!(pages == 0 || named <= pages);
        }
    }
}

/// Many questions at once about more pages than are answered for at once: each is answered as it would be alone.
#[tokio::test(flavor = "multi_thread")]
async fn questions_that_have_to_wait_are_answered_alike() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { question_bytes: 1, pages_a_day: 0, ..Options::new(ManualClock::new()) };
    let store = Embedded::open(folder.path(), options).unwrap();
    let pages = crate::questions::MANY_PAGES as u32 + 10;
    let all: Vec<View> = (0..pages).map(|page| view(DAY + page % 50, &format!("/{page}"), 0, None)).collect();
    for some in all.chunks(20_000) {
        store.append(batch("p", some.to_vec())).await.unwrap();
    }
    let ask = |to: u32| {
        let store = Arc::clone(&store);
        let question = Question { from: Bucket::MIN, to: Bucket(DAY + to % 10), sources: BOTH };
        tokio::spawn(async move { (to % 10, store.ranking("p", question).await.unwrap().totals().total()) })
    };
    let asked: Vec<_> = (0..30).map(ask).collect();
    for answer in asked {
        let (to, total) = answer.await.unwrap();
        assert_eq!(total, (0..pages).filter(|page| page % 50 < to).count() as u64);
    }
    assert!(block_on(store.status("p")).unwrap().pages == u64::from(pages));
}
