//! Every answer of the store in a database is that of the list of events, with three of them open on one database.
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test that cannot be set up should stop at once")]

use std::path::Path;
use std::sync::Arc;

use copydesk_domain::{Clock, SystemClock};
use copydesk_testbase::exact::{Keeper, config, play, steps};
use copydesk_testbase::{Backend, TestDatabase};
use copydesk_views::store::ViewStore;
use copydesk_views_database::{Database, Options};
use proptest::prelude::*;

/// So many servers on one database.
struct InADatabase(usize);

impl Keeper for InADatabase {
    type Store = Database;
    type Place = TestDatabase;

    async fn place(&self) -> TestDatabase {
        TestDatabase::new(Backend::Postgres).await
    }

    async fn open(&self, place: &TestDatabase, clock: Arc<dyn Clock>) -> Vec<Arc<Database>> {
        let mut stores = Vec::new();
        for _ in 0..self.0 {
            let options = Options { connections: 2, follows_database: false, ..Options::new(clock.clone()) };
            stores.push(Database::open(&place.url(), options).await.expect("the database answers"));
        }
        stores
    }

    async fn close(&self, store: &Database) {
        store.close().await;
    }

    async fn settle(&self, _: &Database) {}

    async fn restored(&self, copy: &Path) -> TestDatabase {
        let place = self.place().await;
        let store = self.open(&place, Arc::new(SystemClock)).await.remove(0);
        store.fill_from(copy).await.expect("a whole copy");
        store.close().await;
        place
    }

    async fn leave(&self, place: TestDatabase) {
        place.destroy().await;
    }
}

proptest! {
    #![proptest_config(config(16))]

    #[test]
    fn every_answer_is_that_of_the_list(steps in steps()) {
        play(&InADatabase(3), &steps);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_never_heard_of_has_nothing() {
    let keeper = InADatabase(1);
    let place = keeper.place().await;
    let store = keeper.open(&place, Arc::new(SystemClock)).await.remove(0);
    assert_eq!(store.status("nobody").await.unwrap(), Default::default());
    assert!(store.clients("nobody").await.unwrap().is_empty());
    assert!(store.projects().await.unwrap().is_empty());
    assert!(store.marks("nobody", "log").await.unwrap().is_empty());
}
