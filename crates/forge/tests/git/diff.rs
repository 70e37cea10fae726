use copydesk_forge::{Diff, DiffKind, FileChange, LONGEST_DIFF};

use crate::sandbox::{NOW, Sandbox, delete, put};

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

/// The difference that changes make to a repository of these files.
async fn diff(files: &[(&str, &str)], changes: &[FileChange]) -> Diff {
    let sandbox = Sandbox::with(files);
    let mirror = sandbox.mirror().await;
    let base = mirror.fetch("main").await.unwrap();
    let commit = mirror.commit(&base, changes, "m", NOW).unwrap();
    mirror.diff(&base, &commit).unwrap()
}

#[tokio::test]
async fn a_moved_file_is_shown_as_moved() {
    let page = "one\ntwo\nthree\nfour\nfive\n";
    let base = [("old.md", page), ("k.md", "k\n")];
    let moved = diff(&base, &[delete("old.md"), put("new.md", &page.replace("two", "2"))]).await;
    let text = String::from_utf8(moved.text).unwrap();
    assert!(text.starts_with("diff --git a/old.md b/new.md\nsimilarity index "), "{text}");
    assert!(text.contains("rename from old.md\nrename to new.md\n"), "{text}");
    assert_eq!(moved.files.len(), 1);
    assert_eq!((moved.files[0].kind, moved.files[0].old_path.as_deref()), (DiffKind::Renamed, Some("old.md")));

    let replaced = diff(&base, &[delete("old.md"), put("new.md", "quite\nanother\n")]).await;
    assert_eq!(replaced.files.len(), 2);
}

#[tokio::test]
async fn what_is_no_text_or_too_much_is_not_shown() {
    let base = [("b.bin", "a\0b")];
    let binary = diff(&base, &[put("b.bin", "c\0d")]).await;
    assert!(String::from_utf8(binary.text).unwrap().ends_with("Binary files a/b.bin and b/b.bin differ\n"));

    // As large as a file may be to be shown.
    let line = "x".repeat(999) + "\n";
    let large = line.repeat(2000);
    let long = diff(&base, &[put("a.md", &large), put("b.md", &large), put("c.md", &large), put("d.md", "d\n")]).await;
    assert!(long.truncated);
    assert_eq!(long.files.len(), 4);
    assert_eq!(long.files[2].added, 2000);
    assert!(long.text.len() <= LONGEST_DIFF);
    assert!(!diff(&base, &[put("c.md", "c\n")]).await.truncated);
}

#[tokio::test]
async fn nothing_changed_is_nothing_shown() {
    let sandbox = Sandbox::with(&[("a.md", "a\n")]);
    let mirror = sandbox.mirror().await;
    let base = mirror.fetch("main").await.unwrap();
    assert_eq!(mirror.diff(&base, &base).unwrap(), Diff::default());
}
