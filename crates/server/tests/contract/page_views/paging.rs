use copydesk_testkit::Who;

use super::{Site, paths, totals};
use crate::stage::Stage;

async fn pages_of_any_size_list_every_path_once(stage: &Stage) {
    let site = Site::new(stage).await;
    for number in 0..23 {
        site.saw(&format!("/{number:02}"), "2026-03-14T10:00:00Z", Who::Person, 1 + number % 4).await;
    }
    let all = paths(&site.get("?limit=250").await.expect(200));
    assert_eq!(all.len(), 23);
    for limit in [1, 2, 7, 22, 23, 24] {
        let mut read = Vec::new();
        loop {
            let page = site.get(&format!("?limit={limit}&offset={}", read.len())).await.expect(200);
            assert_eq!(totals(&page)[2], 56, "of the whole range, not of the page");
            read.extend(paths(&page));
            if page["hasMore"] == false {
                break;
            }
        }
        assert_eq!(read, all, "limit {limit}");
    }
    let beyond = site.get("?offset=23").await.expect(200);
    assert_eq!((paths(&beyond).len(), &beyond["hasMore"]), (0, &false.into()));
    assert_eq!(paths(&site.get("?offset=18446744073709551616").await.expect(200)).len(), 0);
}

async fn fifty_come_when_nobody_says_how_many(stage: &Stage) {
    let site = Site::new(stage).await;
    for number in 0..51 {
        site.saw(&format!("/{number}"), "2026-03-14T10:00:00Z", Who::Person, 1).await;
    }
    let page = site.get("").await.expect(200);
    assert_eq!((paths(&page).len(), &page["hasMore"]), (50, &true.into()));
}

/// Views that arrive while somebody reads on would move paths over the edges of his pages.
async fn what_arrives_meanwhile_neither_repeats_nor_hides_a_path(stage: &Stage) {
    let site = Site::new(stage).await;
    for number in 0..10 {
        site.saw(&format!("/{number}"), "2026-03-14T10:00:00Z", Who::Person, 20 - number).await;
    }
    let mut read = paths(&site.get("?limit=3").await.expect(200));
    for (offset, mover) in [(3, "/9"), (6, "/0"), (9, "/new")] {
        site.saw(mover, "2026-03-14T10:00:00Z", Who::Person, 100).await;
        let page = site.get(&format!("?limit=3&offset={offset}")).await.expect(200);
        assert_eq!(totals(&page)[2], 155, "the figures are of the same moment");
        read.extend(paths(&page));
    }
    assert_eq!(read, (0..10).map(|number| format!("/{number}")).collect::<Vec<_>>());
    assert_eq!(paths(&site.get("?limit=2").await), ["/0", "/9"], "who begins anew sees what is now");
}

/// Another key, another range: another order.
async fn an_order_is_kept_for_its_key_and_range_alone(stage: &Stage) {
    let site = Site::new(stage).await;
    for number in 0..4 {
        site.saw(&format!("/{number}"), "2026-03-14T10:00:00Z", Who::Person, 9 - number).await;
    }
    site.get("?limit=2").await.expect(200);
    site.saw("/3", "2026-03-14T10:00:00Z", Who::Person, 100).await;
    assert_eq!(paths(&site.get("?limit=2&offset=2").await), ["/2", "/3"]);
    assert_eq!(paths(&site.get("?limit=2&offset=2&dateFrom=2026-01-01").await), ["/1", "/2"]);
    let key = site.app.key(Some(&site.project.id), copydesk_domain::Scope::Read, None).await;
    let path = format!("/v1/analytics/{}/views?limit=2&offset=2", &site.project.id);
    let other = site.project.client().with_key(&key.secret).get(&path).send().await.expect(200);
    assert_eq!(paths(&other), ["/1", "/2"]);
}

behaviours!(
    pages_of_any_size_list_every_path_once,
    fifty_come_when_nobody_says_how_many,
    what_arrives_meanwhile_neither_repeats_nor_hides_a_path,
    an_order_is_kept_for_its_key_and_range_alone,
);
