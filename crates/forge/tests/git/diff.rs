use copydesk_forge::{DiffKind, FileChange, LONGEST_DIFF, MemoryTree, diff_workspace};

use crate::sandbox::{NOW, Sandbox, delete, put};

fn text(base: &MemoryTree, changes: &[FileChange]) -> String {
    String::from_utf8(diff_workspace(base, changes).unwrap().text).unwrap()
}

#[tokio::test]
async fn it_reads_like_gits_own() {
    let long: String = (1..40).map(|n| format!("line {n}\n")).collect();
    let sandbox =
        Sandbox::with(&[("long.md", &long), ("gone.md", "x\ny\n"), ("end.md", "no newline"), ("with space.md", "a\n")]);
    let mirror = sandbox.mirror().await;
    let base = mirror.fetch("main").await.unwrap();
    let changed = long.replace("line 5\n", "line five\n").replace("line 30\n", "").replace("line 31\n", "");
    let changes = [
        delete("gone.md"),
        put("end.md", "no newline still"),
        put("long.md", &changed),
        put("new.md", "n\n"),
        put("with space.md", "b\n"),
        put("empty.md", ""),
    ];
    let commit = mirror.commit(&base, &changes, "m", NOW).unwrap();
    let ours = mirror.diff(&base, &commit).unwrap();
    let (base, commit) = (base.to_string(), commit.to_string());
    let gits = sandbox.mirror_git(&["diff", "--abbrev=10", "--no-ext-diff", &base, &commit]);
    // What git puts behind the second `@@` is a guess at a heading.
    let gits: Vec<_> = gits
        .lines()
        .map(|line| if line.starts_with("@@") { &line[..line.rfind("@@").unwrap() + 2] } else { line })
        .collect();
    assert_eq!(String::from_utf8(ours.text).unwrap().lines().collect::<Vec<_>>(), gits);
    let summary: Vec<_> = ours.files.iter().map(|it| (it.path.as_str(), it.added, it.removed, it.kind)).collect();
    assert_eq!(
        summary,
        [
            ("empty.md", 0, 0, DiffKind::Added),
            ("end.md", 1, 1, DiffKind::Changed),
            ("gone.md", 0, 2, DiffKind::Deleted),
            ("long.md", 1, 3, DiffKind::Changed),
            ("new.md", 1, 0, DiffKind::Added),
            ("with space.md", 1, 1, DiffKind::Changed),
        ]
    );
}

#[test]
fn a_moved_file_is_shown_as_moved() {
    let page = "one\ntwo\nthree\nfour\nfive\n";
    let base = MemoryTree::of([("old.md", page), ("k.md", "k\n")]);
    let diff = diff_workspace(&base, &[delete("old.md"), put("new.md", &page.replace("two", "2"))]).unwrap();
    let text = String::from_utf8(diff.text).unwrap();
    assert!(text.starts_with("diff --git a/old.md b/new.md\nsimilarity index "), "{text}");
    assert!(text.contains("rename from old.md\nrename to new.md\n"), "{text}");
    assert_eq!(diff.files.len(), 1);
    assert_eq!((diff.files[0].kind, diff.files[0].old_path.as_deref()), (DiffKind::Renamed, Some("old.md")));

    let diff = diff_workspace(&base, &[delete("old.md"), put("new.md", "quite\nanother\n")]).unwrap();
    assert_eq!(diff.files.len(), 2);
}

#[test]
fn what_is_no_text_or_too_much_is_not_shown() {
    let base = MemoryTree::of([("b.bin", "a\0b")]);
    assert!(text(&base, &[put("b.bin", "c\0d")]).ends_with("Binary files a/b.bin and b/b.bin differ\n"));

    let line = "x".repeat(999) + "\n";
    let large = line.repeat(LONGEST_DIFF / 1500);
    let diff = diff_workspace(&base, &[put("a.md", &large), put("b.md", &large), put("c.md", "c\n")]).unwrap();
    assert!(diff.truncated);
    assert_eq!(diff.files.len(), 3);
    assert_eq!(diff.files[1].added as usize, LONGEST_DIFF / 1500);
    assert!(diff.text.len() <= LONGEST_DIFF);
    assert!(!diff_workspace(&base, &[put("c.md", "c\n")]).unwrap().truncated);
}

#[test]
fn nothing_changed_is_nothing_shown() {
    let base = MemoryTree::of([("a.md", "a\n")]);
    assert_eq!(
        diff_workspace(&base, &[put("a.md", "a\n"), delete("none.md")]).unwrap(),
        copydesk_forge::Diff::default()
    );
}
