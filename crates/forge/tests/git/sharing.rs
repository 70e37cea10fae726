use std::sync::Arc;
use std::time::Duration;

use copydesk_forge::ForgeErrorKind;

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
    assert_eq!(left, 3, "the mirror and its locks");
    sandbox.mirror_git(&["fsck", "--strict"]);
}

#[tokio::test]
async fn a_mirror_that_another_process_holds_is_not_waited_for_without_end() {
    let sandbox = Sandbox::with(&[("a.md", "1\n")]);
    let patient = sandbox.mirror().await;
    let lock = std::fs::File::open(sandbox.mirror_folder().with_extension("lock")).unwrap();
    lock.lock().unwrap();
    let hasty = sandbox.mirror_within(Duration::from_millis(300)).await;
    let error = hasty.fetch("main").await.unwrap_err();
    assert_eq!(error.kind, ForgeErrorKind::Passing);
    assert!(error.message.contains("another process"), "{error}");
    drop(lock);
    patient.fetch("main").await.unwrap();
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

#[tokio::test(flavor = "multi_thread")]
async fn pushes_to_one_repository_do_not_crowd_it() {
    use std::os::unix::fs::PermissionsExt;

    let sandbox = Sandbox::with(&[("a.md", "1\n")]);
    let (running, seen) = (sandbox.path("running"), sandbox.path("seen"));
    std::fs::create_dir(&running).unwrap();
    // Says how many pushes are at it at the same moment; slow, so that they would meet.
    let hook = sandbox.path("remote.git/hooks/pre-receive");
    let script = format!(
        "#!/bin/sh\ntouch '{0}'/$$\nls '{0}' | wc -l >> '{1}'\nsleep 0.2\nrm '{0}'/$$\n",
        running.display(),
        seen.display()
    );
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    std::fs::write(&hook, script).unwrap();
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mirror = sandbox.mirror().await;
    let base = mirror.fetch("main").await.unwrap();
    let pushes: Vec<_> = (0..12)
        .map(|number| {
            let mirror = mirror.clone();
            tokio::spawn(async move {
                let commit = mirror.commit(&base, &[put(&format!("d/{number}.md"), "x\n")], "m", NOW).unwrap();
                mirror.push(&commit, &format!("copydesk/{number}"), None).await.unwrap();
            })
        })
        .collect();
    for push in pushes {
        push.await.unwrap();
    }
    let counts = std::fs::read_to_string(&seen).unwrap();
    let most = counts.lines().map(|line| line.trim().parse::<usize>().unwrap()).max().unwrap();
    assert!((2..=4).contains(&most), "{most} at once: {counts:?}");
}
