//! Every answer of a view store, held against a list of events that is looked through for every question.

mod model;
mod play;
mod strategy;

use std::path::Path;
use std::sync::Arc;

use copydesk_domain::Clock;
use copydesk_views::store::ViewStore;
use copydesk_views_embedded::{Embedded, Options};
use proptest::prelude::*;

use play::{Keeper, play};

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

    fn open(&self, folder: &Path, clock: Arc<dyn Clock>) -> Arc<Embedded> {
        let mut options = Options::new(clock);
        options.memory_table_bytes = self.0.table;
        options.loaded_bytes = self.0.loaded;
        options.wal_bytes = self.0.log;
        Embedded::open(folder, options).expect("the folder is free")
    }

    fn close(&self, store: &Embedded) {
        store.close();
    }

    fn settle(&self, store: &Embedded) {
        store.settle().expect("the disk is well");
    }
}

fn memories() -> impl Strategy<Value = Memory> {
    prop_oneof![
        3 => Just(Memory { table: 1, loaded: 1, log: 1 }),
        3 => Just(Memory { table: 20_000, loaded: 30_000, log: 50_000 }),
        1 => Just(Memory { table: 1 << 26, loaded: 1 << 26, log: 1 << 26 }),
    ]
}

/// A few, unless more are asked for.
fn config() -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(40);
    ProptestConfig { cases, max_shrink_iters: 300, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn every_answer_is_that_of_the_list(memory in memories(), steps in strategy::steps()) {
        play(&InAFolder(memory), &steps);
    }
}

#[test]
fn what_was_never_heard_of_has_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let keeper = InAFolder(Memory { table: 1 << 20, loaded: 1 << 20, log: 1 << 20 });
    let store = keeper.open(folder.path(), Arc::new(copydesk_domain::SystemClock));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
    runtime.block_on(async {
        assert_eq!(store.status("nobody").await.unwrap(), Default::default());
        assert!(store.clients("nobody").await.unwrap().is_empty());
        assert!(store.projects().await.unwrap().is_empty());
        assert!(store.marks("nobody", "log").await.unwrap().is_empty());
    });
}
