use std::fs;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::{Duration, Instant};

use copydesk_views::store::{ViewStore, ViewsError};

use super::*;
use crate::disk::{Disk, RealDisk, Written};
use crate::embedded::block_on;
use crate::wal;

#[derive(Default)]
pub(super) struct Bad {
    wal_sync: AtomicBool,
    wal_remove: AtomicBool,
    ids: AtomicBool,
    dead: AtomicBool,
    projects: AtomicBool,
    switch: AtomicBool,
}
fn bad() -> io::Error {
    io::Error::other("fault")
}
impl Bad {
    /// Whether no manifest can be written.
    pub(super) fn refuse_manifests(&self, refuse: bool) {
        self.switch.store(refuse, SeqCst);
    }

    fn d(&self) -> io::Result<()> {
        if self.dead.load(SeqCst) { Err(bad()) } else { Ok(()) }
    }
}
impl Disk for Bad {
    fn create(&self, p: &Path) -> io::Result<Written> {
        self.d()?;
        if self.switch.load(SeqCst) && p.ends_with("manifest.new") {
            return Err(bad());
        }
        RealDisk.create(p)
    }
    fn reopen(&self, p: &Path) -> io::Result<Written> {
        self.d()?;
        RealDisk.reopen(p)
    }
    fn append(&self, t: &Written, b: &[u8]) -> io::Result<()> {
        self.d()?;
        RealDisk.append(t, b)
    }
    fn sync(&self, f: &Written) -> io::Result<()> {
        self.d()?;
        RealDisk.sync(f)
    }
    fn truncate(&self, f: &Written, b: u64) -> io::Result<()> {
        self.d()?;
        RealDisk.truncate(f, b)
    }
    fn rename(&self, a: &Path, b: &Path) -> io::Result<()> {
        self.d()?;
        if self.ids.load(SeqCst) && b.extension().is_some_and(|e| e == "ids") {
            return Err(bad());
        }
        RealDisk.rename(a, b)
    }
    fn sync_folder(&self, p: &Path) -> io::Result<()> {
        self.d()?;
        if self.wal_sync.load(SeqCst) && p.ends_with("wal") {
            return Err(bad());
        }
        if self.projects.load(SeqCst) && p.ends_with("projects") {
            return Err(bad());
        }
        RealDisk.sync_folder(p)
    }
    fn remove(&self, p: &Path) -> io::Result<()> {
        self.d()?;
        if self.wal_remove.load(SeqCst) && p.extension().is_some_and(|e| e == "wal") {
            return Err(bad());
        }
        RealDisk.remove(p)
    }
    fn create_folder(&self, p: &Path) -> io::Result<()> {
        self.d()?;
        RealDisk.create_folder(p)
    }
    fn remove_folder(&self, p: &Path) -> io::Result<()> {
        self.d()?;
        RealDisk.remove_folder(p)
    }
}
fn count(store: &Embedded, p: &str) -> u64 {
    store.ranking_now(p, always(BOTH)).unwrap().totals().human
}
fn logs(folder: &Path) -> Vec<(String, u64)> {
    let mut v: Vec<_> = fs::read_dir(folder.join("wal"))
        .unwrap()
        .map(|e| {
            let e = e.unwrap();
            (e.file_name().into_string().unwrap(), e.metadata().unwrap().len())
        })
        .collect();
    v.sort();
    v
}

/// A failed rotation leaves a header that bounds the old file, which then grows.
#[test]
fn r1_failed_rotation() {
    let folder = tempfile::tempdir().unwrap();
    let disk = Arc::new(Bad::default());
    // wal_bytes 16 KiB: files of 4096 bytes; memory large so nothing flushes.
    let options = Options { wal_bytes: 16 * 1024, ..Options::new(ManualClock::new()) };
    let store = Embedded::open_on(disk.clone(), folder.path(), options).unwrap();
    store.append_now(batch("p", vec![view(1, "/a", 0, None)])).unwrap();
    disk.wal_sync.store(true, SeqCst);
    disk.wal_remove.store(true, SeqCst); // or: removed, not synced, power lost
    let mut acked = 1;
    let many = |n: u32| (0..200).map(|i| view(n * 200 + i, &format!("/{i}"), 0, None)).collect::<Vec<_>>();
    for n in 0..3 {
        disk.wal_remove.store(n == 0, SeqCst);
        if let Ok(a) = store.append_now(batch("p", many(n))) {
            acked += a.counted;
        }
    }
    println!("acked {acked} live {} {:?}", count(&store, "p"), logs(folder.path()));
    disk.dead.store(true, SeqCst); // SIGKILL
    drop(store);
    let store = open(folder.path());
    assert_eq!(count(&store, "p"), acked);
}

