//! The same answers with page views counted in ClickHouse, behind the same ledger. `COPYDESK_TEST_CLICKHOUSE_URL` names a
//! server; `scripts/test` starts one that is built on chDB.
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test that cannot be set up should stop at once")]

#[path = "clickhouse/place.rs"]
mod place;

use std::path::Path;
use std::sync::Arc;

use copydesk_domain::{Clock, SystemClock};
use copydesk_testbase::exact::{Keeper, config, play, steps};
use copydesk_views::store::ViewStore;
use copydesk_views_database::Database;
use place::Place;
use proptest::prelude::*;

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
