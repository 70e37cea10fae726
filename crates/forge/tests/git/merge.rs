use copydesk_forge::{CommitId, ForgeErrorKind, Mirror};

use crate::sandbox::{NOW, Sandbox, put};

/// A commit on its own line of work over `main`, which then moves on.
async fn apart(sandbox: &Sandbox, ours: &[(&str, &str)], theirs: &[(&str, &str)]) -> (Mirror, CommitId, CommitId) {
    let mirror = sandbox.mirror().await;
    let start = mirror.fetch("main").await.unwrap();
    let changes: Vec<_> = ours.iter().map(|(path, text)| put(path, text)).collect();
    let work = mirror.commit(&start, &changes, "Work", NOW).unwrap();
    sandbox.write(theirs);
    sandbox.publish("more");
    let base = mirror.fetch("main").await.unwrap();
    (mirror, work, base)
}

fn text(mirror: &Mirror, commit: &CommitId, path: &str) -> String {
    String::from_utf8(mirror.tree(commit).unwrap().read(path).unwrap().unwrap()).unwrap()
}

#[tokio::test]
async fn changes_in_different_places_come_together() {
    let sandbox = Sandbox::with(&[("a.md", "1\n"), ("b.md", "1\n")]);
    let (mirror, work, base) = apart(&sandbox, &[("a.md", "ours\n")], &[("b.md", "theirs\n")]).await;
    assert!(!mirror.contains(&work, &base).await.unwrap());
    let merge = mirror.merge(&work, &base, "Merge", NOW).await.unwrap();
    assert!(merge.conflicts.is_empty());
    assert_eq!(text(&mirror, &merge.commit, "a.md"), "ours\n");
    assert_eq!(text(&mirror, &merge.commit, "b.md"), "theirs\n");
    assert_eq!(mirror.commit_info(&merge.commit).unwrap().parents, [work, base]);
    assert!(mirror.contains(&merge.commit, &base).await.unwrap());
    assert_eq!(mirror.merge(&work, &base, "Merge", NOW).await.unwrap(), merge, "the same again");
    mirror.push(&merge.commit, "x", None).await.unwrap();
    sandbox.remote(&["fsck", "--strict"]);
}

#[tokio::test]
async fn a_conflict_is_marked_and_its_marks_never_go_out() {
    let sandbox = Sandbox::with(&[("docs/a b.md", "1\n"), ("b.md", "1\n")]);
    let (mirror, work, base) =
        apart(&sandbox, &[("docs/a b.md", "ours\n")], &[("docs/a b.md", "theirs\n"), ("b.md", "2\n")]).await;
    let merge = mirror.merge(&work, &base, "Merge", NOW).await.unwrap();
    assert_eq!(merge.conflicts, ["docs/a b.md"]);
    let marked = format!("<<<<<<< {work}\nours\n=======\ntheirs\n>>>>>>> {base}\n");
    assert_eq!(text(&mirror, &merge.commit, "docs/a b.md"), marked);
    let resolved = mirror.resolve(&merge.commit, &[put("docs/a b.md", "both\n")], "Both", NOW).unwrap();
    assert_eq!(mirror.commit_info(&resolved).unwrap().parents, [work, base]);
    mirror.push(&resolved, "x", None).await.unwrap();
    assert_eq!(sandbox.remote(&["show", "x:docs/a b.md"]), "both\n");
    assert_eq!(sandbox.remote(&["show", "x:b.md"]), "2\n");
    assert!(!sandbox.remote(&["log", "-p", "-m", "x"]).contains("<<<<<<<"));
    sandbox.remote(&["fsck", "--strict"]);
}

#[tokio::test]
async fn histories_without_a_common_beginning_are_not_merged() {
    let sandbox = Sandbox::with(&[("a.md", "1\n")]);
    let mirror = sandbox.mirror().await;
    let start = mirror.fetch("main").await.unwrap();
    let work = mirror.commit(&start, &[put("a.md", "2\n")], "Work", NOW).unwrap();
    sandbox.work(&["checkout", "-q", "--orphan", "anew"]);
    sandbox.publish("anew");
    let base = mirror.fetch("main").await.unwrap();
    let error = mirror.merge(&work, &base, "Merge", NOW).await.unwrap_err();
    assert!(error.message.contains("shares no history"), "{error}");
    assert_eq!(error.kind, ForgeErrorKind::Lasting);
}

#[tokio::test]
async fn leave_to_push_is_asked_for_without_a_trace() {
    let sandbox = Sandbox::with(&[("a.md", "1\n")]);
    let mirror = sandbox.mirror().await;
    let before = sandbox.remote(&["for-each-ref"]);
    mirror.check_push().await.unwrap();
    assert_eq!(sandbox.remote(&["for-each-ref"]), before);
    std::fs::remove_dir_all(sandbox.path("remote.git")).unwrap();
    assert!(mirror.check_push().await.is_err());
}
