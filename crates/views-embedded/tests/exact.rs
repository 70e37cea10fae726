//! Every answer of the embedded store is that of the list of events.
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test that cannot be set up should stop at once")]

use std::path::Path;
use std::sync::Arc;

use copydesk_domain::Clock;
use copydesk_testbase::exact::{Keeper, config, play, steps};
use copydesk_views::store::ViewStore;
use copydesk_views_embedded::{Embedded, Options};
use proptest::prelude::*;
use tempfile::TempDir;

/// How much memory a store has: too little for anything, little, or plenty.
#[derive(Debug, Clone, Copy)]
struct Memory {
    table: usize,
    loaded: usize,
    log: u64,
}

/// The store that needs no server.
struct InAFolder(Memory);

impl Keeper for InAFolder {
    type Store = Embedded;
    type Place = TempDir;

    async fn place(&self) -> TempDir {
        tempfile::tempdir().expect("a folder")
    }

    async fn open(&self, place: &TempDir, clock: Arc<dyn Clock>) -> Vec<Arc<Embedded>> {
        let mut options = Options::new(clock);
        options.memory_table_bytes = self.0.table;
        options.loaded_bytes = self.0.loaded;
        options.wal_bytes = self.0.log;
        vec![Embedded::open(place.path(), options).expect("the folder is free")]
    }

    async fn close(&self, store: &Embedded) {
        store.close();
    }

    async fn settle(&self, store: &Embedded) {
        store.settle().expect("the disk is well");
    }

    async fn restored(&self, copy: &Path) -> TempDir {
        let moved = self.place().await;
        std::fs::remove_dir(moved.path()).and_then(|()| std::fs::rename(copy, moved.path())).expect("moved");
        moved
    }

    async fn leave(&self, place: TempDir) {
        drop(place);
    }
}

fn memories() -> impl Strategy<Value = Memory> {
    prop_oneof![
        3 => Just(Memory { table: 1, loaded: 1, log: 1 }),
        3 => Just(Memory { table: 20_000, loaded: 30_000, log: 50_000 }),
        1 => Just(Memory { table: 1 << 26, loaded: 1 << 26, log: 1 << 26 }),
    ]
}

proptest! {
    #![proptest_config(config(40))]

    #[test]
    fn every_answer_is_that_of_the_list(memory in memories(), steps in steps()) {
        play(&InAFolder(memory), &steps);
    }
}

#[test]
fn what_was_never_heard_of_has_nothing() {
    let keeper = InAFolder(Memory { table: 1 << 20, loaded: 1 << 20, log: 1 << 20 });
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
    runtime.block_on(async {
        let place = keeper.place().await;
        let store = keeper.open(&place, Arc::new(copydesk_domain::SystemClock)).await.remove(0);
        assert_eq!(store.status("nobody").await.unwrap(), Default::default());
        assert!(store.clients("nobody").await.unwrap().is_empty());
        assert!(store.projects().await.unwrap().is_empty());
        assert!(store.marks("nobody", "log").await.unwrap().is_empty());
    });
}