/// A damaged header of one file bounds the intact one before it.
#[test]
fn r2_bound_of_another_file() {
    let folder = tempfile::tempdir().unwrap();
    let disk = Arc::new(Bad::default());
    let options = Options { wal_bytes: 1 << 20, ..Options::new(ManualClock::new()) };
    let mut total = 0;
    // three sessions, each a file; sizes 3 records, 1 record, 1 record
    for records in [5, 1, 1] {
        disk.dead.store(false, SeqCst);
        let store = Embedded::open_on(disk.clone(), folder.path(), options.clone()).unwrap();
        for n in 0..records {
            store.append_now(batch("p", vec![view(n, "/a", 0, None)])).unwrap();
            total += 1;
        }
        disk.dead.store(true, SeqCst);
        drop(store);
    }
    println!("{:?}", logs(folder.path()));
    let second = wal::path(&folder.path().join("wal"), 2);
    let mut bytes = fs::read(&second).unwrap();
    bytes[20] ^= 1;
    fs::write(&second, bytes).unwrap();
    let store = open(folder.path());
    assert_eq!(count(&store, "p"), total, "a header is there twice");
    drop(store);
    let mut bytes = fs::read(&second).unwrap_or_default();
    if bytes.len() > 64 {
        // Both are damaged: records say by themselves whose they are.
        bytes[64] ^= 1;
        fs::write(&second, bytes).unwrap();
    }
    assert_eq!(count(&open(folder.path()), "p"), total);
}

/// While a backup holds the log, nothing is flushed.
#[test]
fn r3_backup_stalls() {
    let folder = tempfile::tempdir().unwrap();
    let store = Embedded::open(folder.path(), small(&ManualClock::new())).unwrap();
    let held = store.shared.log.hold(); // what a backup does for as long as it copies
    let begin = Instant::now();
    for n in 0..40 {
        let at = Instant::now();
        let views = (0..200).map(|i| view(n * 200 + i, &format!("/{i}"), 0, None)).collect();
        let r = store.append_now(batch("p", views));
        if r.is_err() || at.elapsed() > Duration::from_secs(1) {
            println!("append {n}: {:?} {:?}", at.elapsed(), r);
            break;
        }
    }
    drop(held);
    assert!(begin.elapsed() < Duration::from_secs(60));
}

/// Files that a failed flush leaves behind.
#[test]
fn r4_leak() {
    let folder = tempfile::tempdir().unwrap();
    let disk = Arc::new(Bad::default());
    let store = Embedded::open_on(disk.clone(), folder.path(), Options::new(ManualClock::new())).unwrap();
    store.append_now(batch("p", vec![view(1, "/a", 0, Some("x"))])).unwrap();
    disk.ids.store(true, SeqCst);
    for _ in 0..10 {
        assert!(store.settle().is_err());
    }
    disk.ids.store(false, SeqCst);
    store.settle().unwrap();
    let files: Vec<_> =
        fs::read_dir(folder.path().join("projects/p")).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(files.len(), 3, "{files:?}");
}

/// Merge whose manifest cannot be written.
#[test]
fn r4b_leak_merge() {
    let folder = tempfile::tempdir().unwrap();
    let disk = Arc::new(Bad::default());
    let store = Embedded::open_on(disk.clone(), folder.path(), Options::new(ManualClock::new())).unwrap();
    store.append_now(batch("p", vec![view(1, "/a", 2, Some("x"))])).unwrap();
    store.settle().unwrap();
    disk.switch.store(true, SeqCst);
    for _ in 0..10 {
        assert!(block_on(store.relabel("p", steps::change(2, copydesk_views::Class::OtherBot))).is_err());
    }
    disk.switch.store(false, SeqCst);
    store.settle().unwrap();
    let files: Vec<_> =
        fs::read_dir(folder.path().join("projects/p")).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(files.len(), 3, "{files:?}");
}

/// A manifest that cannot be read for a moment while the log is read.
#[test]
fn r5_transient() {
    let folder = tempfile::tempdir().unwrap();
    let disk = Arc::new(Bad::default());
    let store = Embedded::open_on(disk.clone(), folder.path(), Options::new(ManualClock::new())).unwrap();
    store.append_now(batch("p", vec![view(1, "/a", 0, None)])).unwrap();
    store.settle().unwrap();
    store.append_now(batch("p", vec![view(1, "/a", 0, None)])).unwrap();
    disk.dead.store(true, SeqCst);
    drop(store);
    let manifest = folder.path().join("projects/p/manifest");
    let aside = folder.path().join("aside");
    fs::rename(&manifest, &aside).unwrap();
    fs::create_dir(&manifest).unwrap(); // any error that is not ENOENT: EIO, EMFILE, ENOMEM
    let store = Embedded::open(folder.path(), Options::new(ManualClock::new()));
    fs::remove_dir(&manifest).unwrap();
    fs::rename(&aside, &manifest).unwrap();
    let store = match store {
        Ok(store) => store,
        Err(e) => {
            println!("refused: {e}");
            return;
        }
    };
    println!("{:?}", store.append_now(batch("p", vec![view(1, "/a", 0, None)])));
    drop(store);
    assert_eq!(count(&open(folder.path()), "p"), 3);
}

