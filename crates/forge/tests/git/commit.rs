use std::collections::BTreeMap;

use copydesk_forge::{FileChange, Mirror, Workspace};
use proptest::prelude::*;

use crate::sandbox::{NOW, Sandbox, delete, put};

#[tokio::test]
async fn a_commit_is_what_git_would_have_made() {
    let sandbox =
        Sandbox::with(&[("a.md", "a\n"), ("d/x.md", "x\n"), ("d/y.md", "y\n"), ("e/only.md", "o\n"), ("run", "#!\n")]);
    sandbox.work(&["update-index", "--chmod=+x", "run"]);
    sandbox.work(&["commit", "-qm", "mode"]);
    sandbox.work(&["push", "-q", "../remote.git", "HEAD:main"]);
    let mirror = sandbox.mirror().await;
    let base = mirror.fetch("main").await.unwrap();
    let changes = [put("a.md", "A\n"), put("d/x/new.md", "n\n"), delete("e/only.md"), put("run", "#!/bin/sh\n")];
    let commit = mirror.commit(&base, &changes, "Subject\n\nBody.", NOW).unwrap();
    sandbox.mirror_git(&["fsck", "--strict", "--no-dangling"]);
    let id = commit.to_string();
    let listing = sandbox.mirror_git(&["ls-tree", "-r", "--format=%(objectmode) %(path)", &id]);
    assert_eq!(listing, "100644 a.md\n100644 d/x.md\n100644 d/x/new.md\n100644 d/y.md\n100755 run\n");
    let shown = sandbox.mirror_git(&["show", "-s", "--format=%an|%ae|%at|%cn|%B", &id]);
    assert_eq!(shown, "Copydesk|copydesk@example.org|1794706496|Copydesk|Subject\n\nBody.\n\n");
    let info = mirror.commit_info(&commit).unwrap();
    assert_eq!(info.parents, [base]);
    assert_eq!(info.message, "Subject\n\nBody.\n");
    assert_eq!(info.author_time.as_millis(), 1_794_706_496_000);
    assert_eq!(info.tree, sandbox.mirror_git(&["rev-parse", &format!("{id}^{{tree}}")]).trim());
}

#[tokio::test]
async fn the_same_change_gives_the_same_id_in_another_process_too() {
    let sandbox = Sandbox::with(&[("a.md", "a\n")]);
    let mirror = sandbox.mirror().await;
    let base = mirror.fetch("main").await.unwrap();
    let commit = mirror.commit(&base, &[put("b.md", "b\n")], "B", NOW).unwrap();
    assert_eq!(sandbox.mirror().await.commit(&base, &[put("b.md", "b\n")], "B", NOW).unwrap(), commit);
    assert_ne!(mirror.commit(&base, &[put("b.md", "b\n")], "C", NOW).unwrap(), commit);
    assert!(sandbox.mirror().await.has_commit(&commit));
}

#[tokio::test]
async fn a_commit_that_changes_nothing_or_cannot_be_is_refused() {
    let sandbox = Sandbox::with(&[("a.md", "a\n"), ("d/x.md", "x\n")]);
    std::os::unix::fs::symlink("a.md", sandbox.path("work/link")).unwrap();
    sandbox.publish("link");
    let mirror = sandbox.mirror().await;
    let base = mirror.fetch("main").await.unwrap();
    let refused = |changes: &[FileChange]| mirror.commit(&base, changes, "m", NOW).unwrap_err().message;
    assert_eq!(refused(&[put("a.md", "a\n")]), "the commit would change nothing");
    assert_eq!(refused(&[]), "the commit would change nothing");
    assert_eq!(refused(&[put("../x", "")]), "\"../x\" cannot be part of a commit");
    assert_eq!(refused(&[put("d/.git/config", "")]), "\"d/.git/config\" cannot be part of a commit");
    assert_eq!(refused(&[put("a//b", "")]), "\"a//b\" cannot be part of a commit");
    assert_eq!(refused(&[put("link", "")]), "\"link\" is not a file");
    assert_eq!(refused(&[delete("link")]), "\"link\" is not a file");
    assert_eq!(refused(&[delete("d")]), "\"d\" is not a file");
    assert_eq!(refused(&[put("d", "")]), "\"d\" is not a file");
    assert_eq!(refused(&[put("a.md/b", "")]), "\"a.md\" is not a folder");
    assert_eq!(refused(&[put("n", "1"), put("n", "2")]), "\"n\" is changed twice in one commit");
}

#[tokio::test]
async fn a_file_makes_room_for_a_folder_and_the_other_way_round() {
    let sandbox = Sandbox::with(&[("a", "a\n"), ("d/x", "x\n"), ("k", "k\n")]);
    let mirror = sandbox.mirror().await;
    let base = mirror.fetch("main").await.unwrap();
    let changes = [delete("a"), put("a/b", "b\n"), delete("d/x"), put("d", "d\n")];
    let commit = mirror.commit(&base, &changes, "m", NOW).unwrap();
    assert_eq!(mirror.tree(&commit).unwrap().list("").unwrap(), ["a/b", "d", "k"]);
    sandbox.mirror_git(&["fsck", "--strict", "--no-dangling"]);
    let all = [delete("a"), delete("d/x"), delete("k")];
    let empty = mirror.commit(&base, &all, "m", NOW).unwrap();
    assert!(mirror.tree(&empty).unwrap().list("").unwrap().is_empty());
    assert_eq!(mirror.commit_info(&empty).unwrap().tree, "4b825dc642cb6eb9a060e54bf8d69288fbee4904");
}

