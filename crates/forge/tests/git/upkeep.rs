use std::fs::File;
use std::pin::pin;
use std::sync::mpsc;
use std::task::{Context, Waker};
use std::time::Duration;

use copydesk_forge::Forge;

use crate::sandbox::{NOW, Sandbox, put};

/// Makes a file of the mirror look so many days older.
fn age(sandbox: &Sandbox, name: &str, days: u64) {
    let file = File::options().append(true).open(sandbox.mirror_folder().join(name)).unwrap();
    let now = file.metadata().unwrap().modified().unwrap();
    file.set_modified(now - Duration::from_secs(days * 24 * 3600)).unwrap();
}

fn packs(sandbox: &Sandbox) -> usize {
    let entries = std::fs::read_dir(sandbox.mirror_folder().join("objects/pack")).unwrap();
    entries.filter(|entry| entry.as_ref().unwrap().path().extension().is_some_and(|kind| kind == "pack")).count()
}

fn mirrors(sandbox: &Sandbox) -> Vec<String> {
    let entries = std::fs::read_dir(sandbox.path("mirrors")).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[tokio::test]
async fn a_mirror_is_packed_once_a_day_and_while_nobody_uses_it() {
    let sandbox = Sandbox::with(&[("docs/a.md", "A\n")]);
    let (forge, address) = (sandbox.forge(), sandbox.address().address);
    let mirror = forge.mirror(&sandbox.address()).await.unwrap();
    let first = mirror.fetch("main").await.unwrap();
    for number in 0..5 {
        sandbox.write(&[("docs/a.md", &format!("{number}\n"))]);
        sandbox.publish("more");
        mirror.fetch("main").await.unwrap();
    }
    // What a job has committed is kept, though no reference leads to it.
    let of_job = mirror.commit(&first, &[put("docs/b.md", "B\n")], "By a job", NOW).unwrap();
    let before = packs(&sandbox);
    assert!(before > 1);
    assert!(!forge.pack_mirror(&address).await.unwrap(), "it was made today");
    age(&sandbox, "HEAD", 2);
    assert!(!forge.pack_mirror(&address).await.unwrap(), "somebody uses it");
    drop(mirror);
    let elsewhere = sandbox.forge();
    let used = elsewhere.mirror(&sandbox.address()).await.unwrap();
    assert!(!forge.pack_mirror(&address).await.unwrap(), "another process uses it");
    drop(used);
    assert!(forge.pack_mirror(&address).await.unwrap());
    assert_eq!(packs(&sandbox), 1);
    assert!(!forge.pack_mirror(&address).await.unwrap(), "it was done today");
    let mirror = sandbox.forge().mirror(&sandbox.address()).await.unwrap();
    assert!(mirror.has_commit(&first) && mirror.has_commit(&of_job));
    let tip = mirror.fetch("main").await.unwrap();
    assert_eq!(mirror.tree(&tip).unwrap().read("docs/a.md").unwrap().unwrap(), b"4\n");
    drop(mirror);

    // After a long time it is dropped.
    let loose =
        sandbox.mirror_folder().join(format!("objects/{}/{}", &of_job.to_string()[..2], &of_job.to_string()[2..]));
    age(&sandbox, loose.to_str().unwrap(), 40);
    age(&sandbox, "copydesk-packed", 2);
    let forge = sandbox.forge();
    assert!(forge.pack_mirror(&address).await.unwrap());
    assert!(!forge.mirror(&sandbox.address()).await.unwrap().has_commit(&of_job));
}

#[tokio::test]
async fn a_mirror_that_is_removed_leaves_nothing_and_is_made_again() {
    let sandbox = Sandbox::with(&[("docs/a.md", "A\n")]);
    let (forge, address) = (sandbox.forge(), sandbox.address().address);
    let name = Forge::mirror_name(&address);
    assert!(forge.mirrors().unwrap().is_empty());
    let mirror = forge.mirror(&sandbox.address()).await.unwrap();
    mirror.fetch("main").await.unwrap();
    assert_eq!(forge.mirrors().unwrap().into_iter().collect::<Vec<_>>(), std::slice::from_ref(&name));
    assert!(!forge.remove_mirror(&name).await.unwrap(), "somebody uses it");
    drop(mirror);
    let held = File::open(sandbox.path("mirrors").join(format!("{name}.lock"))).unwrap();
    held.lock().unwrap();
    assert!(!forge.remove_mirror(&name).await.unwrap(), "another process is at it");
    drop(held);
    let elsewhere = sandbox.forge();
    let used = elsewhere.mirror(&sandbox.address()).await.unwrap();
    assert!(!forge.remove_mirror(&name).await.unwrap(), "another process uses it");
    let both = [used.clone(), elsewhere.mirror(&sandbox.address()).await.unwrap()];
    drop(used);
    assert!(!forge.remove_mirror(&name).await.unwrap(), "it still does");
    drop(both);
    // One that has it open without using it finds out and goes on.
    assert!(forge.remove_mirror(&name).await.unwrap());
    assert!(mirrors(&sandbox).is_empty(), "{:?}", mirrors(&sandbox));
    let open = elsewhere.mirror(&sandbox.address()).await.unwrap();
    sandbox.write(&[("docs/a.md", "B\n")]);
    let tip = sandbox.publish("more");
    assert_eq!(open.fetch("main").await.unwrap(), tip);
    assert_eq!(open.tree(&tip).unwrap().read("docs/a.md").unwrap().unwrap(), b"B\n");
}

#[tokio::test]
async fn a_lock_that_is_let_go_at_once_is_waited_for() {
    let sandbox = Sandbox::with(&[("docs/a.md", "A\n")]);
    let (forge, name) = (sandbox.forge(), Forge::mirror_name(&sandbox.address().address));
    forge.mirror(&sandbox.address()).await.unwrap();
    for lock in ["lock", "use"] {
        let held = File::open(sandbox.path("mirrors").join(format!("{name}.{lock}"))).unwrap();
        held.lock().unwrap();
        let mut removed = pin!(forge.remove_mirror(&name));
        assert!(removed.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        drop(held);
        assert!(removed.await.unwrap());
        forge.mirror(&sandbox.address()).await.unwrap();
    }
}

#[test]
fn a_mirror_is_removed_beside_the_other_work() {
    let one_thread = tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(1).build();
    one_thread.unwrap().block_on(async {
        let sandbox = Sandbox::with(&[("docs/a.md", "A\n")]);
        let (forge, name) = (sandbox.forge(), Forge::mirror_name(&sandbox.address().address));
        forge.mirror(&sandbox.address()).await.unwrap().fetch("main").await.unwrap();
        // The only thread for work that takes long is taken.
        let (release, held) = mpsc::channel::<()>();
        let taken = tokio::task::spawn_blocking(move || held.recv());
        let mut removed = pin!(forge.remove_mirror(&name));
        let polled = removed.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(polled.is_pending() && !mirrors(&sandbox).is_empty(), "the thread of the other work is held up");
        release.send(()).unwrap();
        assert!(removed.await.unwrap() && mirrors(&sandbox).is_empty());
        taken.await.unwrap().unwrap();
    });
}

#[tokio::test]
async fn what_somebody_else_has_put_there_is_no_mirror() {
    let sandbox = Sandbox::with(&[("docs/a.md", "A\n")]);
    let forge = sandbox.forge();
    forge.mirror(&sandbox.address()).await.unwrap();
    let name = Forge::mirror_name(&sandbox.address().address);
    let foreign =
        ["README.md", ".gitkeep", "docs.git", "notes-1.lock", &format!("{name}.bak"), &name[1..].to_uppercase()];
    for name in foreign {
        std::fs::write(sandbox.path("mirrors").join(name), "").unwrap();
    }
    assert_eq!(forge.mirrors().unwrap().into_iter().collect::<Vec<_>>(), std::slice::from_ref(&name));
    assert!(forge.remove_mirror(&name).await.unwrap());
    assert!(forge.mirrors().unwrap().is_empty());
    assert_eq!(mirrors(&sandbox).len(), foreign.len(), "{:?}", mirrors(&sandbox));
}
