use std::sync::Arc;
use std::time::Duration;

use copydesk_forge::{Forge, Trouble};

use crate::sandbox::{NOW, Sandbox, put};

#[tokio::test(flavor = "multi_thread")]
async fn two_processes_make_and_fill_one_mirror() {
    let sandbox = Arc::new(Sandbox::with(&[("a.md", "1\n")]));
    let head = sandbox.publish("again");
    // Each forge stands for a process: they share nothing but the folder.
    let forges: Vec<_> = (0..6).map(|_| sandbox.forge()).collect();
    let fetches = forges.into_iter().map(|forge| {
        let sandbox = Arc::clone(&sandbox);
        tokio::spawn(async move {
            let mirror = forge.mirror(&sandbox.address()).await.unwrap();
            let head = mirror.fetch("main").await.unwrap();
            mirror.tree(&head).unwrap().read("a.md").unwrap().unwrap();
            head
        })
    });
    for fetch in fetches.collect::<Vec<_>>() {
        assert_eq!(fetch.await.unwrap(), head);
    }
    let left = std::fs::read_dir(sandbox.path("mirrors")).unwrap().count();
    assert_eq!(left, 2, "the mirror and its lock");
    sandbox.mirror_git(&["fsck", "--strict"]);
}

#[tokio::test]
async fn a_mirror_that_another_process_holds_is_not_waited_for_without_end() {
    let sandbox = Sandbox::with(&[("a.md", "1\n")]);
    let mut settings = sandbox.settings();
    settings.time_limit = Duration::from_millis(300);
    let mirror = Forge::new(settings).mirror(&sandbox.address()).await.unwrap();
    let lock = std::fs::File::open(sandbox.mirror_folder().with_extension("lock")).unwrap();
    lock.lock().unwrap();
    let error = mirror.fetch("main").await.unwrap_err();
    assert_eq!(error.trouble, Trouble::Passing);
    assert!(error.message.contains("another process"), "{error}");
    drop(lock);
    mirror.fetch("main").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn many_jobs_commit_and_push_at_once() {
    let sandbox = Arc::new(Sandbox::with(&[("a.md", "1\n")]));
    let mirror = sandbox.mirror().await;
    let base = mirror.fetch("main").await.unwrap();
    let jobs: Vec<_> = (0..6)
        .map(|number| {
            let mirror = mirror.clone();
            tokio::spawn(async move {
                let change = [put(&format!("d/{number}.md"), "x\n")];
                let commit = mirror.commit(&base, &change, "m", NOW).unwrap();
                mirror.push(&commit, &format!("copydesk/{number}"), None).await.unwrap();
            })
        })
        .collect();
    for job in jobs {
        job.await.unwrap();
    }
    assert_eq!(sandbox.remote(&["branch", "--list", "copydesk/*"]).lines().count(), 6);
    sandbox.remote(&["fsck", "--strict"]);
}
