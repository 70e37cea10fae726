//! The workspace: what may be read and written, and what the edits add up to.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should stop at once")]

use std::collections::BTreeMap;
use std::sync::Arc;

use copydesk_forge::{FileChange, Kind, LARGEST_TEXT, MemoryTree, Refusal, Workspace};
use proptest::prelude::*;

fn tree() -> MemoryTree {
    MemoryTree::of([("a.md", "a\n"), ("docs/b.md", "b\n"), ("docs/deep/c.md", "c\n"), ("docs-old/x.md", "x\n")])
        .with("link.md", Kind::Symlink, "a.md")
        .with("etc", Kind::Symlink, "/etc")
        .with("sub", Kind::Submodule, "")
        .with("run.sh", Kind::Executable, "#!/bin/sh\n")
        .with("image.png", Kind::File, b"\x89PNG\0\0".to_vec())
        .with("latin.md", Kind::File, b"caf\xe9\n".to_vec())
}

fn open(tree: MemoryTree) -> Workspace {
    Workspace::new(
        Arc::new(tree),
        Arc::new(|path| if path.ends_with(".yml") { Err(format!("{path} is not docs")) } else { Ok(()) }),
    )
}

fn refusal<T: std::fmt::Debug>(outcome: Result<T, Refusal>) -> String {
    outcome.unwrap_err().to_string()
}

#[test]
fn edits_lie_over_the_tree() {
    let mut workspace = open(tree());
    workspace.write("docs/b.md", "B\n".to_owned()).unwrap();
    workspace.write("./docs/new.md", "n\n".to_owned()).unwrap();
    workspace.delete("a.md").unwrap();
    workspace.rename("docs/deep/c.md", "docs/moved.md").unwrap();
    assert_eq!(workspace.text("docs/b.md").unwrap(), "B\n");
    assert_eq!(workspace.read("a.md").unwrap(), None);
    assert_eq!(workspace.entry("a.md").unwrap(), None);
    assert_eq!(workspace.entry("docs/new.md").unwrap().unwrap().size, 2);
    assert_eq!(workspace.list("docs").unwrap(), ["docs/b.md", "docs/moved.md", "docs/new.md"]);
    assert_eq!(workspace.list("docs/deep/").unwrap(), Vec::<String>::new());
    assert_eq!(
        workspace.list(".").unwrap(),
        ["docs-old/x.md", "docs/b.md", "docs/moved.md", "docs/new.md", "image.png", "latin.md", "run.sh"]
    );
    let paths: Vec<_> = workspace.changes().into_iter().map(|change| (change.path, change.content.is_some())).collect();
    let expected = [
        ("a.md", false),
        ("docs/b.md", true),
        ("docs/deep/c.md", false),
        ("docs/moved.md", true),
        ("docs/new.md", true),
    ];
    assert_eq!(paths, expected.map(|(path, here)| (path.to_owned(), here)));
    assert_eq!(workspace.base().read("a.md").unwrap().unwrap(), b"a\n");
}

#[test]
fn what_brings_back_the_original_is_no_edit() {
    let mut workspace = open(tree());
    workspace.write("a.md", "b\n".to_owned()).unwrap();
    workspace.write("a.md", "a\n".to_owned()).unwrap();
    workspace.write("new.md", "n\n".to_owned()).unwrap();
    workspace.delete("new.md").unwrap();
    workspace.rename("docs/b.md", "docs/c.md").unwrap();
    workspace.rename("docs/c.md", "docs/b.md").unwrap();
    workspace.delete("docs/b.md").unwrap();
    workspace.restore("docs/b.md");
    assert!(workspace.is_unchanged());
    assert_eq!(workspace.changes(), Vec::<FileChange>::new());
    workspace.write("run.sh", "#!/bin/bash\n".to_owned()).unwrap();
    assert_eq!(workspace.entry("run.sh").unwrap().unwrap().kind, Kind::Executable);
}

#[test]
fn links_submodules_binary_and_forbidden_files_are_refused() {
    let mut workspace = open(tree());
    for (path, words) in [
        ("link.md", "is a symbolic link, not a file"),
        ("etc", "is a symbolic link, not a file"),
        ("etc/passwd", "\"etc\" is a symbolic link, not a folder"),
        ("sub", "is a submodule, not a file"),
        ("sub/x.md", "\"sub\" is a submodule, not a folder"),
        ("docs", "is a folder, not a file"),
        ("a.md/x.md", "\"a.md\" is a file, not a folder"),
        ("image.png", "is not a text file"),
        ("latin.md", "is not a text file"),
        (".git/config", "is git's own"),
        ("../x", "leaves the repository"),
        ("ci.yml", "ci.yml is not docs"),
        ("docs/../ci.yml", "leaves the repository"),
        (".//ci.yml", "ci.yml is not docs"),
    ] {
        assert!(refusal(workspace.write(path, "x".to_owned())).contains(words), "write {path}");
        let deleted = refusal(workspace.delete(path));
        assert!(deleted.contains(words), "delete {path}: {deleted}");
        assert!(workspace.rename("a.md", path).is_err(), "rename to {path}");
        assert!(workspace.rename(path, "ok.md").is_err(), "rename from {path}");
    }
    assert!(refusal(workspace.text("etc/passwd")).contains("there is no file"));
    assert!(refusal(workspace.text("link.md")).contains("symbolic link"));
    assert!(refusal(workspace.delete("none.md")).contains("there is no file"));
    assert!(refusal(workspace.rename("a.md", "docs/b.md")).contains("already"));
    assert!(refusal(workspace.write("n.md", "a\0b".to_owned())).contains("NUL"));
    assert!(workspace.is_unchanged());
}

