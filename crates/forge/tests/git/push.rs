use copydesk_forge::ForgeErrorKind;

use crate::sandbox::{NOW, Sandbox, put};

#[tokio::test]
async fn a_push_is_done_once_however_often_it_is_asked_for() {
    let sandbox = Sandbox::with(&[("a.md", "1\n")]);
    let mirror = sandbox.mirror().await;
    let base = mirror.fetch("main").await.unwrap();
    let commit = mirror.commit(&base, &[put("a.md", "2\n")], "Two", NOW).unwrap();
    for _ in 0..2 {
        mirror.push(&commit, "copydesk/x", None).await.unwrap();
        assert_eq!(sandbox.remote(&["rev-parse", "copydesk/x"]).trim(), commit.to_string());
    }
    assert_eq!(mirror.find_branch("copydesk/x").await.unwrap(), Some(commit));
    let next = mirror.commit(&commit, &[put("a.md", "3\n")], "Three", NOW).unwrap();
    for _ in 0..2 {
        mirror.push(&next, "copydesk/x", Some(&commit)).await.unwrap();
        assert_eq!(sandbox.remote(&["rev-parse", "copydesk/x"]).trim(), next.to_string());
    }
    assert_eq!(sandbox.remote(&["show", "copydesk/x:a.md"]), "3\n");
    sandbox.remote(&["fsck", "--strict"]);
}

#[tokio::test]
async fn a_branch_that_somebody_else_has_moved_is_left_alone() {
    let sandbox = Sandbox::with(&[("a.md", "1\n")]);
    let mirror = sandbox.mirror().await;
    let base = mirror.fetch("main").await.unwrap();
    let commit = mirror.commit(&base, &[put("a.md", "2\n")], "Two", NOW).unwrap();
    let other = mirror.commit(&base, &[put("a.md", "other\n")], "Other", NOW).unwrap();
    mirror.push(&other, "x", None).await.unwrap();
    assert_eq!(mirror.push(&commit, "x", None).await.unwrap_err().kind, ForgeErrorKind::Moved);
    assert_eq!(mirror.push(&commit, "x", Some(&base)).await.unwrap_err().kind, ForgeErrorKind::Moved);
    assert_eq!(mirror.push(&commit, "gone", Some(&base)).await.unwrap_err().kind, ForgeErrorKind::Moved);
    assert_eq!(sandbox.remote(&["rev-parse", "x"]).trim(), other.to_string());
    assert_eq!(mirror.find_branch("gone").await.unwrap(), None);
}

#[tokio::test]
async fn a_commit_that_another_pushed_to_our_branch_can_be_read() {
    let sandbox = Sandbox::with(&[("a.md", "1\n")]);
    let mirror = sandbox.mirror().await;
    let base = mirror.fetch("main").await.unwrap();
    let commit = mirror.commit(&base, &[put("a.md", "2\n")], "Two", NOW).unwrap();
    mirror.push(&commit, "x", None).await.unwrap();
    sandbox.work(&["fetch", "-q", "../remote.git", "x"]);
    sandbox.work(&["checkout", "-q", "FETCH_HEAD"]);
    sandbox.write(&[("a.md", "by hand\n")]);
    sandbox.work(&["commit", "-qam", "By hand"]);
    sandbox.work(&["push", "-q", "../remote.git", "HEAD:x"]);
    let tip = mirror.find_branch("x").await.unwrap().unwrap();
    assert_eq!(mirror.tree(&tip).unwrap().read("a.md").unwrap().unwrap(), b"by hand\n");
    let info = mirror.commit_info(&tip).unwrap();
    assert_eq!((info.parents, info.message.as_str()), (vec![commit], "By hand\n"));
}

#[tokio::test]
async fn a_branch_name_that_cannot_be_is_no_reason_to_try_again() {
    let sandbox = Sandbox::with(&[("a.md", "1\n")]);
    sandbox.remote(&["branch", "copydesk", "main"]);
    let mirror = sandbox.mirror().await;
    let base = mirror.fetch("main").await.unwrap();
    let commit = mirror.commit(&base, &[put("a.md", "2\n")], "Two", NOW).unwrap();
    let error = mirror.push(&commit, "copydesk/x", None).await.unwrap_err();
    assert_eq!(error.kind, ForgeErrorKind::Lasting, "{error}");
    assert!(error.message.starts_with("the repository's host rejects the push: "), "{error}");
}

#[tokio::test]
async fn a_busy_remote_is_tried_again() {
    let sandbox = Sandbox::with(&[("a.md", "1\n")]);
    let mirror = sandbox.mirror().await;
    let base = mirror.fetch("main").await.unwrap();
    let commit = mirror.commit(&base, &[put("a.md", "2\n")], "Two", NOW).unwrap();
    std::fs::write(sandbox.path("remote.git/refs/heads/x.lock"), "").unwrap();
    let error = mirror.push(&commit, "x", None).await.unwrap_err();
    assert_eq!(error.kind, ForgeErrorKind::Passing, "{error}");
    std::fs::remove_file(sandbox.path("remote.git/refs/heads/x.lock")).unwrap();
    mirror.push(&commit, "x", None).await.unwrap();
}

#[tokio::test]
async fn the_words_of_a_host_that_rejects_are_passed_on_in_part() {
    let sandbox = Sandbox::with(&[("a.md", "1\n")]);
    let hook = sandbox.path("remote.git/hooks/pre-receive");
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    std::fs::write(&hook, "#!/bin/sh\necho 'protected: ask Ann'\nyes long | head -c 5000\nexit 1\n").unwrap();
    make_executable(&hook);
    let mirror = sandbox.mirror().await;
    let base = mirror.fetch("main").await.unwrap();
    let commit = mirror.commit(&base, &[put("a.md", "2\n")], "Two", NOW).unwrap();
    let error = mirror.push(&commit, "x", None).await.unwrap_err();
    assert_eq!(error.kind, ForgeErrorKind::Lasting);
    assert!(error.message.contains("pre-receive hook declined"), "{error}");
    assert!(error.message.contains("protected: ask Ann"), "{error}");
    assert!(error.message.len() < 1000, "{}", error.message.len());
}

pub fn make_executable(path: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}