#[tokio::test]
async fn a_workspace_over_a_commit_keeps_modes_and_refuses_links() {
    let sandbox = Sandbox::with(&[("run", "#!\n"), ("a.md", "a\n")]);
    std::os::unix::fs::symlink("/etc", sandbox.path("work/etc")).unwrap();
    sandbox.work(&["add", "-A"]);
    sandbox.work(&["update-index", "--chmod=+x", "run"]);
    sandbox.work(&["commit", "-qm", "kinds"]);
    sandbox.work(&["push", "-q", "../remote.git", "HEAD:main"]);
    let mirror = sandbox.mirror().await;
    let base = mirror.fetch("main").await.unwrap();
    let mut workspace = Workspace::new(mirror.tree(&base).unwrap(), std::sync::Arc::new(|_| Ok(())));
    assert!(workspace.write("etc/passwd", "x".to_owned()).is_err());
    assert!(workspace.write("etc", "x".to_owned()).is_err());
    workspace.write("run", "#!/bin/sh\n".to_owned()).unwrap();
    let commit = mirror.commit(&base, &workspace.changes(), "m", NOW).unwrap();
    let listing = sandbox.mirror_git(&["ls-tree", &commit.to_string(), "run"]);
    assert!(listing.starts_with("100755"), "{listing}");
}

/// Names that are close to each other in git's order.
const NAMES: &[&str] = &["a", "a.md", "a-b", "a/b", "a/b.md", "a.d/x", "ab", "b/c/d.md", "b/c.md", "b/ü.md", "z z"];

fn edits() -> impl Strategy<Value = Vec<(usize, Option<String>)>> {
    let content = prop_oneof![3 => "[a-c\n]{0,12}".prop_map(Some), 1 => Just(None)];
    proptest::collection::vec((0..NAMES.len(), content), 1..8)
}

/// Files of which none stands where another needs a folder.
fn consistent(edits: &[(usize, Option<String>)]) -> BTreeMap<&'static str, String> {
    let mut files = BTreeMap::new();
    for (index, content) in edits {
        let path = NAMES[*index];
        match content {
            Some(content) => {
                files.retain(|other: &&str, _: &mut String| {
                    !other.starts_with(&format!("{path}/")) && !path.starts_with(&format!("{other}/"))
                });
                files.insert(path, content.clone());
            }
            None => _ = files.remove(path),
        }
    }
    files
}

fn changes_between(old: &BTreeMap<&str, String>, new: &BTreeMap<&str, String>) -> Vec<FileChange> {
    let gone = old.keys().filter(|path| !new.contains_key(*path)).map(|path| delete(path));
    let here = new.iter().filter(|(path, content)| old.get(*path) != Some(content)).map(|(path, it)| put(path, it));
    let mut changes: Vec<_> = gone.chain(here).collect();
    changes.sort_by(|a, b| a.path.cmp(&b.path));
    changes
}

/// What git makes of the files in a work tree.
fn tree_by_git(sandbox: &Sandbox, files: &BTreeMap<&str, String>) -> String {
    for entry in std::fs::read_dir(sandbox.path("work")).unwrap() {
        let path = entry.unwrap().path();
        if path.file_name().unwrap() != ".git" {
            if path.is_dir() { std::fs::remove_dir_all(path).unwrap() } else { std::fs::remove_file(path).unwrap() }
        }
    }
    let files: Vec<_> = files.iter().map(|(path, content)| (*path, content.as_str())).collect();
    sandbox.write(&files);
    sandbox.work(&["add", "-A"]);
    sandbox.work(&["write-tree"]).trim().to_owned()
}

fn tree_of(mirror: &Mirror, commit: &copydesk_forge::CommitId) -> String {
    mirror.commit_info(commit).unwrap().tree
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn any_change_gives_the_tree_that_git_makes(old in edits(), new in edits()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (old, new) = (consistent(&old), consistent(&new));
        let sandbox = Sandbox::empty();
        tree_by_git(&sandbox, &old);
        let base = sandbox.publish("old");
        let mirror = runtime.block_on(sandbox.mirror());
        runtime.block_on(mirror.fetch("main")).unwrap();
        let changes = changes_between(&old, &new);
        if changes.is_empty() {
            return Ok(());
        }
        let commit = mirror.commit(&base, &changes, "new", NOW).unwrap();
        prop_assert_eq!(tree_of(&mirror, &commit), tree_by_git(&sandbox, &new));
        // The difference, applied by git, leads to the same tree.
        tree_by_git(&sandbox, &old);
        std::fs::write(sandbox.path("patch"), &mirror.diff(&base, &commit).unwrap().text).unwrap();
        sandbox.work(&["apply", "--index", "--whitespace=nowarn", "../patch"]);
        prop_assert_eq!(sandbox.work(&["write-tree"]).trim().to_owned(), tree_of(&mirror, &commit));
    }
}