#[test]
fn files_that_are_too_large_are_refused() {
    let large = "x".repeat(LARGEST_TEXT as usize + 1);
    let mut workspace = open(tree().with("large.md", Kind::File, large.clone()));
    assert!(refusal(workspace.text("large.md")).contains("are not read"));
    assert!(refusal(workspace.write("large.md", "small".to_owned())).contains("are not read"));
    assert!(refusal(workspace.write("b.md", large)).contains("would have more than"));
    workspace.write("b.md", "x".repeat(LARGEST_TEXT as usize)).unwrap();
}

#[test]
fn a_folder_may_become_a_file_once_it_is_empty() {
    let mut workspace = open(tree());
    assert!(workspace.write("docs/deep", "x".to_owned()).is_err());
    workspace.delete("docs/deep/c.md").unwrap();
    workspace.write("docs/deep", "now a file\n".to_owned()).unwrap();
    assert_eq!(workspace.text("docs/deep").unwrap(), "now a file\n");
    assert!(refusal(workspace.write("docs/deep/c.md", "c\n".to_owned())).contains("not a folder"));

    // A folder that holds a link is not empty, even if no file is left.
    let mut workspace = open(tree().with("docs/deep/link", Kind::Symlink, "x"));
    workspace.delete("docs/deep/c.md").unwrap();
    assert!(refusal(workspace.write("docs/deep", "x".to_owned())).contains("is a folder"));

    let mut workspace = open(tree());
    workspace.delete("a.md").unwrap();
    workspace.write("a.md/b.md", "b\n".to_owned()).unwrap();
    assert!(refusal(workspace.write("a.md", "x".to_owned())).contains("a folder"));
}

#[test]
fn a_new_file_makes_its_folders() {
    let mut workspace = open(tree());
    workspace.write("new/deep/x.md", "x\n".to_owned()).unwrap();
    assert_eq!(workspace.entry("new/deep").unwrap().map(|entry| entry.kind), Some(Kind::Folder));
    assert!(refusal(workspace.write("new", "x".to_owned())).contains("a folder"));
    assert!(refusal(workspace.write("new/deep/x.md/y.md", "x".to_owned())).contains("is a file, not a folder"));
    workspace.delete("new/deep/x.md").unwrap();
    workspace.write("new", "x".to_owned()).unwrap();
}

#[derive(Debug, Clone)]
enum Act {
    Write(usize, String),
    Delete(usize),
    Rename(usize, usize),
}

const NAMES: &[&str] = &["a", "a/b", "a/c", "d", "d.md", "d/e", "d/e/f", "g"];

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let name = || 0..NAMES.len();
    let act = prop_oneof![
        (name(), "[xy]{0,2}").prop_map(|(name, text)| Act::Write(name, text)),
        name().prop_map(Act::Delete),
        (name(), name()).prop_map(|(from, to)| Act::Rename(from, to)),
    ];
    proptest::collection::vec(act, 0..20)
}

proptest! {
    /// The workspace agrees with a plain table of files, whatever is done to it, and its changes lead from the base to
    /// that table.
    #[test]
    fn it_is_a_table_of_files(acts in acts()) {
        let base: BTreeMap<String, String> = [("a/b", "x"), ("d.md", "y"), ("g", "")].map(|(p, t)| (p.to_owned(), t.to_owned())).into();
        let mut workspace = open(MemoryTree::of(base.clone()));
        let mut table = base.clone();
        for act in acts {
            match act {
                Act::Write(name, text) => if workspace.write(NAMES[name], text.clone()).is_ok() {
                    table.insert(NAMES[name].to_owned(), text);
                },
                Act::Delete(name) => {
                    prop_assert_eq!(workspace.delete(NAMES[name]).is_ok(), table.contains_key(NAMES[name]));
                    table.remove(NAMES[name]);
                }
                Act::Rename(from, to) => if workspace.rename(NAMES[from], NAMES[to]).is_ok() {
                    let text = table.remove(NAMES[from]).unwrap();
                    prop_assert!(table.insert(NAMES[to].to_owned(), text).is_none());
                },
            }
            prop_assert_eq!(workspace.list("").unwrap(), table.keys().cloned().collect::<Vec<_>>());
            let clash = table.keys().any(|a| table.keys().any(|b| b.starts_with(&format!("{a}/"))));
            prop_assert!(!clash, "a file stands where a folder is: {:?}", table);
        }
        let mut rebuilt = base;
        for change in workspace.changes() {
            match change.content {
                Some(content) => _ = rebuilt.insert(change.path, String::from_utf8(content).unwrap()),
                None => prop_assert!(rebuilt.remove(&change.path).is_some()),
            }
        }
        prop_assert_eq!(rebuilt, table);
    }
}
