use std::fs;

use copydesk_checks::{Files, Folder, SiteSettings, check_all};

#[test]
fn a_folder_is_read_without_what_does_not_belong_to_it() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret.md"), "x").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    for path in ["a.md", "docs/b.md", "docs/c/d.md", "docs-x/e.md", ".git/f.md", "node_modules/g.md", "cache/h.md"] {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "[x](gone.md)").unwrap();
    }
    fs::write(root.join("cache/CACHEDIR.TAG"), "").unwrap();
    std::os::unix::fs::symlink(outside.path().join("secret.md"), root.join("link.md")).unwrap();
    std::os::unix::fs::symlink(outside.path(), root.join("linked")).unwrap();
    let files = Folder::new(root);
    assert_eq!(files.list("").unwrap(), ["a.md", "docs-x/e.md", "docs/b.md", "docs/c/d.md"]);
    assert_eq!(files.list("docs").unwrap(), ["docs/b.md", "docs/c/d.md"]);
    assert_eq!(files.read("docs/b.md").unwrap().unwrap(), b"[x](gone.md)");
    for path in ["link.md", "linked/secret.md", "../x", "docs", "none.md", ".git/f.md"] {
        assert_eq!(files.read(path).unwrap(), None, "{path}");
        assert!(!files.exists(path).unwrap(), "{path}");
    }
    let report = check_all(&files, &SiteSettings::default()).unwrap();
    assert_eq!((report.pages, report.findings.len()), (4, 4));
    assert!(check_all(&Folder::new(root.join("none")), &SiteSettings::default()).is_err());
}