/// The folder of a project is made, its name cannot be synced: does the next try sync it?
#[test]
fn r6_make_folder() {
    struct Count(std::sync::atomic::AtomicUsize, Bad);
    impl Disk for Count {
        fn create(&self, p: &Path) -> io::Result<Written> {
            self.1.create(p)
        }
        fn reopen(&self, p: &Path) -> io::Result<Written> {
            self.1.reopen(p)
        }
        fn append(&self, t: &Written, b: &[u8]) -> io::Result<()> {
            self.1.append(t, b)
        }
        fn sync(&self, f: &Written) -> io::Result<()> {
            self.1.sync(f)
        }
        fn truncate(&self, f: &Written, b: u64) -> io::Result<()> {
            self.1.truncate(f, b)
        }
        fn rename(&self, a: &Path, b: &Path) -> io::Result<()> {
            self.1.rename(a, b)
        }
        fn sync_folder(&self, p: &Path) -> io::Result<()> {
            self.1.sync_folder(p)?;
            if p.ends_with("projects") {
                self.0.fetch_add(1, SeqCst);
            }
            Ok(())
        }
        fn remove(&self, p: &Path) -> io::Result<()> {
            self.1.remove(p)
        }
        fn create_folder(&self, p: &Path) -> io::Result<()> {
            self.1.create_folder(p)
        }
        fn remove_folder(&self, p: &Path) -> io::Result<()> {
            self.1.remove_folder(p)
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let disk = Arc::new(Count(Default::default(), Bad::default()));
    let store = Embedded::open_on(disk.clone(), folder.path(), Options::new(ManualClock::new())).unwrap();
    store.append_now(batch("p", vec![view(1, "/a", 0, None)])).unwrap();
    disk.1.projects.store(true, SeqCst);
    assert!(store.settle().is_err());
    disk.1.projects.store(false, SeqCst);
    store.settle().unwrap();
    assert!(disk.0.load(SeqCst) > 0, "views were flushed into a folder whose name was never synced");
}

/// A closed store must not touch the folder.
#[test]
fn r7_closed() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    store.append_now(batch("p", vec![view(1, "/a", 0, None)])).unwrap();
    store.close();
    let other = open(folder.path());
    store.shared.in_memory();
    let stray = folder.path().join("projects/p/9.seg.new.tmp");
    fs::write(&stray, "what the new holder is writing").unwrap();
    store.shared.evict();
    let q = folder.path().join("projects/q");
    drop(other);
    let other = open(folder.path());
    other.append_now(batch("q", vec![view(1, "/a", 0, None)])).unwrap();
    other.settle().unwrap();
    let stray = q.join("9.seg.new.tmp");
    fs::write(&stray, "what the new holder is writing").unwrap();
    let r: Result<(), ViewsError> = block_on(store.backup(&folder.path().join("copy")));
    println!("{r:?}");
    assert!(stray.exists(), "a closed store removed a file of the one that has the folder now");
}

/// Any prefix of the changes of names may be on disk after a loss of power; the folder was never synced.
#[test]
fn r1b_power() {
    let folder = tempfile::tempdir().unwrap();
    let disk = Arc::new(Bad::default());
    let options = Options { wal_bytes: 16 * 1024, ..Options::new(ManualClock::new()) };
    let store = Embedded::open_on(disk.clone(), folder.path(), options).unwrap();
    store.append_now(batch("p", vec![view(1, "/a", 0, None)])).unwrap();
    disk.wal_sync.store(true, SeqCst);
    let many = |n: u32| (0..200).map(|i| view(n * 200 + i, &format!("/{i}"), 0, None)).collect::<Vec<_>>();
    disk.wal_remove.store(true, SeqCst);
    store.append_now(batch("p", many(0))).unwrap();
    let stray = wal::path(&folder.path().join("wal"), 2);
    let made = fs::read(&stray).unwrap();
    fs::remove_file(&stray).unwrap(); // as the store would have done
    disk.wal_remove.store(false, SeqCst);
    let acked = 201 + store.append_now(batch("p", many(1))).map_or(0, |appended| appended.counted);
    disk.dead.store(true, SeqCst);
    drop(store);
    println!("{:?}", logs(folder.path()));
    fs::write(&stray, made).unwrap(); // the creation reached the disk, the removal did not
    assert_eq!(count(&open(folder.path()), "p"), acked);
}
