//! What is forgotten stays for some days, and what a wrong clock says is not believed at once.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use copydesk_domain::{Clock, Timestamp};
use copydesk_views::store::ViewStore;

use super::*;

const HOUR: i64 = 3_600_000;
const DAY: i64 = 24 * HOUR;

/// A clock that can be set without time passing.
#[derive(Debug)]
struct WrongClock {
    shown: AtomicI64,
    passed: AtomicI64,
}

impl WrongClock {
    fn new() -> Arc<Self> {
        Arc::new(Self { shown: AtomicI64::new(1_790_000_000_000), passed: AtomicI64::new(0) })
    }

    fn set(&self, by: i64) {
        self.shown.fetch_add(by, Ordering::SeqCst);
    }

    fn pass(&self, by: i64) {
        self.shown.fetch_add(by, Ordering::SeqCst);
        self.passed.fetch_add(by, Ordering::SeqCst);
    }
}

impl Clock for WrongClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.shown.load(Ordering::SeqCst))
    }

    fn uptime(&self) -> Duration {
        Duration::from_millis(self.passed.load(Ordering::SeqCst).unsigned_abs())
    }
}

fn total(store: &Embedded) -> u64 {
    store.ranking_now("p", always(BOTH)).unwrap().totals().total()
}

#[test]
fn what_was_forgotten_comes_back_within_days_and_not_after_them() {
    let folder = tempfile::tempdir().unwrap();
    let clock = ManualClock::new();
    let store = Embedded::open(folder.path(), small(&clock)).unwrap();
    for bucket in [10, 20, 30, 40] {
        store.append_now(batch("p", vec![view(bucket, "/a", 0, None)])).unwrap();
        store.settle().unwrap();
    }
    block_on(store.retain("p", Bucket(15))).unwrap();
    store.settle().unwrap();
    clock.advance_hours(4 * 24);
    block_on(store.retain("p", Bucket(35))).unwrap();
    store.settle().unwrap();
    assert_eq!(total(&store), 1);
    drop(store);
    // Restarts and merges leave it where it is.
    let store = Embedded::open(folder.path(), small(&clock)).unwrap();
    clock.advance_hours(4 * 24);
    block_on(store.retain("p", Bucket(35))).unwrap();
    store.settle().unwrap();
    assert_eq!(block_on(store.restore("p")).unwrap(), Some(Bucket(15)));
    assert_eq!(total(&store), 3, "the first was forgotten more than a week ago");
    block_on(store.retain("p", Bucket(35))).unwrap();
    assert_eq!(total(&store), 1);
    clock.advance_hours(8 * 24);
    block_on(store.retain("p", Bucket(35))).unwrap();
    store.settle().unwrap();
    assert_eq!(block_on(store.restore("p")).unwrap(), Some(Bucket(35)));
    assert_eq!(total(&store), 1);
}

#[test]
fn a_project_that_keeps_its_views_for_ever_again_gets_rid_of_what_it_had_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let clock = ManualClock::new();
    let store = Embedded::open(folder.path(), small(&clock)).unwrap();
    store.append_now(batch("p", vec![view(10, "/a", 0, None), view(40, "/a", 0, None)])).unwrap();
    store.settle().unwrap();
    block_on(store.retain("p", Bucket(35))).unwrap();
    let restorable = || {
        block_on(store.expire("p", 0)).unwrap();
        block_on(store.status("p")).unwrap().restorable
    };
    assert_eq!(restorable(), Some(Bucket::MIN));
    clock.advance_hours(8 * 24);
    assert_eq!(restorable(), None);
    assert_eq!(total(&store), 1);
}

#[test]
fn ids_are_known_through_a_wrong_clock() {
    let folder = tempfile::tempdir().unwrap();
    let clock = WrongClock::new();
    let open = || Embedded::open(folder.path(), Options::new(clock.clone() as Arc<dyn Clock>)).unwrap();
    let store = open();
    let tell =
        |store: &Embedded, id: &str| store.append_now(batch("p", vec![view(1, "/a", 0, Some(id))])).unwrap().counted;
    assert_eq!(tell(&store, "before"), 1);
    store.settle().unwrap();
    for leap in [120 * DAY, -240 * DAY, 120 * DAY] {
        clock.set(leap);
        assert_eq!(tell(&store, "before"), 0, "after a leap of {} days", leap / DAY);
        tell(&store, &format!("at {leap}"));
        store.settle().unwrap();
        clock.pass(HOUR);
    }
    drop(store);
    clock.set(120 * DAY);
    let store = open();
    assert_eq!(tell(&store, "before"), 0, "a store that is opened with a wrong clock goes on from its own time");
    clock.set(-120 * DAY);
    clock.pass(80 * HOUR);
    assert_eq!(tell(&store, "before"), 1, "after 72 hours an id may be told again");
}

#[test]
fn the_time_of_the_store_is_that_of_the_clock_unless_it_leaps() {
    let folder = tempfile::tempdir().unwrap();
    let clock = WrongClock::new();
    let store = Embedded::open(folder.path(), Options::new(clock.clone() as Arc<dyn Clock>)).unwrap();
    clock.pass(30 * DAY);
    assert_eq!(store.shared.notes.now(), clock.now());
    clock.set(120 * DAY);
    clock.pass(15_000);
    assert_eq!(store.shared.notes.now().as_millis(), clock.now().as_millis() - 120 * DAY);
}

/// The clock leaps for some hours at a time, views come in with whatever it shows, and every hour is looked what is old.
#[test]
fn however_the_clock_leaps_nothing_young_is_forgotten() {
    for seed in 0..6_i64 {
        let folder = tempfile::tempdir().unwrap();
        let clock = WrongClock::new();
        let mut store = Embedded::open(folder.path(), Options::new(clock.clone() as Arc<dyn Clock>)).unwrap();
        let mut off = 0;
        for hour in 0..24 * 40 {
            let truth = Timestamp::from_millis(clock.now().as_millis() - off);
            store.append_now(batch("p", vec![view(Bucket::of(clock.now()).0, "/a", 0, None)])).unwrap();
            let expired = block_on(store.expire("p", 20)).unwrap();
            let youngest = Bucket::of(truth.minus(Duration::from_secs((20 - 2) * 24 * 3600)));
            assert!(expired.floor.is_none_or(|floor| floor <= youngest), "seed {seed}, hour {hour}: {expired:?}");
            let leap = match (hour * 7 + seed * 13) % 29 {
                0 => 120 * DAY,
                9 => -30 * DAY,
                17 => 3 * DAY,
                5 | 13 | 20 => 0,
                _ => off,
            };
            clock.set(leap - off);
            off = leap;
            if (hour + seed) % 31 == 0 {
                drop(store);
                store = Embedded::open(folder.path(), Options::new(clock.clone() as Arc<dyn Clock>)).unwrap();
            }
            clock.pass(HOUR);
        }
        // It does forget: what is older than the days and the patience is gone.
        clock.set(-off);
        for _ in 0..20 {
            clock.pass(HOUR);
            block_on(store.expire("p", 20)).unwrap();
        }
        let floor = block_on(store.status("p")).unwrap().floor.unwrap();
        assert!(floor > Bucket::of(clock.now().minus(Duration::from_secs(24 * 24 * 3600))), "seed {seed}");
    }
}
